"""Calls that recurse deeply: a sum of ten thousand terms is a tree of ten thousand levels.

The compiler and the passes walk over syntax trees by recursion, within the 1,000 frames that Python allows by default.
What does not fit is called once more in a thread of its own, with a stack for trees as deep as Python reads.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from smmux.errors import CompileError

__all__ = ["deep"]

P = ParamSpec("P")
T = TypeVar("T")

FRAMES = 600_000
"""Frames of Python that a deep call may have [EST]: the compiler takes up to twelve per level of a tree, and the trees
that Python's parser makes have some ten thousand levels."""

STACK_BYTES = 1 << 29
"""Stack of the thread of a deep call [EST]: memory that is reserved, and taken only as deep as the call gets. A frame
takes up to some 500 bytes where a C function stands between two of Python's."""

_here = threading.local()
_lock = threading.Lock()


def deep(function: Callable[P, T]) -> Callable[P, T]:
    """A function that may be called with trees of any depth. What it has done until the stack ends must not matter."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if getattr(_here, "deep", False):
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass
        return _in_thread(functools.partial(function, *args, **kwargs))

    return call


def _in_thread(function: Callable[[], T]) -> T:
    """Call a function with a large stack."""
    outcome: list[Any] = []

    def run() -> None:
        _here.deep = True
        try:
            outcome.extend((function(), None))
        except BaseException as error:  # raised again where the thread is waited for
            outcome.extend((None, error))

    with _lock:  # the limits below belong to the process
        frames, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        sys.setrecursionlimit(max(frames, FRAMES))
        try:
            thread = threading.Thread(target=run, name="smmux-deep")
            thread.start()
            threading.stack_size(size)
            thread.join()
        finally:
            sys.setrecursionlimit(frames)
    value, error = outcome
    if isinstance(error, RecursionError | MemoryError):
        raise CompileError("the kernel's expressions or statements are nested too deeply; split them up") from None
    if error is not None:
        raise error
    result: T = value
    return result
