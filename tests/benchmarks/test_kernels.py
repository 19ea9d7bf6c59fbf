"""Every kernel on the machine: outputs equal the reference, whatever the schedule, the management and the card."""

from __future__ import annotations

import pytest

from smmux import benchmarks, gpus
from smmux.benchmarks import VARIANTS
from smmux.machines.occupancy import register_budget

BUILDS = [(name, build) for name in benchmarks.names() for build in benchmarks.get(name).builds]
KERNELS = [(name, variant, build) for name, build in BUILDS for variant in VARIANTS[:3]]
DIVIDED = ("MC", "STO", "HG")
KERNELS += [(name, "co_hw", benchmarks.get(name).builds[0]) for name in DIVIDED]
LIMITED = [(name, build) for name, build in BUILDS if name in benchmarks.names()[:7]]
REGIONS = {"MV": 2, "FFT": 4}  # of a block, where there is more than one; MV: width 64, two tiles


@pytest.mark.quick(12)
@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize(("name", "variant", "build"), KERNELS)
def test_outputs_equal_the_reference(name: str, variant: str, build: str, schedule: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    arguments = problem.arguments()
    result = benchmark.kernel(variant, build).simulate(
        problem.grid, problem.block, arguments, gpu="GTX285-1100", schedule=schedule
    )
    problem.check(arguments)
    assert result.counters["blocks"] == problem.blocks
    assert result.counters["warps"] == problem.blocks * problem.threads // 32


@pytest.mark.quick(6)
@pytest.mark.parametrize("extra_blocks", [1, 2, 3])
@pytest.mark.parametrize(("name", "build"), LIMITED)
def test_dynamic_management(name: str, build: str, extra_blocks: int) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    arguments = problem.arguments()
    baseline = benchmark.kernel("baseline", build).compile(arguments, gpu="GTX285-1100")
    result = benchmark.kernel("hw", build).simulate(
        problem.grid,
        problem.block,
        arguments,
        gpu="GTX285-1100",
        max_registers=register_budget(baseline, gpus.get("GTX285-1100"), problem.block),
        management="dynamic",
        extra_blocks=extra_blocks,
    )
    problem.check(arguments)
    assert result.static_residency == benchmark.table1.blocks
    assert result.residency == benchmark.table1.blocks + extra_blocks
    expected = 3 if name == "SP" else REGIONS.get(name, 1) * problem.blocks  # SP: one per vector
    assert result.counters["allocations"] == expected
    assert result.counters["region_cycles"] <= result.counters["block_cycles"]


@pytest.mark.parametrize(("name", "private", "public"), [("MC", 6144, 3072), ("STO", 7168, 1024), ("HG", 7168, 1024)])
def test_collaborative_management(name: str, private: int, public: int) -> None:
    """On 16 kB, K + 1 blocks: two private parts leave room for one public part (P49)."""
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    for extra_blocks in (1, 2):
        arguments = problem.arguments()
        result = benchmark.kernel("co_hw").simulate(
            problem.grid, problem.block, arguments, gpu="GTX285-1100", management="dynamic", extra_blocks=extra_blocks
        )
        problem.check(arguments)
        assert (result.program.shared_bytes, result.program.dynamic_bytes) == (private, public)
        assert (result.static_residency, result.residency) == (1, 2)
        assert result.counters["allocations"] == problem.blocks


def test_divided_benchmarks_are_those_of_the_paper() -> None:
    assert tuple(name for name in benchmarks.names() if "co_hw" in benchmarks.get(name).variants) == DIVIDED


@pytest.mark.quick(6)
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_dynamic_instructions_are_barriers_under_static_management(name: str, build: str) -> None:
    """P53: same results and occupancy as the baseline, and nothing is allocated."""
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    found = []
    for variant in ("baseline", "hw"):
        arguments = problem.arguments()
        kernel = benchmark.kernel(variant, build)
        found.append(kernel.simulate(problem.grid, problem.block, arguments, gpu="GTX285-1100"))
        problem.check(arguments)
    baseline, dynamic = found
    assert dynamic.residency == baseline.residency
    assert dynamic.counters["allocations"] == 0


@pytest.mark.quick
@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K", "GTX480-48K", "K20c"])
@pytest.mark.parametrize("name", benchmarks.names())
def test_other_cards(name: str, gpu: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    arguments = problem.arguments()
    benchmark.kernel().simulate(problem.grid, problem.block, arguments, gpu=gpu)
    problem.check(arguments)


@pytest.mark.quick(11)
@pytest.mark.parametrize(("name", "variant", "build"), KERNELS)
def test_kernels_compute_the_same_under_numba(name: str, variant: str, build: str) -> None:
    """Nothing depends on how wide an intermediate result is."""
    benchmark = benchmarks.get(name)
    arguments = benchmark.problem("tiny", build).arguments()
    assert not benchmark.kernel(variant, build).portability(*arguments)


@pytest.mark.parametrize(("name", "variant", "build"), KERNELS)
@pytest.mark.slow
def test_quick_size(name: str, variant: str, build: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("quick", build)
    arguments = problem.arguments()
    benchmark.kernel(variant, build).simulate(problem.grid, problem.block, arguments, gpu="GTX285-1100")
    problem.check(arguments)
