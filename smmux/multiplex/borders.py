"""Where regions begin and end: the border places of a kernel, and the barriers that these make superfluous."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from smmux.multiplex.blocks import Block, Piece
from smmux.multiplex.errors import refuse
from smmux.multiplex.events import Barrier, touches
from smmux.multiplex.live import Places, endless, escaping, places
from smmux.multiplex.walk import Analysis

__all__ = ["Border", "borders", "is_barrier", "superfluous"]


Stored = dict[tuple[int, int], bool]  # by id of the block, and position


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
    stored = _stored_before(analysis.body)
    gaps: dict[int, set[int]] = {}
    for block in analysis.body.walk():
        mine = [b for b in found if b.block is block]
        if mine:
            dropped = {i for first, last in _gaps(block, mine) for i in _droppable(block, first, last, mine, stored)}
            gaps[id(block)] = dropped
    return gaps


def _gaps(block: Block, mine: list[Border]) -> Iterator[tuple[int, int]]:
    """Ranges of positions of a block that no region covers."""
    start = 0 if mine[0].begin else None
    for border in mine:
        if border.begin and start is not None:
            yield start, border.position
            start = None
        elif not border.begin:
            start = border.position
    if start is not None:
        yield start, len(block.pieces)


def _droppable(block: Block, first: int, last: int, mine: list[Border], stored: Stored) -> Iterator[int]:
    ends = any(b.position == first and not b.begin for b in mine)
    begins = any(b.position == last and b.begin for b in mine)
    for i in range(first, last):
        if not is_barrier(block.pieces[i]):
            continue
        left, right = block.pieces[first:i], block.pieces[i + 1 : last]
        if ends and not _memory(left) or begins and not _memory(right):
            yield i
        elif ends and begins and not _memory(left, stores=True) and not _memory(right, stores=True):
            yield i
        elif (ends or begins) and not stored[id(block), i]:
            yield i


def _memory(pieces: list[Piece], stores: bool = False) -> bool:
    """Whether statements access (or store to) global memory."""
    return any(t.write or not stores for p in pieces for t in touches(p.events, "global"))


def _stored_before(body: Block) -> Stored:
    """For each position: can the kernel have stored to global memory before?"""
    found: Stored = {}

    def visit(block: Block, before: bool) -> None:
        for i, piece in enumerate(block.pieces):
            found[id(block), i] = before
            stores = _memory([piece], stores=True)
            for side in piece.blocks:
                visit(side, before or (piece.loops and stores))
            before |= stores

    visit(body, False)
    return found
