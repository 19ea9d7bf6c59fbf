"""Shared memory held only while it is used: what smmux adds to the kernel language."""

from __future__ import annotations

from typing import Any

from smmux.language.kernel_only import kernel_only

__all__ = ["alloc", "array", "isolate", "release"]


def array(shape: Any, dtype: Any) -> Any:
    """An array in the part of shared memory that `alloc` obtains."""
    kernel_only("smm.array")


def alloc(nbytes: int | None = None, /) -> None:
    """Barrier that returns when the block has been granted shared memory: all of its `smm.array` bytes, or nbytes."""
    kernel_only("smm.alloc")


def release() -> None:
    """Barrier that gives the block's allocated shared memory back."""
    kernel_only("smm.release")


def isolate() -> None:
    """Barrier that also waits for the block's own global loads: the border of a region that is timed (Figure 1)."""
    kernel_only("smm.isolate")
