"""Definition of the shared-memory management table (paper, section 5, Figures 7 and 10).

Slow and obvious: a place is found by trying every unit of the memory in turn. csrc/sm/smm.c must agree with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Entry:
    block: int
    size: int
    start: int
    dynamic: bool


@dataclass(slots=True)
class Table:
    """`highest`: dynamic entries take the highest free place, as on the machine; else the lowest, like static ones.

    `reserved`: bytes at the top where no static entry may lie.
    """

    capacity: int
    unit: int
    reserved: int = 0
    highest: bool = True
    held: dict[int, Entry] = field(default_factory=dict)  # by start address

    def round_up(self, size: int) -> int:
        return -(-size // self.unit) * self.unit

    def alloc_static(self, block: int, size: int) -> int | None:
        if size == 0:
            return 0
        return self._place(block, self.round_up(size), False, self._places(self.round_up(size), self._static_top()))

    def alloc_dynamic(self, block: int, size: int) -> int | None:
        size = self.round_up(max(size, 1))
        places = self._places(size, self.capacity // self.unit * self.unit)
        return self._place(block, size, True, places[::-1] if self.highest else places)

    def release(self, start: int) -> bool:
        return self.held.pop(start, None) is not None

    def entries(self) -> list[Entry]:
        return sorted(self.held.values(), key=lambda entry: entry.start)

    def static_bytes(self) -> int:
        return sum(entry.size for entry in self.held.values() if not entry.dynamic)

    def _static_top(self) -> int:
        return max(0, self.capacity // self.unit * self.unit - self.round_up(self.reserved))

    def _places(self, size: int, top: int) -> range:
        return range(0, top - size + 1, self.unit)

    def _place(self, block: int, size: int, dynamic: bool, places: range) -> int | None:
        for start in places:
            if all(start + size <= e.start or e.start + e.size <= start for e in self.held.values()):
                self.held[start] = Entry(block, size, start, dynamic)
                return start
        return None
