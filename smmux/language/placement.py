"""The places of array arguments in device memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from smmux.errors import LaunchError
from smmux.language.textures import Texture

__all__ = ["FIRST_ADDRESS", "WIDEST", "alignments", "as_array", "extent", "flatten", "place", "restored", "root"]

FIRST_ADDRESS: Final = 0x1000
ALIGNMENT: Final = 256
ADDRESS_LIMIT: Final = 0xC0000000  # above it the core keeps its own segments
WIDEST: Final = 16  # bytes of the widest access


def flatten(args: Sequence[Any]) -> Iterator[Any]:
    """Values in order: tuples expanded, None left out, objects that lend an array replaced by it."""
    for arg in args:
        if isinstance(arg, tuple | list):
            yield from flatten(arg)
        elif isinstance(arg, Texture):
            values = np.array(arg)  # those at launch, which nobody writes
            values.flags.writeable = False
            yield values
        elif isinstance(arg, np.void) and arg.dtype.names is not None:
            yield as_array(arg)
        elif hasattr(arg, "__array_interface__") and not isinstance(arg, np.ndarray | np.generic):
            yield np.asarray(arg)
        elif arg is not None:
            yield arg


def as_array(record: np.void) -> NDArray[Any]:
    """A record as an array of one, in the record's own memory."""
    return np.asarray(record).reshape(1)


@contextmanager
def restored(args: Sequence[Any]) -> Iterator[None]:
    """Give the arrays among arguments their content back at the end, for a run that is only to find errors."""
    arrays = [value for value in flatten(args) if isinstance(value, np.ndarray) and value.flags.writeable]
    contents = [array.copy() for array in arrays]
    yield
    for array, content in zip(arrays, contents, strict=True):
        array[...] = content


def extent(array: NDArray[Any]) -> tuple[int, int]:
    """Host addresses of the first byte of an array's elements and behind the last one."""
    start = array.ctypes.data
    if array.size == 0:
        return start, start
    spans = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return start + sum(min(span, 0) for span in spans), start + sum(max(span, 0) for span in spans) + array.itemsize


def root(array: NDArray[Any]) -> NDArray[Any]:
    """The array that owns, or first wrapped, the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def place(arrays: Sequence[NDArray[Any]]) -> list[int]:
    """Device address of the first byte of each array.

    Views of one buffer keep their distances; separate buffers follow each other in argument order, each at a multiple
    of 256 bytes. Only the span that the arguments use is placed. Nothing depends on where the host put them.
    """
    extents = [extent(array) for array in arrays]
    groups = _share([extent(root(array)) for array in arrays], extents)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for group, (low, high) in zip(groups, extents, strict=True):
        first[group] = min(first.get(group, low), low)
        last[group] = max(last.get(group, high), high)
    base: dict[int, int] = {}
    top = FIRST_ADDRESS
    for group in dict.fromkeys(groups):
        offset = (first[group] - group) % ALIGNMENT if group >= 0 else 0
        base[group] = top + offset - first[group]
        top += -(-(offset + last[group] - first[group]) // ALIGNMENT) * ALIGNMENT
    if top > ADDRESS_LIMIT:
        raise LaunchError(f"the array arguments take {top - FIRST_ADDRESS} bytes, more than 3 GB of device memory")
    return [base[group] + low for group, (low, _) in zip(groups, extents, strict=True)]


def _share(roots: Sequence[tuple[int, int]], extents: Sequence[tuple[int, int]]) -> list[int]:
    """Start of the host buffer that each array lies in; buffers that overlap count as one.

    An array without elements is a buffer of its own, wherever its pointer points.
    """
    merged: list[list[int]] = []
    for low, high in sorted(root for root, (start, end) in zip(roots, extents, strict=True) if end > start):
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    groups = []
    for index, (start, end) in enumerate(extents):
        inside = [low for low, high in merged if low <= start < high] if end > start else []
        groups.append(inside[0] if inside else -1 - index)
    return groups


def alignments(args: Sequence[Any]) -> list[int]:
    """Largest power of two, up to the widest access, that divides the device address of each array's first element."""
    arrays = [value for value in flatten(args) if isinstance(value, np.ndarray)]
    starts = zip(place(arrays), arrays, strict=True)
    addresses = (low + array.ctypes.data - extent(array)[0] | WIDEST for low, array in starts)
    return [address & -address for address in addresses]
