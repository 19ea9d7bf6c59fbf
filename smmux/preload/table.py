"""The preload table: what each thread block of a launch will read, as affine forms of the block's index.

An entry stands for one contiguous range of elements of one array. Its two ends move with the block:

>>> rows = Entry(array=0, element_bytes=4, low=(16, 1024, 0, 0), high=(16, 1024, 0, 15))
>>> table = Table("add", (Extent("a", 0, 4 * 4096),), (0x1000,), (rows,))
>>> table.spans((1, 2, 0))
((12352, 12416),)
>>> [hex(line) for line in table.lines((1, 2, 0), 128)]
['0x3000']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from smmux.errors import LaunchError
from smmux.language.placement import extent
from smmux.running.arguments import Arguments

__all__ = ["MAX_ENTRIES", "Entry", "Extent", "Form", "Table"]

MAX_ENTRIES: Final = 128
"""The table of one kernel holds at most this many entries, for all SMs together (the preload table of Lashgar and
Baniasadi's published model)."""

Form = tuple[int, int, int, int]
"""An affine form: coefficients of blockIdx.x, blockIdx.y and blockIdx.z, and a constant."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A range of an array's elements that each block reads, from `low` to `high`, both included.

    They count elements of `element_bytes` from the array's element 0. array: the number of the array argument, among
    all of the launch, flattened. The ends are not clamped: for a block at the border they may lie outside of the array.
    `Table.spans` clamps them, and then `high` may lie below `low`: that block reads nothing of the range.
    """

    array: int
    element_bytes: int
    low: Form
    high: Form

    def span(self, block: Sequence[int]) -> tuple[int, int]:
        """Return the first byte and the one behind the last for a block, counted from element 0."""
        return _at(self.low, block) * self.element_bytes, (_at(self.high, block) + 1) * self.element_bytes


@dataclass(frozen=True, slots=True)
class Extent:
    """The bytes of an array argument, from `first` up to, not including, `end`, counted from its element 0."""

    name: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of one launch.

    kernel: the kernel's name. arrays: all array arguments, flattened, in order. bases: the device address of element 0
    of each. entries: at most MAX_ENTRIES. dropped: how many more there would be; their elements are not preloaded.
    """

    kernel: str
    arrays: tuple[Extent, ...]
    bases: tuple[int, ...]
    entries: tuple[Entry, ...]
    dropped: int = 0

    def __post_init__(self) -> None:
        if len(self.bases) != len(self.arrays):
            raise ValueError(f"{len(self.arrays)} arrays need as many bases, not {len(self.bases)}")
        if len(self.entries) > MAX_ENTRIES:
            raise ValueError(f"a table has {MAX_ENTRIES} entries, not {len(self.entries)}; count the rest in `dropped`")
        for entry in self.entries:
            if not 0 <= entry.array < len(self.arrays):
                raise ValueError(f"an entry names array {entry.array} of {len(self.arrays)}")
            if entry.element_bytes < 1:
                raise ValueError(f"elements of {entry.element_bytes} bytes")

    def spans(self, block: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Return the device addresses that a block reads: for each entry its first byte and the one behind its last.

        They are clamped to the array; entries that then have no bytes are left out.
        """
        found = []
        for entry in self.entries:
            array, base = self.arrays[entry.array], self.bases[entry.array]
            first, end = entry.span(block)
            first, end = max(first, array.first), min(end, array.end)
            if first < end:
                found.append((base + first, base + end))
        return tuple(found)

    def lines(self, block: Sequence[int], line_bytes: int) -> list[int]:
        """Return the addresses of the lines that a block reads, each once, in ascending order."""
        if line_bytes < 1 or line_bytes & (line_bytes - 1):
            raise ValueError(f"lines of {line_bytes} bytes: a power of two is needed")
        numbers = {n for first, end in self.spans(block) for n in range(first // line_bytes, -(-end // line_bytes))}
        return [number * line_bytes for number in sorted(numbers)]

    def records(self) -> NDArray[np.int64]:
        """Return the entries as the core takes them: the array, then the forms of the first and of the last byte.

        Bytes count from the array's first one. Raises LaunchError for numbers beyond 64 bits.
        """
        rows = []
        for entry in self.entries:
            first, size = self.arrays[entry.array].first, entry.element_bytes
            low, high = [size * c for c in entry.low], [size * c for c in entry.high]
            low[3] -= first
            high[3] += size - 1 - first
            rows.append([entry.array, *low, *high])
        try:
            return np.array(rows, np.int64).reshape(-1, 9)
        except OverflowError:
            raise LaunchError(f"the preload table of kernel {self.kernel!r} has ends beyond 64 bits") from None

    def check(self, kernel: str, arguments: Arguments) -> None:
        """Raise LaunchError if the table is not that of a launch: another kernel, or other arrays."""
        if kernel != self.kernel:
            raise LaunchError(f"the preload table is that of kernel {self.kernel!r}, not of {kernel!r}")
        found = tuple(ends(array) for array in arguments.arrays)
        if arguments.addresses != self.bases or found != tuple((a.first, a.end) for a in self.arrays):
            raise LaunchError(
                f"the preload table of kernel {kernel!r} was made for other arrays: analyze it with those of the launch"
            )


def ends(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the first byte of an array and the one behind the last, counted from element 0."""
    low, high = extent(array)
    return low - array.ctypes.data, high - array.ctypes.data


def _at(form: Form, block: Sequence[int]) -> int:
    return sum(c * b for c, b in zip(form, block, strict=False)) + form[3]
