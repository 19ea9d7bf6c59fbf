"""Rates of global memory: streams, strided accesses, caches, reductions, and bandwidth at low occupancy.

Access patterns are those of the published measurements: SHOC's [SHOC] 32,768 threads, which read or write 16 words per
round, whole rounds one after the other ("coalesced") or each thread 2 kB of its own ("strided"), the best of several
sizes of blocks; BabelStream's [BABEL] one element of float64 per thread; Volkov's [VOLK10] copy of many float4 per
thread at low occupancy. What is measured is the difference of a longer and a shorter run, so that launches, which the
published runs of many milliseconds do not show either, fall out.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from experiments.common.kernels.chains import has_l1, has_l2
from experiments.common.kernels.probe import WORD, Probe, agrees, gigabytes, on_card, wave
from smmux import cuda, float32, uint32
from smmux.gpus import Gpu
from smmux.kernel import Kernel

__all__ = ["PROBES"]

THREADS = 32768
LOADS = 16
SPAN = THREADS * LOADS
"""Words that all threads read or write in a round."""
OWN = 512
"""Words of a thread's own in the strided tests."""
BLOCKS = (32, 64, 128, 256, 512)
QUICK_BLOCK = 256
ROW = 32 * LOADS
"""Words that a warp reads in a round of the test of the L2."""
L1_ROWS = 64
"""Rows of 32 words in the 8 kB of which a warp reads all."""
REDUCERS, REDUCED = 64, 256
"""Blocks of the reduction, and threads of each."""
COPIED = 14
"""Groups of four words that a thread copies at low occupancy."""


@cache
def touching(words: int, strided: bool, writes: bool) -> Kernel:
    """Threads read, or write, 16 words per round of an array of so many, a power of two."""
    start, apart, step = (OWN, 1, LOADS) if strided else (1, THREADS, SPAN)

    @cuda.jit
    def read(data, sums, rounds):
        s = uint32(cuda.grid(1)) * start
        total = float32(0)
        for _ in range(rounds):
            for k in range(LOADS):
                total += data[(s + k * apart) & (words - 1)]
            s += step
        sums[cuda.grid(1)] = total

    @cuda.jit
    def write(data, sums, rounds):
        s = uint32(cuda.grid(1)) * start
        for _ in range(rounds):
            for k in range(LOADS):
                data[(s + k * apart) & (words - 1)] = cuda.grid(1)
            s += step
        sums[cuda.grid(1)] = 0

    kernel: Kernel = write if writes else read
    return kernel


@cache
def signal(words: int) -> NDArray[np.float32]:
    """Small numbers, whose sums are exact."""
    return np.resize(np.arange(61, dtype=np.float32), words)


def indices(strided: bool, words: int, rounds: int) -> NDArray[np.int64]:
    """The words that threads (rows) read or write, in order."""
    thread = np.arange(THREADS)[:, None]
    step = np.arange(rounds * LOADS)
    return (thread * OWN + step if strided else thread + THREADS * step) % words


def streamed(words: int, strided: bool, writes: bool, gpu: Gpu, quick: bool) -> float:
    """GB/s of such a kernel, with the best size of a block."""

    def clocks(block: int, rounds: int) -> int:
        data, sums = signal(words).copy(), np.zeros(THREADS, np.float32)
        touched = indices(strided, words, rounds)
        if writes:
            expected, found = data.copy(), data
            expected[touched] = np.arange(THREADS)[:, None]
        else:
            expected, found = data[touched].sum(axis=1), sums
        args = (data, sums, np.int32(rounds))
        result = on_card(touching(words, strided, writes), THREADS // block, block, args, gpu)
        agrees("words touched", found, expected)
        return result.cycles

    if quick:
        return gigabytes(gpu, SPAN * WORD, clocks(QUICK_BLOCK, 1))
    rounds = 2 if strided else 4  # two rounds of a thread's own words take a line
    best = min(clocks(block, 2 * rounds) - clocks(block, rounds) for block in BLOCKS)
    return gigabytes(gpu, rounds * SPAN * WORD, best)


@cache
def reading_cached(words: int) -> Kernel:
    """Warps read an array of so many words over and over, a row each, no two rows near in time being the same."""

    @cuda.jit
    def read(data, sums, apart, rounds):
        i = uint32(cuda.grid(1))
        s = (i >> 5) * ROW
        total = float32(0)
        for _ in range(rounds):
            first = (s & (words - 1)) + (i & 31)
            for k in range(LOADS):
                total += data[first + 32 * k]
            s += apart
        sums[i] = total

    kernel: Kernel = read
    return kernel


def l2(gpu: Gpu, quick: bool) -> float:
    """GB/s that all SMs load from the L2: warps read 512 kB."""
    words, threads = (1 << 19) // WORD, 256 * wave(gpu, 256)
    apart = threads // 32 * ROW

    def clocks(rounds: int) -> int:
        sums = np.zeros(threads, np.float32)
        args = (signal(words), sums, np.uint32(apart), np.int32(rounds))
        result = on_card(reading_cached(words), threads // 256, 256, args, gpu)
        i, k = np.arange(threads)[:, None, None], np.arange(LOADS)
        row = (i // 32 * ROW + np.arange(rounds)[:, None] * apart) % words
        agrees("words of the L2", sums, signal(words)[row + i % 32 + 32 * k].sum(axis=(1, 2)))
        return result.cycles

    more = 2 if quick else 4
    return gigabytes(gpu, more * LOADS * threads * WORD, clocks(2 + more) - clocks(2))


@cuda.jit
def read_rows(data, sums, rounds):
    """Each warp reads all rows of 32 words: one load and one addition per word, as in gpumembench [GMB]."""
    lane = cuda.grid(1) & 31
    total = float32(0)
    for _ in range(rounds):
        for k in range(L1_ROWS):
            total += data[lane + 32 * k]
        lane ^= 1  # of the neighbour next: no round's loads are those of the one before
    sums[cuda.grid(1)] = total


def l1(gpu: Gpu, quick: bool) -> float:
    """Words that an SM loads from its L1 per clock."""
    sm = gpu.replace(sm_count=gpu.sms_per_tpc)
    threads = 256 * wave(sm, 256)

    def clocks(rounds: int) -> int:
        data, sums = signal(32 * L1_ROWS), np.zeros(threads, np.float32)
        result = on_card(read_rows, threads // 256, 256, (data, sums, np.int32(rounds)), sm)
        lane = np.arange(threads)[:, None] % 32 ^ np.arange(rounds) % 2
        agrees("words of the L1", sums, data.reshape(L1_ROWS, 32).sum(axis=0)[lane].sum(axis=1))
        return result.cycles

    few, many = (2, 6) if quick else (4, 32)
    return (many - few) * L1_ROWS * threads / (clocks(many) - clocks(few)) / sm.sm_count


@cuda.jit
def stream_copy(a, b, c, factor):
    i = cuda.grid(1)
    c[i] = a[i]


@cuda.jit
def stream_mul(a, b, c, factor):
    i = cuda.grid(1)
    b[i] = factor * c[i]


@cuda.jit
def stream_add(a, b, c, factor):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]


@cuda.jit
def stream_triad(a, b, c, factor):
    i = cuda.grid(1)
    a[i] = b[i] + factor * c[i]


def stream(kernel: Kernel, arrays: int, gpu: Gpu, quick: bool) -> float:
    """GB/s of a stream over so many arrays of float64, one element per thread."""
    block = min(1024, gpu.max_threads_block)

    def clocks(elements: int) -> int:
        a, b, c = (np.arange(elements) % 61 + start for start in (0.0, 100.0, 200.0))
        expected = [a.copy(), b.copy(), c.copy()]
        if kernel is stream_copy:
            expected[2] = a.copy()
        elif kernel is stream_mul:
            expected[1] = 3.0 * c
        elif kernel is stream_add:
            expected[2] = a + b
        else:
            expected[0] = b + 3.0 * c
        result = on_card(kernel, elements // block, block, (a, b, c, np.float64(3.0)), gpu)
        agrees(kernel.__name__, [a, b, c], expected)
        return result.cycles

    elements = 1 << (17 if quick else 19)
    return gigabytes(gpu, arrays * elements * 8, clocks(2 * elements) - clocks(elements))


@cuda.jit
def reduce(data, sums):
    """Each thread adds words up, two per step, and the block adds up its threads' sums in shared memory."""
    partial_sums = cuda.shared.array(REDUCED, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.blockIdx.x * (2 * REDUCED) + t, data.size, 2 * REDUCED * REDUCERS):
        total += data[i] + data[i + REDUCED]
    partial_sums[t] = total
    cuda.syncthreads()
    half = REDUCED // 2
    while half > 0:
        if t < half:
            partial_sums[t] += partial_sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial_sums[0]


def reduction(gpu: Gpu, quick: bool) -> float:
    """GB/s at which an array is added up."""

    def clocks(steps: int) -> int:
        data = signal(steps * 2 * REDUCED * REDUCERS)
        sums = np.zeros(REDUCERS, np.float32)
        result = on_card(reduce, REDUCERS, REDUCED, (data, sums), gpu)
        agrees("reduction", sums, data.reshape(steps, REDUCERS, -1).sum(axis=(0, 2), dtype=np.float64), 1e-6)
        return result.cycles

    steps = 4 if quick else 32
    return gigabytes(gpu, steps * 2 * REDUCED * REDUCERS * WORD, clocks(2 * steps) - clocks(steps))


@cuda.jit
def copy_many(source, target):
    """Each thread copies 14 groups of four words, all of which it loads before it stores the first."""
    held = cuda.local.array(4 * COPIED, float32)
    first = 4 * (cuda.blockIdx.x * (64 * COPIED) + cuda.threadIdx.x)
    for k in range(COPIED):
        for c in range(4):
            held[4 * k + c] = source[first + 4 * 64 * k + c]
    for k in range(COPIED):
        for c in range(4):
            target[first + 4 * 64 * k + c] = held[4 * k + c]


def low_occupancy(gpu: Gpu, quick: bool) -> float:
    """Share of the pins' bandwidth that a copy reaches with one block of 64 threads on an SM at a time."""
    alone = gpu.replace(max_blocks_sm=1)

    def clocks(waves: int) -> int:
        words = waves * gpu.sm_count * 64 * 4 * COPIED
        source, target = signal(words), np.zeros(words, np.float32)
        result = on_card(copy_many, waves * gpu.sm_count, 64, (source, target), alone)
        agrees("copy", target, source)
        return result.cycles

    waves = 4 if quick else 16
    moved = 2 * waves * gpu.sm_count * 64 * 4 * COPIED * WORD
    return gigabytes(gpu, moved, clocks(2 * waves) - clocks(waves)) / pins(gpu)


def pins(gpu: Gpu) -> float:
    """GB/s of the memory's pins."""
    per_clock = gpu.partitions * gpu.dram_burst_bytes / gpu.dram_burst_clk
    return per_clock * gpu.dram_khz / 1e6


def _streamed(name: str, text: str, words: int) -> Probe:
    return Probe(name, text, "GB/s", partial(streamed, words, name.startswith("strided"), name.endswith("write")))


def _stream(name: str, kernel: Kernel, arrays: int) -> Probe:
    return Probe(
        f"stream {name}", f"{name} of float64, one element per thread", "GB/s", partial(stream, kernel, arrays)
    )


PROBES = (
    _streamed("read", "global memory read in whole rows", 1 << 22),
    _streamed("write", "global memory written in whole rows", 1 << 22),
    _streamed("strided read", "each thread reads 2 kB of its own", 1 << 24),
    _streamed("strided write", "each thread writes 2 kB of its own", 1 << 24),
    _stream("copy", stream_copy, 2),
    _stream("mul", stream_mul, 2),
    _stream("add", stream_add, 3),
    _stream("triad", stream_triad, 3),
    Probe("reduction", "sum of an array", "GB/s", reduction),
    Probe("low occupancy copy", "copy with 64 threads on an SM, 14 float4 each", "of the pins", low_occupancy),
    Probe("L1 read", "words read from 8 kB", "ops/clk/SM", l1, has_l1),
    Probe("L2 read", "words read from 512 kB", "GB/s", l2, has_l2),
)
