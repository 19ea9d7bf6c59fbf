"""Random numbers in kernels: xoroshiro128+ with the states, seeds and numbers of `numba.cuda.random`.

>>> states = create_xoroshiro128p_states(2, seed=1)
>>> [hex(int(word)) for word in states[1].item()]
['0x73c19a5348fc9098', '0x6c96c932f21d71ee']

Each state of an array lies 2**64 steps behind the one before. The generator is a linear map of 128 bits, and so is such
a jump: all states of an array come from the first by as few products with 128 x 128 matrices of bits as the binary
digits of their number.
"""

from __future__ import annotations

from functools import cache
from math import cos, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.kernels.declaration import declare
from smmux.language.types import float32, float64
from smmux.running.host import DeviceNDArray, device_array

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_states",
    "xoroshiro128p_dtype",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
"""The polynomial of 2**64 steps, lowest powers first, published with the generator."""
WORD = 2**64 - 1
TWO_PI = 6.283185307179586

Words = NDArray[np.uint64]
"""States as an array of shape (2, n): their words s0 and s1."""


# -- states


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> DeviceNDArray:
    """A new array of n states, 2**64 steps apart; the first is `subsequence_start` such jumps behind the seed's."""
    states = device_array(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Set all states of an array, as `create_xoroshiro128p_states` does."""
    count = len(states)
    words = np.full((2, 1), _seeded(seed), np.uint64)
    matrix = _jump_matrix()
    while subsequence_start:
        if subsequence_start & 1:
            words = _apply(matrix, words)
        subsequence_start >>= 1
        matrix = _apply(matrix, matrix)
    matrix = _jump_matrix()
    while words.shape[1] < count:
        words = np.concatenate([words, _apply(matrix, words)], axis=1)
        matrix = _apply(matrix, matrix)
    states["s0"], states["s1"] = words[:, :count]


def _seeded(seed: int) -> int:
    """One step of splitmix64, so that small seeds do not give similar numbers."""
    z = (int(seed) + 0x9E3779B97F4A7C15) & WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


@cache
def _jump_matrix() -> Words:
    """The map of 2**64 steps: what becomes of each state with a single one, for bits of s0 and then of s1."""
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    state = np.zeros((2, 128), np.uint64)
    state[0, :64] = state[1, 64:] = bits
    total = np.zeros_like(state)
    for power in range(128):
        if JUMP[power // 64] >> power % 64 & 1:
            total ^= state
        state = _stepped(state)
    return total


def _stepped(words: Words) -> Words:
    """States one step on."""
    s0, s1 = words[0], words[0] ^ words[1]
    return np.stack([_rotated(s0, 55) ^ s1 ^ (s1 << np.uint64(14)), _rotated(s1, 36)])


def _rotated(x: Words, count: int) -> Words:
    return (x << np.uint64(count)) | (x >> np.uint64(64 - count))


def _apply(matrix: Words, words: Words) -> Words:
    """A linear map of states."""
    total = np.zeros_like(words)
    for bit in range(128):
        chosen = -(words[bit // 64] >> np.uint64(bit % 64) & np.uint64(1))  # all ones, or zero
        total ^= matrix[:, bit : bit + 1] & chosen
    return total


# -- inside kernels


def _device(function: Any) -> Any:
    return declare(function, device=True)


@_device
def xoroshiro128p_next(states, index):  # type: ignore[no-untyped-def]
    """64 random bits, as a uint64; the state moves one step on."""
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    mixed = s0 ^ s1
    states[index]["s0"] = ((s0 << 55) | (s0 >> 9)) ^ mixed ^ (mixed << 14)
    states[index]["s1"] = (mixed << 36) | (mixed >> 28)
    return s0 + s1


@_device
def xoroshiro128p_uniform_float64(states, index):  # type: ignore[no-untyped-def]
    """A float64 from 0 up to 1."""
    return float64(xoroshiro128p_next(states, index) >> 11) * 2.0**-53


@_device
def xoroshiro128p_uniform_float32(states, index):  # type: ignore[no-untyped-def]
    """A float32 from 0 to 1."""
    return float32(xoroshiro128p_uniform_float64(states, index))


@_device
def xoroshiro128p_normal_float64(states, index):  # type: ignore[no-untyped-def]
    """A float64 of mean 0 and variance 1, by the transform of Box and Muller; the state moves two steps on."""
    u1 = float64(xoroshiro128p_uniform_float32(states, index))
    u2 = float64(xoroshiro128p_uniform_float32(states, index))
    return sqrt(-2.0 * log(u1)) * cos(TWO_PI * u2)


@_device
def xoroshiro128p_normal_float32(states, index):  # type: ignore[no-untyped-def]
    """A float32 of mean 0 and variance 1, likewise."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    size = sqrt(float64(float32(-2.0) * float32(log(float64(u1)))))
    return float32(size * cos(float64(float32(TWO_PI) * u2)))
