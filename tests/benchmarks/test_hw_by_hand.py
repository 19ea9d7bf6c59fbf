"""What the HW pass makes of FFT is what the paper writes by hand (Figure 8), to the cycle."""

from __future__ import annotations

from typing import Any

import pytest

from smmux import benchmarks, cuda, float32, smm
from smmux.benchmarks.fft import (
    WORDS,
    butterflies,
    gather,
    load_signal,
    scatter,
    store_signal,
    twiddle_legs,
    twiddle_points,
)
from smmux.results.result import Result


@cuda.jit(fastmath=True)
def fft_by_hand(real, imaginary):
    planes = smm.array(WORDS, float32)
    re = cuda.local.array(16, float32)
    im = cuda.local.array(16, float32)
    t = cuda.threadIdx.x
    load_signal(real, t, re)
    load_signal(imaginary, t, im)

    butterflies(re, im)
    twiddle_points(re, im, t)
    smm.alloc()
    scatter(planes, 1056, 4 * t + (t >> 3), 264, 1, re, im)
    cuda.syncthreads()
    gather(planes, 1056, t + (t >> 5), 66, 264, re, im)
    smm.release()

    butterflies(re, im)
    twiddle_legs(re, im, 4 * t)
    smm.alloc()
    scatter(planes, 1056, 4 * t + (t >> 3), 1, 264, re, im)
    cuda.syncthreads()
    gather(planes, 1056, t + (t >> 5), 66, 264, re, im)
    smm.release()

    butterflies(re, im)
    twiddle_legs(re, im, 16 * (t >> 2))
    smm.alloc()
    scatter(planes, 1056, t, 264, 66, re, im)
    cuda.syncthreads()
    gather(planes, 1056, (t & 3) + 264 * ((t >> 2) & 3) + 4 * (t >> 4), 16, 66, re, im)
    smm.release()

    butterflies(re, im)
    twiddle_legs(re, im, 64 * (t >> 4))
    smm.alloc()
    scatter(planes, 1088, t, 272, 68, re, im)
    cuda.syncthreads()
    gather(planes, 1088, (t & 15) + 272 * (t >> 4), 16, 68, re, im)
    smm.release()

    butterflies(re, im)
    store_signal(real, t, re)
    store_signal(imaginary, t, im)


def run(kernel: Any, extra_blocks: int, schedule: str) -> Result:
    problem = benchmarks.get("FFT").problem({"batch": 64})
    arguments = problem.arguments()
    options = {"gpu": "GTX285-1100", "management": "dynamic", "extra_blocks": extra_blocks, "schedule": schedule}
    result = kernel.simulate(problem.grid, problem.block, arguments, **options)
    problem.check(arguments)
    return result


@pytest.mark.quick
@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize("extra_blocks", [0, 2])
def test_every_counter_is_equal(extra_blocks: int, schedule: str) -> None:
    made = run(benchmarks.get("FFT").kernel("hw"), extra_blocks, schedule)
    assert made.counters == run(fft_by_hand, extra_blocks, schedule).counters
