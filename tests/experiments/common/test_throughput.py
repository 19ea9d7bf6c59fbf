"""Rates over the size of the problem."""

from __future__ import annotations

import pytest

from experiments import fig13
from experiments.common import throughput
from tests.experiments.known import MV, rates


def test_rates_ratios_and_means() -> None:
    made = rates(MV, throughput.HEIGHTS)
    assert throughput.curve(made, "16K_BL") == dict.fromkeys(throughput.HEIGHTS, 30.0)
    assert throughput.ratios(made, "16K_VTB_pipe", "16K_BL") == dict.fromkeys(throughput.HEIGHTS, 1.6)
    assert throughput.mean(made, "48K_VTB_pipe") == 80.0
    assert "1.600" in throughput.table(made, "height")


@pytest.mark.long
def test_rate_counts_the_problems_operations() -> None:
    """A run of a few transforms: 51200 operations each, as the field counts them."""
    made = throughput.run("FFT", {4: {"batch": 4}}, lambda batch: fig13.FLOPS * batch, 1, "test")
    assert len(made) == len(throughput.SETTINGS) * len(throughput.SERIES)
    assert all(r["gflops"] == pytest.approx(4 * 51200 / r["time_us"] / 1e3) for r in made)
    assert {r["speedup"] for r in made if r["variant"] == "baseline"} == {1.0}
