"""Curves over the number of blocks."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.common.curves import curves
from experiments.common.speedups import LIMITED, MEAN
from tests.experiments.known import RISING, STEPS, residents_as_paper


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return residents_as_paper()


def test_curves_join_card_and_roomy_card(as_paper: list[dict[str, Any]]) -> None:
    found = curves(as_paper)
    assert list(found) == [*LIMITED, MEAN]
    assert [r["extra_blocks"] for r in found["FFT"]] == list(STEPS)
    assert [r["speedup"] for r in found["FFT"]] == list(RISING)
    assert found[MEAN][2]["speedup"] == pytest.approx((1.4**5 * 1.1**2) ** (1 / 7))
