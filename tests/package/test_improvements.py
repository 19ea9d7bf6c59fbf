"""What advice says of a line's accesses: found, on the right line, and as much as the kernel gives that follows it."""

from __future__ import annotations

import numpy as np
import pytest

from smmux.advice.improvement import Improvement
from smmux.advice.improvements import RECORDED, improvements
from smmux.advice.partitions import busy_partitions
from smmux.advice.sites import sites_of
from smmux.kernel import Kernel
from smmux.result import Result
from tests.package.improvable import PAIRS, Launch, Pair, line_of


def simulated(launch: Launch, gpu: str, kernel: Kernel | None = None) -> Result:
    """The run that advice looks at, with its outputs checked."""
    args = [np.array(arg) if isinstance(arg, np.ndarray) and arg.base is None else arg for arg in launch.args]
    options = {"schedule": "list", "check": "races", "profile": True, "accesses": RECORDED}
    result = (kernel or launch.kernel).simulate(launch.grid, launch.block, args, gpu, **options)
    for position, expected in launch.expected:
        np.testing.assert_allclose(args[position], expected, rtol=1e-6)
    assert not result.findings
    return result


def said(launch: Launch, result: Result) -> tuple[Improvement, ...]:
    def tried(kernel: Kernel) -> Result | None:
        try:
            return simulated(launch, result.gpu.name, kernel)
        except AssertionError:
            return None

    return improvements(result, launch.kernel, launch.args, tried)


def taken(launch: Launch, result: Result, found: Improvement) -> float:
    """What a kernel takes of that which an improvement counts."""
    if found.unit == "cycles":
        return result.cycles
    line = result.lines()[line_of(launch.kernel)]
    if found.unit == "sectors":
        return line["moved"] / 32
    if found.unit == "partitions":
        return busy_partitions([site for site in sites_of(result, launch.args) if site.array == found.array])
    return line["transactions"] if found.kind == "table" else result["shared_passes"]


@pytest.mark.parametrize(
    ("pair", "gpu"), [pytest.param(pair, gpu, id=f"{name}-{gpu}") for name, pair in PAIRS.items() for gpu in pair.gpus]
)
def test_following_the_advice_gives_what_it_says(pair: Pair, gpu: str) -> None:
    bad = pair.bad()
    before = simulated(bad, gpu)
    found = said(bad, before)
    assert {each.kind for each in found} == {pair.kind}
    assert {each.line for each in found} == {line_of(bad.kernel)}
    assert {each.filename for each in found} == {bad.kernel.definition.filename}
    assert " ".join(sorted(each.array for each in found)) == pair.array
    good = pair.good(found[0].change)
    after = simulated(good, gpu)
    assert said(good, after) == (), "good code is left alone"
    assert after.cycles < before.cycles, "following it is faster"
    others = taken(bad, before, found[0]) - sum(each.before for each in found) if pair.kind in SUMS else 0
    assert others + sum(each.after for each in found) == pytest.approx(taken(good, after, found[0]), rel=0.2)


SUMS = ("layout", "assignment", "stride")
"""Kinds whose improvements concern one array each of a line, which has others."""
