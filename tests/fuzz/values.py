"""Numbers and objects as a fuzzer wants them."""

from __future__ import annotations

from random import Random
from typing import Any


class Liar:
    """A sequence that does not have what it claims."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: int) -> int:
        raise IndexError("nothing here")

    def __index__(self) -> int:
        raise RuntimeError("no number")


JUNK: tuple[Any, ...] = (
    None, -1, 1 << 31, 1 << 32, (1 << 64) - 1, 1 << 70, 1.5, float("nan"), "x", b"", b"abc", [], {}, (), object(),
    Liar(), [None], [-1] * 3, [1 << 40] * 3, memoryview(b"12345678")[::2], bytearray(7),
    {"nregs": -1}, {"management": "yes"},
)  # fmt: skip


def log_uniform(rng: Random, low: int, high: int) -> int:
    """All magnitudes alike; 0 if low is 0 now and then."""
    if low == 0 and rng.random() < 0.2:
        return 0
    low = max(low, 1)
    if high <= low:
        return high
    return min(high, max(low, int(low * (high / low) ** rng.random() + rng.random())))


def number(rng: Random, low: int, high: int) -> int:
    """A number of [low, high]: an end, a power of two, or any."""
    kind = rng.random()
    if kind < 0.15:
        return rng.choice((low, high))
    value = log_uniform(rng, low, high)
    if kind < 0.55:
        value = min(high, max(low, 1 << max(value, 1).bit_length() - 1))
    return value


def hostile(rng: Random, bits: int = 32) -> int:
    """Any pattern of so many bits, those at the edges often."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice((0, 1, 2, 3, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1), (1 << (bits - 1)) - 1))
    return rng.getrandbits(bits if kind < 0.6 else rng.randint(1, bits))
