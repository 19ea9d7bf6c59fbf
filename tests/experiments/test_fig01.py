"""Figure 1 as a picture."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments import fig01
from tests.experiments.known import SHARES, lifetimes


def test_picture_has_the_papers_mean() -> None:
    figure = Figure()
    for panel, columns in fig01.PANELS.items():
        ax = fig01.plot(lifetimes(SHARES), figure.add_subplot(), panel)
        assert [len(bars) for bars in ax.containers] == [11] * len(columns)
        assert list(ax.lines[0].get_ydata()) == [100 * fig01.paper_mean()] * 2
