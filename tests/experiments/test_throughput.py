"""Figures 12 and 13 as data: rates, gains and verdicts from records whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import fig12, fig13
from experiments.common import cards, throughput
from experiments.common.schedules import ON_CARDS


def records(rates: dict[str, float], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """The same rate for all sizes, by series."""
    made = []
    for size in sizes:
        for schedule, fetched in throughput.SETTINGS.values():
            for series, (gpu, variant) in throughput.SERIES.items():
                name = cards.perfect_fetch(gpu).name if fetched else gpu
                common = {"gpu": name, "variant": variant, "schedule": schedule, "size": size, "blocks": size // 32}
                made.append({**common, "gflops": rates[series]})
    return made


MV = {"16K_BL": 30.0, "48K_BL": 50.0, "16K_VTB_pipe": 48.0, "48K_VTB_pipe": 80.0}
FFT = {"16K_BL": 80.0, "48K_BL": 170.0, "16K_VTB_pipe": 120.0, "48K_VTB_pipe": 210.0}


def test_rates_ratios_and_means() -> None:
    made = records(MV, throughput.HEIGHTS)
    assert throughput.curve(made, "16K_BL") == dict.fromkeys(throughput.HEIGHTS, 30.0)
    assert throughput.ratios(made, "16K_VTB_pipe", "16K_BL") == dict.fromkeys(throughput.HEIGHTS, 1.6)
    assert throughput.mean(made, "48K_VTB_pipe") == 80.0
    assert "1.600" in throughput.table(made, "height")


def test_verdicts_on_figure_12() -> None:
    verdicts = {v.id: v for v in fig12.check(records(MV, throughput.HEIGHTS))}
    assert {claim: v.reproduced for claim, v in verdicts.items()} == {"P35": True, "P36": True}
    assert verdicts["P35"].ours == [1.6, 1.6]
    assert fig12.check(records(MV, fig12.QUICK_HEIGHTS))[0].reproduced is None
    assert fig12.check(records(MV | {"48K_VTB_pipe": 50.0}, throughput.HEIGHTS))[0].reproduced is False


def test_verdicts_on_figure_13() -> None:
    verdicts = {v.id: v.reproduced for v in fig13.check(records(FFT, throughput.BATCHES))}
    assert verdicts == {"P37": None, "P38": True, "P39": True}
    slower = {v.id: v.reproduced for v in fig13.check(records(FFT | {"48K_BL": 70.0}, throughput.BATCHES))}
    assert slower == {"P37": None, "P38": False, "P39": False}


@pytest.mark.parametrize(("figure", "rates"), [(fig12, MV), (fig13, FFT)])
def test_picture_has_a_line_per_series(figure: Any, rates: dict[str, float]) -> None:
    sizes = tuple(figure.sizes())
    ax = figure.plot(records(rates, sizes), Figure().add_subplot(), ON_CARDS.head)
    labels = [line.get_label() for line in ax.lines]
    assert labels[:4] == list(throughput.SERIES)
    assert all(len(line.get_xdata()) == len(sizes) for line in ax.lines[:4])


def test_rate_counts_the_problems_operations() -> None:
    """A run of a few transforms: 51200 operations each, as the field counts them."""
    made = throughput.run("FFT", {4: {"batch": 4}}, lambda batch: fig13.FLOPS * batch, 1, "test")
    assert len(made) == len(throughput.SETTINGS) * len(throughput.SERIES)
    assert all(r["gflops"] == pytest.approx(4 * 51200 / r["time_us"] / 1e3) for r in made)
    assert {r["speedup"] for r in made if r["variant"] == "baseline"} == {1.0}
