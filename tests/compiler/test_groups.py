"""Loops whose trips go in groups: as many trips as Python has, at the ends of the type too, and chains of addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import cuda, float32, gpus, int32
from smmux.compiler.options import Options
from smmux.compiler.python import groups

LEAST, MOST = -(1 << 31), (1 << 31) - 1
BOUNDS = [
    (0, 0), (0, 1), (0, 3), (0, 4), (0, 15), (0, 16), (0, 17), (0, 100), (7, 7), (9, 3), (-40, 40), (5, LEAST),
    (0, LEAST + 3), (LEAST, LEAST), (LEAST, LEAST + 1), (LEAST, LEAST + 37), (MOST - 37, MOST), (MOST - 2, MOST),
    (MOST, MOST), (LEAST + 5, LEAST), (MOST, LEAST),
]  # fmt: skip


@cuda.jit
def ones(start, stop, out):
    trips, total = int32(0), int32(0)
    for i in range(start, stop):
        trips += 1
        total ^= i
    out[0], out[1] = trips, total


@cuda.jit
def sevens(start, stop, out):
    trips, total = int32(0), int32(0)
    for i in range(start, stop, 7):
        trips += 1
        total ^= i
    out[0], out[1] = trips, total


@cuda.jit
def steps(start, stop, step, out):
    trips, total = int32(0), int32(0)
    if step > 0:
        for i in range(start, stop, step):
            trips += 1
            total ^= i
    out[0], out[1] = trips, total


def expected(*bounds: int) -> list[int]:
    total = 0
    for i in range(*bounds):
        total ^= i
    return [len(range(*bounds)), total]


def run(kernel: Any, *numbers: int) -> list[int]:
    out = np.full(2, -1, np.int32)
    kernel.simulate(1, 1, (*map(np.int32, numbers), out), gpu=gpus.COMPILED)
    return [int(x) for x in out]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_trips_are_those_of_python(bounds: tuple[int, int]) -> None:
    assert run(ones, *bounds) == expected(*bounds)
    assert run(sevens, *bounds) == expected(*bounds, 7)


@pytest.mark.parametrize("step", [1, 3, 1 << 20, (1 << 20) + 1, 1 << 29, MOST])
def test_a_step_may_be_known_when_the_loop_runs(step: int) -> None:
    for start, stop in BOUNDS:
        start, stop = start // step * step if step > 3 else start, stop
        start = max(start, LEAST)
        if len(range(start, stop, step)) < 2000:
            assert run(steps, start, stop, step) == expected(start, stop, step)


@cuda.jit
def column(n, a, x, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(n):
        total += a[k * 64 + i] * x[k]
    out[i] = total


@cuda.jit
def stride(n, width, a, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(n):
        total += a[k * width + i]
    out[i] = total


@pytest.mark.parametrize("n", [1, 4, 15, 16, 17, 50])
def test_sums_down_columns(n: int) -> None:
    rng = np.random.default_rng(n)
    a, x = rng.integers(-8, 9, (n, 64)).astype(np.float32), rng.integers(-8, 9, n).astype(np.float32)
    out = np.zeros(64, np.float32)
    column.simulate(2, 32, (np.int32(n), a.reshape(-1), x, out), gpu=gpus.COMPILED)
    assert np.array_equal(out, x @ a)
    stride.simulate(2, 32, (np.int32(n), np.int32(64), a.reshape(-1), out), gpu=gpus.COMPILED)
    assert np.array_equal(out, a.sum(0))


def test_loads_of_sixteen_trips_are_on_their_way_at_once() -> None:
    """Their addresses are a chain, so that they fit into 32 registers; a machine without groups has one a trip."""
    args = (np.int32(64), np.int32(64), np.zeros(4096, np.float32), np.zeros(64, np.float32))

    def loads(gpu: str) -> int:
        program = stride.compile(args, gpus.get(gpu), grid=2, block=32)
        assert program.nregs <= 32
        return program.listing().count("ld.global")

    assert loads(gpus.COMPILED) == 16 + 4 + 1
    assert loads("GTX285") == 1


@cuda.jit
def waits(n, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = 0
    for k in range(n):
        cuda.syncthreads()
        s[31 - t] += k
    out[t] = s[t]


@cuda.jit
def leaves(n, out):
    t = cuda.threadIdx.x
    k = 0
    for k in range(n):
        if k == t:
            break
    out[t] = k


def test_loops_with_barriers_and_breaks_keep_their_trips() -> None:
    for kernel, answer in ((waits, np.full(32, 15)), (leaves, np.minimum(np.arange(32), 5))):
        out = np.zeros(32, np.float32)
        kernel.simulate(1, 32, (np.int32(6), out), gpu=gpus.COMPILED)
        assert np.array_equal(out, answer)
    listing = waits.compile(
        (np.int32(6), np.zeros(32, np.float32)), gpus.get(gpus.COMPILED), grid=1, block=32
    ).listing()
    assert listing.count("bar.sync") == 1


def test_groups_are_an_option() -> None:
    assert Options().group == 1
    assert groups.LARGEST * Options(group=16).group < 1 << 31
