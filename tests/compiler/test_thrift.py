"""A vendor's thrift with registers: of limits a step apart the first with which nothing goes to local memory."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import benchmarks, cuda, gpus
from smmux.compiler.driver.pipeline import compile_prepared, prepare
from smmux.compiler.options import Options, Thrift
from smmux.compiler.program import Program
from smmux.errors import CompileError
from tests.compiler.back import RandomKernel


@given(st.integers(0, 1 << 32), st.integers(4, 16), st.integers(0, 2), st.integers(4, 10), st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_the_first_limit_without_local_memory_counts(seed: int, length: int, depth: int, free: int, step: int) -> None:
    prepared = prepare(RandomKernel(Random(seed), length, depth).function, Options())

    def under(limit: int) -> Program | None:
        try:
            return compile_prepared(prepared, Options(schedule="list", max_registers=limit))
        except CompileError:
            return None

    most = under(255)
    assert most
    limits = [*range(free, most.nregs, step), 255]
    fitting = [program for limit in limits for program in [under(limit)] if program and not program.local_bytes]
    thrifty = compile_prepared(prepared, Options(schedule="list", thrift=Thrift(free, step)))
    assert thrifty.local_bytes == 0
    first = next(n for n, program in enumerate(fitting) if np.array_equal(program.code, thrifty.code))
    assert first <= 1  # a limit may be passed over under which values fit only because they are computed anew
    source = compile_prepared(prepared, Options(schedule="source", thrift=Thrift(free, step, 9, 2)))
    assert source.nregs == compile_prepared(prepared, Options()).nregs  # no scheduler, no thrift


@given(st.integers(1, 64), st.integers(4, 64), st.integers(0, 40), st.integers(1, 2), st.integers(4, 255))
def test_what_is_counted_never_exceeds_what_is_free_by_itself(
    needed: int, free: int, held: int, words: int, most: int
) -> None:
    counted = Thrift(free, 8, held, words).counted(needed, words * needed, most)
    assert needed <= counted <= max(needed, free)
    assert counted <= max(needed, most)
    assert counted == needed or held


def test_halves_of_numbers_of_64_bits_count_once() -> None:
    def one(a, o):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        o[i] = a[i] + a[i + 1]

    single, double = (
        cuda.jit(one).compile(
            (np.zeros(64, dtype), np.zeros(64, dtype)), gpus.get(gpus.COMPILED), grid=1, block=32
        ).nregs
        for dtype in (np.float32, np.float64)
    )  # fmt: skip
    assert single <= double <= single + 2


@pytest.mark.parametrize("name", ["MV", "MM"])
def test_a_machine_of_that_kind_takes_no_more_than_its_compiler_needs(name: str) -> None:
    gpu = gpus.get(gpus.COMPILED)
    problem = benchmarks.get(name).problem("tiny")
    arguments = problem.arguments()
    result = benchmarks.get(name).kernel().simulate(problem.grid, problem.block, arguments, gpu=gpu)
    problem.check(arguments)
    free = gpu.replace(list_registers=0, code_registers=0)
    launch = {"grid": problem.grid, "block": problem.block}
    unlimited = benchmarks.get(name).kernel().compile(arguments, free, **launch)
    assert result.program.nregs <= max(gpu.list_registers, unlimited.nregs)
    assert result.program.local_bytes == unlimited.local_bytes
    assert result.program.nregs <= gpu.list_registers + 8
