"""Verdicts on HW and CO-HW, from records whose answer is known."""

from __future__ import annotations

import pytest

from experiments.common.verdicts import judge
from tests.experiments.known import managed


@pytest.fixture
def records() -> list[dict]:
    return managed()


def test_instructions_are_added_to_every_benchmark_and_ipc_counts_them(records: list[dict]) -> None:
    """FFT takes a quarter of the cycles for 1001 instead of 1000 instructions."""
    found = judge("P59", records)
    assert (found.reproduced, found.ours["FFT"]) == (True, [1.001, 4.004, 4.0])
    for r in records:
        if r["benchmark"] == "HG":
            r["instructions"] = 1000
    assert judge("P59", records).reproduced is False


def test_fft_blocks_run_together_and_take_turns(records: list[dict]) -> None:
    found = judge("P40", records)
    assert (found.reproduced, found.ours) == (True, {"blocks in flight": 3, "granted at a time": 1})
    for alone in ({"block_cycles": 30 * 100}, {"allocation_waits": 0}):
        other = judge("P40", [r | alone for r in records])
        assert other.reproduced is False


def test_verdicts_from_means_and_sources(records: list[dict]) -> None:
    verdicts = {id: judge(id, records) for id in ("P3", "P44", "P45", "P54", "P57")}
    assert verdicts["P3"].reproduced is False
    assert verdicts["P3"].ours == [2.0, 4.0]
    assert "+30.7%, +70.9%" in verdicts["P3"].note
    assert verdicts["P44"].reproduced is False
    assert judge("P47", records) is None
    assert verdicts["P45"].ours == {"HG": 0.4}
    assert verdicts["P54"].ours == {"FFT": [4, 4, 4], "HG": [1, 1, 1]}
    assert verdicts["P57"].reproduced is True
