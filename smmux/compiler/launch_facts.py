"""What a launch tells of the integers in a kernel: the sizes of grid and block, and the values of scalar arguments.

Indices are made of these. Where their ranges show that no index can be negative, or so large that its address would
wrap around, none needs an operation that makes it safe. Ranges are taken widely, so that few launches of a kernel need
a program of their own: first with wide classes and, where these do not suffice, with powers of two.

>>> Facts.of_launch([np.int32(1000)], (64, 1, 1), (256, 1, 1)).coarse().scalars
((0, 4095),)
>>> Facts.of_launch([np.int32(1000)], (64, 1, 1), (256, 1, 1)).fine().scalars
((0, 1023),)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smmux.base.dimensions import Dim3

__all__ = ["Facts"]

Range = tuple[int, int]

NOMINAL_GRID: Dim3 = (16384, 1024, 1024)
"""Blocks along each axis that a program is compiled for if the launch is not known or is not larger [EST]: few enough
that `blockIdx.x` times the elements of a block, and `row * width`, are known to fit. A larger launch has its own
program."""

LARGEST_BLOCK: Dim3 = (1024, 1024, 64)
"""Threads of a block along each axis at most [PG55, Table 12]."""

COARSE_BITS = (12, 20)
"""Bits of the wide classes of scalars [EST]: sizes of images and tiles, and lengths of vectors. More classes mean more
programs per kernel, fewer that more kernels need the powers of two."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Bounds of the sizes of grid and block, and of each integer argument, in flattened order (None: no bounds)."""

    grid: Dim3 = NOMINAL_GRID
    block: Dim3 = LARGEST_BLOCK
    scalars: tuple[Range | None, ...] = ()

    @classmethod
    def of_launch(cls, values: Iterable[Any], grid: Dim3 | None = None, block: Dim3 | None = None) -> Facts:
        """What is known of a launch; values: its arguments, flattened."""
        exact = tuple((int(v), int(v)) if _is_integer(v) else None for v in values)
        return cls(grid or NOMINAL_GRID, block or LARGEST_BLOCK, exact)

    def coarse(self) -> Facts:
        """The wide classes."""
        fits = all(n <= most for n, most in zip(self.grid, NOMINAL_GRID, strict=True))
        grid = NOMINAL_GRID if fits else _sizes(self.grid)
        return Facts(grid, LARGEST_BLOCK, tuple(r and _class(r, COARSE_BITS) for r in self.scalars))

    def fine(self) -> Facts:
        """The powers of two."""
        scalars = tuple(r and _class(r, range(65)) for r in self.scalars)
        return Facts(_sizes(self.grid), _sizes(self.block), scalars)

    def covers(self, other: Facts) -> bool:
        """Whether a program made for these facts may run where the others hold."""
        sizes = zip((*self.grid, *self.block), (*other.grid, *other.block), strict=True)
        if any(most < size for most, size in sizes):
            return False
        scalars = zip(self.scalars, other.scalars, strict=False)
        return all(a is None or (b is not None and a[0] <= b[0] and b[1] <= a[1]) for a, b in scalars)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _sizes(sizes: Dim3) -> Dim3:
    x, y, z = (1 << (n - 1).bit_length() for n in sizes)
    return x, y, z


def _class(found: Range, widths: Iterable[int]) -> Range | None:
    """The smallest of the ranges 0 .. 2**bits - 1 and -2**bits .. -1 that holds a range; None if none does."""
    low, high = found
    for bits in widths:
        if 0 <= low and high < 1 << bits:
            return 0, (1 << bits) - 1
        if -(1 << bits) <= low and high < 0:
            return -(1 << bits), -1
    return (0, (1 << 64) - 1) if low >= 0 else (-(1 << 64), -1) if high < 0 else None
