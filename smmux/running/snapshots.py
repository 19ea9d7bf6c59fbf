"""The arrays of a launch as they were before it, for those that run a grid more than once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Snapshot"]


class Snapshot:
    """What the arrays that a kernel may write held, and can hold again. buffers: as the core takes them."""

    def __init__(self, buffers: Sequence[tuple[Any, int, int, bool]]) -> None:
        self._kept = [
            (memory, np.frombuffer(memory, np.uint8, size).copy()) for memory, _, size, writable in buffers if writable
        ]

    def restore(self) -> None:
        """Let the arrays be as they were."""
        for memory, kept in self._kept:
            np.frombuffer(memory, np.uint8, kept.size)[:] = kept
