"""Figure 15 as pictures and a table; then a small run of its own."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import fig15
from experiments.common.curves import curves
from tests.experiments.known import STEPS, residents_as_paper


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return residents_as_paper()


def test_pictures(as_paper: list[dict[str, Any]]) -> None:
    figure = Figure()
    bars = fig15.plot(as_paper, figure.add_subplot())
    assert [len(container) for container in bars.containers] == [8, 8, 8]
    for column in ("speedup", "wait"):
        assert len(fig15.plot_curve(as_paper, figure.add_subplot(), column).lines) == 8


def test_table_says_where_the_card_stops(as_paper: list[dict[str, Any]]) -> None:
    assert "K+7 (blocks)" in fig15.table(as_paper)


@pytest.mark.slow
def test_quick_run() -> None:
    found = curves(fig15.run(quick=True, jobs=2))
    for rows in found.values():
        waits = [r["wait"] for r in rows]
        assert waits[0] == 0 < waits[1] < waits[-1] < 1
    assert [r["residency"] for r in found["FFT"]] == [n + 1 for n in STEPS]
    assert found["FFT"][3]["speedup"] > found["FFT"][1]["speedup"]
