"""Regions as ranges of statements: each begins and ends in one statement list, so that it can be done in turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smmux.multiplex.analysis.accesses import Touch
from smmux.multiplex.analysis.blocks import Block, Piece
from smmux.multiplex.analysis.liveness import Places, escaping, places
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.regions.find import borders, conflict, is_barrier, ordered, reached, synchronises

__all__ = ["Spans", "spans"]


@dataclass(frozen=True, slots=True)
class Spans:
    """The regions of a kernel, by statement list; the barriers that the turns make superfluous."""

    ranges: dict[int, list[tuple[int, int]]]  # by id of the block: positions of the first piece, and behind the last
    dropped: set[int]  # ids of pieces

    def of(self, block: Block) -> list[tuple[int, int]]:
        """Regions that are part of a statement list itself."""
        return self.ranges.get(id(block), [])

    def within(self, piece: Piece) -> bool:
        """Whether there is a region in the statement lists of a piece."""
        return any(self.of(block) or any(map(self.within, block.pieces)) for block in piece.blocks)


def spans(analysis: Analysis) -> Spans:
    """The regions of a kernel; one that would reach into a statement or out of it includes all of that."""
    while True:
        state = places(analysis.body)
        crossed = list(_crossing(state, analysis.body, None))
        if not crossed:
            break
        for piece in crossed:
            piece.uniform = False
    ranges: dict[int, list[tuple[int, int]]] = {}
    starts: dict[int, int] = {}
    for border in borders(analysis):
        if border.begin:
            starts[id(border.block)] = border.position
        else:
            ranges.setdefault(id(border.block), []).append((starts.pop(id(border.block)), border.position))
    assert not starts
    found = Spans(ranges, set())
    everything = ordered(analysis.body.events)
    for block in analysis.body.walk():
        if found.of(block):
            _drop(found, block, everything if block is not analysis.body else [])
    return found


def _crossing(state: Places, block: Block, around: Piece | None) -> Iterator[Piece]:
    """Statements with a region that begins or ends within; in place of one that leaves a loop, that loop."""
    for i, piece in enumerate(block.pieces):
        leaves = around is not None and any(jump.kind != "return" for jump in escaping(piece.events))
        if not piece.uniform:
            if leaves and around is not None and piece.blocks and state.open(block, i):
                yield around
            continue
        if _crossed(state, block, i, piece):
            yield around if leaves and around is not None else piece
        for side in piece.sides:
            yield from _crossing(state, side, piece if piece.loops else around)


def _crossed(state: Places, block: Block, i: int, piece: Piece) -> bool:
    """True for a statement with a region that begins or ends within it, but not both."""
    inside = [state.open(b, k) for side in piece.sides for b in side.walk() for k in range(len(b.pieces) + 1)]
    if state.open(block, i):
        return not all(inside)
    ends = any(state.open(side, len(side.pieces)) or state.open(side, 0) for side in piece.sides)
    return ends or piece.loops and state.open_at_test(piece)


def _drop(found: Spans, block: Block, elsewhere: list[Touch]) -> None:
    """Find barriers between the regions of a block that order no accesses to what is not had in turns."""
    ranges = found.of(block)
    covered = {i for first, last in ranges for i in range(first, last)}
    starts, ends = {first for first, _ in ranges}, {last - 1 for _, last in ranges}

    def stays(i: int) -> bool:
        piece = block.pieces[i]
        return found.within(piece) or synchronises(piece) and id(piece) not in found.dropped

    for i, piece in enumerate(block.pieces):
        if i in covered or not is_barrier(piece):
            continue  # turns have barriers between them, so that nothing reaches over a region
        before = reached(block, range(i - 1, -1, -1), lambda k: k in starts or stays(k), elsewhere)
        after = reached(block, range(i + 1, len(block.pieces)), lambda k: k in ends or stays(k), elsewhere)
        if not conflict(before, after):
            found.dropped.add(id(piece))
