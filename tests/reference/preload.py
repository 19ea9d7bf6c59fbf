"""Definition of what a preload table makes of a block: slow and obvious, byte by byte.

An entry is (array, low, high): first and last byte of a range, counted from the array's first one, each as the
coefficients of blockIdx.x, y and z and a constant. csrc/sm/preload.c and csrc/sm/tiles.c must agree with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Form = Sequence[int]
Entry = tuple[int, Form, Form]


def at(form: Form, block: Sequence[int]) -> int:
    """The value of a form for a block."""
    return form[0] * block[0] + form[1] * block[1] + form[2] * block[2] + form[3]


def tile(
    entries: Iterable[Entry], arrays: Sequence[tuple[int, int]], block: Sequence[int], line: int, longest: int
) -> tuple[list[int], int]:
    """The numbers of the lines that a block's tile has, in order, and how many ranges are too long.

    arrays: device address and bytes of each.
    """
    lines: set[int] = set()
    skipped = 0
    for array, low, high in entries:
        address, size = arrays[array]
        inside = range(max(0, at(low, block)), min(size - 1, at(high, block)) + 1)
        if len(inside) > longest:
            skipped += 1
            continue
        lines |= {(address + byte) // line for byte in inside}
    return sorted(lines), skipped


@dataclass(slots=True)
class Tags:
    """The tags of one block's tile: line i lies `line` bytes behind line i - 1."""

    lines: Sequence[int]
    line: int

    def find(self, address: int) -> int | None:
        """Where in the tile a byte of memory lies; None: nowhere."""
        number = address // self.line
        if number not in self.lines:
            return None
        return self.lines.index(number) * self.line + address % self.line

    def requests(self, addresses: Iterable[int]) -> tuple[int, int]:
        """How many different lines of an access the tile has, and how many not."""
        asked = {address // self.line for address in addresses}
        found = sum(number in self.lines for number in asked)
        return found, len(asked) - found
