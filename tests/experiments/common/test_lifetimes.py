"""Shares of block lifetime, and a run of a few blocks."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.common import cards, runs, stalls
from experiments.common.lifetimes import series, with_shares
from experiments.common.speedups import MEAN
from smmux import benchmarks
from tests.experiments.known import SHARES, lifetimes


def test_shares_are_of_block_lifetime() -> None:
    found = with_shares({"region_cycles": 30, "shared_span_cycles": 60, "block_cycles": 120})
    assert (found["share"], found["span"]) == (0.25, 0.5)


def test_published_builds_fall_back_to_the_default_one() -> None:
    found = series(lifetimes(SHARES), "isolated", "source", "published")
    assert set(found) == {*benchmarks.names(), MEAN}


@pytest.mark.parametrize("name", ["MV", "RD"])
def test_few_blocks(name: str) -> None:
    """Isolated regions lie within the span from first define to last use, give or take their barriers."""
    common: dict[str, Any] = {
        "benchmark": name,
        "build": "staged",
        "schedule": "list",
        "gpu": cards.GPU,
        "size": "tiny",
    }
    isolated, bare = (with_shares(runs.simulate(variant=variant, **common)) for variant in ("isolated", "baseline"))
    assert sum(stalls.shares(isolated).values()) == pytest.approx(1)
    assert stalls.shares(isolated)["other"] <= 0.01
    assert 0 < isolated["share"] < 1
    assert bare["share"] == 0 < bare["span"] < 1
    assert isolated["region_cycles"] < isolated["shared_span_cycles"] + isolated["barriers"] * 50
