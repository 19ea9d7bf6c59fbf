"""Speedups over baselines, their bars and means."""

from __future__ import annotations

import pytest

from experiments.common import speedups
from tests.experiments.known import managed


@pytest.fixture
def records() -> list[dict]:
    return managed()


def test_bars_are_speedups_and_their_geometric_mean(records: list[dict]) -> None:
    bars = speedups.bars(records)
    found = {(b["benchmark"], b["schedule"], b["variant"], b["extra_blocks"]): b["speedup"] for b in bars}
    assert found["FFT", "source", "hw", 2] == 4
    assert found["HG", "list", "hw", 3] == 2
    assert found["GM", "source", "hw", 2] == pytest.approx(2)
    assert found["GM", "source", "hw", 3] == pytest.approx(2)
    assert found["GM", "list", "co_hw", 1] == found["HG", "list", "co_hw", 1] == pytest.approx(0.8)
    assert len(found) == 2 * (2 * 3 + 2)


def test_baselines_are_their_own_unit(records: list[dict]) -> None:
    assert {r["speedup"] for r in records if r["variant"] == "baseline"} == {1.0}
