"""Vectors: streams, reductions and scalings of long arrays."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


def whole(rng: Random, shape: int | tuple[int, ...], most: int = 8) -> np.ndarray:
    """Small whole numbers as floats, of which sums are exact."""
    return rng.integers(-most, most + 1, shape).astype(np.float32)


@workload("streaming")
def axpy(rng: Random, size: int) -> Launch:
    n = (8_000, 270_000, 2_000_000)[size]
    x, y = whole(rng, n), whole(rng, n)
    return Launch(-(-n // 256), 256, [n, 3.0, x, y.copy()], {3: 3 * x + y})


@workload("streaming")
def triad(rng: Random, size: int) -> Launch:
    n, blocks = ((10_000, 8), (270_000, 264), (2_000_000, 1056))[size]
    x, y = rng.standard_normal(n), rng.standard_normal(n)
    return Launch(blocks, 256, [n, np.float64(2.5), x, y, np.zeros(n)], {4: x + 2.5 * y}, 1e-13, 1e-13)


@workload("streaming")
def copy_wide(rng: Random, size: int) -> Launch:
    n = (8_192, 300_000, 1_200_000)[size]
    x = rng.standard_normal((n, 4)).astype(np.float32)
    return Launch(-(-n // 512), 256, [n, x, np.zeros_like(x)], {2: x})


@workload("streaming")
def dot(rng: Random, size: int) -> Launch:
    n, blocks = ((16_384, 8), (500_000, 264), (4_000_000, 1056))[size]
    x, y = whole(rng, n, 1), whole(rng, n, 1)
    return Launch(blocks, 256, [n, x, y, np.zeros(1, np.float32)], {3: np.dot(x.astype(np.float64), y)})


@workload("cache")
def strided_sum(rng: Random, size: int) -> Launch:
    rows, columns = ((1_024, 32), (33_792, 32), (135_168, 48))[size]
    x = whole(rng, (rows, columns))
    return Launch(-(-rows // 128), 128, [rows, columns, x, np.zeros(rows, np.float32)], {3: x.sum(1)})


@workload("cache")
def gather(rng: Random, size: int) -> Launch:
    n = (8_000, 270_000, 1_000_000)[size]
    x, start = whole(rng, n), rng.integers(0, n, n).astype(np.int32)
    return Launch(-(-n // 256), 256, [n, start, x, np.zeros(n, np.float32)], {3: x[start]})


@workload("shared")
def largest_of_blocks(rng: Random, size: int) -> Launch:
    blocks = (8, 1_056, 4_000)[size]
    x = rng.integers(-(1 << 30), 1 << 30, blocks * 512).astype(np.int32)
    out = x.reshape(blocks, 512).max(1)
    return Launch(blocks, 256, [x.size, x, np.zeros(blocks, np.int32)], {2: out})
