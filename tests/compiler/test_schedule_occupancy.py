"""The list schedule has as many blocks on an SM as program order has, whatever registers it would like to spend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import benchmarks, cuda, float32, gpus, multiplex
from smmux.errors import CompileError, LaunchError
from smmux.kernel import Kernel
from smmux.machines.occupancy import registers_kept
from tests.compiler.back import RandomKernel, compiled
from tests.multiplex.textbook import TEXTBOOK
from tests.multiplex.written_kernels import Written

MACHINES = gpus.names()


def resident(
    kernel: Kernel, grid: Any, block: Any, arguments: Callable[[], Sequence[Any]], **options: Any
) -> tuple[int, int, Sequence[Any]]:
    """Blocks on an SM in program order and under the list schedule, and the arguments after the latter."""
    by_hand, scheduled = arguments(), arguments()
    before = kernel.simulate(grid, block, by_hand, schedule="source", **options)
    after = kernel.simulate(grid, block, scheduled, schedule="list", **options)
    return before.residency, after.residency, scheduled


@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize(
    ("name", "build"),
    [
        pytest.param(name, build, marks=() if name in ("MM", "TP", "RD") else pytest.mark.slow)
        for name in benchmarks.names()
        for build in benchmarks.get(name).builds
    ],
)
def test_benchmarks_keep_their_blocks(name: str, build: str, gpu: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    launch = problem.grid, problem.block, problem.arguments
    before, after, outputs = resident(benchmark.kernel("baseline", build), *launch, gpu=gpu)
    problem.check(outputs)
    assert after >= before
    if benchmark.divided or name in ("MV", "FFT"):
        options = {"gpu": gpu, "management": "dynamic", "extra_blocks": 2}
        before, after, outputs = resident(benchmark.kernel("hw", build), *launch, **options)
        problem.check(outputs)
        assert after >= before


@pytest.mark.long
@pytest.mark.parametrize(
    ("gpu", "case"),
    [
        pytest.param(gpu, case, marks=() if (i + j) % len(MACHINES) == 0 else pytest.mark.slow)
        for i, case in enumerate(TEXTBOOK)
        for j, gpu in enumerate(MACHINES)
    ],
    ids=lambda x: x.kernel.__name__ if isinstance(x, Written) else x,
)
def test_textbook_kernels_keep_their_blocks(gpu: str, case: Written) -> None:
    gpu = "K20c" if "shuffles" in case.kernel.__name__ else gpu
    before, after, outputs = resident(case.kernel, case.grid, case.block, case.arguments, gpu=gpu)
    assert after >= before
    last = [value for value in outputs if isinstance(value, np.ndarray)][-1]
    np.testing.assert_allclose(last, case.expected, rtol=case.tolerance, atol=case.tolerance)


@given(
    st.integers(0, 1 << 32),
    st.integers(8, 60),
    st.sampled_from(MACHINES),
    st.integers(1, 512),
    st.integers(0, 3),
)
@settings(max_examples=25, deadline=None)
def test_random_programs_fit_what_is_kept(seed: int, length: int, gpu: str, threads: int, extra: int) -> None:
    """What the compiler is told for a launch is never less than program order takes, and it keeps to it."""
    machine = gpus.get(gpu)
    function = RandomKernel(Random(seed), length, 2).function
    most = {"max_registers": machine.max_regs_thread}
    try:
        ordered = compiled(function, schedule="source", **most)
        kept = registers_kept(ordered, machine, threads, extra > 0, extra)
        scheduled = compiled(function, schedule="list", issue_interval=machine.issue_interval, max_registers=kept)
    except CompileError as error:
        assert "predicates" in str(error)
        return
    assert kept >= ordered.nregs
    assert scheduled.nregs <= kept
    assert scheduled.local_bytes <= ordered.local_bytes, "program order would have fitted without local memory"


def tiled(tile: int) -> Kernel:
    """The matrix product of the textbooks, in tiles of a thread for each element."""

    @cuda.jit
    def product(a, b, c, n):
        left = cuda.shared.array((tile, tile), float32)
        right = cuda.shared.array((tile, tile), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        total = float32(0)
        for k in range(n // tile):
            left[ty, tx] = a[y, k * tile + tx]
            right[ty, tx] = b[k * tile + ty, x]
            cuda.syncthreads()
            for j in range(tile):
                total += left[ty, j] * right[j, tx]
            cuda.syncthreads()
        c[y, x] = total

    return product


@pytest.mark.parametrize(
    ("tile", "gpu"),
    [(tile, gpu) for tile in (16, 32) for gpu in MACHINES if tile * tile <= gpus.get(gpu).max_threads_block],
)
def test_a_tiled_product_runs_and_is_faster(tile: int, gpu: str) -> None:
    """The schedule hides latency with the registers that are free: with all that it would like, a block of 1024 threads
    has no room on a GTX480, and one block of 256 on a GTX285 instead of four. On a GTX480 the 32 warps of such a block
    hide it by themselves: 64 accesses to shared memory take their time in any order."""
    n = 64
    a = np.random.default_rng(tile).random((n, n), np.float32)
    kernel, c = tiled(tile), np.zeros((n, n), np.float32)
    results = [
        kernel.simulate((n // tile, n // tile), (tile, tile), (a, a, c, n), gpu, schedule=schedule)
        for schedule in ("source", "list")
    ]
    np.testing.assert_allclose(c, a @ a, rtol=1e-5)
    assert results[1].residency == results[0].residency
    assert results[1].cycles < results[0].cycles * (1.01 if (tile, gpus.get(gpu).schedulers) == (32, 2) else 1)


@cuda.jit
def greedy(a):
    """It holds 40 values at a time."""
    i = cuda.grid(1)
    own = cuda.local.array(40, float32)
    for k in range(40):
        own[k] = a[i, k]
    for k in range(40):
        a[i, 39 - k] = own[k]


def test_a_block_without_room_is_told_how_many_registers_it_may_have() -> None:
    a = np.zeros((1024, 40), np.float32)
    with pytest.raises(LaunchError, match=r"compile it with max_registers=32") as caught:
        greedy.simulate(1, 1024, (a,), "GTX480-48K", schedule="list")
    assert "1024 threads" in str(caught.value)
    result = greedy.simulate(1, 1024, (a,), "GTX480-48K", schedule="list", max_registers=32)
    assert result.residency == 1


def test_at_its_limit_the_schedule_frees_registers_first() -> None:
    """The interpolations of marching cubes would like more registers than a thread has: what ends values goes before
    what only comes first in the program, so that loads still wait beside each other."""
    benchmark = benchmarks.get("MC")
    cycles = {}
    for schedule in ("source", "list"):
        problem = benchmark.problem("tiny")
        kernel, grid, block = benchmark.launch(problem, "baseline")
        result = kernel.simulate(grid, block, problem.arguments(), gpu="GTX480-48K", schedule=schedule)
        assert result.program.nregs <= result.gpu.max_regs_thread
        cycles[schedule] = result.cycles
    assert cycles["list"] < 0.75 * cycles["source"]


@cuda.jit
def bitonic(o: Any, a: Any) -> None:
    """Sort 256 numbers of a block of 128 threads: each of 36 steps has places of its own."""
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    b = 256 * cuda.blockIdx.x
    s[t] = a[b + t]
    s[t + 128] = a[b + t + 128]
    cuda.syncthreads()
    k = 2
    while k <= 256:
        j = k // 2
        while j > 0:
            i = 2 * t - (t & (j - 1))
            p = i + j
            x = s[i]
            y = s[p]
            up = (i & k) == 0
            if (x > y) == up:
                s[i] = y
                s[p] = x
            cuda.syncthreads()
            j //= 2
        k *= 2
    o[b + t] = s[t]
    o[b + t + 128] = s[t + 128]


@pytest.mark.parametrize("schedule", ["source", "list"])
def test_what_loops_do_not_change_takes_no_registers_for_which_an_sm_has_no_room(schedule: str) -> None:
    """Four virtual blocks take turns in a loop, out of which all these places may move."""
    sorting = multiplex.vtb(bitonic, n=4).fitted(8, 128)
    a = np.random.default_rng(1).random(8 * 256, np.float32)
    out = np.zeros_like(a)
    assert sorting.compile((out, a), gpu="GTX285").nregs > 32
    result = sorting.simulate(*sorting.geometry(8, 128), (out, a), gpu="GTX285", schedule=schedule)
    assert result.program.nregs <= 16384 // 512
    assert result.program.local_bytes == 0
    np.testing.assert_array_equal(out.reshape(8, 256), np.sort(a.reshape(8, 256), axis=1))
