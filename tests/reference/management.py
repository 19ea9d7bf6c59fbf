"""Definitions of the managements of shared memory that the core has beside static, as classes of Python.

Slow and obvious: places are found by trying every unit of the memory in turn. csrc/sm/management/ must agree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from smmux.machines.management import Hole, Management, Request, SharedMemory


class Dynamic(Management):
    """Who comes first is served first; what blocks hold to their end lies as low as it can, allocations as high."""

    def may_start(self, block: Request, waiting: Sequence[Request]) -> bool:
        return True

    def place(self, request: Request, free: Sequence[Hole]) -> int | None:
        places = [
            start
            for start in range(0, self.memory.bytes, self.memory.unit)
            if any(hole.start <= start and start + request.bytes <= hole.start + hole.bytes for hole in free)
        ]
        return (max if request.allocation else min)(places, default=None)

    def next_request(self, waiting: Sequence[Request], free: Sequence[Hole]) -> Request:
        return sorted(waiting, key=lambda request: request.arrival)[0]


class Aged(Dynamic):
    """Of the blocks that wait the one that has run for longest is served first, of several the lowest number."""

    def next_request(self, waiting: Sequence[Request], free: Sequence[Hole]) -> Request:
        return max(waiting, key=lambda request: (request.now - request.started, -request.block))


class Throttled(Dynamic):
    """A block starts only while no more than a number of blocks wait at an allocation."""

    def __init__(self, memory: SharedMemory, max_waiting: int) -> None:
        super().__init__(memory)
        self.max_waiting = max_waiting

    def may_start(self, block: Request, waiting: Sequence[Request]) -> bool:
        return len([request for request in waiting if request.allocation]) <= self.max_waiting


DEFINED = ("dynamic", "aged", "throttled")


def definition(management: str, max_waiting: int) -> Callable[[SharedMemory], Management]:
    """The definition of a management of the core."""
    table: Mapping[str, Callable[[SharedMemory], Management]] = {
        "dynamic": Dynamic,
        "aged": Aged,
        "throttled": partial(Throttled, max_waiting=max_waiting),
    }
    return table[management]
