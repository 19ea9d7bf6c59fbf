"""Rates of shared and constant memory: conflict-free accesses of all widths, and accesses with bank conflicts.

The swaps are of gpumembench's kind [GMB]: each thread exchanges elements of its own, 640 accesses in the loop's body,
which makes the loop of 5 kB that also shows whether fetching instructions costs anything. So are the constants: four
passes over 4 kB, 128 loads in the loop's body. As there an SM runs many blocks one after the other, so that no
scheduler is without warps while another one still has some; filling and emptying the SM falls out of the difference of
two runs.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from experiments.common.kernels.probe import WARP, WORD, Probe, agrees, on_card, resident
from smmux import cuda, int32
from smmux.gpus import Gpu
from smmux.kernel import Kernel

__all__ = ["PROBES"]

THREADS = 256
ELEMENTS = 6
"""Elements that a thread has in shared memory."""
UNROLLED = 32
SWAPS = 5
CONSTANTS, PASSES, CONSTANT_LOADS = 1024, 4, 128
"""32-bit constants that are read, the passes in which, and loads in the loop's body."""


@cache
def swapping(words: int) -> Kernel:
    """Threads swap neighbouring elements of `words` words, and those of the block lie side by side."""

    @cuda.jit(device=True)
    def exchange(s, i, j):
        u = cuda.local.array(words, int32)
        v = cuda.local.array(words, int32)
        for c in range(words):
            u[c] = s[words * i + c]
        for c in range(words):
            v[c] = s[words * j + c]
        for c in range(words):
            s[words * i + c] = v[c]
        for c in range(words):
            s[words * j + c] = u[c]

    @cuda.jit
    def swap(values, left, rounds):
        s = cuda.shared.array(ELEMENTS * THREADS * words, int32)
        t = cuda.threadIdx.x
        for k in range(ELEMENTS):
            for c in range(words):
                s[words * (k * THREADS + t) + c] = values[k, c, t]
        for _ in range(rounds):
            for _ in range(UNROLLED):
                exchange(s, t, THREADS + t)
                exchange(s, 2 * THREADS + t, 3 * THREADS + t)
                exchange(s, 4 * THREADS + t, 5 * THREADS + t)
                exchange(s, THREADS + t, 2 * THREADS + t)
                exchange(s, 3 * THREADS + t, 4 * THREADS + t)
        for k in range(ELEMENTS):
            for c in range(words):
                left[k, c, t] = s[words * (k * THREADS + t) + c]

    kernel: Kernel = swap
    return kernel


def swapped(values: np.ndarray, rounds: int) -> np.ndarray:
    """What the swaps leave, by NumPy."""
    order = list(range(ELEMENTS))
    for _ in range(rounds * UNROLLED):
        for i, j in ((0, 1), (2, 3), (4, 5), (1, 2), (3, 4)):
            order[i], order[j] = order[j], order[i]
    return values[order]


def swaps(words: int, gpu: Gpu, quick: bool) -> float:
    """Elements that an SM loads or stores per clock, in a loop of 640 accesses."""
    sm = gpu.replace(sm_count=gpu.sms_per_tpc)
    parameters = 16 if gpu.param_in_smem else 0
    shared = ELEMENTS * THREADS * words * WORD + gpu.smem_reserved + parameters
    blocks = resident(gpu, THREADS, -(-shared // gpu.smem_unit) * gpu.smem_unit)
    rounds, few, many = (2, 1, 3) if quick else (8, 2, 8)

    def clocks(waves: int) -> int:
        values = np.random.default_rng(1).integers(0, 1 << 30, (ELEMENTS, words, THREADS), dtype=np.int32)
        left = np.zeros_like(values)  # by all blocks alike
        grid = waves * blocks * sm.sm_count
        result = on_card(swapping(words), grid, THREADS, (values, left, np.int32(rounds)), sm)
        agrees("swaps", left, swapped(values, rounds))
        return result.cycles

    accesses = rounds * UNROLLED * SWAPS * 4 * THREADS * blocks
    return accesses * (many - few) / (clocks(many) - clocks(few))


@cache
def strided_swapping(threads: int, stride: int) -> Kernel:
    """Threads of a block swap two elements of theirs, those of neighbouring threads lying `stride` words apart."""

    @cuda.jit
    def swap(values, left, rounds):
        s = cuda.shared.array(2 * threads * stride, int32)
        t = cuda.threadIdx.x
        other = threads * stride + t * stride
        s[t * stride] = values[0, t]
        s[other] = values[1, t]
        for _ in range(rounds):
            for _ in range(2 * UNROLLED):
                u, v = s[t * stride], s[other]
                s[t * stride] = v
                s[other] = u
        left[0, t] = s[t * stride]
        left[1, t] = s[other]

    kernel: Kernel = swap
    return kernel


def conflicts(stride: int, gpu: Gpu, quick: bool) -> float:
    """Clocks that an SM takes for a warp's access to words so far apart."""
    sm = gpu.replace(sm_count=gpu.sms_per_tpc)
    threads = THREADS if stride <= 2 else THREADS // 4  # as many as fill the memory at the largest stride
    shared = 2 * threads * stride * WORD + gpu.smem_reserved + 16
    blocks = resident(gpu, threads, -(-shared // gpu.smem_unit) * gpu.smem_unit)

    def clocks(rounds: int) -> int:
        values = np.arange(2 * threads, dtype=np.int32).reshape(2, threads)
        left = np.zeros_like(values)
        args = (values, left, np.int32(rounds))
        result = on_card(strided_swapping(threads, stride), blocks * sm.sm_count, threads, args, sm)
        agrees("strided swaps", left, values)  # an even number of them
        return result.cycles

    return (clocks(3) - clocks(1)) / (2 * 2 * UNROLLED * 4 * blocks * threads // WARP)


@cache
def adding_constants() -> Kernel:
    """Each thread adds up constants, whose address is the same for all threads."""
    table = np.arange(CONSTANTS, dtype=np.int32)

    @cuda.jit
    def add(sums, size):
        constants = cuda.const.array_like(table)
        total = 0
        for first in range(PASSES):
            for j in range(0, size, PASSES * CONSTANT_LOADS):
                for k in range(0, PASSES * CONSTANT_LOADS, PASSES):
                    total += constants[j + first + k]
        sums[cuda.grid(1)] = total

    kernel: Kernel = add
    return kernel


def constants(gpu: Gpu, quick: bool) -> float:
    """Constants that the threads of an SM load per clock."""
    sm = gpu.replace(sm_count=gpu.sms_per_tpc)
    blocks = resident(gpu, THREADS)
    few, many = (1, 3) if quick else (2, 8)

    def clocks(waves: int) -> int:
        sums = np.zeros(waves * blocks * sm.sm_count * THREADS, np.int32)
        result = on_card(adding_constants(), waves * blocks * sm.sm_count, THREADS, (sums, np.int32(CONSTANTS)), sm)
        agrees("constants", sums, np.full_like(sums, np.arange(CONSTANTS).sum()))
        return result.cycles

    return (many - few) * CONSTANTS * blocks * THREADS / (clocks(many) - clocks(few))


def _swaps(bits: int) -> Probe:
    text = f"shared memory, {bits}-bit loads and stores without conflicts, loop of 640"

    def applies(gpu: Gpu) -> bool:
        return gpu.smem_bytes >= ELEMENTS * THREADS * bits // 8 + gpu.smem_reserved + 16

    return Probe(f"shared {bits} bit", text, "ops/clk/SM", partial(swaps, bits // 32), applies)


def _conflicts(stride: int) -> Probe:
    text = f"shared memory, words {stride} apart"
    return Probe(f"shared stride {stride}", text, "clk/warp", partial(conflicts, stride))


PROBES = (
    *map(_swaps, (32, 64, 128)),
    *map(_conflicts, (2, 4, 8, 16)),
    Probe("constant 32 bit", "constants, 32-bit loads of one address", "ops/clk/SM", constants),
)
