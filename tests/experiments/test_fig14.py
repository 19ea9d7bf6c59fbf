"""Figure 14 as a picture and a table; then a small run of its own."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from experiments import fig14
from experiments.common import cards, speedups
from experiments.common.schedules import IN_SIMULATION
from tests.experiments.known import managed


@pytest.fixture
def records() -> list[dict]:
    return managed()


def test_picture_has_a_bar_per_point_perfect_fetch_and_the_papers_means(records: list[dict]) -> None:
    fetched = [r | {"gpu": cards.PERFECT_FETCH} for r in records if r["schedule"] == "source"]
    ax = fig14.plot(records + fetched, Figure().add_subplot())
    assert [len(bars) for bars in ax.containers] == [3, 3, 2]
    marks, listed, *paper = (list(line.get_ydata()) for line in ax.lines)
    others = [bar["speedup"] for bar in speedups.bars(records) if bar["schedule"] == "list"]
    assert sorted(listed) == sorted(others)
    assert {text.get_rotation() for text in ax.texts} == {0.0}
    assert sorted(marks) == sorted(bar.get_height() for bars in ax.containers for bar in bars)
    assert paper[:2] == [[1.53] * 2, [1.42] * 2]
    assert "gains 2.00 with two and 2.00 with three more blocks" in fig14.caption(records + fetched)


def test_points_of_a_problem_are_neighbours_and_unique() -> None:
    todo = fig14.points(cards.card(), IN_SIMULATION, "quick")
    found = speedups.by_problem(todo)
    names = [p["benchmark"] for p in found]
    assert names == sorted(names, key=speedups.LIMITED.index)
    assert len(found) == 2 * (7 * 3 + 3)
    assert len(todo) == len(found) + 2 * 3  # CO-HW asks for its baseline too


def test_other_builds_stay_out_of_the_mean(records: list[dict]) -> None:
    other = [r | {"benchmark": "MV", "build": "x_hoisted", "speedup": 100.0} for r in records]
    assert speedups.bars(records + other) == speedups.bars(records)
    assert "MV x_hoisted" in fig14.table(records + other)


@pytest.mark.slow
def test_quick_run_is_right_and_its_orderings_hold() -> None:
    records = fig14.run(quick=True, jobs=2)
    found = {
        (b["benchmark"], b["schedule"], b["variant"], b["extra_blocks"]): b["speedup"] for b in speedups.bars(records)
    }
    for schedule in IN_SIMULATION:
        assert found["FFT", schedule, "hw", 3] > 1.1  # the paper: FFT gains, HG and MV do not
        assert found["FFT", schedule, "hw", 3] > found["MV", schedule, "hw", 3]
