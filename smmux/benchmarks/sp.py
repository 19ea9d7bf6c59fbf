"""SP: scalar products of many pairs of vectors, a block per pair.

Each of 64 threads owns 16 of 1024 partial sums; shared memory serves the tree that adds them up, one region per vector.

Builds: `staged` keeps the 16 sums in registers and stores them in one go; `as_sdk` stores each as it is finished, so
that the region includes nearly all global loads.
"""

from __future__ import annotations

import numpy as np

from smmux import cuda, float32
from smmux.benchmarks.base import Benchmark, Problem, Table1, close, eighths, multiples, poisoned

__all__ = ["BENCHMARK"]

THREADS = 64
SUMS = 1024
SUMS_PER_THREAD = SUMS // THREADS
LEVELS = 10  # of the tree: log2(SUMS)


@cuda.jit(device=True)
def partial_sum(a, b, vector, first, elements):
    """Products of elements first, first + 1024, ... of one pair of vectors, added up."""
    total = float32(0)
    for i in range(first, elements, SUMS):
        total += a[vector, i] * b[vector, i]
    return total


@cuda.jit(device=True)
def add_up(sums, t):
    """Halve the number of sums, with a barrier before each step, until sums[0] is the total."""
    for level in range(1, LEVELS + 1):
        stride = SUMS >> level
        cuda.syncthreads()
        for i in range(t, stride, THREADS):
            sums[i] += sums[i + stride]


@cuda.jit
def scalar_product(c, a, b, vectors, elements):
    """Baseline, partial sums staged in registers."""
    sums = cuda.shared.array(SUMS, float32)
    staged = cuda.local.array(SUMS_PER_THREAD, float32)
    t = cuda.threadIdx.x
    for vector in range(cuda.blockIdx.x, vectors, cuda.gridDim.x):
        for s in range(SUMS_PER_THREAD):
            staged[s] = partial_sum(a, b, vector, t + THREADS * s, elements)
        for s in range(SUMS_PER_THREAD):
            sums[t + THREADS * s] = staged[s]
        add_up(sums, t)
        cuda.syncthreads()
        if t == 0:
            c[vector] = sums[0]


@cuda.jit
def scalar_product_as_sdk(c, a, b, vectors, elements):
    """Baseline as published: every partial sum goes to shared memory at once."""
    sums = cuda.shared.array(SUMS, float32)
    t = cuda.threadIdx.x
    for vector in range(cuda.blockIdx.x, vectors, cuda.gridDim.x):
        for s in range(SUMS_PER_THREAD):
            sums[t + THREADS * s] = partial_sum(a, b, vector, t + THREADS * s, elements)
        add_up(sums, t)
        cuda.syncthreads()
        if t == 0:
            c[vector] = sums[0]


def problem(build: str, vectors: int, elements: int, blocks: int) -> Problem:
    """`vectors` pairs of `elements` numbers on a grid of `blocks`."""
    multiples(1, vectors=vectors, elements=elements, blocks=blocks)
    rng = np.random.default_rng(3)
    a, b = eighths(rng, (vectors, elements)), eighths(rng, (vectors, elements))
    expected = np.einsum("ij,ij->i", a, b, dtype=np.float64)
    return Problem(
        grid=(blocks,),
        block=(THREADS,),
        arguments=lambda: (poisoned(vectors, np.float32), a, b, np.int32(vectors), np.int32(elements)),
        check=lambda args: close("SP: c", args[0], expected, 1e-6, "l1"),
    )


BENCHMARK = Benchmark(
    name="SP",
    title="Scalar product",
    kernels={
        "staged": scalar_product,
        "as_sdk": scalar_product_as_sdk,
    },
    problems=problem,
    sizes={
        "default": {"vectors": 2048, "elements": 4096, "blocks": 2048},
        "large": {"vectors": 4096, "elements": 4096, "blocks": 4096},
        "quick": {"vectors": 256, "elements": 4096, "blocks": 256},
        "tiny": {"vectors": 3, "elements": 2048, "blocks": 2},
    },
    table1=Table1(bytes=4144, threads=64, blocks=3),
)
