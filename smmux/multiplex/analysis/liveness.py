"""Where the contents of shared arrays matter: they have been stored, and are loaded before others replace them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smmux.multiplex.analysis.accesses import Block, Event, Jump, Piece, Touch, escaping
from smmux.multiplex.analysis.dataflow import Backward, Forward
from smmux.multiplex.analysis.facts import Array

__all__ = ["Places", "places"]

Arrays = frozenset[Array]


class _Needed(Backward[Array]):
    """Arrays whose contents are loaded later, before a store replaces them."""

    def step(self, event: Event, state: Arrays) -> Arrays:
        if not isinstance(event, Touch) or event.array.space != "shared":
            return state
        if not event.write:
            return state | {event.array}
        return state - {event.array} if event.redefines else state


class _Stored(Forward[Array]):
    """Arrays that may have been stored to."""

    def step(self, event: Event, state: Arrays) -> Arrays:
        stores = isinstance(event, Touch) and event.write and event.array.space == "shared"
        return state | {event.array} if stores else state  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class Places:
    """Arrays in use at each position of each block, and at the tests of loops.

    whole: statements that count as one piece although all threads take the same way through them.
    """

    needed: _Needed
    stored: _Stored
    whole: frozenset[Piece] = frozenset()

    def open(self, block: Block, position: int) -> bool:
        """True where some array holds values that are still needed."""
        place = id(block.pieces), position
        return not self.needed.at[place].isdisjoint(self.stored.at[place])

    def open_at_test(self, piece: Piece) -> bool:
        """The same where a loop decides on another trip."""
        return not self.needed.test[piece.node].isdisjoint(self.stored.test[piece.node])

    def entered(self, piece: Piece) -> bool:
        """Whether there are places within a statement."""
        return piece.uniform and piece not in self.whole

    def walk(self, block: Block) -> Iterator[Block]:
        """A block and those within its statements where there are places, in the order of the source."""
        yield block
        for piece in filter(self.entered, block.pieces):
            for side in piece.blocks:
                yield from self.walk(side)


def places(body: Block, whole: frozenset[Piece] = frozenset()) -> Places:
    """Where arrays of a kernel are in use. whole: statements that count as one piece; so do, in addition, those whose
    ways in or out disagree.
    """
    needed, stored = _Needed(), _Stored()
    needed.sequence(body.pieces, frozenset())
    stored.sequence(body.pieces, frozenset())
    while True:
        found = Places(needed, stored, whole)
        blocks = found.walk(body)
        torn = {p for b in blocks for i, p in enumerate(b.pieces) if found.entered(p) and _torn(found, b, i, p)}
        if not torn:
            return found
        whole |= torn


def _torn(found: Places, block: Block, i: int, piece: Piece) -> bool:
    """True for a statement whose ways in, or whose ways out, are in different states."""
    if piece.loops:
        around, inside = found.open_at_test(piece), found.open(piece.blocks[0], 0)
        broken = any(jump.kind == "break" for jump in escaping(piece.blocks[0].pieces))
        left_in_two_states = broken and not piece.endless and around != found.open(block, i + 1)
        return around and not inside or left_in_two_states
    before = {found.open(side, 0) for side in piece.blocks} | {found.open(block, i)}
    ends = [found.open(side, len(side.pieces)) for side in piece.blocks if not _leaves(side)]
    after = {*ends, *([found.open(block, i + 1)] if ends else [])}
    return len(before) > 1 or len(after) > 1


def _leaves(block: Block) -> bool:
    """Whether the last statement of a block is a jump."""
    return any(isinstance(event, Jump) for piece in block.pieces[-1:] for event in piece.events)
