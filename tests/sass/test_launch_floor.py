"""What a launch costs beside its blocks, and how fast a chip starts these, in closed form."""

from __future__ import annotations

import pytest

from tests.sass.timed import OBEDIENT, bits, run_timed

IDLE = [bits("NOP", 1)]


def cycles(blocks: int, **changes: int) -> int:
    return run_timed(IDLE, [20], OBEDIENT.replace(**changes), blocks=blocks)[1].cycles


@pytest.mark.parametrize("floor", [1, 100, 5000])
def test_a_launch_costs_its_start(floor: int) -> None:
    assert cycles(1, launch_start=floor) - cycles(1, launch_start=0) == floor


def test_a_chip_takes_note_of_the_ends_of_blocks_one_after_the_other() -> None:
    """Eight blocks that end at once are seven times apart where that takes so many clocks."""
    quick = {"launch_start": 0, "dispatch_interval": 1, "dispatch_block": 0, "exit_posted": 0}
    at_once, apart = cycles(8, dispatch_chip=0, **quick), cycles(8, dispatch_chip=300_000, **quick)
    assert apart - at_once == pytest.approx(7 * 300, abs=20)
    assert cycles(8, dispatch_chip=1, **quick) == at_once


def test_a_block_does_not_wait_for_its_stores() -> None:
    """Of blocks one after the other on an SM each begins behind the exit of the one before; the launch ends with the
    last answer, whichever way."""
    one = {"launch_start": 0, "sm_count": 1, "max_blocks_sm": 1, "dispatch_chip": 0, "flat_latency": 3000}
    one |= {"launch_end": 0}
    posted, answered = (cycles(5, exit_posted=flag, **one) for flag in (1, 0))
    assert answered - posted == pytest.approx(4 * 3000, rel=0.05)
    assert cycles(1, exit_posted=1, **one) == cycles(1, exit_posted=0, **one)
