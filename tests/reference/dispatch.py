"""Definition of one SM's dispatcher with dynamic shared memory (paper, section 5), driven by random times.

A block starts, runs through its regions (work, allocate, hold, release), works on and ends. A block is admitted while
the residency limit allows and the static bytes of the resident blocks and its own leave room for one dynamic
allocation; this looks at block starts and ends only. An admitted block whose static part finds no place, because
dynamic entries lie there, waits, and so does a block that cannot allocate. Requests are served in order of arrival, or
by the age of their blocks; an allocation may overtake a start that does not fit and a start an allocation, but none
another of its kind. A throttled dispatcher refuses starts while more than a number of blocks wait for an allocation.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Block:
    """static: bytes held for the block's life; regions: (time before the allocation, time of holding); tail: time.

    start: time from the decision to start the block until it takes its static part.
    """

    static: int
    regions: tuple[tuple[int, int], ...]
    tail: int = 0
    start: int = 0


class AnyTable(Protocol):
    """What the dispatcher needs of a table; the reference and the machine's both have it."""

    def alloc_static(self, block: int, size: int) -> int | None: ...
    def alloc_dynamic(self, block: int, size: int) -> int | None: ...
    def release(self, start: int) -> bool: ...


class Deadlock(Exception):
    """No block can go on."""


@dataclass(slots=True)
class Dispatcher:
    """Runs `blocks` in order on one SM. `trace` records (time, what, block, address).

    strict: no request overtakes any other. aged: the request of the block that started first is served first, a block
    that has not started counting from its arrival; of several the lowest number. max_waiting: how many blocks may wait
    for an allocation where another one starts; None: any number.
    """

    table: AnyTable
    blocks: Sequence[Block]
    capacity: int
    dynamic: int
    unit: int
    limit: int = 8
    strict: bool = False
    aged: bool = False
    max_waiting: int | None = None
    trace: list[tuple[int, str, int, int]] = field(default_factory=list)
    now: int = 0
    resident: set[int] = field(default_factory=set)
    _next: int = 0
    _events: list[tuple[int, int, str, int]] = field(default_factory=list)
    _order: int = 0
    _waiting: list[tuple[str, int]] = field(default_factory=list)
    _static_start: dict[int, int] = field(default_factory=dict)
    _dynamic_start: dict[int, int] = field(default_factory=dict)
    _region: dict[int, int] = field(default_factory=dict)
    _since: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Raises Deadlock when blocks are left that nothing can wake."""
        self._admit()
        while self._events:
            self.now, _, what, block = heapq.heappop(self._events)
            {"arrive": self._arrive, "want": self._want, "leave": self._leave, "end": self._end}[what](block)
        if self.resident or self._next < len(self.blocks):
            raise Deadlock(f"at {self.now}: {sorted(self.resident)} wait, {len(self.blocks) - self._next} not started")

    def rounded(self, size: int) -> int:
        return -(-size // self.unit) * self.unit

    def _admit(self) -> None:
        room = self.capacity - self.rounded(self.dynamic)
        while self._next < len(self.blocks) and len(self.resident) < self.limit:
            held = sum(self.rounded(self.blocks[b].static) for b in self.resident)
            if held + self.rounded(self.blocks[self._next].static) > room:
                break
            self.resident.add(self._next)
            self._later("arrive", self._next, self.blocks[self._next].start)
            self._next += 1

    def _serve(self) -> None:
        """Ask until nobody who waits can be served; who is served lets the others be asked once more."""
        stuck: set[str] = set()
        while asked := [(what, block) for what, block in self._waiting if what not in stuck]:
            what, block = min(asked, key=self._age) if self.aged else asked[0]
            if self._start(block) if what == "start" else self._grant(block):
                self._waiting.remove((what, block))
                stuck.clear()
            else:
                stuck.update(("start", "grant") if self.strict else (what,))

    def _age(self, request: tuple[str, int]) -> tuple[int, int]:
        """Sorts requests by age, the oldest one first."""
        return self._since[request[1]], request[1]

    def _start(self, block: int) -> bool:
        if self.max_waiting is not None and sum(what == "grant" for what, _ in self._waiting) > self.max_waiting:
            return False
        start = self.table.alloc_static(block, self.blocks[block].static)
        if start is None:
            return False
        self._note("start", block, start)
        self._since[block] = self.now
        self._static_start[block] = start
        self._region[block] = 0
        self._go_on(block)
        return True

    def _grant(self, block: int) -> bool:
        start = self.table.alloc_dynamic(block, self.dynamic)
        if start is None:
            return False
        self._note("grant", block, start)
        self._dynamic_start[block] = start
        self._later("leave", block, self.blocks[block].regions[self._region[block]][1])
        return True

    def _go_on(self, block: int) -> None:
        regions = self.blocks[block].regions
        if self._region[block] < len(regions):
            self._later("want", block, regions[self._region[block]][0])
        else:
            self._later("end", block, self.blocks[block].tail)

    def _arrive(self, block: int) -> None:
        self._since[block] = self.now
        self._waiting.append(("start", block))
        self._serve()

    def _want(self, block: int) -> None:
        self._waiting.append(("grant", block))
        self._serve()

    def _leave(self, block: int) -> None:
        start = self._dynamic_start.pop(block)
        self._note("release", block, start)
        assert self.table.release(start)
        self._region[block] += 1
        self._go_on(block)
        self._serve()

    def _end(self, block: int) -> None:
        start = self._static_start.pop(block)
        self._note("end", block, start)
        if self.blocks[block].static:
            assert self.table.release(start)
        self.resident.remove(block)
        self._admit()
        self._serve()

    def _later(self, what: str, block: int, delay: int) -> None:
        self._order += 1
        heapq.heappush(self._events, (self.now + delay, self._order, what, block))

    def _note(self, what: str, block: int, start: int) -> None:
        self.trace.append((self.now, what, block, start))


def check_trace(
    trace: Sequence[tuple[int, str, int, int]], blocks: Sequence[Block], dynamic: int, capacity: int
) -> None:
    """What must hold of any run, judged from the trace alone: inside the memory, disjoint, nothing left behind."""
    held: dict[tuple[str, int], tuple[int, int]] = {}
    for _, what, block, start in trace:
        if what in ("start", "grant"):
            size = blocks[block].static if what == "start" else dynamic
            assert 0 <= start <= capacity - size
            assert size == 0 or all(start + size <= low or high <= start for low, high in held.values() if low < high)
            assert (what, block) not in held
            held[what, block] = (start, start + size)
        else:
            assert held.pop(("grant" if what == "release" else "start", block))[0] == start
    assert not held
