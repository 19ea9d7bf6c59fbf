"""Kernels in Python, of `numeric_kernels.py`."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.dense import product
from experiments.suites.vector_suite import whole


@workload("streaming")
def scaled_sum(rng: Random, size: int) -> Launch:
    n = (8_000, 270_000, 1_500_000)[size]
    x, y = whole(rng, n), whole(rng, n)
    return Launch(-(-n // 256), 256, [n, 3.0, x, y.copy()], {3: 3 * x + y})


@workload("cache")
def smooth(rng: Random, size: int) -> Launch:
    n = (64, 512, 1_024)[size]
    x = whole(rng, (n, n))
    out = np.zeros((n, n))
    out[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return Launch((n // 32, n // 8), (32, 8), [x, np.zeros_like(x)], {1: out}, 1e-5, 1e-5)


@workload("shared")
def tiled_product(rng: Random, size: int) -> Launch:
    n = (64, 384, 512)[size]
    launch = product(rng, n, (n // 16, n // 16), (16, 16))
    return Launch(launch.grid, launch.block, launch.args[1:], {2: launch.results[3]})


@workload("shared")
def block_sums(rng: Random, size: int) -> Launch:
    n, blocks = ((8_192, 8), (540_672, 528), (2_162_688, 1_056))[size]
    x = whole(rng, n)
    out = x.reshape(-1, blocks, 256).sum((0, 2))
    return Launch(blocks, 256, [n, x, np.zeros(blocks, np.float32)], {2: out})


@workload("atomic")
def counts(rng: Random, size: int) -> Launch:
    n, blocks = ((8_000, 8), (400_000, 264), (2_000_000, 528))[size]
    x = np.minimum(rng.geometric(0.1, n) - 1, 63).astype(np.int32)
    return Launch(blocks, 128, [n, x, np.zeros(64, np.int32)], {2: np.bincount(x, minlength=64)})


@workload("divergent")
def escape(rng: Random, size: int) -> Launch:
    width, height, most = ((64, 32, 64), (384, 352, 96), (768, 704, 96))[size]
    step = np.float32(2.0 / height)
    x, y = (np.arange(length, dtype=np.float32) * step for length in (width, height))
    cx, cy = np.meshgrid(np.float32(-1.5) + x, np.float32(-1) + y)
    zx, zy, k = np.zeros_like(cx), np.zeros_like(cy), np.zeros(cx.shape, np.int64)
    for _ in range(most):
        live = zx * zx + zy * zy < 4
        k += live
        zx, zy = np.where(live, zx * zx - zy * zy + cx, 9), np.where(live, 2 * zx * zy + cy, 9)
    args = [most, float(step), np.zeros((height, width), np.int32)]
    return Launch((width // 16, height // 16), (16, 16), args, {2: k}, 0, most)


@workload("fp64")
def distances(rng: Random, size: int) -> Launch:
    n, first = ((1_024, 64), (33_792, 48), (67_584, 64))[size]
    x, y = rng.random((2, n))
    out = np.hypot(x[:, None] - x[:first], y[:, None] - y[:first]).sum(1)
    return Launch(n // 128, 128, [first, x, y, np.zeros(n)], {3: out}, 1e-9)


@workload("arithmetic")
def walks(rng: Random, size: int) -> Launch:
    n, steps = ((2_048, 100), (135_168, 100), (270_336, 150))[size]
    seeds = rng.integers(0, 1 << 32, n, np.uint32)
    s, place = seeds.copy(), np.zeros(n, np.int64)
    for _ in range(steps):
        s = s * np.uint32(1664525) + np.uint32(1013904223)
        place += np.where(s >> np.uint32(31), 1, -1)
    return Launch(n // 256, 256, [steps, seeds, np.zeros(n, np.int32)], {2: place})
