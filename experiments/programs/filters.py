"""FIR: a filter of 21 taps over a signal, each block with its stretch and ten values on either side in shared memory.

Builds: `one` gives each thread one output and loads words of 32 bits from shared memory; `two` gives it two outputs,
half the signal apart, whose inputs lie beside each other, so that a load brings both in 64 bits. Outside the signal
there are zeros; where the two halves meet there are not.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32
from smmux.benchmarks.base import Problem, Workload, eighths, equal, frozen, multiples, poisoned

__all__ = ["WORKLOADS"]

THREADS, RADIUS = 256, 10
STRETCH = THREADS + 2 * RADIUS
TAPS = eighths(np.random.default_rng(21), 2 * RADIUS + 1)
"""Without symmetry, so that no two taps can be confused."""


@cuda.jit
def filter_one(out, signal, points):
    """One output per thread."""
    stretch = cuda.shared.array(STRETCH, float32)
    weights = cuda.const.array_like(TAPS)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = int32(i - RADIUS)
    stretch[t] = signal[first] if first >= 0 else float32(0)
    if t < 2 * RADIUS:
        last = int32(first + THREADS)
        stretch[t + THREADS] = signal[last] if last < points else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for k in range(2 * RADIUS + 1):
        total += stretch[t + k] * weights[k]
    out[i] = total


@cuda.jit
def filter_two(out, signal, points):
    """Two outputs per thread, as many elements apart as there are threads."""
    stretch = cuda.shared.array((STRETCH, 2), float32)
    weights = cuda.const.array_like(TAPS)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    half = cuda.gridsize(1)
    first = int32(i - RADIUS)
    second = int32(first + half)
    assert second >= 0
    stretch[t, 0] = signal[first] if first >= 0 else float32(0)
    stretch[t, 1] = signal[second]
    if t < 2 * RADIUS:
        last = int32(second + THREADS)
        stretch[t + THREADS, 0] = signal[first + THREADS]
        stretch[t + THREADS, 1] = signal[last] if last < points else float32(0)
    cuda.syncthreads()
    total = float32(0)
    other = float32(0)
    for k in range(2 * RADIUS + 1):
        total += stretch[t + k, 0] * weights[k]
        other += stretch[t + k, 1] * weights[k]
    out[i] = total
    out[i + half] = other


OUTPUTS = {"one": 1, "two": 2}
"""Outputs of a thread, by build."""


@lru_cache(maxsize=1)
def signal_and_answer(points: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A signal and what the filter makes of it: out[i] = sum over k of TAPS[k] signal[i + k - 10], without rounding."""
    signal = eighths(np.random.default_rng(11), points)
    answer = np.convolve(signal, TAPS[::-1], "same")
    return signal, frozen(answer.astype(np.float32))


def problem(build: str, points: int) -> Problem:
    """A signal of so many points, a multiple of a block's outputs."""
    multiples(THREADS * OUTPUTS[build], points=points)
    signal, answer = signal_and_answer(points)
    return Problem(
        grid=(points // THREADS // OUTPUTS[build],),
        block=(THREADS,),
        arguments=lambda: (poisoned(points, np.float32), signal, np.int32(points)),
        check=lambda args: equal(f"FIR: out, build {build}", args[0], answer),
    )


WORKLOADS = (
    Workload(
        name="FIR",
        title="Filter of 21 taps",
        kernels={"one": filter_one, "two": filter_two},
        problems=problem,
        sizes={
            "default": {"points": 1 << 24},
            "quick": {"points": 1 << 18},
            "tiny": {"points": 1 << 11},
        },
    ),
)
