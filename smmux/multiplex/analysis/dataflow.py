"""Dataflow along control, forward or backward, until nothing changes any more; and where shared arrays are in use.

A state is the set of all that may hold; where two paths meet it is the union of theirs. A client says what a single
event does to a state. A place that control never reaches has the empty state. Contents of shared arrays matter where
they have been stored, and are loaded before others replace them.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from smmux.multiplex.analysis.accesses import Alternatives, Block, Called, Event, Jump, Loop, Piece, Touch, escaping
from smmux.multiplex.analysis.facts import Array

Item = TypeVar("Item")


class _Flow(ABC, Generic[Item]):
    """A dataflow analysis.

    at: the state before each event of a sequence and behind the last, by the sequence's id and the position.
    """

    def __init__(self) -> None:
        self.at: dict[tuple[int, int], frozenset[Item]] = {}
        self.test: dict[ast.stmt, frozenset[Item]] = {}  # the state where a loop decides on another trip

    @abstractmethod
    def step(self, event: Any, state: frozenset[Item]) -> frozenset[Item]:
        """The state on the other side of a single event."""


Exits = Mapping[str, frozenset[Item]]  # the states at the places that jumps lead to, by the kind of jump


class Backward(_Flow[Item]):
    """An analysis against the direction of control."""

    def sequence(
        self, events: Sequence[Any], after: frozenset[Item], exits: Exits[Item] | None = None
    ) -> frozenset[Item]:
        """The state before a sequence, from the one behind it."""
        state = self.at[id(events), len(events)] = after
        for i in reversed(range(len(events))):
            state = self.at[id(events), i] = self._before(events[i], state, exits or {})
        return state

    def _before(self, event: Any, after: frozenset[Item], exits: Exits[Item]) -> frozenset[Item]:
        if isinstance(event, Jump):
            return exits.get(event.kind, frozenset())
        if isinstance(event, Alternatives):
            return _union(self.sequence(way, after, exits) for way in event.ways)
        if isinstance(event, Piece):
            return self.sequence(event.events, after, exits)
        if isinstance(event, Called):
            return self.sequence(event.body, after, {**exits, "return": after})
        if isinstance(event, Loop):
            return self._loop(event, after, exits)
        return self.step(event, after)

    def _loop(self, event: Loop, after: frozenset[Item], exits: Exits[Item]) -> frozenset[Item]:
        end = self.sequence(event.orelse, after, exits)
        state = frozenset[Item]() if event.endless else end
        while True:
            again = self.sequence(event.again, state, exits)
            start = self.sequence(event.body, again, {**exits, "break": after, "continue": again})
            known, state = state, state | start
            if state == known:
                self.test[event.node] = state
                return start if event.always else start | end


class Forward(_Flow[Item]):
    """An analysis along control."""

    def __init__(self) -> None:
        super().__init__()
        self.jumps: dict[str, list[frozenset[Item]]] = {}  # states at the jumps that have been met, by kind

    def sequence(self, events: Sequence[Any], before: frozenset[Item]) -> frozenset[Item]:
        """The state behind a sequence, from the one before it."""
        state = before
        for i, event in enumerate(events):
            self.at[id(events), i] = state
            state = self._after(event, state)
        self.at[id(events), len(events)] = state
        return state

    def _after(self, event: Any, before: frozenset[Item]) -> frozenset[Item]:
        if isinstance(event, Jump):
            self.jumps.setdefault(event.kind, []).append(before)
            return frozenset()
        if isinstance(event, Alternatives):
            return _union(self.sequence(way, before) for way in event.ways)
        if isinstance(event, Piece):
            return self.sequence(event.events, before)
        if isinstance(event, Called):
            outer = self.jumps.pop("return", [])
            end = self.sequence(event.body, before)
            returned, self.jumps["return"] = self.jumps.get("return", []), outer
            return _union([end, *returned])
        if isinstance(event, Loop):
            return self._loop(event, before)
        return self.step(event, before)

    def _loop(self, event: Loop, before: frozenset[Item]) -> frozenset[Item]:
        outer = {kind: self.jumps.pop(kind, []) for kind in ("break", "continue")}
        state = before
        while True:
            end = self.sequence(event.body, state)
            end = self.sequence(event.again, _union([end, *self.jumps.pop("continue", [])]))
            known, state = state, state | end
            if state == known:
                break
        self.test[event.node] = state
        left = self.jumps.pop("break", [])
        self.jumps |= outer
        return _union([self.sequence(event.orelse, state), *left])


def _union(states: Iterable[frozenset[Item]]) -> frozenset[Item]:
    return frozenset[Item]().union(*states)


# -- shared arrays in use


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
    """Arrays in use at each position of each block, and at the tests of loops."""

    needed: _Needed
    stored: _Stored
    whole: frozenset[Piece]  # statements that count as one piece although all threads take the same way through them

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
    """Find where arrays of a kernel are in use, if these statements, and those whose sides disagree, count as one
    piece.
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
    """True for a statement that is entered, or left, by paths with different states."""
    if piece.loops:
        around, inside = found.open_at_test(piece), found.open(piece.blocks[0], 0)
        broken = any(jump.kind == "break" for jump in escaping(piece.blocks[0].pieces))
        return around and not inside or broken and not piece.endless and around != found.open(block, i + 1)
    before = {found.open(side, 0) for side in piece.blocks} | {found.open(block, i)}
    after = {found.open(side, len(side.pieces)) for side in piece.blocks if not _leaves(side)}
    return len(before) > 1 or bool(after) and after != {found.open(block, i + 1)}


def _leaves(block: Block) -> bool:
    """Whether the last statement of a block is a jump."""
    return any(isinstance(event, Jump) for piece in block.pieces[-1:] for event in piece.events)
