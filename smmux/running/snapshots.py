"""The arrays of a launch as they were before it, for those that run a grid more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smmux.running.arguments import Buffer

__all__ = ["Snapshot"]


PIECE = 1 << 20
"""Bytes that are kept together, or not at all where they are zero: a heap has a gigabyte, of which little is used."""


class Snapshot:
    """What the arrays that a kernel may write held, and can hold again."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self._pieces = [piece for buffer in buffers if buffer.writable for piece in _pieces(buffer)]
        self._kept = [piece.copy() if piece.any() else None for piece in self._pieces]

    def restore(self) -> None:
        """Let the arrays be as they were."""
        for piece, kept in zip(self._pieces, self._kept, strict=True):
            if kept is not None:
                piece[:] = kept
            elif piece.any():
                piece[:] = 0


def _pieces(buffer: Buffer) -> list[NDArray[np.uint8]]:
    """The memory of a buffer, piece by piece."""
    memory = np.frombuffer(buffer.memory, np.uint8, buffer.size)
    return [memory[start : start + PIECE] for start in range(0, memory.size, PIECE)]
