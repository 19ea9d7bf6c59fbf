"""Verdicts on the sizes of blocks and cards hold for Table 1, and fail for other rows and cards."""

from __future__ import annotations

import pytest

from experiments import table1
from experiments.common import cards
from experiments.common.verdicts import judge
from smmux import gpus

EXPECTED_DEVIATION = {"P9"}  # the paper counts TP as not limited by shared memory; its three blocks are


@pytest.fixture(scope="module")
def records() -> list[dict]:
    return table1.run()


def test_verdicts(records: list[dict]) -> None:
    verdicts = {v.id: v.reproduced for v in table1.check(records)}
    assert {claim for claim, reproduced in verdicts.items() if not reproduced} == EXPECTED_DEVIATION
    assert len(verdicts) == 10


@pytest.mark.parametrize(
    ("change", "contrary"),
    [
        ({"bytes": 4}, {"P5", "P16"}),
        ({"threads": 32}, {"P6"}),
        ({"blocks": 1}, {"P7", "P9"}),
        ({"used": 8000}, {"P8", "P9", "P10"}),
        ({"array_bytes": 8}, {"P9", "P16"}),
        ({"blocks_without_shared": -20}, {"P9"}),
    ],
)
def test_verdicts_on_other_rows(records: list[dict], change: dict[str, int], contrary: set[str]) -> None:
    other = [r | {name: r[name] + more for name, more in change.items()} for r in records]
    assert {v.id for v in table1.check(other) if not v.reproduced} | EXPECTED_DEVIATION == contrary | EXPECTED_DEVIATION


@pytest.mark.parametrize(
    ("change", "contrary"), [({"smem_bytes": 8192}, {"P11", "P15", "P34"}), ({"regs_sm": 8192}, {"P15"})]
)
def test_verdicts_on_other_cards(
    records: list[dict], change: dict[str, int], contrary: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = gpus.get
    monkeypatch.setattr(gpus, "get", lambda gpu: own(gpu).replace(**change) if isinstance(gpu, str) else gpu)
    assert {v.id for v in table1.check(records) if not v.reproduced} == contrary | EXPECTED_DEVIATION


@pytest.mark.parametrize("change", [{"smem_bytes": 8192}, {"regs_sm": 8192}, {"dram_khz": 800_000}])
def test_the_simulated_card_is_judged_by_what_runs_on_it(
    change: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judge("P57", []).reproduced is True
    other = cards.card().replace(**change)
    monkeypatch.setattr(cards, "card", lambda: other)
    assert judge("P57", []).reproduced is False
