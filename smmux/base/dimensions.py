"""Sizes of grids and blocks, and places in them: three numbers each, x first.

>>> dim3("grid", (8, 4))
(8, 4, 1)
>>> coordinates(9, (8, 4, 1))
(1, 1, 0)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from smmux.errors import LaunchError

__all__ = ["MAX_BLOCKS", "Dim3", "coordinates", "dim3", "largest"]

Dim3 = tuple[int, int, int]

MAX_BLOCKS = 255
"""Largest number of blocks in an option: more than any machine lets reside on an SM (32), so that a larger one, which
would change nothing, is taken for a mistake."""


class Limits(Protocol):
    """What a machine says of the sizes that it takes."""

    @property
    def compute_capability(self) -> int:
        """Ten times the compute capability: 20 for 2.0."""

    @property
    def max_threads_block(self) -> int:
        """Most threads of a block."""


def dim3(what: str, value: int | Sequence[int]) -> Dim3:
    """A grid or block size as three numbers: `8`, `(8,)`, `(8, 4)` and `(8, 4, 2)` are all sizes, and so are arrays."""
    number = getattr(value, "ndim", None) == 0  # an array of no axes
    parts: tuple[Any, ...] = tuple(value) if isinstance(value, Iterable) and not number else (value,)
    if not 1 <= len(parts) <= 3:
        raise LaunchError(f"{what} must have 1 to 3 dimensions, not {len(parts)}")
    try:
        numbers = [operator.index(part) for part in parts]
    except TypeError:
        hint = "; write // for /, or int(...)" if any(isinstance(part, float) for part in parts) else ""
        raise LaunchError(f"{what} must be an int or a tuple of ints, not {value!r}{hint}") from None
    if min(numbers) < 1:
        raise LaunchError(f"{what} {value!r} has a dimension below 1")
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z


def largest(gpu: Limits) -> tuple[Dim3, Dim3]:
    """The largest grid and block of a machine along each axis: Table 12 of the CUDA C Programming Guide [PG55]."""
    capability = gpu.compute_capability
    return (
        ((1 << 31) - 1 if capability >= 30 else 65535, 65535, 65535 if capability >= 20 else 1),
        (gpu.max_threads_block, gpu.max_threads_block, 64),
    )


def coordinates(number: int, extent: Dim3) -> Dim3:
    """The position (x, y, z) of a thread in its block, or of a block in its grid, by its number."""
    x, y, _ = extent
    return number % x, number // x % y, number // (x * y)
