"""Grids of few blocks, often of one: launch, latency and barriers decide."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


@workload("tiny")
def nothing(rng: Random, size: int) -> Launch:
    return Launch((1, 132, 1_056)[size], (32, 1_024, 256)[size], [np.zeros(1, np.int32)], {0: [0]})


@workload("tiny")
def chase(rng: Random, size: int) -> Launch:
    n, steps, blocks = ((1_024, 64, 1), (65_536, 128, 4), (4_000_000, 128, 16))[size]
    ring = rng.permutation(n)
    following = np.empty(n, np.int32)
    following[ring] = np.roll(ring, -1)
    at: np.ndarray = np.arange(blocks)
    for _ in range(steps):
        at = following[at]
    return Launch(blocks, 1, [steps, following, np.zeros(blocks, np.int32)], {2: at})


@workload("tiny")
def one_block_sum(rng: Random, size: int) -> Launch:
    blocks, n = ((1, 1_024), (1, 65_536), (8, 65_536))[size]
    x = rng.integers(-1000, 1000, (blocks, n)).astype(np.int32)
    return Launch(blocks, 1_024, [n, x, np.zeros(blocks, np.int32)], {2: x.sum(1)})


@workload("tiny")
def floyd_warshall(rng: Random, size: int) -> Launch:
    blocks, n = ((1, 16), (4, 32), (16, 48))[size]
    d = rng.integers(1, 1000, (blocks, n, n)).astype(np.int32)
    out = d.copy()
    for k in range(n):
        out = np.minimum(out, out[:, :, k : k + 1] + out[:, k : k + 1, :])
    return Launch(blocks, 256, [n, d.copy()], {1: out})


@workload("tiny")
def eliminate(rng: Random, size: int) -> Launch:
    blocks, n = ((1, 16), (2, 32), (8, 64))[size]
    a = (rng.random((blocks, n, n)) + n * np.eye(n)).astype(np.float32)
    out = a.astype(np.float64)
    for k in range(n - 1):
        out[:, k + 1 :, k] /= out[:, k : k + 1, k]
        out[:, k + 1 :, k + 1 :] -= out[:, k + 1 :, k : k + 1] * out[:, k : k + 1, k + 1 :]
    return Launch(blocks, 256, [n, a.copy()], {1: out}, 1e-3, 1e-4, dynamic=4 * n * n)


@workload("tiny")
def horner(rng: Random, size: int) -> Launch:
    blocks, terms = ((1, 64), (8, 128), (32, 256))[size]
    coefficients, x = rng.standard_normal(terms), rng.uniform(-1, 1, blocks * 64)
    return Launch(blocks, 64, [terms, coefficients, x, np.zeros_like(x)], {3: np.polyval(coefficients, x)}, 1e-9, 1e-9)


@workload("tiny")
def game(rng: Random, size: int) -> Launch:
    blocks, generations = ((1, 32), (4, 64), (32, 128))[size]
    rows = rng.integers(0, 1 << 32, (blocks, 64), np.uint32)
    now, one, most = rows.copy(), np.uint32(1), np.uint32(31)
    for _ in range(generations):
        wide = np.pad(now, ((0, 0), (1, 1)))
        left, right = wide[:, :-2], wide[:, 2:]
        now = (left << one | left >> most) ^ now ^ (right >> one | right << most)
    return Launch(blocks, 64, [64, generations, rows], {2: now})
