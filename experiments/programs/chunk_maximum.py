"""CHUNKMAX: the maximum of each chunk of an array, by threads that store to one shared word until none is larger.

The third of three tries of a course; the first two, which are wrong, stand beside it for the checks that find out why.
A thread block has as many threads as a chunk has elements.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, int32
from smmux.benchmarks.base import Problem, Workload, equal, frozen, multiples, poisoned

__all__ = [
    "CHUNK", "WORKLOADS", "chunks_of", "message", "message_without_barrier", "try_1", "try_1_mended", "try_2", "try_3",
]  # fmt: skip

CHUNK = 256


@cuda.jit
def message(out):
    """One thread sets a word, and all read it behind a barrier."""
    x = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        x[0] = 1
    cuda.syncthreads()
    out[cuda.threadIdx.x] = x[0]


@cuda.jit
def message_without_barrier(out):
    """One thread sets a word, and all read it."""
    x = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        x[0] = 1
    out[cuda.threadIdx.x] = x[0]


@cuda.jit
def try_1(a, n, out):
    """The first try, whose guard sends away the threads that have an element."""
    largest = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if i < n:
        return
    if cuda.threadIdx.x == 0:
        largest[0] = a[i]
    cuda.syncthreads()
    if a[i] > largest[0]:
        largest[0] = a[i]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = largest[0]


@cuda.jit
def try_1_mended(a, n, out):
    """The first try with its guard the right way round."""
    largest = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if i >= n:
        return
    if cuda.threadIdx.x == 0:
        largest[0] = a[i]
    cuda.syncthreads()
    if a[i] > largest[0]:
        largest[0] = a[i]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = largest[0]


@cuda.jit
def try_2(a, n, out):
    """The second try: each thread goes on while its own element is larger."""
    largest = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        largest[0] = a[i]
    cuda.syncthreads()
    while True:
        mine = largest[0]
        cuda.syncthreads()
        if a[i] > mine:
            largest[0] = a[i]
        cuda.syncthreads()
        if a[i] <= largest[0]:
            break
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = largest[0]


@cuda.jit
def try_3(a, n, out):
    """The third try: all go on while the word changes."""
    largest = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        largest[0] = a[i]
    cuda.syncthreads()
    while True:
        mine = largest[0]
        cuda.syncthreads()
        if a[i] > mine:
            largest[0] = a[i]
        cuda.syncthreads()
        if mine == largest[0]:
            break
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = largest[0]


def chunks_of(rows: NDArray[np.int32]) -> Problem:
    """The maximum of each row, a thread per element."""
    given = frozen(rows.ravel())
    expected = np.array([max(row) for row in rows.tolist()], np.int32)
    return Problem(
        grid=(len(rows),),
        block=(rows.shape[1],),
        arguments=lambda: (given, np.int32(given.size), poisoned(len(rows), np.int32)),
        check=lambda args: equal("CHUNKMAX: out", args[2], expected),
    )


def problem(build: str, chunks: int) -> Problem:
    """So many chunks of random numbers."""
    multiples(1, chunks=chunks)
    return chunks_of(np.random.default_rng(13).integers(0, 1 << 31, (chunks, CHUNK), np.int32))


WORKLOADS = (
    Workload(
        name="CHUNKMAX",
        title="Maximum of each chunk",
        kernels={"try_3": try_3},
        problems=problem,
        sizes={"default": {"chunks": 1024}, "quick": {"chunks": 64}, "tiny": {"chunks": 4}},
    ),
)
