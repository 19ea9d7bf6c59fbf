"""Verdicts on how many blocks an SM should hold, from records whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import fig15
from experiments.common import cards
from experiments.common.curves import PRINTED, curves, without_camping
from experiments.common.speedups import LIMITED, MEAN
from experiments.common.verdicts import judge
from tests.experiments.known import RISING, STEPS, residents, residents_as_paper


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return residents_as_paper()


def test_verdicts_on_what_the_paper_says(as_paper: list[dict[str, Any]]) -> None:
    verdicts = {v.id: v for v in fig15.check(as_paper)}
    assert {claim: v.reproduced for claim, v in verdicts.items()} == {"P42": True, "P43": True, "P61": True}
    assert verdicts["P61"].ours["FFT"] == 3


def test_verdicts_on_its_contrary() -> None:
    ever_better = tuple(1 + n / 10 for n in STEPS)
    found = residents(dict.fromkeys(LIMITED, ever_better), tuple(0.0 for _ in STEPS))
    assert {v.id: v.reproduced for v in fig15.check(found)} == {"P42": False, "P43": False, "P61": False}


@pytest.mark.parametrize(
    ("two", "three", "more_is_needed"),
    [(1.27, 1.27, True), (1.24, 1.29, False), (1.28, 1.25, False), (1.27, 1.35, False)],
)
def test_both_two_and_three_more_blocks_are_above_one_with_a_margin(
    two: float, three: float, more_is_needed: bool
) -> None:
    """K+1 gains 1.2."""
    rows = dict.fromkeys(LIMITED, (1.0, 1.2, two, three, *RISING[4:]))
    found = {v.id: v for v in fig15.check(residents(rows, tuple(0.05 * n for n in STEPS)))}
    assert found["P42"].reproduced is more_is_needed


@pytest.mark.parametrize(
    ("name", "steps", "as_said"),
    [
        ("HG", (1.1, 1.15, 1.14), True),
        ("HG", (1.1, 1.16, 1.0), False),
        ("MC", (1.2, 1.25, 1.25), False),
        ("MC", (1.2, 1.4, 1.16), True),
        ("MC", (1.2, 1.4, 1.1), False),
    ],
)
def test_who_gains_is_judged_with_the_margin(
    as_paper: list[dict[str, Any]], name: str, steps: tuple[float, ...], as_said: bool
) -> None:
    for r in as_paper:
        if r["benchmark"] == name and r["extra_blocks"] in PRINTED:
            r["speedup"] = steps[r["extra_blocks"] - 1]
    assert judge("P43", as_paper).reproduced is as_said


def test_means_are_judged_without_the_accident_of_camping_too(as_paper: list[dict[str, Any]]) -> None:
    own = [r for r in as_paper if (r["benchmark"], r["schedule"], r["gpu"]) == ("MV", "source", cards.GPU)]
    hashed = [r | {"gpu": cards.HASHED, "speedup": 40.0 ** r["extra_blocks"]} for r in own]
    assert without_camping(as_paper) == pytest.approx([r["speedup"] for r in curves(as_paper)[MEAN][1:4]])
    rest = 1.2**5 * 1.1
    assert without_camping(as_paper + hashed)[0] == pytest.approx((rest * 40) ** (1 / 7))
    found = {v.id: v for v in fig15.check(as_paper + hashed)}
    assert (found["P42"].reproduced, found["P43"].reproduced) == (False, True)
    assert "GM, MV hashed" in fig15.table([*as_paper, *hashed, *(r | {"gpu": cards.PERFECT_FETCH} for r in as_paper)])


def test_contention_needs_a_turning_point() -> None:
    """Blocks wait ever longer, but those that wait slow nobody down."""
    level = (1.0, 1.2, 1.4, 1.41, 1.42, 1.42, 1.42, 1.42, 1.41)
    found = {v.id: v for v in fig15.check(residents(dict.fromkeys(LIMITED, level), tuple(0.05 * n for n in STEPS)))}
    assert found["P61"].reproduced is False
    assert "the mean changes by -0.7%" in found["P61"].note
