"""The accesses of a run as they happened: addresses of every lane, for blocks that stand for the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACCESS", "accesses_of"]

ACCESS = np.dtype(
    [
        ("cycle", "u8"),
        ("pc", "u4"),
        ("block", "u4"),
        ("warp", "u4"),
        ("active", "u4"),
        ("address", "u4", (32,)),
    ]
)
"""struct recorded of csrc/sm/record.h: an instruction with which a warp accessed memory, or arrived at a barrier.

pc: the instruction. block, warp: their numbers in the grid and in the block. active: the lanes that took part, a bit
each. address: in bytes, of each lane: of the device, or in the block's shared or in constant memory; 0 for others.
"""


def accesses_of(records: bytes = b"") -> NDArray[np.void]:
    """Records as an array, SM by SM in the order of time."""
    return np.frombuffer(records, ACCESS)
