"""Verdicts on how long shared memory is in use, from records whose answer is known."""

from __future__ import annotations

import pytest

from experiments import fig01
from experiments.common.verdicts import judge
from tests.experiments.known import SHARES, lifetimes


def test_verdicts_on_what_the_paper_says() -> None:
    verdicts = {v.id: v for v in fig01.check(lifetimes(SHARES))}
    assert verdicts["P4"].ours == pytest.approx(0.248, abs=0.001)
    assert {claim: v.reproduced for claim, v in verdicts.items()} == dict.fromkeys(
        ("P4", "P12", "P13", "P14", "P55"), True
    )


def test_verdicts_on_its_contrary() -> None:
    verdicts = {v.id: v for v in fig01.check(lifetimes(dict.fromkeys(SHARES, 0.94) | {"HG": 0.3}, slower=1.5))}
    assert not any(v.reproduced for v in verdicts.values())
    assert "HG 30%" in verdicts["P12"].note


@pytest.mark.parametrize(
    ("change", "holds"), [({"HG": 0.45}, False), ({"MM": 0.2}, False), ({"TP": 0.205}, False), ({"TP": 0.25}, True)]
)
def test_high_and_often_are_more_than_the_limited_ones(change: dict[str, float], holds: bool) -> None:
    """Those have 20 %."""
    assert judge("P12", lifetimes(SHARES | change)).reproduced is holds
