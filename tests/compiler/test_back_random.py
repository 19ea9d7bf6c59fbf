"""Random kernels compute the same before and after all passes, under every schedule and register budget."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smmux.errors import CompileError
from tests.compiler.back import RandomKernel, assert_same, compiled, executed, expected

RELAXED = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@given(
    seed=st.integers(0, 1 << 32),
    length=st.integers(1, 14),
    depth=st.integers(0, 3),
    schedule=st.sampled_from(["source", "list"]),
    join=st.booleans(),
    max_registers=st.sampled_from([124, 24, 14, 10]),
    aliased=st.booleans(),
)
@RELAXED
def test_programs_compute_what_their_ir_does(
    seed: int, length: int, depth: int, schedule: str, join: bool, max_registers: int, aliased: bool
) -> None:
    kernel = RandomKernel(Random(seed), length, depth).function
    wanted = expected(kernel, aliased)
    try:
        program = compiled(kernel, schedule=schedule, join=join, max_registers=max_registers)
    except CompileError as error:
        assert "predicates" in str(error) or max_registers < 14
        return
    assert program.nregs <= max_registers
    assert_same(executed(program, aliased), wanted)
