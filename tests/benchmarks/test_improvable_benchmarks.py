"""What advice says of the kernels that smmux ships is true: one that follows it is faster, with the same outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from smmux import benchmarks
from smmux.advice.banks import padded
from smmux.advice.barriers import without
from smmux.advice.improvement import Improvement
from smmux.advice.improvements import RECORDED, improvements
from smmux.benchmarks import Problem
from smmux.kernel import Kernel
from smmux.results.result import Result

CARDS = ("GTX285", "GTX480-48K", "K20c")
TRUE = {"MC": {("barrier", "")}, "TP": {("barrier", "")}, "CV": {("banks", "columns")}}
"""What there is to find of the tiny problems, on cards where it costs 1 %: barriers that only bound the regions of
shared memory, and a tile that was laid out for 16 banks."""


def simulated(kernel: Kernel, problem: Problem, gpu: str, args: Sequence[Any], **options: Any) -> Result:
    result = kernel.simulate(problem.grid, problem.block, args, gpu, schedule="list", check="races", **options)
    problem.check(args)
    assert not result.findings
    return result


def looked_at(name: str, gpu: str, size: Any) -> tuple[Kernel, Problem, Result, tuple[Improvement, ...]]:
    kernel, problem = benchmarks.get(name).kernel(), benchmarks.get(name).problem(size)
    args = problem.arguments()
    run = simulated(kernel, problem, gpu, args, profile=True, accesses=RECORDED)
    found = improvements(run, kernel, args, lambda other: simulated(other, problem, gpu, problem.arguments()))
    return kernel, problem, run, found


def following(kernel: Kernel, problem: Problem, run: Result, found: Improvement) -> Result:
    """The run of the kernel, or with the arguments, that an improvement asks for."""
    args = list(problem.arguments())
    if found.kind == "barrier":
        kernel = without(kernel, [found.line])
    elif found.kind == "banks":
        array = next(array for array in run.program.shared_arrays if array.name == found.array)
        kernel = padded(kernel, array, found.change["pad"]) or kernel
    else:
        assert found.kind == "partitions"
        position = kernel.definition.parameters.index(found.array)
        args[position] = with_pitch(args[position], found.change["pitch"] + found.change["pad"])
    return simulated(kernel, problem, run.gpu.name, args)


def with_pitch(array: Any, pitch: int) -> Any:
    """The same elements in rows that are that many bytes apart."""
    wide = np.zeros((array.shape[0], pitch // array.itemsize), array.dtype)
    wide[:, : array.shape[1]] = array
    return wide[:, : array.shape[1]]


@pytest.mark.long
@pytest.mark.parametrize("gpu", CARDS)
@pytest.mark.parametrize("name", benchmarks.names())
def test_no_false_alarm(name: str, gpu: str) -> None:
    kernel, problem, run, found = looked_at(name, gpu, "tiny")
    assert {(each.kind, each.array) for each in found} <= TRUE.get(name, set())
    for each in found:
        assert following(kernel, problem, run, each).cycles < run.cycles


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "gpu", "size", "kind", "array", "gain"),
    [
        pytest.param("CV", "GTX480-48K", {"width": 192, "height": 448}, "banks", "columns", 1.1, id="CV-GTX480"),
        pytest.param("CV", "K20c", {"width": 192, "height": 448}, "banks", "columns", 1.03, id="CV-K20c"),
        pytest.param("MV", "GTX285", {"width": 512, "height": 1024}, "partitions", "a", 2.5, id="MV-GTX285"),
    ],
)
def test_larger_problems_have_what_advice_says(
    name: str, gpu: str, size: Any, kind: str, array: str, gain: float
) -> None:
    """The convolution's tiles conflict in 32 banks, and rows of 2048 bytes begin in one partition."""
    kernel, problem, run, found = looked_at(name, gpu, size)
    assert [(each.kind, each.array) for each in found] == [(kind, array)]
    assert run.cycles > gain * following(kernel, problem, run, found[0]).cycles
