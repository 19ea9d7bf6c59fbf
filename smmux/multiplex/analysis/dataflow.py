"""Dataflow along control, forward or backward, until nothing changes any more.

A state is a set of what can be so in one way or another; where ways come together, it is that of either. A client says
what a single event does to it. Where control does not come, nothing is so.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from smmux.multiplex.analysis.accesses import Alternatives, Called, Jump, Loop, Piece

__all__ = ["Backward", "Forward"]

Item = TypeVar("Item")


class _Flow(ABC, Generic[Item]):
    """A dataflow analysis.

    at: the state before each event of a sequence and behind the last, by the sequence's id and the position. test: the
    state where a loop decides on another trip.
    """

    def __init__(self) -> None:
        self.at: dict[tuple[int, int], frozenset[Item]] = {}
        self.test: dict[ast.stmt, frozenset[Item]] = {}

    @abstractmethod
    def step(self, event: Any, state: frozenset[Item]) -> frozenset[Item]:
        """The state on the other side of a single event."""


Exits = Mapping[str, frozenset[Item]]
"""The states at the places that jumps lead to, by the kind of jump."""


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
