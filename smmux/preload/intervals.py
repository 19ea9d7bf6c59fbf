"""Works out, from strides and counts, which bytes the threads of a block touch, as few runs without gaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAP", "TooMany", "points", "strided", "united"]

Runs = NDArray[np.int64]
"""Rows (first byte, byte behind the last), ascending and apart."""

GAP: Final = 32
"""Join runs that are less than this many bytes apart: less than the smallest transaction, so no line lies between."""

MAX_POINTS: Final = 1 << 21
"""Give up where more places than this have to be looked at one by one [EST]: some ten megabytes of them."""


class TooMany(Exception):
    """There are too many places to look at one by one."""


def united(runs: Runs) -> Runs:
    """Join runs that overlap, touch or lie closer than GAP.

    >>> united(np.array([(128, 132), (0, 64), (60, 90)])).tolist()
    [[0, 90], [128, 132]]
    """
    if len(runs) < 2:
        return runs
    ordered = runs[np.argsort(runs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ordered[:, 1])
    new = np.concatenate(([True], ordered[1:, 0] - ends[:-1] >= GAP))
    last = np.concatenate((new[1:], [True]))
    return np.stack((ordered[new, 0], ends[last]), axis=1)


def strided(runs: Runs, dimensions: Iterable[tuple[int, int]]) -> Runs:
    """Repeat runs along dimensions, each a stride and a count. Raises TooMany.

    >>> strided(np.array([(0, 4)]), [(4, 16), (256, 3)]).tolist()
    [[0, 64], [256, 320], [512, 576]]
    """
    for stride, count in sorted(dimensions, key=lambda one: abs(one[0])):
        if count < 1:
            return runs[:0]
        if stride == 0 or count == 1 or not len(runs):
            continue
        if len(runs) == 1 and abs(stride) < runs[0, 1] - runs[0, 0] + GAP:
            far = stride * (count - 1)
            runs = runs + np.array([(min(far, 0), max(far, 0))])
            continue
        if len(runs) * count > MAX_POINTS:
            raise TooMany
        shifts = stride * np.arange(count, dtype=np.int64)
        runs = united((runs[None, :, :] + shifts[:, None, None]).reshape(-1, 2))
    return runs


def points(offsets: NDArray[np.int64], width: int) -> Runs:
    """Make runs of `width` bytes at offsets in any order."""
    starts: NDArray[Any] = np.unique(offsets)
    return united(np.stack((starts, starts + width), axis=1))
