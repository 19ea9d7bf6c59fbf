"""Which pair of L2 slices of an H100 has a line, as a formula: it gives all 2,672 classes of `l2_slices.npz`.

Three sums of address bits, modulo 2, choose one of eight groups. The five pairs of a group take turns: three further
sums are the bits of a number from 0 to 7, to which 32 times the number of the 128 kB is added, and the remainder by
five says which.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["GROUP", "MEMBER", "pair_of"]

GROUP = ((11, 12, 16, 19, 21, 25, 29, 30), (13, 15, 19, 20, 21, 22, 27, 28), (14, 18, 19, 22, 23, 24, 26, 27, 30))
"""Bits of the address whose sums are those of the group's number, the lowest first."""
MEMBER = (
    (8, 12, 17, 19, 20, 21, 28),
    (10, 13, 17, 18, 22, 23, 24, 25, 26, 30),
    (11, 14, 17, 19, 20, 23, 24, 27, 29, 30),
)
"""The same of the number of which the remainder is taken."""
CHUNK = 17
"""From this bit on the address counts as it is."""
PAIRS = 5


def _number(address: np.ndarray, sums: Sequence[Sequence[int]]) -> np.ndarray:
    """The number whose bits are sums of address bits."""
    total = np.zeros_like(address)
    for place, bits in enumerate(sums):
        for bit in bits:
            total ^= (address >> bit & 1) << place
    return total


def pair_of(address: np.ndarray) -> np.ndarray:
    """The pair, 0 to 39, of each address, counted in bytes from where the measurement began.

    That was measured up to 1 GB. Which pair has which number is not to be seen from outside.
    """
    turn = _number(address, MEMBER) + 32 * (address >> CHUNK)
    pair: np.ndarray = _number(address, GROUP) * PAIRS + turn % PAIRS
    return pair
