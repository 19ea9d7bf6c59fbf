"""What test_extended_core.py runs on a core with rows of its own: asserts, and says nothing if all is well."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from smmux import cuda
from smmux.compiler.ir import Type
from smmux.compiler.python.convert import number, operand, result
from smmux.compiler.python.rules import call
from smmux.errors import Error
from smmux.language.kernel_only import kernel_only
from tests.machine.assembler import LANEID, Assembler, variant

GPU = variant("GTX480-16K", icache_bytes=0, sm_count=1)
D, A, B, C = 4, 12, 20, 26
SOURCES = (*range(A, A + 4), *range(B, B + 2), *range(C, C + 4))


def groups(before: int | None = None, behind: int | None = None, load: int | None = None) -> tuple[dict[str, int], Any]:
    """Counters and results of the operation of ten registers, each with a value of its own.

    A register may be written just before the operation, or by a load, and one be read just behind it.
    """
    a, out, table = Assembler(), np.zeros((4, 32), np.uint32), np.arange(32, dtype=np.uint32)
    a("shl.b32", d=0, a=LANEID, b=a.imm(2))
    a("add.s32", d=1, a=0, b=a.param(0))
    a("add.s32", d=2, a=0, b=a.param(1))
    for register in SOURCES:
        a("mad.lo.s32", d=register, a=LANEID, b=a.imm(register), c=a.imm(100 * register))
    a("bar.sync")
    for _ in range(30):
        a("add.s32", d=3, a=3, b=a.imm(1))
    if load is not None:
        a("ld.global", d=load, a=2, width=4, aux=1)
    if before is not None:
        a("mad.lo.s32", d=before, a=LANEID, b=a.imm(before), c=a.imm(100 * before))
    a("test.groups", d=D, a=A, b=B, c=C)
    if behind is not None:
        a("add.s32", d=3, a=behind, b=a.imm(1))
    for i in range(4):
        a("st.global", d=D + i, a=1, imm=128 * i, width=4, aux=0)
    a("exit")
    found = a.run(GPU, nregs=32, buffers=(out, table))
    return found["counters"], out


def expected() -> Any:
    """The definition of the operation in the table of the test."""
    value = {r: np.arange(32) * r + 100 * r for r in SOURCES}
    return np.array([value[A + i] * value[B + i % 2] + value[C + i] for i in range(4)])


def check_groups() -> None:
    plain, found = groups()
    assert (found == expected()).all()
    for register in SOURCES:
        counters, found = groups(before=register)
        assert (found == expected()).all()
        assert counters["idle_alu"] - plain["idle_alu"] == GPU.lat_imad - GPU.issue_interval, register
        counters, found = groups(load=register)
        assert counters["idle_global"] > plain["idle_global"] + 100, register
    for register in range(D, D + 4):
        counters, _ = groups(behind=register)
        assert counters["idle_alu"] - plain["idle_alu"] <= GPU.lat_fmad, register
        counters, _ = groups(load=register)  # a result that is still to be written by a load before it
        assert counters["idle_global"] > plain["idle_global"] + 100, register
    for fields, message in (
        ({"d": 29, "a": A, "b": B, "c": C}, "registers 29 to 32 do not exist"),
        ({"d": D, "a": 31, "b": B, "c": C}, "registers 31 to 34 do not exist"),
        ({"d": D, "a": A, "b": 0xFFFF, "c": C}, "registers 65535 to 65536 do not exist"),
    ):
        a = Assembler()
        a("test.groups", **fields)
        a("exit")
        try:
            a.run(GPU, nregs=32)
        except Error as error:
            assert message in str(error), error
        else:
            raise AssertionError(fields)


# ---- an operation that kernels call: its row, and this ------------------------------------------


def andn(x: int, y: int) -> int:
    """x & ~y"""
    kernel_only("andn")
    raise AssertionError


@call(andn)
def lower(f: Any, node: ast.AST, x: Any, y: Any) -> Any:
    """The operation, as the front end lowers calls of its functions."""
    a, b = number(f, node, x), number(f, node, y)
    return result(a.kind, f.b.op("test.andn.b32", Type.S32, operand(f, a), operand(f, b)))


@cuda.jit
def masked(x, y):
    i = cuda.grid(1)
    y[i] = andn(x[i], x[i] >> 3)


def check_call() -> None:
    x = np.arange(1000, 1064, dtype=np.int32) * 7919
    y = np.zeros_like(x)
    result = masked.simulate(2, 32, (x, y), profile=True)
    np.testing.assert_array_equal(y, x & ~(x >> 3))
    assert any(row["op"] == "test.andn.b32" for row in result.instructions())


check_groups()
check_call()
