"""The breakdown of the schedulers' time."""

from __future__ import annotations

import pytest

from experiments.common import speedups, stalls
from tests.experiments.known import managed


@pytest.fixture
def records() -> list[dict]:
    return managed()


def test_stalls_add_up(records: list[dict]) -> None:
    assert sum(stalls.shares(records[0]).values()) == pytest.approx(1)
    assert "75.0" in speedups.stall_table(records)
    waiting = [r | {"barrier_wait_cycles": r["block_cycles"], "allocation_wait_cycles": 0} for r in records]
    assert {stalls.at_barriers(r) for r in waiting} == {0.5}  # of two warps
    assert speedups.stall_table(waiting).splitlines()[3].split()[-2:] == ["50.0", "0.0"]
