"""What a launch costs beside its blocks, and how fast a chip starts these, in closed form."""

from __future__ import annotations

import pytest

from smmux import cuda
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


@cuda.jit
def nothing():
    pass


def test_a_launch_that_has_used_memory_ends_when_that_has_been_told() -> None:
    """Not before the last answer, and not where none has been asked for anything."""
    assert cycles(1, launch_end=5000) - cycles(1, launch_end=4000) == 1000
    assert cycles(1, launch_end=1) == cycles(1, launch_end=0)
    idle = {nothing.simulate(4, 64, (), gpu=OBEDIENT.replace(launch_end=end)).cycles for end in (0, 5000)}
    assert len(idle) == 1


def test_large_blocks_start_further_apart() -> None:
    """On an SM with room for four: by what their warps take, but at least by an interval."""
    sm = {"sm_count": 1, "dispatch_chip": 0, "launch_end": 0, "gpc_tpcs": 1, "dispatch_block": 5}
    for warp, apart in ((100, 24), (3000, 35), (10_000, 105)):
        one, four = (cycles(n, dispatch_warp=warp, **sm) for n in (1, 4))
        assert four - one == 3 * apart
