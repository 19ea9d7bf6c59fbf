"""The arrays of a launch as they were before it, for those that run a grid more than once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Snapshot"]


PIECE = 1 << 20
"""Bytes that are kept together, or not at all where they are zero: a heap has a gigabyte, of which little is used."""


class Snapshot:
    """What the arrays that a kernel may write held, and can hold again. buffers: as the core takes them."""

    def __init__(self, buffers: Sequence[tuple[Any, int, int, bool]]) -> None:
        self._pieces = [
            piece
            for memory, _, size, writable in buffers
            if writable
            for piece in _pieces(np.frombuffer(memory, np.uint8, size))
        ]
        self._kept = [piece.copy() if piece.any() else None for piece in self._pieces]

    def restore(self) -> None:
        """Let the arrays be as they were."""
        for piece, kept in zip(self._pieces, self._kept, strict=True):
            if kept is not None:
                piece[:] = kept
            elif piece.any():
                piece[:] = 0


def _pieces(memory: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    return [memory[start : start + PIECE] for start in range(0, memory.size, PIECE)]
