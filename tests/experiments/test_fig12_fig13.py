"""Figures 12 and 13 as pictures."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import fig12, fig13
from experiments.common import throughput
from experiments.common.schedules import ON_CARDS
from tests.experiments.known import FFT, MV, rates


@pytest.mark.parametrize(("figure", "levels"), [(fig12, MV), (fig13, FFT)])
def test_picture_has_a_line_per_series(figure: Any, levels: dict[str, float]) -> None:
    sizes = tuple(figure.sizes())
    ax = figure.plot(rates(levels, sizes), Figure().add_subplot(), ON_CARDS.head)
    labels = [line.get_label() for line in ax.lines]
    assert labels[:4] == list(throughput.SERIES)
    assert all(len(line.get_xdata()) == len(sizes) for line in ax.lines[:4])
