"""Looking for garbage less often while many objects are made that stay.

Python looks for cycles that nobody holds whenever there are some hundred objects more, over and over at those that
stay: a seventh of the time of compiling. A compiler makes hundreds of thousands, and little of it is garbage.
"""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["rarely_collected"]

P = ParamSpec("P")
T = TypeVar("T")

OBJECTS = 100_000
"""New objects after which garbage is looked for meanwhile [EST]: some ten megabytes. With more, compiling hardly gets
faster."""


class _Rarely:
    """While a thread is inside, garbage is looked for less often; the last one out puts back what was before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = self._own = (0, 0, 0)

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = self._own = gc.get_threshold()
                if 0 < self._before[0] < OBJECTS:  # with 0, somebody wants none to be looked for
                    self._own = (OBJECTS, *self._before[1:])
                    gc.set_threshold(*self._own)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._own != self._before and gc.get_threshold() == self._own:
                gc.set_threshold(*self._before)  # unless somebody has set another one meanwhile


_rarely = _Rarely()


def rarely_collected(function: Callable[P, T]) -> Callable[P, T]:
    """A function during which garbage is looked for less often."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with _rarely:
            return function(*args, **kwargs)

    return call
