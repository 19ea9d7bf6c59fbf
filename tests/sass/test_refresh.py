"""Loads that come upon a refresh of their bank, as often and as late as on a card."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.hardware.hopper.bench import FOLDER, Bench
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_refresh import STEP, random_lines
from smmux import gpus


def test_loads_are_late_as_they_are_on_the_card(bench: Bench) -> None:
    """From the 85th to the 99th percentile within 8 %: a seventh of all waits for what is left of a refresh."""
    card = [(int(row["clocks"]), int(row["loads"])) for row in rows("h200", "refresh")]
    measured = np.repeat([clocks + STEP / 2 for clocks, _ in card], [loads for _, loads in card])
    simulated = random_lines(bench, 1, 12_000)
    shares = (85, 90, 92, 94, 96, 98, 99)
    np.testing.assert_allclose(np.percentile(simulated, shares), np.percentile(measured, shares), rtol=0.08)


def test_the_period_is_that_of_the_card() -> None:
    """Of the same lines, loaded 500 times: where those that are late end, all of a line at the same time of a period.
    The sum over lines of these concentrations is largest at that of the machine, of all from 3,600 to 4,200 clocks."""
    with np.load(FOLDER / "h200" / "refreshed_lines.npz") as data:
        began, took = (data["began"] - data["began"][0, 0]).astype(np.float64), data["took"].astype(np.float64)
    late = took - np.percentile(took, 20, axis=0)
    waits = (late > 60) & (late < 700)
    frequencies = np.arange(1 / 4_200, 1 / 3_600, 0.5 / began.max())
    power = np.zeros(len(frequencies))
    for line in range(0, took.shape[1], 2):
        ends = (began + took)[waits[:, line], line]
        power += np.abs(np.exp(2j * np.pi * np.outer(frequencies, ends)).sum(1)) / np.sqrt(len(ends))
    card = gpus.get("H200")
    assert 1 / frequencies[power.argmax()] == pytest.approx(card.t_refi * card.shader_khz / card.dram_khz, rel=0.001)
    assert power.max() > 1.5 * np.percentile(power, 99)
