"""Loads that come upon a refresh of their bank, as often and as late as on a card."""

from __future__ import annotations

import numpy as np

from experiments.hardware.hopper.bench import Bench
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_refresh import STEP, random_lines


def test_loads_are_late_as_they_are_on_the_card(bench: Bench) -> None:
    """From the 85th to the 99th percentile within 8 %: a seventh of all waits for what is left of a refresh."""
    card = [(int(row["clocks"]), int(row["loads"])) for row in rows("h200", "refresh")]
    measured = np.repeat([clocks + STEP / 2 for clocks, _ in card], [loads for _, loads in card])
    simulated = random_lines(bench, 1, 12_000)
    shares = (85, 90, 92, 94, 96, 98, 99)
    np.testing.assert_allclose(np.percentile(simulated, shares), np.percentile(measured, shares), rtol=0.08)
