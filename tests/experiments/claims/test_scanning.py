"""Verdicts on string matching, from records whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import string_matching
from experiments.common.verdicts import judge
from tests.experiments.known import scanned


def test_verdicts_on_what_the_seed_says() -> None:
    """It counts the card's multiprocessors wrong."""
    verdicts = {v.id: v for v in string_matching.check(scanned())}
    assert {claim: v.reproduced for claim, v in verdicts.items()} == dict.fromkeys(
        (f"A{n}" for n in range(1, 11)), True
    ) | {"A9": False}
    assert verdicts["A9"].ours == [240, 30, 1.48]
    assert "SM-1 1040, SM-2 320, padded 80, diagonal 80; SM-1 over SM-2 3.25" in verdicts["A5"].note


def changed(approach: str, **columns: float) -> list[dict[str, Any]]:
    """The records with columns of one approach multiplied."""
    return [
        r | {name: r[name] * by for name, by in columns.items() if name in r} if r["approach"] == approach else r
        for r in scanned()
    ]


@pytest.mark.parametrize(
    ("claim", "approach", "columns"),
    [
        ("A1", "SM-1", {"copy_transactions": 16}),
        ("A2", "SM-2", {"copies": 4}),
        ("A3", "GM", {"time_us": 0.4}),
        ("A3", "GM", {"time_us": 1.2}),
        ("A4", "SM-1", {"time_us": 0.7}),
        ("A5", "SM-2", {"read_passes": 2}),
        ("A8", "own copy", {"copy_transactions": 0.5}),
        ("A8", "own copy", {"time_us": 0.7}),
        ("A8", "own copy", {"first_barrier_cycles": 0.1}),
    ],
)
def test_verdicts_on_the_contrary(claim: str, approach: str, columns: dict[str, float]) -> None:
    verdict = judge(claim, changed(approach, **columns))
    assert verdict is not None
    assert verdict.reproduced is False


def test_growth_needs_every_step_and_slows_down_only_if_it_falls() -> None:
    flat = [r | {"time_us": 5.0} if r["text"] == "english" else r for r in scanned()]
    assert [judge(claim, flat).reproduced for claim in ("A6", "A7")] == [False, False]


def test_fewer_patterns_than_the_seed_looked_for_are_not_its_claim() -> None:
    few = [r for r in scanned() if r.get("patterns", 0) < 20_000]
    assert judge("A10", few).reproduced is False
