"""Registers: counts against counts by hand, coalescing, spilling."""

from __future__ import annotations

import numpy as np
import pytest

from smmux.compiler.ir import Reg
from smmux.errors import CompileError
from tests.compiler.back import F32, PRED, S32, TID, Builder, compiled, imm, ops
from tests.reference import machine


def sum_of_loads(count: int) -> Builder:
    """Loads `count` values, then adds them up in order of loading: all are live at one time."""
    b = Builder()
    x, y = b.array("x"), b.array("y")
    values = [b.load(x, TID, 64 * k) for k in range(count)]
    total = values[0]
    for value in values[1:]:
        total = b.emit("add.f32", total, value, type=F32)
    b.store(y, TID, total)
    return b


@pytest.mark.parametrize("count", [2, 5, 31, 100])
def test_values_live_at_one_time_are_counted(count: int) -> None:
    """The last load takes the register of its address; the scaled index waits for the store behind."""
    program = compiled(sum_of_loads(count).exit())
    assert program.nregs == count + 1
    assert program.local_bytes == 0


def test_copy_of_a_register() -> None:
    """x[tid] = x[tid]: one for the address, one for the value."""
    b = Builder()
    x = b.array("x")
    b.store(x, TID, b.load(x, TID))
    program = compiled(b.exit())
    assert (program.nregs, program.npreds) == (2, 0)


def test_guarded_loop_registers() -> None:
    """total, counter, address and loaded value; one predicate."""
    b = Builder()
    n, x, y = b.scalar(), b.array("x"), b.array("y")
    total = b.var(imm(0))
    b.loop(imm(0), n, 1, lambda i: b.set(total, b.emit("add.s32", total, b.load(x, i, type=S32))))
    b.store(y, TID, total)
    program = compiled(b.exit())
    assert (program.nregs, program.npreds) == (4, 1)


def test_loops_carry_no_copies() -> None:
    """Two variables and a counter in a loop nest: every `mov` is an initial value, outside the inner loop."""
    b = Builder()
    n, y = b.scalar(), b.array("y")
    first, second = b.var(imm(1)), b.var(TID)

    def body(i: Reg) -> None:
        b.set(first, b.emit("add.s32", first, i))
        b.set(second, b.emit("xor.b32", second, first))

    b.loop(imm(0), n, 1, body)
    b.store(y, TID, first)
    b.store(y, TID, second, 1)
    program = compiled(b.exit())
    (end,) = [pc for pc, op in enumerate(program.ops) if op == "bra" and program.code["imm"][pc] < pc]
    assert "mov.b32" not in program.ops[int(program.code["imm"][end]) : end]


def test_swapped_variables_need_a_copy() -> None:
    b = Builder()
    n, y = b.scalar(), b.array("y")
    first, second = b.var(imm(1)), b.var(TID)

    def body(i: Reg) -> None:
        old = b.emit("mov.b32", first)
        b.set(first, second)
        b.set(second, old)

    b.loop(imm(0), n, 1, body)
    b.store(y, TID, first)
    program = compiled(b.exit())
    y0 = np.zeros(32, np.int32)
    machine.run(program, (1,), (32,), [3, y0])
    np.testing.assert_array_equal(y0, np.arange(32))
    machine.run(program, (1,), (32,), [4, y0])
    np.testing.assert_array_equal(y0, 1)


@pytest.mark.parametrize("limit", [40, 20, 12, 8, 6])
def test_spills_compute_the_same(limit: int) -> None:
    program = compiled(sum_of_loads(50).exit(), max_registers=limit)
    assert program.nregs <= limit
    assert program.local_bytes >= 4 * (51 - limit)
    assert {"st.local", "ld.local"} <= set(program.ops)
    x, y = np.arange(32 + 64 * 50, dtype=np.float32), np.zeros(32, np.float32)
    machine.run(program, (1,), (32,), [x, y])
    np.testing.assert_array_equal(y, sum(np.float32(1) * x[64 * k : 64 * k + 32] for k in range(50)))


def test_constants_are_computed_again_rather_than_spilled() -> None:
    """Thirty constants carried through a loop that needs no register for them."""
    b = Builder()
    n, y = b.scalar(), b.array("y")
    variables = [b.var(imm(1000 + k)) for k in range(30)]
    b.loop(imm(0), n, 1, lambda i: b.store(y, i, i))
    for k, variable in enumerate(variables):
        b.store(y, TID, variable, 64 * k)
    program = compiled(b.exit(), max_registers=8)
    assert program.local_bytes == 0


def test_what_cannot_be_spilled_is_an_error() -> None:
    """Four words loaded at once and their address need five registers."""
    b = Builder()
    x = b.array("x")
    index = b.emit("mul.lo.s32", TID, imm(4))
    values = [b.load(x, index, k) for k in range(4)]
    for k, value in enumerate(values):
        b.store(x, index, b.emit("add.f32", value, value, type=F32), k)
    with pytest.raises(CompileError, match=r"'kernel' needs \d+ registers per thread, 4 are allowed"):
        compiled(b.exit(), max_registers=4)


def test_too_many_predicates_are_an_error() -> None:
    b = Builder()
    x = b.array("x")
    values = [b.load(x, TID, k, S32) for k in range(40)]
    predicates = [b.emit("setp.lt.s32", v, imm(9)) for v in values]
    b.barrier()
    total = predicates[0]
    for p in predicates[1:]:
        total = b.emit("xor.pred", total, p)
    b.store(x, TID, b.emit("selp.b32", imm(1), imm(0), total))
    with pytest.raises(CompileError, match="needs 40 predicates at one time, 32 is the most"):
        compiled(b.exit(), schedule="source")


def test_predicate_variables() -> None:
    b = Builder()
    n, x = b.scalar(), b.array("x")
    flag = b.var(b.emit("setp.eq.s32", TID, imm(3)), PRED)
    b.loop(imm(0), n, 1, lambda i: b.set(flag, b.emit("not.pred", flag)))
    b.store(x, TID, b.emit("selp.b32", imm(1), imm(0), flag))
    program = compiled(b.exit())
    assert "mov.pred" not in ops(program)[3:]
    got = np.zeros(32, np.int32)
    machine.run(program, (1,), (32,), [2, got])
    np.testing.assert_array_equal(got, np.arange(32) == 3)
