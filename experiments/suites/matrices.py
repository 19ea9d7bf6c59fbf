"""Matrix units."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


def halves(rng: Random, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers as halves."""
    return rng.integers(-3, 4, shape).astype(np.float16)


@workload("mma")
def halves_global(rng: Random, size: int) -> Launch:
    n = (128, 512, 1_024)[size]
    a, b = halves(rng, (n, n)), halves(rng, (n, n))
    out = a.astype(np.float32) @ b.astype(np.float32).T
    return Launch(n * n // 256 // 4, 128, [n, a, b, np.zeros((n, n), np.float32)], {3: out})


@workload("mma")
def halves_ahead(rng: Random, size: int) -> Launch:
    n = (128, 768, 1_536)[size]
    a, b = halves(rng, (n, n)), halves(rng, (n, n))
    out = a.astype(np.float32) @ b.astype(np.float32).T
    return Launch((n // 64, n // 64), 128, [n, a, b, np.zeros((n, n), np.float32)], {3: out})


@workload("fp64")
def doubles_global(rng: Random, size: int) -> Launch:
    n = (64, 256, 512)[size]
    a, b = rng.standard_normal((2, n, n))
    return Launch(n * n // 64 // 4, 128, [n, a, b, np.zeros((n, n))], {3: a @ b.T}, 1e-10, 1e-10)


@workload("mma")
def small_powers(rng: Random, size: int) -> Launch:
    blocks, times = ((4, 16), (528, 16), (2_112, 24))[size]
    m = (rng.standard_normal((blocks * 4, 16, 16)) * 0.8).astype(np.float16)
    x = (rng.standard_normal((blocks * 4, 16, 16)) * 2).astype(np.float16)
    at, result = x.astype(np.float32), x.astype(np.float32)
    for _ in range(times):
        result = at @ m.astype(np.float32)
        at = (result * np.float32(0.25)).astype(np.float16).astype(np.float32)
    return Launch(blocks, 128, [times, m, x, np.zeros(x.shape, np.float32)], {3: result}, 0.05, 0.05)


@workload("streaming")
def axpy_halves(rng: Random, size: int) -> Launch:
    n = (8_192, 270_336, 2_000_000)[size]
    x, y = halves(rng, (n, 2)), halves(rng, (n, 2))
    factor = np.array([(2, 2)], [("x", "f2"), ("y", "f2")])[0]
    return Launch(-(-n // 256), 256, [n, factor, x, y.copy()], {3: 2 * x + y})
