"""The list schedule of one function under several limits of live values."""

from __future__ import annotations

from random import Random

import pytest

from smmux.compiler.driver.pipeline import prepare
from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.passes.schedule import Schedules
from tests.compiler.back import RandomKernel

LIMITS = (1 << 30, 0, 24, 12, 18, 6, 9, 8, 7, 3)


def order(schedules: Schedules, function: Function, live: int) -> list[str]:
    """The operations in their new order, by what they define and read."""
    changed = function.copy()
    schedules.reorder(changed, live)
    return [f"{instr.op} {instr.dsts} {instr.srcs}" for instr in changed.instrs()]


@pytest.mark.parametrize("seed", range(12))
def test_an_order_does_not_depend_on_the_limits_asked_for_before(seed: int) -> None:
    function = prepare(RandomKernel(Random(seed), 24, 2).function, Options())
    shared = Schedules(function, {"ldst": 400}, 4)
    asked = {live: order(shared, function, live) for live in LIMITS}
    assert asked == {live: order(Schedules(function, {"ldst": 400}, 4), function, live) for live in LIMITS}
    assert len({tuple(found) for found in asked.values()}) > 1
