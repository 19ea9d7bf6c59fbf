"""Tracebacks that end where the user called smmux: what it was doing inside says nothing about a kernel's error.

With SMMUX_TRACEBACK=full in the environment they keep every frame.
"""

from __future__ import annotations

import os
import sys
from contextlib import ContextDecorator
from types import TracebackType

from smmux.errors import Error

__all__ = ["brief", "frames_to_caller"]


class _Brief(ContextDecorator):
    """The type of `brief`: a decorator of functions that users call."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        """Take the frames so far out of an error of smmux; those of the callers come behind."""
        if isinstance(error, Error) and os.environ.get("SMMUX_TRACEBACK") != "full":
            error.__traceback__ = None
            error.__suppress_context__ = True


brief = _Brief()
"""Decorator: errors of smmux that leave the function have a traceback that ends at its call."""


def frames_to_caller() -> int:
    """How many frames up the caller of smmux is, as `warnings` counts for the function that asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("smmux", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
