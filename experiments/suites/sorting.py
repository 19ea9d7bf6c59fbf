"""Sorting, scanning, merging, compaction."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


def keys(rng: Random, n: int) -> np.ndarray:
    """Whole numbers without order."""
    return rng.integers(-(1 << 30), 1 << 30, n).astype(np.int32)


@workload("shared")
def bitonic(rng: Random, size: int) -> Launch:
    blocks = (4, 264, 1_056)[size]
    x = keys(rng, blocks * 512)
    return Launch(blocks, 256, [x.copy()], {0: np.sort(x.reshape(blocks, 512), 1)})


@workload("streaming")
def bitonic_step(rng: Random, size: int) -> Launch:
    n, stride = ((16_384, 1_024), (1 << 19, 1 << 14), (1 << 21, 1 << 16))[size]
    x = keys(rng, n)
    pairs = x.reshape(-1, 2, stride)
    up = (np.arange(n).reshape(-1, 2, stride)[:, 0] & (2 * stride)) == 0
    low, high = pairs.min(1), pairs.max(1)
    out = np.stack([np.where(up, low, high), np.where(up, high, low)], 1)
    return Launch(n // 512, 256, [stride, 2 * stride, x.copy()], {2: out})


@workload("shared")
def scan_blocks(rng: Random, size: int) -> Launch:
    blocks = (4, 528, 2_112)[size]
    x = rng.integers(0, 100, (blocks, 1_024)).astype(np.int32)
    args = [x, np.zeros_like(x), np.zeros(blocks, np.int32)]
    return Launch(blocks, 512, args, {1: x.cumsum(1) - x, 2: x.sum(1)})


@workload("atomic")
def digit_counts(rng: Random, size: int) -> Launch:
    blocks, each = ((8, 2_048), (528, 2_048), (1_056, 4_096))[size]
    x = rng.integers(0, 1 << 32, (blocks, each), np.uint32)
    out = np.stack([np.bincount(row, minlength=16) for row in (x >> 8 & 15)], 1)
    return Launch(blocks, 256, [8, each, x, np.zeros((16, blocks), np.int32)], {3: out})


@workload("cache")
def rank_sort(rng: Random, size: int) -> Launch:
    n = (512, 4_096, 8_192)[size]
    x = rng.permutation(n).astype(np.float32)
    return Launch(n // 64, 64, [n, x, np.zeros(n, np.float32)], {2: np.sort(x)})


@workload("divergent")
def merge_paths(rng: Random, size: int) -> Launch:
    n = (8_192, 270_336, 1_081_344)[size]
    a, b = np.sort(keys(rng, n)), np.sort(keys(rng, n))
    args = [n, n, a, b, np.zeros(2 * n, np.int32)]
    return Launch(n // 512, 128, args, {4: np.sort(np.concatenate([a, b]))})


@workload("atomic")
def compact(rng: Random, size: int) -> Launch:
    n = (8_192, 270_336, 1_500_000)[size]
    x = rng.integers(0, 1000, n).astype(np.int32)
    return Launch(-(-n // 256), 256, [n, x, np.zeros(n, np.int32), np.zeros(1, np.int32)], {3: [(x % 3 == 0).sum()]})
