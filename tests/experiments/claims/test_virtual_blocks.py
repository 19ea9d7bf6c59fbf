"""Verdicts on thread blocks of several virtual ones, from records whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.common import cards
from experiments.common.speedups import LIMITED
from experiments.common.verdicts import judge
from tests.experiments.known import AS_PAPER, combined, on_cards


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return on_cards(AS_PAPER)


@pytest.mark.parametrize("column", ["registers", "instructions"])
def test_dividing_costs_registers_and_instructions_of_every_benchmark(
    as_paper: list[dict[str, Any]], column: str
) -> None:
    for r in as_paper:
        if (r["benchmark"], r["variant"]) == ("STO", "co_vtb"):
            r |= {"registers": 20, "instructions": 1200} if column == "registers" else {"instructions": 1040}
    assert judge("P27", as_paper).reproduced is False


def test_as_many_barriers_as_before_are_not_more(as_paper: list[dict[str, Any]]) -> None:
    for r in as_paper:
        if (r["benchmark"], r["variant"]) == ("STO", "vtb"):
            r["barriers"] = r["blocks"] * 2
    assert judge("P21", as_paper).reproduced is False


@pytest.mark.parametrize("change", [{"residency": 2}, {"block_cycles": 6000 * 15}, {"block_cycles": 24000 * 15}])
def test_blocks_back_to_back_are_one_at_a_time(as_paper: list[dict[str, Any]], change: dict[str, int]) -> None:
    """The baseline takes 12000 cycles."""
    for r in as_paper:
        if (r["benchmark"], r["variant"], r["gpu"]) == ("FFT", "baseline", "GTX480-16K"):
            r |= change
    assert judge("P17", as_paper).reproduced is False


def test_what_the_first_phase_takes_elsewhere_stands_beside(as_paper: list[dict[str, Any]]) -> None:
    """160 for 100 everywhere, but on the machine without bounds, where one block takes as long as two."""
    name = cards.unbounded("GTX285").name
    there = on_cards({name: AS_PAPER["GTX285"]})
    for r in there:
        r["first_barrier_cycles"] = 200 * r["blocks"]
    found = judge("P19", as_paper + there)
    assert found.reproduced is True
    assert found.ours == {"GTX285": 1.6, "GTX480-16K": 1.6}
    assert f"; {name} 1.000; GTX285, source 1.600; GTX480-16K, source 1.600" in found.note


def test_mc_alone_gains_from_more_than_two() -> None:
    flat = dict.fromkeys(LIMITED, (1.2, 1.2, 1.2))
    gaining = {"MC": (1.2, 1.3, 1.5)}
    assert judge("P23", combined(flat)).reproduced is False
    assert judge("P23", combined(flat | gaining)).reproduced is True
    assert judge("P23", combined(flat | gaining | {"CV": (1.0, 1.0, 1.2)})).reproduced is False
