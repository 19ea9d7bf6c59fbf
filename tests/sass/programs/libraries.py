"""Programs with CUB and libcu++."""

from __future__ import annotations

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random


@program(1, 50)
def sort_records(rng: Random) -> Case:
    groups, values = rng.integers(0, 5, 150).astype(np.uint8), rng.standard_normal(150).astype(np.float32)
    return Case([np.zeros(150, np.int32), groups, values], {0: np.lexsort((values, groups))})


@program(1, 64, options={"check": "races"})
def running_sums(rng: Random) -> Case:
    x = rng.integers(-1000, 1000, 1001).astype(np.int32)
    return Case([np.zeros_like(x), x, 1001], {0: np.cumsum(x)})


@program(1, (8, 4, 3), options={"check": "races"})
def sums(rng: Random) -> Case:
    x, heads = rng.integers(-(1 << 40), 1 << 40, 96), (rng.random(96) < 0.2).astype(np.int32)
    first = (heads == 1) | (np.arange(96) % 32 == 0)
    out = np.zeros(97, np.int64)
    out[:96][first] = np.add.reduceat(x, np.flatnonzero(first))
    out[96] = x.sum()
    return Case([np.zeros(97, np.int64), x, heads], {0: out})


@program(1, 32, options={"check": "races"})
def runs(rng: Random) -> Case:
    values, lengths = rng.integers(-99, 99, 64).astype(np.int32), rng.integers(1, 9, 64).astype(np.uint32)
    expected = np.repeat(values, lengths)
    return Case([np.zeros_like(expected), values, lengths], {0: expected})


@program(1, 16)
def diagonal(rng: Random) -> Case:
    x = rng.standard_normal((16, 16)) + 1j * rng.standard_normal((16, 16))
    z = x.diagonal()
    expected = np.exp(z) * np.sqrt(z) + np.median(x[:, :9].real, 1)
    return Case([np.zeros(16, np.complex128), x, 16], {0: expected}, relative=1e-12, absolute=1e-13)


@program(1, 192, options={"max_cycles": 20_000_000})
def narrow_swaps(rng: Random) -> Case:
    number = 7
    for _ in range(96):
        number = (number * 5 + 1) % 65536
    args = [np.array([1, 2, 3, 4], np.uint8), np.array([7, 7], np.uint16)]
    return Case(args, {0: [(1 + 3 * 96) % 256, (2 + 3 * 96) % 256, 3, 4], 1: [number, number]})
