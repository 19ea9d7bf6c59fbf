"""Figure 1 as data: shares and verdicts from records whose answer is known, and a run of a few blocks."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import fig01
from experiments.common import cards, runs, stalls
from experiments.common.lifetimes import PUBLISHED, SLOW_SHARED, series, with_shares
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import MEAN
from experiments.common.verdicts import judge
from smmux import benchmarks

SHARES = dict.fromkeys(benchmarks.names(), 0.2) | {"HG": 0.9, "MM": 0.6, "TP": 0.5, "RD": 0.05}


def records(shares: dict[str, float], slower: float = 1.0) -> list[dict[str, Any]]:
    card, made = cards.card(), []
    clocks = 1000 * card.dram_khz / card.shader_khz * card.partitions
    for name, share in shares.items():
        for build in {benchmarks.get(name).builds[0], PUBLISHED.get(name, benchmarks.get(name).builds[0])}:
            common = {"benchmark": name, "build": build, "gpu": cards.GPU, "cycles": 1000, "dram_busy": 0.8 * clocks}
            for schedule in IN_SIMULATION:
                for variant, span in (("isolated", share), ("baseline", 0.95)):
                    made.append(common | {"schedule": schedule, "variant": variant, "share": share, "span": span})
    slow = {"gpu": SLOW_SHARED, "cycles": 1000 * slower}
    return [*made, *({**r, **slow} for r in made if r["benchmark"] == "RD" and r["variant"] == "baseline")]


def test_shares_are_of_block_lifetime() -> None:
    found = with_shares({"region_cycles": 30, "shared_span_cycles": 60, "block_cycles": 120})
    assert (found["share"], found["span"]) == (0.25, 0.5)


def test_verdicts_on_what_the_paper_says() -> None:
    verdicts = {v.id: v for v in fig01.check(records(SHARES))}
    assert verdicts["P4"].ours == pytest.approx(0.248, abs=0.001)
    assert {claim: v.reproduced for claim, v in verdicts.items()} == dict.fromkeys(
        ("P4", "P12", "P13", "P14", "P55"), True
    )


def test_verdicts_on_its_contrary() -> None:
    verdicts = {v.id: v for v in fig01.check(records(dict.fromkeys(SHARES, 0.94) | {"HG": 0.3}, slower=1.5))}
    assert not any(v.reproduced for v in verdicts.values())
    assert "HG 30%" in verdicts["P12"].note


@pytest.mark.parametrize(
    ("change", "holds"), [({"HG": 0.45}, False), ({"MM": 0.2}, False), ({"TP": 0.205}, False), ({"TP": 0.25}, True)]
)
def test_high_and_often_are_more_than_the_limited_ones(change: dict[str, float], holds: bool) -> None:
    """Those have 20 %."""
    assert judge("P12", records(SHARES | change)).reproduced is holds


def test_picture_has_the_papers_mean() -> None:
    figure = Figure()
    for panel, columns in fig01.PANELS.items():
        ax = fig01.plot(records(SHARES), figure.add_subplot(), panel)
        assert [len(bars) for bars in ax.containers] == [11] * len(columns)
        assert list(ax.lines[0].get_ydata()) == [100 * fig01.paper_mean()] * 2


def test_published_builds_fall_back_to_the_default_one() -> None:
    found = series(records(SHARES), "isolated", "source", "published")
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
