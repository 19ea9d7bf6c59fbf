"""The workloads beside Table 1: right on every machine, free of races, and checked by oracles that notice."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import programs
from experiments.programs import filters, lookups
from smmux import gpus
from smmux.benchmarks import WrongOutputError

ALL = [(name, build) for name in programs.workloads() for build in programs.workload(name).builds]


@pytest.mark.quick
@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K", "K20c"])
@pytest.mark.parametrize(("name", "build"), ALL)
def test_outputs_are_right_under_both_schedules_and_nothing_is_misused(name: str, build: str, gpu: str) -> None:
    """Threads of CHUNKMAX store different values at a time, any of which may win."""
    row = programs.workload(name)
    problem = row.problem("tiny", build)
    for schedule in ("source", "list"):
        arguments = problem.arguments()
        result = row.kernels[build].simulate(
            problem.grid, problem.block, arguments, gpu=gpu, schedule=schedule, check="races"
        )
        problem.check(arguments)
        assert {finding.kind for finding in result.findings} <= ({"conflict"} if name == "CHUNKMAX" else set())


@pytest.mark.parametrize(("name", "build"), ALL)
def test_unwritten_outputs_are_noticed(name: str, build: str) -> None:
    problem = programs.workload(name).problem("tiny", build)
    with pytest.raises(WrongOutputError):
        problem.check(problem.arguments())


@pytest.mark.parametrize(("name", "build"), ALL)
def test_kernels_are_the_same_under_numba(name: str, build: str) -> None:
    """Nothing in them depends on the width of intermediate integers."""
    row = programs.workload(name)
    assert not row.kernels[build].portability(*row.problem("tiny", build).arguments())


def test_unknown_names_say_what_exists() -> None:
    with pytest.raises(KeyError, match="no workload 'XX'; there are FIR, AC"):
        programs.workload("XX")
    with pytest.raises(KeyError, match="FIR has no size 'huge'; it has default, quick, tiny"):
        programs.workload("FIR").problem("huge")


@pytest.mark.parametrize("build", programs.workload("FIR").builds)
@pytest.mark.parametrize("blocks", [1, 2, 3, 30])
def test_filter_at_borders_and_where_the_halves_meet(build: str, blocks: int) -> None:
    """A filter whose answer is a sum of shifted signals, written down anew."""
    points = 512 * blocks
    row = programs.workload("FIR")
    problem = row.problem({"points": points}, build)
    arguments = problem.arguments()
    row.kernels[build].simulate(problem.grid, problem.block, arguments, gpu="K20c", bank_bytes=8)
    out, signal, _ = arguments
    for i in (0, 9, 10, points // 2 - 11, points // 2 - 1, points // 2, points // 2 + 9, points - 11, points - 1):
        taken = [(k, i + k - 10) for k in range(21) if 0 <= i + k - 10 < points]
        assert out[i] == sum(float(filters.TAPS[k]) * float(signal[j]) for k, j in taken)


def test_filter_needs_whole_blocks() -> None:
    with pytest.raises(ValueError, match="points must be a positive multiple of 512, not 256"):
        programs.workload("FIR").problem({"points": 256}, "two")


def test_filter_counts_what_its_loads_are() -> None:
    """21 loads, a store of each thread and of the first twenty: 22.125 of a warp, 20 of which conflict in pairs."""
    row = programs.workload("FIR")
    for build, width, passes in (("one", 4, 22.125), ("two", 4, 42.125), ("two", 8, 22.125), ("one", 8, 22.125)):
        problem = row.problem("tiny", build)
        result = row.kernels[build].simulate(
            problem.grid, problem.block, problem.arguments(), gpu=gpus.get("K20c").with_banks(width)
        )
        assert result["shared_passes"] == passes * result["warps"]
        assert result["shared_accesses"] == 22.125 * result["warps"]
        assert np.isclose(result["shared_conflicts"], (passes - 22.125) * result["warps"])


@pytest.mark.parametrize("gpu", ["GTX285", "GTX285-1100", "GTX480-16K", "K20c"])
@pytest.mark.parametrize("places", [1, 2, 8, 32])
def test_constants_are_read_once_for_each_place(places: int, gpu: str) -> None:
    row = programs.workload("LOOKUP")
    problem = row.problem({"threads": 256, "places": places}, "constant")
    arguments = problem.arguments()
    result = row.kernels["constant"].simulate(problem.grid, problem.block, arguments, gpu=gpu)
    problem.check(arguments)
    assert result["const_accesses"] == result["warps"] * lookups.READS
    assert result["const_passes"] == places * result["const_accesses"]


@pytest.mark.parametrize("elements", [1, 255, 4097])
@pytest.mark.parametrize("each", [1, 3, 32])
@pytest.mark.parametrize("build", programs.workload("SUMS").builds)
def test_sums_of_any_size(build: str, each: int, elements: int) -> None:
    row = programs.workload("SUMS")
    problem = row.problem({"elements": elements, "each": each}, build)
    arguments = problem.arguments()
    row.kernels[build].simulate(problem.grid, problem.block, arguments, gpu="K20c")
    problem.check(arguments)


def test_sizes_that_workloads_cannot_take() -> None:
    with pytest.raises(ValueError, match="places must be a divisor of 32, not 3"):
        programs.workload("LOOKUP").problem({"places": 3})
    with pytest.raises(ValueError, match="points must be a positive multiple of 1024, not 256"):
        programs.workload("POINTS").problem({"points": 256})
