"""Statistics and clustering."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.vector_suite import whole

CENTRES = np.array([
    (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2), (3, 0), (0, 3), (3, 1), (1, 3), (3, 2),
    (2, 3), (3, 3), (4, 0), (0, 4), (4, 1), (1, 4), (4, 2), (2, 4), (4, 3), (3, 4), (4, 4), (5, 0), (0, 5), (5, 1),
    (1, 5), (5, 2), (2, 5), (5, 3),
])  # fmt: skip


def points_and_members(rng: Random, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points at sixteenths, none halfway between two centres, and the nearest centre of each."""
    points = (rng.integers(0, 80, (n, 2)) / 16 + 1 / 64).astype(np.float32)
    points[:, 1] += np.float32(1 / 128)
    distance = ((points[:, None].astype(np.float64) - CENTRES) ** 2).sum(2)
    return points, distance.argmin(1).astype(np.int32)


@workload("arithmetic")
def nearest_centre(rng: Random, size: int) -> Launch:
    n = (4_096, 135_168, 400_000)[size]
    points, member = points_and_members(rng, n)
    return Launch(-(-n // 256), 256, [n, points, np.zeros(n, np.int32)], {2: member})


@workload("atomic")
def cluster_sums(rng: Random, size: int) -> Launch:
    n = (2_048, 33_792, 100_000)[size]
    points, member = points_and_members(rng, n)
    sums = np.stack([np.bincount(member, points[:, axis], 32) for axis in (0, 1)], 1)
    args = [n, points, member, np.zeros((32, 2), np.float32), np.zeros(32, np.int32)]
    return Launch(-(-n // 256), 256, args, {3: sums, 4: np.bincount(member, minlength=32)}, 1e-3)


@workload("fp64")
def covariance(rng: Random, size: int) -> Launch:
    n, columns = ((1_024, 4), (2_048, 32), (4_096, 48))[size]
    data = rng.standard_normal((columns, n))
    args = [n, columns, data, data.mean(1), np.zeros((columns, columns))]
    return Launch((columns, columns), 128, args, {4: np.cov(data)}, 1e-9, 1e-11)


@workload("fp64")
def moments(rng: Random, size: int) -> Launch:
    n, blocks = ((16_384, 8), (300_000, 264), (2_000_000, 528))[size]
    x = whole(rng, n, 3)
    out = [(x.astype(np.float64) ** k).sum() for k in range(1, 5)]
    return Launch(blocks, 256, [n, x, np.zeros(4)], {2: out}, 1e-12)


@workload("arithmetic")
def densities(rng: Random, size: int) -> Launch:
    n, m = ((512, 256), (16_896, 512), (67_584, 512))[size]
    samples, at = rng.standard_normal(m).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    out = np.exp2(-(((samples[None].astype(np.float64) - at[:, None]) * 3) ** 2)).sum(1)
    return Launch(n // 128, 128, [n, m, 3.0, samples, at, np.zeros(n, np.float32)], {5: out}, 1e-3, 1e-4)


@workload("cache")
def resampled_means(rng: Random, size: int) -> Launch:
    n, threads, draws = ((4_096, 512, 32), (100_000, 33_792, 32), (1_000_000, 67_584, 48))[size]
    x = whole(rng, n, 100)
    s = np.arange(threads, dtype=np.uint32) * np.uint32(747796405) + np.uint32(2891336453)
    total = np.zeros(threads)
    for _ in range(draws):
        s = s * np.uint32(747796405) + np.uint32(2891336453)
        total += x[s.astype(np.uint64) * np.uint64(n) >> np.uint64(32)]
    return Launch(threads // 128, 128, [draws, n, x, np.zeros(threads, np.float32)], {3: total / draws}, 1e-4, 1e-4)
