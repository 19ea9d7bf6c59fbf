"""HG: histogram of 128 bins, with byte counters per thread in shared memory and one partial histogram per block.

Each of 64 threads counts 128 values in 128 counters of its own, so that no counter overflows and none is shared. The
64 counters of a bin lie together; thread t owns byte t / 16 of word t mod 16 there, so that on 16 banks no access
conflicts. The host adds the partial histograms. Nearly the whole kernel is one region.

Builds: `staged` loads values into registers in batches of 16, the first batch before the region; `as_sdk` loads each
value when it counts it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, uint8, uint32
from smmux.benchmarks.base import Benchmark, Problem, Table1, equal, frozen, multiples, poisoned

__all__ = ["BENCHMARK"]

BINS = 128
THREADS = 64
COUNTERS = BINS * THREADS
VALUES_PER_THREAD = 128
VALUES = VALUES_PER_THREAD * THREADS  # of a block
WORDS_PER_BIN = THREADS // 4
BATCH = 16


@cuda.jit(device=True)
def clear(words, t):
    """Set all counters to zero, a word at a time."""
    for i in range(BINS * WORDS_PER_BIN // THREADS):
        words[t + THREADS * i] = uint32(0)


@cuda.jit(device=True)
def load_batch(data, batch, t, values):
    """The thread's next 16 values."""
    for i in range(BATCH):
        values[i] = data[cuda.blockIdx.x * VALUES + (batch * BATCH + i) * THREADS + t]


@cuda.jit(device=True)
def count(counters, value, own):
    """Increment the thread's own counter of a bin; `own` is its place among the bin's 64 bytes."""
    assert value < BINS
    counters[value * THREADS + uint32(own)] += 1


@cuda.jit(device=True)
def merge(words, partial, t):
    """Thread t adds up the counters of bins 2t and 2t + 1.

    A word holds four counters of at most 128, so that sums of even and of odd bytes fit in 16 bits. Each thread
    starts at another of the bin's 16 words, since word 0 of all bins is in the same bank.
    """
    for b in range(2):
        first = (2 * t + b) * WORDS_PER_BIN
        pairs = uint32(0)
        for w in range(WORDS_PER_BIN):
            four = words[first + ((w + t) & (WORDS_PER_BIN - 1))]
            pairs = uint32(pairs + (four & 0x00FF00FF) + ((four >> 8) & 0x00FF00FF))
        partial[cuda.blockIdx.x, 2 * t + b] = uint32((pairs & 0xFFFF) + (pairs >> 16))


@cuda.jit
def histogram(data, partial):
    """Baseline, values staged in batches."""
    counters = cuda.shared.array(COUNTERS, uint8)
    words = counters.view(np.uint32)
    values = cuda.local.array(BATCH, uint32)
    t = cuda.threadIdx.x
    own = 4 * (t & 15) + (t >> 4)
    load_batch(data, 0, t, values)
    clear(words, t)
    cuda.syncthreads()
    for batch in range(VALUES_PER_THREAD // BATCH):
        for i in range(BATCH):
            count(counters, values[i], own)
        if batch + 1 < VALUES_PER_THREAD // BATCH:
            load_batch(data, batch + 1, t, values)
    cuda.syncthreads()
    merge(words, partial, t)


@cuda.jit
def histogram_as_sdk(data, partial):
    """Baseline as published: load a value, count it."""
    counters = cuda.shared.array(COUNTERS, uint8)
    words = counters.view(np.uint32)
    t = cuda.threadIdx.x
    own = 4 * (t & 15) + (t >> 4)
    clear(words, t)
    cuda.syncthreads()
    for i in range(VALUES_PER_THREAD):
        count(counters, data[cuda.blockIdx.x * VALUES + i * THREADS + t], own)
    cuda.syncthreads()
    merge(words, partial, t)


def reference(data: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Histogram of each block's values."""
    blocks = data.reshape(-1, VALUES)
    return np.stack([np.bincount(values, minlength=BINS) for values in blocks]).astype(np.uint32)


def problem(build: str, values: int) -> Problem:
    """Uniform values 0..127; their number is a multiple of 8192."""
    multiples(VALUES, values=values)
    data = frozen(np.random.default_rng(4).integers(0, BINS, values, dtype=np.uint32))
    expected = reference(data)
    blocks = values // VALUES
    return Problem(
        grid=(blocks,),
        block=(THREADS,),
        arguments=lambda: (data, poisoned((blocks, BINS), np.uint32)),
        check=lambda args: equal("HG: partial histograms", args[1], expected),
    )


BENCHMARK = Benchmark(
    name="HG",
    title="Histogram",
    kernels={
        "staged": histogram,
        "as_sdk": histogram_as_sdk,
    },
    problems=problem,
    sizes={
        "default": {"values": 1536 * VALUES},
        "large": {"values": 3072 * VALUES},
        "quick": {"values": 192 * VALUES},
        "tiny": {"values": 2 * VALUES},
    },
    table1=Table1(bytes=8224, threads=64, blocks=1),
    divided={"array": "counters", "private": 112 * THREADS, "threads": THREADS},
)
