"""MV: y = A x, one row per thread, a tile of 32 columns at a time through shared memory.

A block is one warp. It loads a 32 x 32 tile of A with coalesced accesses, row by row, and reads it back column by
column; 33 columns of storage keep both directions free of bank conflicts. Every tile is a region of its own.

Builds: `staged` loads the tile into registers first and reads x where it is used; `x_hoisted` loads the 32 values of x
into registers as well, before the region; `as_sdk` loads straight into shared memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32
from smmux.benchmarks.base import Benchmark, Problem, Table1, close, eighths, multiples, poisoned

__all__ = ["BENCHMARK"]

TILE = 32
PITCH = TILE + 1


@cuda.jit
def mv(a, x, y, width):
    """Baseline, tile staged in registers."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    staged = cuda.local.array(TILE, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x * TILE
    total = float32(0)
    for i in range(0, width, TILE):
        for r in range(TILE):
            staged[r] = a[row + r, i + t]
        for r in range(TILE):
            tile[r, t] = staged[r]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile[t, k] * x[i + k]
        cuda.syncthreads()
    y[row + t] = total


@cuda.jit
def mv_x_hoisted(a, x, y, width):
    """Baseline, tile and its part of x staged in registers."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    staged = cuda.local.array(TILE, float32)
    xs = cuda.local.array(TILE, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x * TILE
    total = float32(0)
    for i in range(0, width, TILE):
        for r in range(TILE):
            staged[r] = a[row + r, i + t]
        for k in range(TILE):
            xs[k] = x[i + k]
        for r in range(TILE):
            tile[r, t] = staged[r]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile[t, k] * xs[k]
        cuda.syncthreads()
    y[row + t] = total


@cuda.jit
def mv_as_sdk(a, x, y, width):
    """Baseline as published: global loads go straight to shared memory."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x * TILE
    total = float32(0)
    for i in range(0, width, TILE):
        for r in range(TILE):
            tile[r, t] = a[row + r, i + t]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile[t, k] * x[i + k]
        cuda.syncthreads()
    y[row + t] = total


def reference(a: NDArray[np.float32], x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product in float64, rounded once; by pieces, so that A is never held twice."""
    vector = x.astype(np.float64)
    rows = 1024
    pieces = [a[i : i + rows].astype(np.float64) @ vector for i in range(0, len(a), rows)]
    return np.concatenate(pieces).astype(np.float32)


def problem(build: str, width: int, height: int) -> Problem:
    """A of height x width, both multiples of 32."""
    multiples(TILE, width=width, height=height)
    rng = np.random.default_rng(1)
    a, x = eighths(rng, (height, width)), eighths(rng, width)
    expected = reference(a, x)
    return Problem(
        grid=(height // TILE,),
        block=(TILE,),
        arguments=lambda: (a, x, poisoned(height, np.float32), np.int32(width)),
        check=lambda args: close("MV: y", args[2], expected, 1e-5),
    )


BENCHMARK = Benchmark(
    name="MV",
    title="Matrix vector multiplication",
    kernels={
        "staged": mv,
        "x_hoisted": mv_x_hoisted,
        "as_sdk": mv_as_sdk,
    },
    problems=problem,
    sizes={
        "default": {"width": 1024, "height": 65536},
        "large": {"width": 1024, "height": 131072},
        "quick": {"width": 1024, "height": 8192},
        "tiny": {"width": 64, "height": 64},
    },
    table1=Table1(bytes=4268, threads=32, blocks=3),
)
