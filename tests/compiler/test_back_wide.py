"""Values of 64 bits in the back end: pairs of registers through all passes, accesses of 8 bytes, joined ones."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, cuda
from smmux.compiler.ir import Imm, Instr, Mem, Operand, Reg, Storage
from smmux.compiler.program import Program
from smmux.errors import CompileError
from tests.compiler.back import (
    THREADS,
    TID,
    U32,
    Builder,
    RandomKernel,
    assert_same,
    compiled,
    executed,
    expected,
    imm,
    ops,
    simulated,
)
from tests.reference import ir as interpreter, machine
from tests.reference.wide import SETP_WIDE, WIDE

Pair = tuple[Operand, Operand]


class WideBuilder(Builder):
    """Writes pairs of words, low word first."""

    def wide(self, op: str, *srcs: Operand) -> Pair:
        dsts = self.f.reg(U32), self.f.reg(U32)
        self.block.instrs.append(Instr(op, dsts, srcs, self.loc()))
        return dsts

    def wide_load(self, array: Storage, index: Operand, offset: int = 0) -> Pair:
        dsts = self.f.reg(U32), self.f.reg(U32)
        mem = Mem(array, 8, offset)
        self.block.instrs.append(Instr(f"ld.{array.space.value}", dsts, (index,), self.loc(), mem=mem))
        return dsts

    def wide_store(self, array: Storage, index: Operand, value: Pair, offset: int = 0) -> None:
        mem = Mem(array, 8, offset)
        self.block.instrs.append(Instr(f"st.{array.space.value}", (), (index, *value), self.loc(), mem=mem))

    def wide_atomic(self, array: Storage, index: Operand, name: str, *values: Operand, old: bool) -> Pair | None:
        dsts = (self.f.reg(U32), self.f.reg(U32)) if old else ()
        mem = Mem(array, 8, 0, name)
        self.block.instrs.append(Instr(f"atom.{array.space.value}", dsts, (index, *values), self.loc(), mem=mem))
        return dsts or None  # type: ignore[return-value]


def double(value: float) -> Pair:
    bits = int(np.float64(value).view(np.uint64))
    return Imm(bits & 0xFFFFFFFF, U32), Imm(bits >> 32, U32)


def run(b: WideBuilder, *args: Any, **options: Any) -> Program:
    """Compile, and run with the definition of programs and on the machine: both leave `args` alike."""
    from smmux.running.launch import launch

    program = compiled(b.exit(), **options)
    copies = [arg.copy() for arg in args]
    machine.run(program, (1,), (THREADS,), copies)
    launch(program, list(args), 1, THREADS, gpu="GTX285")
    assert_same(list(args), copies)
    return program


@pytest.mark.parametrize("schedule", ["source", "list"])
def test_float64_arithmetic(schedule: str) -> None:
    b = WideBuilder()
    x, y = b.array("x", element=8), b.array("y", element=8)
    value = b.wide_load(x, TID)
    product = b.wide("mul.f64", *value, *double(1.1))
    b.wide_store(y, TID, b.wide("add.f64", *product, *b.wide("cvt.rn.f64.s32", TID)))
    data, out = np.linspace(-3, 3, THREADS), np.zeros(THREADS)
    program = run(b, data, out, schedule=schedule)
    assert out.tolist() == (data * 1.1 + np.arange(THREADS)).tolist()
    assert "add.f64 {" in program.listing()


def test_the_high_word_of_a_sum_vanishes_if_nobody_reads_it() -> None:
    b = WideBuilder()
    x, y = b.array("x", element=8), b.array("y")
    low, high = b.wide_load(x, TID)
    total = b.emit("add.s32", low, imm(5), type=U32)
    b.emit("addc.s32", low, high, imm(5), imm(0), type=U32)
    b.store(y, TID, total)
    assert "addc.s32" not in compiled(b.exit()).ops


def test_int64_sums_carry() -> None:
    b = WideBuilder()
    x, y, z = (b.array(name, element=8) for name in "xyz")
    p, q = b.wide_load(x, TID), b.wide_load(y, TID)
    total = b.emit("add.s32", p[0], q[0], type=U32), b.emit("addc.s32", *p, *q, type=U32)
    b.wide_store(z, TID, (b.emit("sub.s32", total[0], imm(7), type=U32), b.emit("subc.s32", *total, imm(7), imm(0))))
    rng = np.random.default_rng(1)
    one, other = (rng.integers(-(1 << 62), 1 << 62, THREADS) for _ in range(2))
    one[:4], other[:4] = [0xFFFFFFFF, -1, 0, 1 << 32], [1, 1, 7, 6]
    out = np.zeros(THREADS, np.int64)
    run(b, one, other, out)
    assert out.tolist() == (one + other - 7).tolist()


def test_equal_operations_are_computed_once() -> None:
    b = WideBuilder()
    x, y = b.array("x", element=8), b.array("y", element=8)
    value, other = b.wide_load(x, TID), b.wide_load(x, TID, 1)
    first, second = b.wide("mul.f64", *value, *other), b.wide("mul.f64", *other, *value)
    b.wide_store(y, TID, b.wide("add.f64", *first, *second))
    program = compiled(b.exit())
    assert program.ops.count("mul.f64") == 1


def test_a_division_of_narrow_values_is_narrow() -> None:
    b = WideBuilder()
    y = b.array("y", element=8)
    sign = b.emit("shr.s32", TID, imm(31), type=U32)
    b.wide_store(y, TID, b.wide("div.s64", TID, sign, imm(3), imm(0)))
    program = compiled(b.exit())
    assert "div.s32" in program.ops
    assert "div.s64" not in program.ops


@pytest.mark.parametrize(("count", "expected"), [(1, [".v2"]), (2, [".v4"]), (3, [".v4", ".v2"]), (4, [".v4"] * 2)])
@pytest.mark.parametrize("shared", [False, True])
def test_neighbours_are_joined_to_16_bytes(count: int, expected: list[str], shared: bool) -> None:
    b = WideBuilder()
    x = b.shared("x", 4 * THREADS, element=8) if shared else b.array("x", element=8)
    y = b.array("y", element=8)
    index = b.emit("shl.b32", TID, imm(2))
    if shared:
        for k in range(4):
            b.wide_store(x, index, b.wide("cvt.rn.f64.s32", TID), k)
        b.barrier()
    values = [b.wide_load(x, index, k) for k in range(count)]
    total = values[0]
    for value in values[1:]:
        total = b.wide("add.f64", *total, *value)
    b.wide_store(y, TID, total)
    space = "shared" if shared else "global"
    args = [np.zeros(THREADS)] if shared else [np.arange(4.0 * THREADS), np.zeros(THREADS)]
    program = run(b, *args)
    assert [op for op in ops(program) if op.startswith("ld.")] == [f"ld.{space}{vector}" for vector in expected]


def test_views_of_four_and_eight_bytes_alias() -> None:
    """A store of a word may change the high word of a number that is loaded before and after it."""
    b = WideBuilder()
    x = b.shared("x", THREADS, element=8)
    words = b.shared("w", 2 * THREADS, offset=0)
    y = b.array("y", element=8)
    b.wide_store(x, TID, double(1.0))
    before = b.wide_load(x, TID)
    b.store(words, b.emit("shl.b32", TID, imm(1)), Imm(0x40000000, U32), 1)
    b.wide_store(y, TID, b.wide("add.f64", *before, *b.wide_load(x, TID)))
    out = np.zeros(THREADS)
    run(b, out)
    assert set(out.tolist()) == {3.0}


WIDE_ATOMS = [name for name in _core.ATOMS if name.endswith("64") and name != "CAST64"]
"""Without the one that only compiled code has, which gives no old value (tests/sass)."""


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", WIDE_ATOMS)
def test_atomics(name: str, shared: bool) -> None:
    """Lanes of the first warp take turns in their order; both the old values and what is left are as defined."""
    b = WideBuilder()
    x, values, out = (b.array(n, element=8) for n in ("x", "values", "out"))
    target = b.shared("s", 4, element=8) if shared else x
    index = b.emit("and.b32", TID, imm(3))

    def body() -> None:
        if shared:
            b.wide_store(target, index, b.wide_load(x, index))
        first, second = b.wide_load(values, TID), b.wide_load(values, TID, 32)
        operands = (*first, *second) if name.startswith("CAS") else first
        b.wide_atomic(target, index, name, *operands, old=False)
        old = b.wide_atomic(target, index, name, *operands, old=True)
        assert old is not None
        b.wide_store(out, TID, old)
        if shared:
            b.wide_store(x, index, b.wide_load(target, index))

    b.if_(b.emit("setp.lt.s32", TID, imm(32)), body)
    rng = Random(name)
    bits = [rng.choice((rng.getrandbits(64), rng.getrandbits(2), 3, 1 << 62)) for _ in range(96)]
    data = np.array(bits, np.uint64)
    given = data.view(np.float64) if "_F" in name else data
    if "_F" in name:
        given = np.array([rng.uniform(-1, 1) for _ in bits])
    run(b, given[:4].copy(), given[4:].copy(), np.zeros(32, given.dtype))


def test_parameters_offsets_and_constants_address_atomics() -> None:
    b = WideBuilder()
    x = b.array("x", element=8)
    for k in (0, 3):
        b.wide_atomic(x, imm(k), "ADD64", imm(1), imm(0), old=False)
    out = np.array([5, 6, 7, (1 << 32) - 1], np.uint64)
    run(b, out)
    assert out.tolist() == [5 + THREADS, 6, 7, (1 << 32) - 1 + THREADS]


def test_two_results_of_which_one_is_read() -> None:
    b = WideBuilder()
    x, y = b.array("x", element=8), b.array("y")
    _, high = b.wide("mul.f64", *b.wide_load(x, TID), *double(3.0))
    b.store(y, TID, high)
    data, out = np.linspace(1, 2, THREADS), np.zeros(THREADS, np.uint32)
    run(b, data, out)
    assert out.tolist() == ((data * 3).view(np.uint64) >> np.uint64(32)).tolist()


def test_arithmetic_in_a_loop_with_few_registers() -> None:
    """Pairs are spilled word by word."""
    b = WideBuilder()
    x, y = b.array("x", element=8), b.array("y", element=8)
    held = [b.wide_load(x, TID, k) for k in range(6)]
    sums = [b.var(word, U32) for word in double(0.0)]

    def body(i: Reg) -> None:
        total: Pair = (sums[0], sums[1])
        for pair in held:
            total = b.wide("add.f64", *total, *pair)
        for variable, word in zip(sums, total, strict=True):
            b.set(variable, word)

    b.loop(imm(0), imm(5), 1, body)
    b.wide_store(y, TID, (sums[0], sums[1]))
    data, out = np.linspace(1, 2, THREADS + 8), np.zeros(THREADS)
    program = run(b, data, out, max_registers=12)
    wanted = np.zeros(THREADS)
    for _ in range(5):
        for k in range(6):
            wanted += data[k : k + THREADS]
    assert out.tolist() == wanted.tolist()
    assert program.nregs <= 12


def test_the_interpreter_of_ir_agrees() -> None:
    b = WideBuilder()
    x, y = b.array("x", element=8), b.array("y", element=8)
    b.wide_store(y, TID, b.wide("sqrt.rn.f64", *b.wide_load(x, TID)))
    function = b.exit()
    data, out = np.linspace(1, 2, THREADS), np.zeros(THREADS)
    interpreter.run(function, THREADS, [data, out])
    assert out.tolist() == np.sqrt(data).tolist()


def test_the_listing_names_both_words() -> None:
    @cuda.jit
    def kernel(a: Any, n: Any) -> None:
        cuda.atomic.add(a, cuda.threadIdx.x, n)

    text = kernel.ir(np.zeros(8, np.int64), np.int64(5))
    assert "atom.global.add64 _, [%r0], {[n], [n+4]};" in text


WIDE_OPS = [op for op in WIDE if op not in ("fma.rn.f64", "cvt.rn.f32.f64")]  # what a NaN carries may pass both
DIVIDES = ("div.s64", "div.u64", "rem.s64", "rem.u64")


class WideKernel(RandomKernel):
    """A random kernel with operations on 64 bits, whose words are integers like others."""

    def integer_operation(self) -> None:
        b, r = self.b, self.random
        if r.randrange(3):
            super().integer_operation()
            return
        op = r.choice([*WIDE_OPS, *SETP_WIDE])
        fields = _core.OPS[op][3].split(",")
        srcs = [self.integer() for field in fields if field[0] in "abc"]
        if "f64" in op:  # constants that are neutral would let the bits of a NaN pass
            srcs = [b.emit("mov.b32", src) for src in srcs]
        if len(srcs) == 4 and r.randrange(2):  # int32 in 64 bits
            srcs[1] = b.emit("shr.s32", srcs[0], imm(31))
            srcs[3] = b.emit("shr.s32", srcs[2], imm(31)) if r.randrange(2) else imm(0)
        if op in DIVIDES:
            srcs[2:] = r.choice(([imm(3), imm(0)], [imm(-5), imm(-1)], [imm(8), imm(0)], [imm(0), imm(2)]))
        if op in SETP_WIDE:
            self.preds.append(b.emit(op, *srcs))
            return
        dsts = tuple(b.f.reg(U32) for field in fields if field[0] == "d")
        b.block.instrs.append(Instr(op, dsts, tuple(srcs), b.loc()))
        self.ints.extend(dsts)


@given(st.integers(0, 1 << 32), st.integers(4, 24), st.integers(0, 3), st.booleans(), st.sampled_from([124, 24, 12]))
@settings(max_examples=40, deadline=None)
def test_random_programs(seed: int, length: int, depth: int, lists: bool, registers: int) -> None:
    """Before and after all passes, under the definition of programs and on the machine."""
    kernel = WideKernel(Random(seed), length, depth).function
    wanted = expected(kernel)
    try:
        program = compiled(kernel, schedule="list" if lists else "source", max_registers=registers)
    except CompileError as error:
        if "predicates" in str(error):
            return
        raise
    assert_same(executed(program), wanted)
    assert_same(simulated(program), wanted)
