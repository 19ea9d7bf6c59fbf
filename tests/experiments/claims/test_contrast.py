"""Verdicts on HW beside the software approaches, from records whose answer is known."""

from __future__ import annotations

import pytest

from experiments.common import beside, speedups
from experiments.common.verdicts import judge
from tests.experiments.known import beside_software, managed_record


@pytest.fixture
def with_software() -> list[dict]:
    return beside_software()


def test_hardware_stands_beside_software(with_software: list[dict]) -> None:
    verdicts = {claim: judge(claim, with_software) for claim in ("P41", "P47")}
    assert verdicts["P41"].ours == dict.fromkeys(speedups.LIMITED, [0.05, 0.5, 0.5, 0.3])
    assert "FFT 4.0 2.0" in verdicts["P41"].note
    assert verdicts["P41"].reproduced is True
    assert verdicts["P47"].ours["FFT"] == [2, 1.6, 1.667]
    assert verdicts["P47"].ours["HG"] == [1.053, 0.909, 1.111]
    assert verdicts["P47"].reproduced is False
    assert "HW above both by 5% for FFT" in verdicts["P47"].note
    assert "FFT 2.000 1.600" in " ".join(beside.table(with_software).split())


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"block_cycles": 30 * 200}, "more blocks in flight than VTB for {}"),
        ({"barrier_wait_cycles": 10**9, "allocation_wait_cycles": 0}, "less time at barriers than both for {}"),
        ({"barrier_wait_cycles": 11760, "allocation_wait_cycles": 0}, "less time at barriers than both for {}"),  # 2 %
        ({"barrier_wait_cycles": 0, "allocation_wait_cycles": 11760}, "less waiting in all for {}"),  # the same
        ({"allocation_wait_cycles": 10**9}, "less waiting in all for {}"),
    ],
)
def test_one_benchmark_that_lacks_a_part_of_the_claim_is_a_deviation(
    with_software: list[dict], change: dict[str, int], part: str
) -> None:
    worse = [r | change if (r["benchmark"], r["variant"]) == ("FFT", "hw") else r for r in with_software]
    found = judge("P41", worse)
    assert found.reproduced is False
    assert part.format(", ".join(name for name in speedups.LIMITED if name != "FFT")) in found.note


@pytest.mark.parametrize(
    ("cycles", "unaffected"),
    [
        ({}, True),
        ({"hw": 104, "vtb": 97}, True),
        ({"vtb_pipe": 160}, False),
        ({"vtb": 90}, False),
        ({"hw": 110}, False),
    ],
)
def test_what_shared_memory_does_not_limit_neither_gains_nor_loses(cycles: dict[str, int], unaffected: bool) -> None:
    made = [managed_record("RD", "source", v, extra, cycles.get(v, 100)) for v, extra in (("baseline", 0), ("hw", 2))]
    made += [managed_record("RD", "source", v, 0, cycles.get(v, 100)) for v in ("vtb", "vtb_pipe")]
    made = speedups.with_speedups(made)
    assert judge("P56", made).reproduced is unaffected
    assert [judge(claim, made) for claim in ("P41", "P47")] == [None, None]
