"""RD: sum of an array, one partial sum per block.

Each thread adds up two elements per step in a register; a tree in shared memory adds the threads' sums. Its last six
steps stay within one warp and need no block-wide barrier (`syncwarp` costs nothing where warps run in lockstep).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32
from smmux.benchmarks.base import Benchmark, Problem, Table1, close, eighths, multiples, poisoned

__all__ = ["BENCHMARK"]

THREADS = 128


@cuda.jit
def reduce(data, partial, n):
    """Baseline; the sums reach shared memory only when all loads are done."""
    sums = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.blockIdx.x * (2 * THREADS) + t, n, 2 * THREADS * cuda.gridDim.x):
        total += data[i]
        if int32(i + THREADS) < n:
            total += data[i + THREADS]
    sums[t] = total
    cuda.syncthreads()
    if t < 64:
        total += sums[t + 64]
        sums[t] = total
    cuda.syncthreads()
    if t < 32:
        for level in range(1, 7):
            total += sums[t + (64 >> level)]
            cuda.syncwarp()
            sums[t] = total
            cuda.syncwarp()
    if t == 0:
        partial[cuda.blockIdx.x] = total


def reference(data: NDArray[np.float32], blocks: int) -> NDArray[np.float64]:
    """Each block's partial sum in float64: of every chunk of 256 elements that is its turn."""
    chunks = -(-len(data) // (2 * THREADS))
    padded = np.zeros(-(-chunks // blocks) * blocks * 2 * THREADS)
    padded[: len(data)] = data
    sums: NDArray[np.float64] = padded.reshape(-1, blocks, 2 * THREADS).sum((0, 2))
    return sums


def problem(build: str, elements: int, blocks: int) -> Problem:
    """`elements` numbers, any count, on a grid of `blocks`."""
    multiples(1, elements=elements, blocks=blocks)
    data = eighths(np.random.default_rng(10), elements)
    expected = reference(data, blocks)
    return Problem(
        grid=(blocks,),
        block=(THREADS,),
        arguments=lambda: (data, poisoned(blocks, np.float32), np.int32(elements)),
        check=lambda args: close("RD: partial sums", args[1], expected, 1e-5),
    )


BENCHMARK = Benchmark(
    name="RD",
    title="Reduction",
    kernels={"staged": reduce},
    problems=problem,
    sizes={
        "default": {"elements": 1 << 24, "blocks": 1920},
        "quick": {"elements": 1 << 21, "blocks": 240},
        "tiny": {"elements": 1200, "blocks": 2},
    },
    table1=Table1(bytes=540, threads=128, blocks=8),
    pointer_bytes=4,
)
