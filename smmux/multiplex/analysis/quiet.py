"""Loads of shared arrays between barriers where nothing is stored: equal indices give equal values in all threads.

An example is the condition of `while error[0] > limit:` behind a barrier. Between two barriers threads run at their own
pace, so a load is quiet only if no store stands between the barrier before it and the barrier behind it, on any path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smmux.multiplex.analysis.accesses import Barrier, Block, Touch, barriers, escaping, touches
from smmux.multiplex.analysis.dataflow import Backward, Exits, Forward
from smmux.multiplex.analysis.facts import Array

Arrays = frozenset[Array]
OF_BLOCKS = ("shared", "private")


def unquiet(body: Block) -> Iterator[Touch]:
    """Loads of shared arrays that another thread may store to meanwhile."""
    before, behind = _Before(), _Behind()
    before.sequence(body.pieces, frozenset())
    behind.sequence(body.pieces, frozenset())
    for touch, stored in before.loads:
        if touch.array in stored | behind.stored.get(touch, frozenset()):
            yield touch


def _stored(events: list[Any]) -> Arrays:
    return frozenset(touch.array for space in OF_BLOCKS for touch in touches(events, space) if touch.write)


def _loaded(events: list[Any]) -> list[Touch]:
    return [touch for space in OF_BLOCKS for touch in touches(events, space) if not touch.write]


def _single(event: Any) -> bool:
    """Whether threads are within an event between two barriers."""
    return not isinstance(event, Barrier) and not any(barriers([event]))


class _Before(Forward[Array]):
    """Arrays stored to since the last barrier; loads: with those at that place."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[tuple[Touch, Arrays]] = []

    def step(self, event: Any, state: Arrays) -> Arrays:
        return frozenset() if isinstance(event, Barrier) else state

    def _after(self, event: Any, before: Arrays) -> Arrays:
        if not _single(event):
            return super()._after(event, before)
        state = before | _stored([event])
        self.loads += [(touch, state) for touch in _loaded([event])]
        for jump in escaping([event]):
            self.jumps.setdefault(jump.kind, []).append(state)
        return state


class _Behind(Backward[Array]):
    """Arrays stored to up to the next barrier; stored: by load."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[Touch, Arrays] = {}

    def step(self, event: Any, state: Arrays) -> Arrays:
        return frozenset() if isinstance(event, Barrier) else state

    def _before(self, event: Any, after: Arrays, exits: Exits[Array]) -> Arrays:
        if not _single(event):
            return super()._before(event, after, exits)
        state = after | _stored([event])
        for jump in escaping([event]):
            state |= exits.get(jump.kind, frozenset())
        for touch in _loaded([event]):
            self.stored[touch] = self.stored.get(touch, frozenset()) | state
        return state
