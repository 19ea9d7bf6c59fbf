"""Layouts as data: a small run whose counts are known in closed form, its pictures, and the contrary of each claim."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from experiments import layouts
from experiments.common import advised
from experiments.common.advised import CARDS, FINE, SPREAD, STRETCHES, found, stretched
from experiments.common.verdicts import judge
from smmux.sweep import Record

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return layouts.run(quick=True, jobs=2)


def test_verdicts_of_a_small_run(records: list[Record]) -> None:
    """In which the L2 holds everything, so that it can exploit what it cannot in a large one."""
    verdicts = {v.id: v.reproduced for v in layouts.check(records)}
    assert verdicts == dict.fromkeys(("S1", "S2", "S3", "S4", "S10", "S11", "S12", "S13", "S14"), True) | {"S5": False}
    assert judge("S1", records).ours["sectors"] == {"AoS": 16, "SoA": 8}
    assert judge("S11", records).ours == list(SPREAD)


def test_sectors_are_those_of_a_warps_addresses(records: list[Record]) -> None:
    """4-byte words `stretch` words apart lie in min(32, 4 stretch) sectors of 32 bytes."""
    for stretch, r in stretched(records).items():
        assert r["requests"] == (r["global_loads"] + r["global_stores"]) * min(32, 4 * stretch)
    own = found(records)
    points = advised.SIZES[True]["POINTS"]["points"]
    assert own["AoS", FINE]["requests"] == points // 32 * 16
    assert own["SoA", FINE]["requests"] == own["AoS, stores joined", FINE]["requests"] == points // 32 * 8
    order = advised.SIZES[True]["PRODUCT"]["order"]
    assert own["untiled", FINE]["global_loads"] == 2 * order * order**2 // 32
    assert own["tiled", FINE]["global_loads"] == own["untiled", FINE]["global_loads"] // 16


@pytest.mark.parametrize(
    ("pattern", "change", "lost"),
    [
        ("SoA", {"requests": 1}, {"S1", "S2"}),
        ("SoA", {"cycles": 10**9}, {"S1", "S14"}),
        ("interleaved", {"cycles": 10**9}, {"S3", "S14"}),
        ("blocked 4", {"requests": 1}, {"S3"}),
        ("interleaved", {"requests": 1}, {"S3", "S4"}),
        ("constant 8", {"const_passes": 1}, {"S11"}),
        ("constant 8", {"cycles": 1}, {"S11"}),
        ("tiled", {"cycles": 10**9}, {"S13"}),
        ("interleaved 1", {"cycles": 1}, {"S14"}),
    ],
)
def test_what_is_counted_otherwise_is_a_deviation(
    records: list[Record], pattern: str, change: Record, lost: set[str]
) -> None:
    other = [r | change if r["pattern"] == pattern else r for r in records]
    assert {v.id for v in layouts.check(other) if not v.reproduced} == lost | {"S5"}


def test_an_l2_that_answers_little_cannot_exploit_locality(records: list[Record]) -> None:
    other = [r | {"l2_hits": r["l2_accesses"] // 10} for r in records]
    assert judge("S5", other).reproduced is True


def test_pictures_and_tables(records: list[Record]) -> None:
    ax = layouts.plot(records, Figure().add_subplot())
    assert [len(bars) for bars in ax.containers] == [4] * len(CARDS)
    ax = layouts.plot_stretches(records, Figure().add_subplot())
    assert list(ax.lines[0].get_ydata()) == [min(32, 4 * stretch) for stretch in STRETCHES]
    assert len(layouts.plot_tables(records, Figure().add_subplot()).lines) == 3
    assert "AoS, stores joined" in layouts.table(records)
    assert layouts.summary(records)["slower"]["blocked"].keys() == set(CARDS)
