"""All kernels and variants are free of races, and a barrier taken away from any of them is missed."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from smmux import _core, benchmarks
from smmux.benchmarks import Problem
from smmux.benchmarks.base import DIVIDED, VIRTUAL
from smmux.compiler.program import ISOLATE, Program
from smmux.errors import KernelError
from smmux.results.checks import Findings
from smmux.running.launch import launch

GPU = "GTX480-16K"  # holds the registers of every variant
KERNELS = [
    (benchmark.name, variant, build)
    for benchmark in map(benchmarks.get, benchmarks.names())
    for build in benchmark.builds
    for variant in benchmark.variants
    if variant not in DIVIDED or build == benchmark.builds[0]
]
DYNAMIC = {"management": "dynamic", "extra_blocks": 1}


@cache
def made(name: str, variant: str, build: str) -> tuple[Any, Problem, Any, Any]:
    """Kernel, problem, grid and block of a variant."""
    benchmark, problem = benchmarks.get(name), benchmarks.get(name).problem("tiny", build)
    kernel, grid, block = benchmark.launch(problem, variant, build)
    return kernel, problem, grid, block


def is_default(name: str, build: str) -> bool:
    return build == benchmarks.get(name).builds[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "variant", "build"),
    [pytest.param(*k, marks=[] if is_default(k[0], k[2]) else pytest.mark.slow) for k in KERNELS],
)
def test_nothing_is_found_and_nothing_changes(name: str, variant: str, build: str) -> None:
    """Cycles and counters are those of a run without the check. Virtual blocks beyond the grid may return at once."""
    kernel, problem, grid, block = made(name, variant, build)
    for options in ({}, DYNAMIC) if variant in ("hw", "co_hw") else ({},):
        arguments = problem.arguments()
        result = kernel.simulate(grid, block, arguments, gpu=GPU, check="races", **options)
        problem.check(arguments)
        assert result.findings is not None
        assert not result.findings.errors
        assert {finding.kind for finding in result.findings} <= ({"early-exit"} if variant in VIRTUAL else set())
        assert result.counters == kernel.simulate(grid, block, problem.arguments(), gpu=GPU, **options).counters


@pytest.mark.parametrize("name", benchmarks.names())
def test_no_baseline_relies_on_lockstep(name: str) -> None:
    """What RD does in one warp without a barrier has its syncwarps."""
    kernel, problem, grid, block = made(name, "baseline", benchmarks.get(name).builds[0])
    result = kernel.simulate(grid, block, problem.arguments(), gpu=GPU, check="races-strict")
    assert not result.findings


def mutants(program: Program) -> Iterator[tuple[int, Program]]:
    """The program without one of its barriers, each in turn."""
    for pc in np.flatnonzero(program.code["op"] == _core.OPS["bar.sync"][0]).tolist():
        code = program.code.copy()
        for field, value in (("op", _core.OPS["nop"][0]), ("sub", 0), ("imm", 0)):
            code[pc][field] = value
        yield pc, replace(program, code=code)


NEEDLESS = {
    "MC": "cuda.syncthreads()",  # threads load what they have stored: columns of their own
    "SP": "cuda.syncthreads()",  # strides of a multiple of the threads: sums of their own
}
"""Benchmarks with barriers whose absence is no race even without lockstep, and those barriers' source."""


def nothing_follows(program: Program, pc: int) -> bool:
    """Is no shared access reached from there?"""
    rest = program.code[pc:]
    back = (rest["op"] == _core.OPS["bra"][0]) & (rest["imm"] <= pc)
    return not back.any() and not any(op.endswith(".shared") for op in program.ops[pc:])


def found_without(program: Program, name: str, variant: str, build: str, check: str) -> bool:
    """Does the check, or another error, betray the missing barrier?"""
    _, problem, grid, block = made(name, variant, build)
    options = DYNAMIC if variant in ("hw", "co_hw") else {}
    try:
        result = launch(program, problem.arguments(), grid, block, GPU, check=check, **options)
    except KernelError:
        return True
    return bool((result.findings or Findings()).errors)


def missed(name: str, variant: str, build: str) -> tuple[int, list[int]]:
    """How many barriers the kernel has, and those that are missed by nobody."""
    kernel, problem, _, _ = made(name, variant, build)
    program = kernel.compile(problem.arguments(), gpu=GPU)
    silent, count = [], 0
    for pc, mutant in mutants(program):
        count += 1
        if program.code[pc]["flags"] & ISOLATE or nothing_follows(program, pc):
            continue  # there for the clock alone, or in each turn of a loop
        if not any(found_without(mutant, name, variant, build, check) for check in ("races", "races-strict")):
            silent.append(pc)
    for pc in silent:
        line = linecache.getline(program.filename, int(program.code["line"][pc])).strip()
        assert line == NEEDLESS.get(name), f"{name} {variant} {build}: nobody misses the barrier at pc {pc}, {line}"
    return count, silent


QUICK = [
    ("MV", "vtb"),
    ("FFT", "baseline"),
    ("STO", "vtb_pipe"),
    ("HG", "baseline"),
    ("STO", "co_vtb"),
    ("CV", "vtb_pipe"),
]


@pytest.mark.quick(3)
@pytest.mark.parametrize(("name", "variant"), QUICK)
def test_a_missing_barrier_is_found(name: str, variant: str) -> None:
    count, silent = missed(name, variant, benchmarks.get(name).builds[0])
    assert count
    assert not silent


ODD = ("CV", "radius32")  # one block at this size: its virtual neighbour is beyond the grid


@pytest.mark.parametrize(("name", "variant", "build"), [k for k in KERNELS if not (k[::2] == ODD and k[1] in VIRTUAL)])
@pytest.mark.slow
def test_a_missing_barrier_of_any_kernel_is_found(name: str, variant: str, build: str) -> None:
    missed(name, variant, build)


def test_barriers_that_nobody_misses() -> None:
    """What NEEDLESS says, counted."""
    silent = {name: len(missed(name, "baseline", benchmarks.get(name).builds[0])[1]) for name in NEEDLESS}
    assert silent == {"MC": 1, "SP": 4}
