"""Dense linear algebra: products, transposes, triangular solves."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.vector_suite import whole


def product(rng: Random, n: int, grid: tuple[int, int], block: int | tuple[int, int]) -> Launch:
    """A product of square matrices of whole numbers."""
    a, b = whole(rng, (n, n), 3), whole(rng, (n, n), 3)
    return Launch(grid, block, [n, a, b, np.zeros((n, n), np.float32)], {3: a @ b})


@workload("cache")
def gemm_plain(rng: Random, size: int) -> Launch:
    n = (64, 384, 512)[size]
    return product(rng, n, (n // 16, n // 16), (16, 16))


@workload("shared")
def gemm_tiled(rng: Random, size: int) -> Launch:
    n = (64, 384, 640)[size]
    return product(rng, n, (n // 16, n // 16), (16, 16))


@workload("shared")
def gemm_registers(rng: Random, size: int) -> Launch:
    n = (128, 512, 896)[size]
    return product(rng, n, (n // 64, n // 64), 256)


@workload("streaming")
def gemv_warps(rng: Random, size: int) -> Launch:
    rows, columns = ((64, 256), (8_448, 256), (16_384, 512))[size]
    a, x = whole(rng, (rows, columns)), whole(rng, columns)
    args = [rows, columns, a, x, np.zeros(rows, np.float32)]
    return Launch(rows // 8, 256, args, {4: a @ x})


@workload("streaming")
def gemv_transposed(rng: Random, size: int) -> Launch:
    rows, columns = ((64, 1_024), (64, 65_536), (96, 131_072))[size]
    a, x = whole(rng, (rows, columns)), whole(rng, rows)
    return Launch(columns // 128, 128, [rows, columns, a, x, np.zeros(columns, np.float32)], {4: x @ a})


@workload("cache")
def transpose_plain(rng: Random, size: int) -> Launch:
    n = (128, 1_024, 2_048)[size]
    a = whole(rng, (n, n))
    return Launch((n // 32, n // 32), (32, 8), [n, a, np.zeros_like(a)], {2: a.T})


@workload("shared")
def transpose_tiled(rng: Random, size: int) -> Launch:
    n = (128, 1_024, 2_048)[size]
    a = whole(rng, (n, n))
    return Launch((n // 32, n // 32), (32, 8), [n, a, np.zeros_like(a)], {2: a.T})


@workload("fp64")
def syrk_double(rng: Random, size: int) -> Launch:
    n, depth = ((64, 64), (512, 64), (1_024, 96))[size]
    a, c = rng.standard_normal((n, depth)), rng.standard_normal((n, n))
    out = np.where(np.tri(n) > 0, c + a @ a.T, c)
    return Launch((n // 16, n // 16), (16, 16), [n, depth, a, c.copy()], {3: out}, 1e-11, 1e-11)


@workload("shared")
def triangular_solves(rng: Random, size: int) -> Launch:
    blocks = (8, 1_320, 4_000)[size]
    lower = np.tril(rng.integers(-1, 2, (blocks, 64, 64))).astype(np.float32)
    lower[:, range(64), range(64)] = 1
    lower[:, :, ::3] = np.eye(64, dtype=np.float32)[:, ::3]
    lower *= (rng.random((blocks, 64, 64)) < 0.1) | np.eye(64, dtype=bool)
    x = rng.integers(-2, 3, (blocks, 64)).astype(np.float32)
    b = np.einsum("bij,bj->bi", lower, x)
    return Launch(blocks, 64, [lower, b], {1: x}, 1e-3, 1e-3)
