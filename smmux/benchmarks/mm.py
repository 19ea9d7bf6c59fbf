"""MM: C = A B by tiles of 16 x 16, one element of C per thread.

Builds: `staged` loads a pair of tiles into registers first; `as_sdk` loads straight into shared memory.
"""

from __future__ import annotations

import numpy as np

from smmux import cuda, float32
from smmux.benchmarks.base import Benchmark, Problem, Table1, close, eighths, multiples, poisoned

__all__ = ["BENCHMARK"]

TILE = 16


@cuda.jit
def matmul(c, a, b, width_a, width_b):
    """Baseline, tiles staged in registers. Matrices are flat, row after row."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    total = float32(0)
    for i in range(0, width_a, TILE):
        from_a = a[row * width_a + i + tx]
        from_b = b[(i + ty) * width_b + column]
        tile_a[ty, tx] = from_a
        tile_b[ty, tx] = from_b
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row * width_b + column] = total


@cuda.jit
def matmul_as_sdk(c, a, b, width_a, width_b):
    """Baseline as published: global loads go straight to shared memory."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    total = float32(0)
    for i in range(0, width_a, TILE):
        tile_a[ty, tx] = a[row * width_a + i + tx]
        tile_b[ty, tx] = b[(i + ty) * width_b + column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row * width_b + column] = total


def problem(build: str, height: int, inner: int, width: int) -> Problem:
    """A of height x inner times B of inner x width, all multiples of 16."""
    multiples(TILE, height=height, inner=inner, width=width)
    rng = np.random.default_rng(8)
    a, b = eighths(rng, (height, inner)), eighths(rng, (inner, width))
    expected = (a.astype(np.float64) @ b).ravel()
    return Problem(
        grid=(width // TILE, height // TILE),
        block=(TILE, TILE),
        arguments=lambda: (
            poisoned(height * width, np.float32),
            a.reshape(-1),
            b.reshape(-1),
            np.int32(inner),
            np.int32(width),
        ),
        check=lambda args: close("MM: c", args[0], expected, 1e-5),
    )


BENCHMARK = Benchmark(
    name="MM",
    title="Matrix multiplication",
    kernels={"staged": matmul, "as_sdk": matmul_as_sdk},
    problems=problem,
    sizes={
        "default": {"height": 512, "inner": 512, "width": 512},
        "quick": {"height": 256, "inner": 256, "width": 256},
        "tiny": {"height": 32, "inner": 48, "width": 16},
    },
    table1=Table1(bytes=2084, threads=256, blocks=4),
    pointer_bytes=4,
)
