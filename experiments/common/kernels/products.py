"""The matrix product in single precision, blocked as Volkov and Demmel did it for GT200, whose CUBLAS has their kernel.

A block of 64 threads makes 16 rows of 64 columns: a thread has a column's 16 sums in registers, and reads its column of
the second matrix; 16 by 16 elements of the first one, which all threads use, lie in shared memory.
"""

from __future__ import annotations

import numpy as np

from experiments.common.kernels.probe import Probe, agrees, gigabytes, on_card
from smmux import cuda, float32
from smmux.gpus import Gpu

__all__ = ["PROBES"]

THREADS, ROWS, DEPTH = 64, 16, 16
BLOCKS_PER_SM = 8
DEEPEST = 512
"""Columns of the first matrix, and rows of the second one."""


@cuda.jit
def multiply_matrices(a, b, c, depth):
    part = cuda.shared.array((DEPTH, ROWS + 1), float32)
    sums = cuda.local.array(ROWS, float32)
    t = cuda.threadIdx.x
    column = cuda.blockIdx.x * THREADS + t
    first = cuda.blockIdx.y * ROWS
    for r in range(ROWS):
        sums[r] = float32(0)
    for k in range(0, depth, DEPTH):
        for r in range(0, ROWS, THREADS // DEPTH):
            part[t % DEPTH, r + t // DEPTH] = a[first + r + t // DEPTH, k + t % DEPTH]
        cuda.syncthreads()
        for i in range(DEPTH):
            x = b[k + i, column]
            for r in range(ROWS):
                sums[r] += part[i, r] * x
        cuda.syncthreads()
    for r in range(ROWS):
        c[first + r, column] = sums[r]


def product(gpu: Gpu, quick: bool) -> float:
    """GFLOPS of a product of matrices that give each SM eight blocks.

    All runs multiply parts of the same matrices: how far apart rows lie decides whether they are in one partition.
    """
    rows, columns, depth = ROWS * gpu.sm_count, THREADS * BLOCKS_PER_SM, DEEPEST // (8 if quick else 2)
    random = np.random.default_rng(DEEPEST)
    a = random.random((rows, DEEPEST), dtype=np.float32)
    b = random.random((DEEPEST, columns), dtype=np.float32)

    def clocks(depth: int) -> int:
        c = np.zeros((rows, columns), np.float32)
        grid = columns // THREADS, rows // ROWS
        result = on_card(multiply_matrices, grid, THREADS, (a, b, c, np.int32(depth)), gpu)
        agrees("product", c, a[:, :depth].astype(np.float64) @ b[:depth], 1e-5)
        return result.cycles

    return gigabytes(gpu, 2 * rows * columns * depth, clocks(2 * depth) - clocks(depth))


PROBES = (Probe("matrix product", "matrix product, 16 rows by 64 columns a block", "GFLOPS", product),)
