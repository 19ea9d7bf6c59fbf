"""MMA, FWL, RDC5, RDC6, HIS1, HIS2: kernels that read long arrays in one pass, with and without shared memory.

Builds: `baseline` loads from global memory where it needs a number; `hand-written` brings a block's inputs to shared
memory first. MMAC is MMA with neighbouring threads on neighbouring rows, so that its accesses do not coalesce.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32
from smmux.benchmarks.base import Problem, Workload, eighths, equal, frozen, multiples, poisoned

__all__ = ["WORKLOADS"]

SIDE = 16
"""Threads along each side of a block of MMA and MMAC."""
THREADS = 128
"""Threads of a block of the reductions and of the histogram."""
BINS = 64


@cuda.jit
def mma(a, b, c, n):
    """A sum of matrices."""
    x, y = cuda.grid(2)
    if x < n and y < n:
        c[y * n + x] = a[y * n + x] + b[y * n + x]


@cuda.jit
def mma_tiled(a, b, c, n):
    a_tile = cuda.shared.array((SIDE, SIDE), float32)
    b_tile = cuda.shared.array((SIDE, SIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if x < n and y < n:
        a_tile[ty, tx] = a[y * n + x]
        b_tile[ty, tx] = b[y * n + x]
    cuda.syncthreads()
    if x < n and y < n:
        c[y * n + x] = a_tile[ty, tx] + b_tile[ty, tx]


@cuda.jit
def mma_columns(a, b, c, n):
    """A sum of matrices; threads that follow one another go down a column."""
    y, x = cuda.grid(2)
    if x < n and y < n:
        c[y * n + x] = a[y * n + x] + b[y * n + x]


@cuda.jit
def mma_columns_tiled(a, b, c, n):
    """Loads go along rows, sums and stores down columns; a column more keeps banks apart."""
    a_tile = cuda.shared.array((SIDE, SIDE + 1), float32)
    b_tile = cuda.shared.array((SIDE, SIDE + 1), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = SIDE * cuda.blockIdx.y + tx, SIDE * cuda.blockIdx.x + ty
    if column < n and row < n:
        a_tile[ty, tx] = a[row * n + column]
        b_tile[ty, tx] = b[row * n + column]
    cuda.syncthreads()
    y, x = cuda.grid(2)
    if x < n and y < n:
        c[y * n + x] = a_tile[tx, ty] + b_tile[tx, ty]


@cuda.jit
def walsh(data, out, stride):
    """A step of the fast Walsh transform with radix 4."""
    p = cuda.grid(1)
    low = p & (stride - 1)
    first = ((p - low) << 2) + low
    d0, d1 = data[first], data[first + stride]
    d2, d3 = data[first + 2 * stride], data[first + 3 * stride]
    out[first] = d0 + d2 + (d1 + d3)
    out[first + stride] = d0 + d2 - (d1 + d3)
    out[first + 2 * stride] = d0 - d2 + (d1 - d3)
    out[first + 3 * stride] = d0 - d2 - (d1 - d3)


WALSH = 64
"""Threads of a block of FWL."""


@cuda.jit
def walsh_tiled(data, out, stride):
    """A block's 256 elements lie side by side, as long as the stride is at most 64."""
    tile = cuda.shared.array(4 * WALSH, float32)
    t = cuda.threadIdx.x
    start = 4 * WALSH * cuda.blockIdx.x
    for i in range(t, 4 * WALSH, WALSH):
        tile[i] = data[start + i]
    cuda.syncthreads()
    low = t & (stride - 1)
    first = ((t - low) << 2) + low
    d0, d1 = tile[first], tile[first + stride]
    d2, d3 = tile[first + 2 * stride], tile[first + 3 * stride]
    out[start + first] = d0 + d2 + (d1 + d3)
    out[start + first + stride] = d0 + d2 - (d1 + d3)
    out[start + first + 2 * stride] = d0 - d2 + (d1 - d3)
    out[start + first + 3 * stride] = d0 - d2 - (d1 - d3)


@cuda.jit
def reduce5(data, out, n):
    """A sum per block: two loads of each thread, then a tree in shared memory."""
    sums = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * (2 * cuda.blockDim.x) + t
    sums[t] = data[i] + data[i + cuda.blockDim.x]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = sums[0]


@cuda.jit
def reduce5_tiled(data, out, n):
    sums = cuda.shared.array(2 * THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * (2 * cuda.blockDim.x) + t
    sums[t] = data[i]
    sums[t + THREADS] = data[i + cuda.blockDim.x]
    cuda.syncthreads()
    half = THREADS
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = sums[0]


@cuda.jit
def reduce6(data, out, n):
    """A sum per block, whose threads stride over the whole array."""
    sums = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.blockIdx.x * (2 * THREADS) + t, n, 2 * THREADS * cuda.gridDim.x):
        total += data[i] + data[i + THREADS]
    sums[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = sums[0]


@cuda.jit
def reduce6_tiled(data, out, n):
    tile = cuda.shared.array(2 * THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.blockIdx.x * (2 * THREADS) + t, n, 2 * THREADS * cuda.gridDim.x):
        tile[t] = data[i]
        tile[t + THREADS] = data[i + THREADS]
        cuda.syncthreads()
        total += tile[t] + tile[t + THREADS]
        cuda.syncthreads()
    tile[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@cuda.jit
def histogram(data, counts, n):
    """Counts of 64 values in global memory."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(counts, data[i], 1)


@cuda.jit
def histogram_tiled(data, counts, n):
    """Counts of a block in shared memory, added to those of all at its end."""
    own = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(own, data[i], 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, own[t])


@cuda.jit
def merge_histograms(partial, counts, many):
    """A block for each value adds what so many histograms count of it."""
    total = int32(0)
    for i in range(cuda.threadIdx.x, many, cuda.blockDim.x):
        total += partial[cuda.blockIdx.x + i * BINS]
    cuda.atomic.add(counts, cuda.blockIdx.x, total)


MERGERS = 32
"""Threads of a block of HIS2."""


@cuda.jit
def merge_histograms_tiled(partial, counts, many):
    sums = cuda.shared.array(MERGERS, int32)
    t = cuda.threadIdx.x
    total = int32(0)
    for i in range(t, many, cuda.blockDim.x):
        total += partial[cuda.blockIdx.x + i * BINS]
    sums[t] = total
    cuda.syncthreads()
    half = MERGERS // 2
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        counts[cuda.blockIdx.x] = sums[0]


@lru_cache(maxsize=2)
def _matrices(n: int) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(1)
    return [eighths(rng, n * n) for _ in range(2)]


def _mma(build: str, n: int) -> Problem:
    """Matrices of n x n elements."""
    multiples(1, n=n)
    a, b = _matrices(n)
    return Problem(
        grid=(-(-n // SIDE), -(-n // SIDE)),
        block=(SIDE, SIDE),
        arguments=lambda: (a, b, poisoned(n * n, np.float32), np.int32(n)),
        check=lambda args: equal(f"MMA: c, build {build}", args[2], a + b),
    )


@lru_cache(maxsize=2)
def _numbers(count: int) -> NDArray[np.float32]:
    return eighths(np.random.default_rng(7), count)


def _walsh(build: str, elements: int, stride: int) -> Problem:
    """So many elements, in groups of four that lie `stride` apart."""
    multiples(4 * WALSH, elements=elements)
    if stride not in (1, 2, 4, 8, 16, 32, 64):
        raise ValueError(f"stride must be a power of two up to {WALSH}, not {stride}")
    data = _numbers(elements)
    pairs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], np.float32)
    answer = (pairs @ data.reshape(-1, 4, stride)).reshape(-1)
    return Problem(
        grid=(elements // 4 // WALSH,),
        block=(WALSH,),
        arguments=lambda: (data, poisoned(elements, np.float32), np.int32(stride)),
        check=lambda args: equal(f"FWL: out, build {build}", args[1], answer),
    )


def _reduction(build: str, elements: int, each: int) -> Problem:
    """So many elements, of which each block adds `each` pairs per thread."""
    multiples(2 * THREADS * each, elements=elements)
    data, blocks = _numbers(elements), elements // (2 * THREADS * each)
    answer = data.reshape(each, blocks, -1).sum((0, 2), dtype=np.float64)
    return Problem(
        grid=(blocks,),
        block=(THREADS,),
        arguments=lambda: (data, poisoned(blocks, np.float32), np.int32(elements)),
        check=lambda args: equal(f"RDC: out, build {build}", args[1], answer),
    )


@lru_cache(maxsize=2)
def _values(count: int, upto: int) -> NDArray[np.int32]:
    return frozen(np.random.default_rng(8).integers(0, upto, count, np.int32))


def _histogram(build: str, elements: int, blocks: int) -> Problem:
    """So many values below 64, any count."""
    multiples(1, elements=elements, blocks=blocks)
    data = _values(elements, BINS)
    return Problem(
        grid=(blocks,),
        block=(THREADS,),
        arguments=lambda: (data, np.zeros(BINS, np.int32), np.int32(elements)),
        check=lambda args: equal(f"HIS1: counts, build {build}", args[1], np.bincount(data, minlength=BINS)),
    )


def _merged(build: str, many: int) -> Problem:
    """So many histograms of 64 counts."""
    multiples(1, many=many)
    partial = _values(many * BINS, 1000)
    answer = partial.reshape(many, BINS).sum(0)
    return Problem(
        grid=(BINS,),
        block=(MERGERS,),
        arguments=lambda: (partial, np.zeros(BINS, np.int32), np.int32(many)),
        check=lambda args: equal(f"HIS2: counts, build {build}", args[1], answer),
    )


def _row(name: str, title: str, problems: Any, baseline: Any, tiled: Any, **sizes: dict[str, float]) -> Workload:
    return Workload(name, title, {"baseline": baseline, "hand-written": tiled}, problems, sizes)


SQUARES: dict[str, dict[str, float]] = {"default": {"n": 512}, "quick": {"n": 128}, "tiny": {"n": 64}}
SUMS: dict[str, dict[str, dict[str, float]]] = {
    name: {
        "default": {"elements": 1 << 19, "each": each},
        "quick": {"elements": 1 << 15, "each": each},
        "tiny": {"elements": 1 << 12, "each": each},
    }
    for name, each in (("RDC5", 1), ("RDC6", 8))
}

WORKLOADS = (
    _row("MMA", "Sum of matrices", _mma, mma, mma_tiled, **SQUARES),
    _row("MMAC", "Sum of matrices by columns", _mma, mma_columns, mma_columns_tiled, **SQUARES),
    _row(
        "FWL",
        "Fast Walsh transform",
        _walsh,
        walsh,
        walsh_tiled,
        default={"elements": 1 << 19, "stride": 16},
        quick={"elements": 1 << 15, "stride": 16},
        tiny={"elements": 1 << 10, "stride": 16},
    ),
    _row("RDC5", "Sums of blocks", _reduction, reduce5, reduce5_tiled, **SUMS["RDC5"]),
    _row("RDC6", "Sums of blocks that stride", _reduction, reduce6, reduce6_tiled, **SUMS["RDC6"]),
    _row(
        "HIS1",
        "Histogram",
        _histogram,
        histogram,
        histogram_tiled,
        default={"elements": 1 << 17, "blocks": 64},
        quick={"elements": 1 << 14, "blocks": 16},
        tiny={"elements": 1 << 10, "blocks": 2},
    ),
    _row(
        "HIS2",
        "Merge of histograms",
        _merged,
        merge_histograms,
        merge_histograms_tiled,
        default={"many": 128},
        quick={"many": 128},
        tiny={"many": 64},
    ),
)
