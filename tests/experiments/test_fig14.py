"""Figure 14 as data: speedups, means and verdicts from records whose answer is known; then a small run of its own."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from experiments import fig14, runs
from smmux import benchmarks, gpus


def record(benchmark: str, schedule: str, extra: int, cycles: int) -> dict:
    variant = "hw" if extra else "baseline"
    return {
        "benchmark": benchmark, "variant": variant, "build": "staged", "schedule": schedule, "gpu": fig14.GPU,
        "extra_blocks": extra, "cycles": cycles, "blocks": 10, "residency": 1 + extra, "registers": 20,
        "instructions": 1000 + bool(extra), "allocations": 40, "region_cycles": cycles,
    }  # fmt: skip


@pytest.fixture
def records() -> list[dict]:
    cycles = {"FFT": (400, 100, 200), "HG": (100, 100, 50)}
    made = [
        record(name, schedule, extra, found)
        for name, row in cycles.items()
        for schedule in runs.SCHEDULES
        for extra, found in zip((0, 2, 3), row, strict=True)
    ]
    return fig14.with_speedups(made)


def test_bars_are_speedups_and_their_geometric_mean(records: list[dict]) -> None:
    found = {(b["benchmark"], b["schedule"], b["extra_blocks"]): b["speedup"] for b in fig14.bars(records)}
    assert found["FFT", "source", 2] == 4
    assert found["HG", "list", 3] == 2
    assert found["GM", "source", 2] == pytest.approx(2)
    assert found["GM", "source", 3] == pytest.approx(2)
    assert len(found) == 3 * 4


def test_baselines_are_their_own_unit(records: list[dict]) -> None:
    assert {r["speedup"] for r in records if r["variant"] == "baseline"} == {1.0}


def test_picture_has_a_bar_per_point_and_the_papers_mean(records: list[dict]) -> None:
    ax = fig14.plot(records, Figure().add_subplot())
    assert [len(bars) for bars in ax.containers] == [3, 3, 3, 3]
    assert list(ax.lines[0].get_ydata()) == [fig14.PAPER_MEAN] * 2


def test_mean_is_not_judged_on_some_of_the_benchmarks(records: list[dict]) -> None:
    verdicts = {v.id: v for v in fig14.check(records)}
    assert verdicts["P3"].reproduced is None
    assert verdicts["P3"].ours == [2.0, 4.0]
    assert verdicts["P40"].reproduced is True
    assert verdicts["P54"].ours == {"FFT": 4, "HG": 1}
    assert verdicts["P57"].reproduced is True


def test_points_of_a_problem_are_neighbours() -> None:
    card = gpus.get(fig14.GPU)
    names = [p["benchmark"] for p in fig14.points([card], runs.SCHEDULES, "quick")]
    assert names == sorted(names, key=fig14.LIMITED.index)
    assert len(names) == len(fig14.shown()) * 2 * 3


def test_other_builds_stay_out_of_the_mean(records: list[dict]) -> None:
    other = [r | {"benchmark": "MV", "build": "x_hoisted", "speedup": 100.0} for r in records]
    assert fig14.bars(records + other) == fig14.bars(records)
    assert "MV x_hoisted" in fig14.table(records + other)


def test_register_budget_lets_the_blocks_reside() -> None:
    """16384 registers / (threads x blocks), rounded down to 4 by GPGPU-Sim's rule; at most 124."""
    gpu = gpus.get("GTX285-1100")
    budgets = {n: runs.register_budget(benchmarks.get(n), gpu, benchmarks.get(n).builds[0]) for n in fig14.LIMITED}
    assert budgets == {"MV": 84, "FFT": 64, "MC": 124, "STO": 32, "SP": 40, "HG": 64, "CV": 32}


@pytest.mark.slow
def test_quick_run_is_right_and_its_orderings_hold() -> None:
    records = fig14.run(quick=True, jobs=2)
    found = {(b["benchmark"], b["schedule"], b["extra_blocks"]): b["speedup"] for b in fig14.bars(records)}
    for schedule in runs.SCHEDULES:
        assert found["FFT", schedule, 3] > 1.1  # the paper: FFT gains, HG and MV do not
        assert found["FFT", schedule, 3] > found["MV", schedule, 3]
