"""The register budget: one that is no constraint changes nothing, a tighter one never gives fewer instructions."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import benchmarks, cuda, float32, gpus
from smmux.compiler.driver.compiling import clear_cache
from smmux.compiler.options import Options
from smmux.errors import CompileError
from tests.compiler.back import TID, Builder, RandomKernel, compiled, imm

GPU = gpus.get("GTX285-1100")
SCHEDULES = ("source", "list")
THRIFTY = ("MM", "TP", "RD")
KERNELS = [
    pytest.param(name, build, variant, marks=() if name in THRIFTY else pytest.mark.slow)
    for name in benchmarks.names()
    for benchmark in [benchmarks.get(name)]
    for build in benchmark.builds
    for variant in ("baseline", "isolated", "hw", "co_hw")
    if variant != "co_hw" or (benchmark.divided and build == benchmark.builds[0])
]


@pytest.mark.quick
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("name", "build", "variant"), KERNELS)
def test_more_registers_never_cost_instructions(name: str, build: str, variant: str, schedule: str) -> None:
    benchmark = benchmarks.get(name)
    kernel, problem = benchmark.kernel(variant, build), benchmark.problem("tiny", build)
    management = "dynamic" if variant in ("hw", "co_hw") else "static"
    free = kernel.compile(problem.arguments(), GPU, schedule=schedule)
    executed = []
    for budget in sorted({free.nregs + 3, *range(free.nregs, free.nregs - 4, -1), free.nregs // 2}, reverse=True):
        arguments = problem.arguments()
        result = kernel.simulate(
            problem.grid,
            problem.block,
            arguments,
            GPU,
            schedule=schedule,
            max_registers=max(budget, 4),
            management=management,
        )
        problem.check(arguments)
        assert result.program.nregs <= max(budget, 4)
        if budget >= free.nregs:
            again = kernel.compile(problem.arguments(), GPU, schedule=schedule, max_registers=max(budget, 4))
            np.testing.assert_array_equal(again.code, free.code)
        executed.append(result.counters["instructions"])
    assert executed == sorted(executed)


@given(st.integers(0, 1 << 32), st.integers(1, 24), st.integers(0, 3), st.sampled_from(SCHEDULES), st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_a_budget_that_fits_changes_nothing(seed: int, length: int, depth: int, schedule: str, spare: int) -> None:
    function = RandomKernel(Random(seed), length, depth).function
    try:
        free = compiled(function, schedule=schedule, max_registers=255)
    except CompileError as error:
        assert "predicates" in str(error)
        return
    again = compiled(function, schedule=schedule, max_registers=max(free.nregs, 4) + spare)
    np.testing.assert_array_equal(again.code, free.code)
    assert (again.nregs, again.local_bytes) == (free.nregs, free.local_bytes)


def test_invariants_leave_a_loop_one_by_one() -> None:
    """Ten products of scalars that a loop adds up: each register of the budget takes one or two more out."""
    b = Builder()
    n, x = b.scalar(), b.array("x")
    factors = [b.scalar() for _ in range(10)]
    total = b.var(imm(0))

    def body(i: object) -> None:
        for factor in factors:
            b.set(total, b.emit("xor.b32", total, b.emit("mul.lo.s32", factor, TID)))

    b.loop(imm(0), n, 1, body)
    b.store(x, TID, total)
    function = b.exit()
    most = compiled(function).nregs
    inside = []
    for budget in range(most, most - 9, -1):
        program = compiled(function, max_registers=budget)
        assert program.nregs == budget
        assert not program.local_bytes
        (end,) = (pc for pc, op in enumerate(program.ops) if op == "bra" and program.code["imm"][pc] < pc)
        inside.append(end - int(program.code["imm"][end]))
    assert {more - less for less, more in zip(inside, inside[1:], strict=False)} <= {1, 2}


def test_lowering_is_shared_by_budgets_and_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    from smmux.compiler import python as frontend

    lowered = []
    lower = frontend.lower
    monkeypatch.setattr(frontend, "lower", lambda *args: lowered.append(args) or lower(*args))
    clear_cache()
    benchmark = benchmarks.get("MM")
    arguments = benchmark.problem("tiny").arguments()
    for schedule in SCHEDULES:
        for budget in (12, 16, 124):
            benchmark.kernel().compile(arguments, GPU, schedule=schedule, max_registers=budget)
    assert len(lowered) == 1
    benchmark.kernel().compile(arguments, GPU, unroll_limit=8)
    assert len(lowered) == 2


def test_compiling_leaves_what_was_prepared_as_it_was() -> None:
    from smmux.compiler.driver.pipeline import compile_prepared, prepare

    prepared = prepare(RandomKernel(Random(5), 20, 2).function, Options())
    first = compile_prepared(prepared, Options(max_registers=10))
    compile_prepared(prepared, Options(schedule="list"))
    again = compile_prepared(prepared, Options(max_registers=10))
    np.testing.assert_array_equal(first.code, again.code)
    assert first.local_bytes == again.local_bytes


def test_loads_are_scheduled_for_the_latency_of_memory() -> None:
    """Sixteen loads and their stores: with some 440 clk to wait, all loads go first."""

    @cuda.jit
    def copy(a, b):
        i = cuda.threadIdx.x
        tile = cuda.shared.array(16 * 64, float32)
        for k in range(16):
            tile[i + 64 * k] = a[i * 16 + k, 0]
        b[i] = tile[i]

    arguments = np.zeros((1024, 3), np.float32), np.zeros(64, np.float32)
    for gpu in ("GTX285", "GTX480-48K", "K20c"):
        ops = copy.compile(arguments, gpu, schedule="list").ops
        assert ops.index("st.shared") > max(pc for pc, op in enumerate(ops) if op == "ld.global")
