"""Which half of the H200's L2 has a line, and how many lines it keeps, against what a card answered."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_l2 import MB, PIECE, halves, listed, rounds_of, shares
from experiments.hardware.hopper.simulated import SimulatedBench
from smmux import gpus
from tests.sass.conftest import needed

SMALLER = 32
"""The L2 and what is read are so much smaller than on the card."""


@cache
def bench(folder: Path) -> SimulatedBench:
    """A small H200."""
    needed("nvcc", "nvdisasm")
    card = gpus.get("H200")
    return SimulatedBench(folder, card.replace(l2_bytes=card.l2_bytes // SMALLER))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubins")


@pytest.mark.parametrize(
    ("who", "megabytes"),
    [
        ("own half", 40),
        pytest.param("own half", 72, marks=pytest.mark.long),
        ("other half", 26),
        pytest.param("other half", 38, marks=pytest.mark.long),
        pytest.param("any", 32, marks=pytest.mark.long),
        ("any", 40),
        pytest.param("any", 48, marks=pytest.mark.long),
        pytest.param("any", 56, marks=pytest.mark.long),
        pytest.param("one half", 44, marks=pytest.mark.long),
        ("in turns", 34),
    ],
)
def test_rounds_take_what_they_do_on_the_card(folder: Path, who: str, megabytes: int) -> None:
    """Where less than all is kept the part differs by more in places: sets are not those of the card."""
    small, pieces = bench(folder), megabytes * MB // PIECE // SMALLER
    base = small.card.alloc(megabytes * MB // SMALLER)
    table = listed([shares(who, halves(small, base, pieces), pieces, turn) for turn in (0, 1)])
    clocks, near = rounds_of(small, base, table)
    small.card.free(base)
    (row,) = (r for r in rows("h200", "l2_rounds") if (r["who"], r["megabytes"]) == (who, str(megabytes)))
    assert near[1] == pytest.approx(float(row["near_2"]), abs=0.2)
    assert near[-1] == pytest.approx(float(row["near_6"]), abs=0.2)
    assert clocks[-1] == pytest.approx(float(row["clocks"]), rel=0.12)
