"""Speedups, means and bars of the software approaches from records whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.common import approaches, cards
from experiments.common.approaches import BEST
from experiments.common.cards import MEASURED
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import MEAN
from tests.experiments.known import AS_PAPER, on_cards


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return on_cards(AS_PAPER)


def test_means_are_geometric_and_the_best_is_chosen_per_benchmark(as_paper: list[dict[str, Any]]) -> None:
    found = approaches.means(as_paper, "GTX480-16K")
    assert found["vtb"] == pytest.approx(1.42, abs=0.001)
    assert found["vtb_pipe"] == pytest.approx((1.6**4 * 2.19 * 1.3 * 1.55) ** (1 / 7), abs=0.001)
    assert found["co_vtb"] == pytest.approx((2.0 * 1.75 * 1.25) ** (1 / 3), abs=0.001)
    assert found[BEST] == pytest.approx((1.6**4 * 2.19 * 2.0 * 1.75) ** (1 / 7), abs=0.001)
    assert approaches.means(as_paper, "K20c") == {}


def test_bars_have_the_other_schedule_and_the_papers_means_beside_them(as_paper: list[dict[str, Any]]) -> None:
    shown = approaches.bars(as_paper, "GTX480-48K")
    assert len(shown) == 7 * 2 + 3 + 4
    assert all(b[ON_CARDS.other] == pytest.approx(b["speedup"]) for b in shown)
    assert [b["paper"] for b in shown if b["benchmark"] == MEAN] == [1.09, 1.22, 1.14, 1.26]
    alone = approaches.bars(on_cards(AS_PAPER, (ON_CARDS.head,)), "GTX480-48K")
    assert all(b[ON_CARDS.other] is None for b in alone)


def test_substituted_takes_only_what_the_other_machine_has(as_paper: list[dict[str, Any]]) -> None:
    other = cards.table1_bytes("GTX480-16K").name
    theirs = [
        {**r, "gpu": other, "speedup": 3.0} for r in as_paper if r["benchmark"] == "SP" and r["gpu"] == MEASURED[1]
    ]
    mixed = approaches.speedups(approaches.substituted(as_paper + theirs, MEASURED[1], other), MEASURED[1])
    own = approaches.speedups(as_paper, MEASURED[1])
    assert mixed["SP"] == {"vtb": 3.0, "vtb_pipe": 3.0}
    assert {name: row for name, row in mixed.items() if name != "SP"} == {n: r for n, r in own.items() if n != "SP"}
