"""What advice says of a line's accesses: found, on the right line, and as much as the kernel gives that follows it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux.__main__ import main
from smmux.advice.improvement import Improvement
from smmux.advice.improvements import RECORDED, improvements
from smmux.advice.partitions import busy_partitions
from smmux.advice.sites import sites_of
from smmux.kernel import Kernel
from smmux.results.result import Result
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


@pytest.mark.long
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


KERNELS = """
from smmux import cuda


@cuda.jit
def second(points, out):
    i = cuda.grid(1)
    out[i] = points[2 * i + 1]
"""


def test_improvements_are_part_of_the_answer() -> None:
    launch = PAIRS["tile"].bad()
    advice = smmux.advise(launch.kernel, launch.grid, launch.block, launch.args, "GTX285", jobs=1)
    [found] = advice.improvements
    assert (found.line, found.source) == (line_of(launch.kernel), "total += tile[t, k % rows]  # here")
    assert (
        f"improvable_kernels.py:{found.line}: 16-way bank conflict in `tile`, 32 passes per access of a warp: "
        in str(advice)
    )
    assert "a pad of one word after every 32 (a row of 33)" in str(advice)
    assert "total += tile[t, k % rows]" in advice._repr_html_()
    assert "one word after every 32" in advice._repr_html_()
    [plain] = json.loads(advice.to_json())["improvements"]
    assert plain["change"] == {"row": 32, "pad": 1}
    assert plain["factor"] == pytest.approx(found.before / found.after)
    assert len(advice.baseline.accesses) == 0, "they are many, and were looked at"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    words = ["--grid", "64", "--block", "128", "--gpu", "K20c", "float32[16384]=random", "float32[8192]"]
    assert main(["advise", f"{file}:second", *words]) == 0
    out = capsys.readouterr().out
    assert "kernels.py:8: 50 % of the bytes that move are unused" in out
    assert "would make 8 sectors of 32 bytes 4 per access of a warp; 2,048 sectors in all would be 1,024" in out
    assert "no scheme gains 2 %: change these lines" in out
    assert main(["advise", f"{file}:second", "--json", *words]) == 0
    [found] = json.loads(capsys.readouterr().out)["improvements"]
    assert (found["kind"], found["line"], found["array"], found["factor"]) == ("layout", 8, "points", 2)
