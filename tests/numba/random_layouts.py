"""Arrays as views of larger memory: axes in any order, spread out, or running backwards, with the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = (1, 1, -1, -1, 2, -2, 3, -3)
DENSE = (1, 1, 1, -1)


def laid_out(data: np.random.Generator, array: NDArray[Any], dense: bool = False) -> NDArray[Any]:
    """A view with the elements of an array, somewhere in memory of its own that else holds zeros.

    dense: elements of an axis stay neighbours, and axes in their order.
    """
    order = np.arange(array.ndim) if dense else data.permutation(array.ndim)
    steps = data.choice(DENSE if dense else STEPS, array.ndim)
    before, behind = data.integers(0, 3, (2, array.ndim))
    lengths = [n * abs(step) for n, step in zip(array.shape, steps, strict=True)]
    shape = [length + first + last for length, first, last in zip(lengths, before, behind, strict=True)]
    memory = np.zeros([shape[axis] for axis in order], array.dtype).transpose(np.argsort(order))
    along = [slice(first, first + length) for first, length in zip(before, lengths, strict=True)]
    view = memory[tuple(along)][tuple(slice(None, None, step) for step in steps)]
    view[...] = array
    return view


def whole(array: NDArray[Any]) -> NDArray[Any]:
    """The memory that an array is a view of, or the array itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
