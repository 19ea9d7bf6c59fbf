"""Figure 11 as a picture, and which benchmarks it runs again."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import fig11
from experiments.common import approaches
from experiments.common.cards import MEASURED
from experiments.common.schedules import ON_CARDS
from tests.experiments.known import AS_PAPER, on_cards


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return on_cards(AS_PAPER)


def test_picture(as_paper: list[dict[str, Any]]) -> None:
    figure = Figure()
    for gpu in MEASURED:
        ax = fig11.plot(as_paper, figure.add_subplot(), gpu)
        assert [len(bars) for bars in ax.containers] == [8, 8, 4, 1]
        marks = {line.get_label(): len(line.get_xdata()) for line in ax.lines}
        assert marks[f"schedule {ON_CARDS.other}"] == 21
        assert marks["paper"] == len(approaches.paper(gpu))


def test_table1_bytes_change_the_residency_of_those_that_are_run_again() -> None:
    """SP and HG: 4 and 2 blocks of their arrays alone."""
    assert [fig11.table1_matters(gpu) for gpu in MEASURED[1:]] == [["SP", "HG"], ["HG"]]
