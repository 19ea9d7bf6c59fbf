"""Graphs in compressed rows."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.sparse import compressed


def graph(rng: Random, n: int, mean: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A graph of n nodes with unequal degrees, some ends far more popular than others."""
    starts, edges, ends = compressed(rng, n, mean)
    hubs = rng.random(edges.size) < 0.2
    edges[hubs] = (n * rng.random(np.count_nonzero(hubs)) ** 3).astype(np.int32)
    return starts, edges, ends


@workload("divergent")
def breadth_first(rng: Random, size: int) -> Launch:
    n = (2_048, 131_072, 500_000)[size]
    starts, edges, ends = graph(rng, n, 10)
    level = np.where(rng.random(n) < 0.2, 2, np.where(rng.random(n) < 0.3, 1, -1)).astype(np.int32)
    after = level.copy()
    reached = edges[level[ends] == 2]
    after[reached[level[reached] == -1]] = 3
    return Launch(-(-n // 256), 256, [n, 2, starts, edges, level], {4: after})


@workload("atomic")
def rank_push(rng: Random, size: int) -> Launch:
    n = (1_024, 32_768, 100_000)[size]
    starts, edges, ends = graph(rng, n, 8)
    rank, degree = rng.random(n).astype(np.float32), np.diff(starts)
    out = np.bincount(edges, (rank / degree)[ends], n)
    return Launch(-(-n // 256), 256, [n, starts, edges, rank, np.zeros(n, np.float32)], {4: out}, 1e-3, 1e-4)


@workload("divergent")
def rank_pull(rng: Random, size: int) -> Launch:
    n = (1_024, 65_536, 200_000)[size]
    starts, edges, ends = graph(rng, n, 10)
    share = rng.random(n).astype(np.float32)
    out = 0.15 + 0.85 * np.bincount(ends, share[edges], n)
    return Launch(-(-n // 256), 256, [n, starts, edges, share, np.zeros(n, np.float32)], {4: out}, 1e-4)


@workload("atomic")
def relax(rng: Random, size: int) -> Launch:
    n = (1_024, 32_768, 100_000)[size]
    starts, edges, ends = graph(rng, n, 8)
    costs, distance = rng.integers(1, 100, edges.size).astype(np.int32), rng.integers(0, 1000, n).astype(np.int32)
    after = distance.copy()
    np.minimum.at(after, edges, distance[ends] + costs)
    return Launch(-(-n // 128), 128, [n, starts, edges, costs, distance, distance.copy()], {5: after})


@workload("divergent")
def triangles(rng: Random, size: int) -> Launch:
    n = (256, 4_096, 16_384)[size]
    table = np.sort((np.arange(n)[:, None] + rng.integers(1, 40, (n, 16))) % n, axis=1)
    rows = [np.unique(row).astype(np.int32) for row in table]
    starts = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int32)
    edges = np.concatenate(rows)
    ends = np.repeat(np.arange(n, dtype=np.int32), np.diff(starts))
    wide = np.pad(np.minimum(table, n), ((0, 1), (0, 0)))  # the neighbours of each end, which may repeat
    wide[:, 1:][wide[:, 1:] == wide[:, :-1]] = n
    common = ends[:, None].astype(np.int64) * (n + 1) + wide[edges]
    total = np.isin(common, ends.astype(np.int64) * (n + 1) + edges).sum()
    args = [edges.size, ends, starts, edges, np.zeros(1, np.uint32)]
    return Launch(-(-edges.size // 128), 128, args, {4: [total]})


@workload("cache")
def shortcuts(rng: Random, size: int) -> Launch:
    n, steps = (2_048, 270_000, 800_000)[size], 12
    parent = (rng.random(n) * np.arange(n)).astype(np.int32)
    root: np.ndarray = np.arange(n)
    for _ in range(steps):
        root = parent[root]
    return Launch(-(-n // 256), 256, [n, steps, parent, np.zeros(n, np.int32)], {3: root})
