"""Where regions begin and end: the border places of a kernel, and the barriers that these make superfluous."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from smmux.multiplex.analysis.accesses import Barrier, Event, Touch, barriers, touches
from smmux.multiplex.analysis.blocks import Block, Piece
from smmux.multiplex.analysis.liveness import Places, endless, escaping, places
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["Border", "borders", "conflict", "is_barrier", "ordered", "reached", "superfluous", "synchronises"]


@dataclass(frozen=True, eq=False, slots=True)
class Border:
    """A place before piece `position` of a block where shared memory begins, or ceases, to be in use."""

    block: Block
    position: int
    begin: bool


def borders(analysis: Analysis) -> list[Border]:
    """All borders of a kernel, in the order of the source."""
    found = list(_borders(analysis, places(analysis.body), analysis.body))
    if not found:
        raise refuse(
            analysis.source,
            None,
            f"{analysis.source.name!r} has no access to a shared array: there is nothing to multiplex",
        )
    return found


def _borders(analysis: Analysis, state: Places, block: Block) -> Iterator[Border]:
    for i, piece in enumerate(block.pieces):
        before, after = state.open(block, i), state.open(block, i + 1)
        if piece.uniform:
            inside = state.open_at_test(piece) if piece.loops else before
            if inside and not before:
                yield Border(block, i, True)
            for side in piece.blocks:
                yield from _borders(analysis, state, side)
            if piece.loops and inside and not after and not endless(piece):
                yield Border(block, i + 1, False)
            continue
        used = any(touches(piece.events))
        if used or before:
            _refuse_exits(analysis, piece)
        if used and not before:
            yield Border(block, i, True)
        if used and not after:
            yield Border(block, i + 1, False)


def _refuse_exits(analysis: Analysis, piece: Piece) -> None:
    """A statement in a region must not lead out of it."""
    if isinstance(piece.node, ast.Break | ast.Continue):
        return  # where it leads, memory is in use as well
    for jump in escaping(piece.events):
        why = f"this {jump.kind} leaves a region in which shared arrays are in use; put what follows under a condition"
        raise refuse(analysis.source, jump.node, why)


def is_barrier(piece: Piece) -> bool:
    """True for a statement that is a plain barrier."""
    node = piece.node
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and len(piece.events) == 1
        and isinstance(piece.events[0], Barrier)
        and piece.events[0].node is node.value
        and not node.value.args
    )


def superfluous(analysis: Analysis, found: list[Border]) -> dict[int, set[int]]:
    """Positions (by id of the block) of barriers between regions that order nothing that the borders do not."""
    everything = ordered(analysis.body.events)
    gaps: dict[int, set[int]] = {}
    for block in analysis.body.walk():
        mine = [b for b in found if b.block is block]
        elsewhere = everything if block is not analysis.body else []
        if mine:
            gaps[id(block)] = {i for gap in _gaps(block, mine) for i in _droppable(block, gap, elsewhere)}
    return gaps


@dataclass(frozen=True, slots=True)
class Gap:
    """Positions of a block that no region covers, and whether a region ends in front of them, or begins behind them."""

    positions: range
    ends: bool
    begins: bool


def _gaps(block: Block, mine: list[Border]) -> Iterator[Gap]:
    start, ends = (0 if mine[0].begin else None), False
    for border in mine:
        if border.begin and start is not None:
            yield Gap(range(start, border.position), ends, True)
            start = None
        elif not border.begin:
            start, ends = border.position, True
    if start is not None:
        yield Gap(range(start, len(block.pieces)), ends, False)


def _droppable(block: Block, gap: Gap, elsewhere: list[Touch]) -> set[int]:
    """Barriers of a gap whose order borders, or other barriers, make as well."""
    dropped: set[int] = set()

    def stays(i: int) -> bool:
        return synchronises(block.pieces[i]) and i not in dropped

    first, last = gap.positions.start, gap.positions.stop
    for i in gap.positions:
        if is_barrier(block.pieces[i]):
            before = reached(block, range(i - 1, first - 1, -1), stays, [] if gap.ends else elsewhere)
            after = reached(block, range(i + 1, last), stays, [] if gap.begins else elsewhere)
            if not conflict(before, after):
                dropped.add(i)
    return dropped


def synchronises(piece: Piece) -> bool:
    """Whether a statement has a barrier in it."""
    return any(barriers(piece.events))


def reached(block: Block, positions: range, stays: Callable[[int], bool], elsewhere: list[Touch]) -> list[Touch]:
    """Accesses that barriers order at some positions, up to one where a barrier stays, or else those elsewhere too."""
    found: list[Touch] = []
    for i in positions:
        found += ordered(block.pieces[i].events)
        if stays(i):
            return found
    return found + elsewhere


def ordered(events: list[Event]) -> list[Touch]:
    """Accesses to global memory, and to shared arrays that virtual blocks have of their own."""
    return [*touches(events, "global"), *touches(events, "private")]


def conflict(before: list[Touch], after: list[Touch]) -> bool:
    """Whether the order of accesses matters; different parameters are taken to be different arrays."""
    return any(a.array is b.array and (a.write or b.write) for a in before for b in after)
