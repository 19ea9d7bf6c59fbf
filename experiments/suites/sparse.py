"""Sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.vector_suite import whole


def compressed(rng: Random, n: int, mean: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of unequal length in compressed form: starts, columns, and the row of each entry."""
    lengths = np.minimum(rng.geometric(1 / mean, n), n)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    rows = np.repeat(np.arange(n, dtype=np.int32), lengths)
    near = rng.random(rows.size) < 0.5
    columns = np.where(near, (rows + rng.integers(-64, 65, rows.size)) % n, rng.integers(0, n, rows.size))
    return starts, columns.astype(np.int32), rows


def matrix(rng: Random, n: int, mean: float) -> tuple[list[Any], np.ndarray]:
    """Arguments of a product of a compressed matrix and a vector, and the result."""
    starts, columns, rows = compressed(rng, n, mean)
    values, x = whole(rng, rows.size, 3), whole(rng, n, 3)
    y = np.bincount(rows, values * x[columns], n)
    return [n, starts, columns, values, x, np.zeros(n, np.float32)], y


@workload("divergent")
def csr_threads(rng: Random, size: int) -> Launch:
    n = (1_024, 65_536, 200_000)[size]
    args, y = matrix(rng, n, 12)
    return Launch(-(-n // 128), 128, args, {5: y})


@workload("cache")
def csr_warps(rng: Random, size: int) -> Launch:
    n = (256, 8_448, 40_000)[size]
    args, y = matrix(rng, n, 40)
    return Launch(-(-n // 8), 256, args, {5: y})


@workload("fp64")
def ell_double(rng: Random, size: int) -> Launch:
    n, width = ((1_024, 8), (100_000, 8), (270_000, 12))[size]
    columns = ((np.arange(n) + rng.integers(-200, 201, (width, n))) % n).astype(np.int32)
    values, x = rng.standard_normal((width, n)), rng.standard_normal(n)
    args = [n, width, columns, values, x, np.zeros(n)]
    return Launch(-(-n // 256), 256, args, {5: (values * x[columns]).sum(0)}, 1e-11, 1e-12)


@workload("atomic")
def coordinates(rng: Random, size: int) -> Launch:
    n, count = ((512, 8_000), (16_384, 200_000), (65_536, 1_000_000))[size]
    rows, columns = (rng.integers(0, n, count).astype(np.int32) for _ in range(2))
    values, x = whole(rng, count, 3), whole(rng, n, 3)
    args = [count, rows, columns, values, x, np.zeros(n, np.float32)]
    return Launch(-(-count // 256), 256, args, {5: np.bincount(rows, values * x[columns], n)})


@workload("divergent")
def jacobi_rows(rng: Random, size: int) -> Launch:
    n = (1_024, 65_536, 200_000)[size]
    starts, columns, rows = compressed(rng, n, 8)
    columns[starts[:-1]] = np.arange(n)
    columns[np.flatnonzero((columns == rows) & ~np.isin(np.arange(rows.size), starts[:-1]))] += 1
    columns %= n
    values, x, b = whole(rng, rows.size, 3), whole(rng, n, 3), whole(rng, n, 3)
    values[starts[:-1]] = 4
    off = columns != rows
    out = (b - np.bincount(rows[off], (values * x[columns])[off], n)) / 4
    args = [n, starts, columns, values, b, x, np.zeros(n, np.float32)]
    return Launch(-(-n // 256), 256, args, {6: out}, 1e-6)


@workload("cache")
def sampled_product(rng: Random, size: int) -> Launch:
    n, count, depth = ((256, 1_000, 64), (4_096, 17_000, 64), (16_384, 80_000, 64))[size]
    rows, columns = (rng.integers(0, n, count).astype(np.int32) for _ in range(2))
    u, v = whole(rng, (n, depth), 2), whole(rng, (n, depth), 2)
    args = [count, depth, rows, columns, u, v, np.zeros(count, np.float32)]
    return Launch(-(-count // 16), 256, args, {6: (u[rows] * v[columns]).sum(1)})
