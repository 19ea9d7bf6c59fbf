"""Copies arguments, so that no run sees what another one wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.language.placement import extent, root
from smmux.running.arguments import as_bytes

__all__ = ["copied"]


def copied(args: Sequence[Any]) -> tuple[Any, ...]:
    """Copy arguments with all writable memory; views of one buffer become views of one copy."""
    copies: dict[int, NDArray[np.uint8]] = {}
    return tuple(_copy(value, copies) for value in args)


def _copy(value: Any, copies: dict[int, NDArray[np.uint8]]) -> Any:
    """Copy one argument. copies: the buffers copied so far, by the id of the array that owns them."""
    if isinstance(value, tuple | list):
        return tuple(_copy(item, copies) for item in value)
    if hasattr(value, "__array_interface__") and not isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    owner = root(value)
    low, high = extent(owner)
    if id(owner) not in copies:
        copies[id(owner)] = as_bytes(owner, low, high - low).copy()
    start = value.ctypes.data - low
    return np.ndarray(value.shape, value.dtype, copies[id(owner)], start, value.strides)
