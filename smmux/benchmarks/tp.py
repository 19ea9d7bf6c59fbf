"""TP: matrix transpose by tiles of 32 x 32, with blocks in diagonal order so that they use all memory partitions.

Builds: `staged` loads a tile into registers first; `as_sdk` loads straight into shared memory.
"""

from __future__ import annotations

import numpy as np

from smmux import cuda, float32
from smmux.benchmarks.base import Benchmark, Problem, Table1, equal, frozen, multiples, poisoned

__all__ = ["BENCHMARK"]

TILE = 32
PITCH = TILE + 1
ROWS = 4  # of threads; each handles 8 rows of a tile
STEPS = TILE // ROWS


@cuda.jit
def transpose(out, matrix, width):
    """Baseline, tile staged in registers."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    staged = cuda.local.array(STEPS, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.x * TILE
    column = (cuda.blockIdx.x + cuda.blockIdx.y) % (width // TILE) * TILE
    for k in range(STEPS):
        staged[k] = matrix[row + ty + ROWS * k, column + tx]
    for k in range(STEPS):
        tile[ty + ROWS * k, tx] = staged[k]
    cuda.syncthreads()
    for k in range(STEPS):
        staged[k] = tile[tx, ty + ROWS * k]
    cuda.syncthreads()
    for k in range(STEPS):
        out[column + ty + ROWS * k, row + tx] = staged[k]


@cuda.jit
def transpose_as_sdk(out, matrix, width):
    """Baseline as published: global loads go straight to shared memory."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    staged = cuda.local.array(STEPS, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.x * TILE
    column = (cuda.blockIdx.x + cuda.blockIdx.y) % (width // TILE) * TILE
    for k in range(STEPS):
        tile[ty + ROWS * k, tx] = matrix[row + ty + ROWS * k, column + tx]
    cuda.syncthreads()
    for k in range(STEPS):
        staged[k] = tile[tx, ty + ROWS * k]
    cuda.syncthreads()
    for k in range(STEPS):
        out[column + ty + ROWS * k, row + tx] = staged[k]


def problem(build: str, width: int) -> Problem:
    """A square matrix; width is a multiple of 32."""
    multiples(TILE, width=width)
    matrix = frozen(np.random.default_rng(9).random((width, width), dtype=np.float32))
    return Problem(
        grid=(width // TILE, width // TILE),
        block=(TILE, ROWS),
        arguments=lambda: (poisoned((width, width), np.float32), matrix, np.int32(width)),
        check=lambda args: equal("TP: transposed matrix", args[0], matrix.T),
    )


BENCHMARK = Benchmark(
    name="TP",
    title="Transpose",
    kernels={"staged": transpose, "as_sdk": transpose_as_sdk},
    problems=problem,
    sizes={"default": {"width": 2048}, "quick": {"width": 736}, "tiny": {"width": 64}},
    table1=Table1(bytes=4260, threads=128, blocks=3),
)
