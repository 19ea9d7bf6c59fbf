"""Grids by a sample of their blocks: the plan's laws, the estimate on queues whose time is known, and whole runs beside
sampled ones."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smmux import ConfigError, benchmarks, cuda, float32
from smmux.results.sampled import Sampled
from smmux.running import sampling


@pytest.mark.parametrize("wave", [1, 30, 120])
@pytest.mark.parametrize("clusters", [8, 24])
def test_a_plan_has_each_block_once_and_stands_for_all(wave: int, clusters: int) -> None:
    for total in (2 * (2 + 7 * clusters) * wave + 2 * (wave - 1), 1000 * wave + wave // 2, 2000 * wave):
        chosen = sampling.plan(total, wave, clusters)
        assert chosen
        blocks, places = chosen
        assert (np.diff(blocks.astype(np.int64)) > 0).all()
        assert blocks[-1] == total - 1
        assert 2 * len(blocks) <= total
        assert len(blocks) % wave == total % wave
        ends = len(blocks) - clusters * 3 * wave
        assert sum(place.blocks for place in places) + ends == total
        for place in places:
            assert blocks[place.place] == place.first
            assert blocks[place.place + 3 * wave - 1] == place.first + 3 * wave - 1


def test_small_grids_are_run_whole() -> None:
    assert sampling.plan(100, 30, 8) is None


def served(times: NDArray[np.float64], servers: int) -> tuple[NDArray[np.uint64], float]:
    """When each of some blocks starts if so many run at a time, and when the last one ends."""
    free = [0.0] * servers
    starts = []
    for time in times:
        start = heapq.heappop(free)
        starts.append(start)
        heapq.heappush(free, start + time)
    return np.array(starts).astype(np.uint64), max(free)


@pytest.mark.parametrize("kind", ["equal", "noisy", "growing", "rows"])
def test_a_queue_s_time_lies_in_the_interval(kind: str) -> None:
    """Blocks that all take as long, or vary, take longer further on, or differ along rows."""
    total, wave, inside, errors = 20_000, 40, 0, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        at = np.arange(total)
        times = {
            "equal": np.full(total, 5000.0),
            "noisy": rng.gamma(4, 1000, total),
            "growing": 2000 + 4000 * at / total + rng.normal(0, 100, total),
            "rows": 3000 + 2000 * (at % 97 < 20) + rng.normal(0, 300, total),
        }[kind]
        chosen = sampling.plan(total, wave, 16)
        assert chosen
        starts, end = served(times[chosen[0]], wave)
        found = sampling.estimate(starts, round(end), chosen[1], wave)
        true = served(times, wave)[1]
        inside += abs(found.cycles - true) <= found.half
        errors.append(found.half / true)
    assert inside >= 18  # 95 of 100 for most kinds
    assert np.mean(errors) < 0.12


@pytest.mark.parametrize("kind", ["start", "jumps"])
def test_what_a_sample_changes_lies_in_the_interval(kind: str) -> None:
    """Blocks that take longer soon after the start of a run, whichever they are; or for a wave behind a jump and less
    for two, as where they first wait for new rows of memory and then find them open."""
    total, wave, clusters, inside = 60_000, 40, 16, 0
    chosen = sampling.plan(total, wave, clusters)
    assert chosen
    for seed in range(20):
        rng = np.random.default_rng(seed)
        ends = []
        for blocks in (np.arange(total), chosen[0]):
            times = rng.normal(5000, 50, len(blocks))
            if kind == "start":
                times *= 1 + 2 / (1 + np.arange(len(blocks)) / wave)
            else:
                since = np.arange(len(blocks)) - np.maximum.accumulate(
                    np.where(np.diff(blocks.astype(np.int64), prepend=-1) > 1, np.arange(len(blocks)), -2 * wave)
                )
                times *= np.select([since < wave, since < 3 * wave], [1.05, 0.985], 1.0)
            ends.append(served(times, wave))
        found = sampling.estimate(ends[1][0], round(ends[1][1]), chosen[1], wave)
        inside += abs(found.cycles - ends[0][1]) <= found.half
    assert inside >= 18


def test_quantiles_of_student_are_scipy_s() -> None:
    special = pytest.importorskip("scipy.special")
    for freedom in (7, 15, 23, 63):
        assert sampling._student(freedom) == pytest.approx(special.stdtrit(freedom, 0.975), rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "size"), [("SP", {"vectors": 12000, "elements": 128, "blocks": 12000}), ("FFT", {"batch": 4096})]
)
def test_a_sampled_run_is_close_and_its_arrays_are_the_kernel_s(name: str, size: dict[str, int]) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem(size)
    whole = benchmark.kernel().simulate(problem.grid, problem.block, problem.arguments(), gpu="GTX285")
    arguments = problem.arguments()
    result = benchmark.kernel().simulate(problem.grid, problem.block, arguments, gpu="GTX285", sample=0.05)
    problem.check(arguments)
    assert whole.sampled is None
    assert isinstance(result.sampled, Sampled)
    assert result.sampled.error <= 0.05
    assert result.sampled.low <= result.cycles <= result.sampled.high
    assert result.cycles == pytest.approx(whole.cycles, rel=0.05)
    assert result["instructions"] == pytest.approx(whole["instructions"], rel=0.02)
    assert "sampled" in repr(result)
    assert "sampled" in result._repr_html_()
    assert "(sampled)" in result.compare(whole).text
    assert result.sampled.text in result.compare(whole)._repr_html_()
    assert result.to_dict()["sampled"]["grid"] == whole["blocks"] == result["blocks"]


def test_without_outputs_arrays_stay_as_they_were() -> None:
    benchmark = benchmarks.get("FFT")
    problem = benchmark.problem({"batch": 4096})
    arguments, before = problem.arguments(), problem.arguments()
    options: dict[str, Any] = {"sample": 0.05, "outputs": False}
    assert benchmark.kernel().simulate(problem.grid, problem.block, arguments, gpu="GTX285", **options).sampled
    for array, kept in zip(arguments, before, strict=True):
        assert np.array_equal(array, kept)


@cuda.jit
def everything(out: Any, counts: Any, table: Any) -> None:
    """Branches, a loop, shared memory between barriers, atomics, a vote and a shuffle."""
    tile = cuda.shared.array(96, float32)
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    tile[thread] = table[(block + thread) % 64]
    cuda.syncthreads()
    total = float32(0)
    for i in range(block % 7 + 1):
        total += tile[(thread + i) % 96]
    if thread % 3 == 0:
        cuda.atomic.add(counts, block % 16, 1)
    total += cuda.shfl_down_sync(0xFFFFFFFF, total, 1)
    if cuda.any_sync(0xFFFFFFFF, total > 100):
        total += 1
    cuda.syncthreads()
    tile[95 - thread] = total
    cuda.syncthreads()
    out[block * 96 + thread] = tile[thread]


@pytest.mark.long
def test_values_of_blocks_that_are_not_simulated_are_right_to_the_bit() -> None:
    blocks = 16_000
    table = np.random.default_rng(1).random(64, np.float32) * 40
    runs = []
    for sample in (None, 0.1):
        out, counts = np.zeros(96 * blocks, np.float32), np.zeros(16, np.int32)
        result = everything.simulate(blocks, 96, (out, counts, table), gpu="GTX480-48K", sample=sample)
        runs.append((out, counts))
    assert result.sampled
    assert np.array_equal(runs[0][0].view(np.uint32), runs[1][0].view(np.uint32))
    assert np.array_equal(runs[0][1], runs[1][1])


@cuda.jit
def in_turn(order: Any, out: Any) -> None:
    """A block waits until all in front of it have had their turn; an SM has room for one."""
    tile = cuda.shared.array(3000, float32)
    tile[cuda.threadIdx.x] = 0
    if cuda.threadIdx.x == 0:
        while cuda.atomic.add(order, 0, 0) != cuda.blockIdx.x:
            pass
        out[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        cuda.atomic.add(order, 0, 1)


def test_blocks_that_wait_for_others_are_run_whole() -> None:
    blocks = 3600
    order, out = np.zeros(1, np.int32), np.zeros(blocks, np.int32)
    result = in_turn.simulate(blocks, 32, (order, out), gpu="GTX285", sample=0.1)  # its sample would spin for ever
    assert result.sampled is None
    assert order[0] == blocks
    assert np.array_equal(out, np.arange(blocks))


@pytest.mark.parametrize(
    "options", [{"check": "races"}, {"trace": True}, {"sample": 0}, {"sample": 1.5}, {"sample": True}]
)
def test_what_needs_the_whole_grid_is_refused(options: dict[str, Any]) -> None:
    out, counts = np.zeros(96, np.float32), np.zeros(16, np.int32)
    with pytest.raises(ConfigError, match="sample"):
        everything.simulate(1, 96, (out, counts, np.ones(64, np.float32)), **{"sample": 0.01, **options})


def test_a_small_grid_is_as_without() -> None:
    runs = []
    for sample in (None, 0.01):
        out, counts = np.zeros(960, np.float32), np.zeros(16, np.int32)
        runs.append(everything.simulate(10, 96, (out, counts, np.ones(64, np.float32)), sample=sample))
    assert runs[0].counters == runs[1].counters
    assert runs[1].sampled is None
