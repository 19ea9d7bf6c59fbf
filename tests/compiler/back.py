"""Helpers of the back end's tests: building IR by hand and at random, and running it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from smmux.compiler.driver.pipeline import compile_function
from smmux.compiler.ir import (
    Block,
    Function,
    Imm,
    Instr,
    Loc,
    Mem,
    Operand,
    Param,
    Reg,
    Space,
    Special,
    SpecialName,
    Storage,
    Type,
)
from smmux.compiler.options import Options
from smmux.compiler.program import Program
from smmux.running.launch import launch
from tests.reference import ir as interpreter, machine

TID = Special(SpecialName.TID_X)
S32, U32, F32, PRED = Type.S32, Type.U32, Type.F32, Type.PRED


def imm(value: int) -> Imm:
    return Imm(value & 0xFFFFFFFF, S32)


def fimm(value: float) -> Imm:
    return Imm(int(np.float32(value).view(np.uint32)), F32)


class Builder:
    """Writes IR as a front end would: variables are written by copies."""

    def __init__(self, name: str = "kernel") -> None:
        self.f = Function(name, "kernel.py")
        self.block = self.f.block()
        self.f.blocks.append(self.block)
        self.line = 0
        self.afters: list[Block] = []  # behind the loops around the present place

    def loc(self) -> Loc:
        self.line += 1
        return Loc("kernel.py", self.line, 1)

    # -- storage

    def scalar(self, name: str = "n", type: Type = S32) -> Param:
        param = Param(len(self.f.params), type, name)
        self.f.params.append(param)
        return param

    def array(self, name: str, elements: int = 1 << 20, element: int = 4, align: int = 256) -> Storage:
        arrays = sum(1 for a in self.f.arrays if a.space is Space.GLOBAL)
        found = Storage(Space.GLOBAL, arrays, name, element, elements, param=len(self.f.params), align=align)
        self.f.params.append(Param(found.param, U32, name))
        self.f.arrays.append(found)
        return found

    def shared(self, name: str, elements: int, element: int = 4, offset: int | None = None) -> Storage:
        start = -(-self.f.shared_bytes // 4) * 4 if offset is None else offset
        found = Storage(Space.SHARED, len(self.f.arrays), name, element, elements, start)
        self.f.arrays.append(found)
        self.f.shared_bytes = max(self.f.shared_bytes, start + elements * element)
        return found

    # -- instructions

    def emit(self, op: str, *srcs: Operand, type: Type = S32, **attrs: int) -> Reg:
        dst = self.f.reg(PRED if op.startswith("setp") or op.endswith(".pred") else type)
        self.block.instrs.append(Instr(op, (dst,), srcs, self.loc(), attrs=attrs))
        return dst

    def effect(self, op: str, *srcs: Operand, **attrs: int) -> None:
        self.block.instrs.append(Instr(op, (), srcs, self.loc(), attrs=attrs))

    def var(self, value: Operand, type: Type = S32) -> Reg:
        reg = self.f.reg(type, variable=True)
        self.set(reg, value)
        return reg

    def set(self, var: Reg, value: Operand) -> None:
        op = "mov.pred" if var.type is PRED else "mov.b32"
        self.block.instrs.append(Instr(op, (var,), (value,), self.loc()))

    def load(self, array: Storage, index: Operand, offset: int = 0, type: Type = F32) -> Reg:
        dst = self.f.reg(type)
        mem = Mem(array, array.element, offset, signed=array.signed)
        self.block.instrs.append(Instr(f"ld.{array.space.value}", (dst,), (index,), self.loc(), mem=mem))
        return dst

    def store(self, array: Storage, index: Operand, value: Operand, offset: int = 0) -> None:
        mem = Mem(array, array.element, offset)
        self.block.instrs.append(Instr(f"st.{array.space.value}", (), (index, value), self.loc(), mem=mem))

    def barrier(self) -> None:
        self.effect("bar.sync", sub=0)

    # -- control

    def start(self, block: Block) -> None:
        self.f.blocks.append(block)
        self.block = block

    def goto(self, target: Block) -> None:
        self.block.instrs.append(Instr("bra", loc=self.loc(), target=target))

    def branch(self, condition: Operand, target: Block, other: Block) -> None:
        self.block.instrs.append(Instr("cbr", (), (condition,), self.loc(), target=target, other=other))

    def exit(self) -> Function:
        self.block.instrs.append(Instr("exit", loc=self.loc()))
        return self.f

    def if_(self, condition: Operand, then: Callable[[], None], orelse: Callable[[], None] | None = None) -> None:
        yes, no, join = self.f.block(), self.f.block(), self.f.block()
        self.branch(condition, yes, no if orelse else join)
        self.start(yes)
        then()
        self.goto(join)
        if orelse:
            self.start(no)
            orelse()
            self.goto(join)
        self.start(join)

    def loop(self, start: Operand, stop: Operand, step: int, body: Callable[[Reg], None]) -> None:
        """for i in range(start, stop, step), rotated."""
        head, after = self.f.block(), self.f.block()
        i = self.var(start)
        self.branch(self.emit("setp.lt.s32", start, stop), head, after)
        self.start(head)
        self.afters.append(after)
        body(i)
        self.afters.pop()
        following = self.emit("add.s32", i, imm(step))
        again = self.emit("setp.lt.s32", following, stop)
        self.set(i, following)
        self.branch(again, head, after)
        self.start(after)

    def break_if(self, condition: Operand) -> None:
        rest = self.f.block()
        self.branch(condition, self.afters[-1], rest)
        self.start(rest)

    def return_if(self, condition: Operand) -> None:
        leave, rest = self.f.block(), self.f.block()
        self.branch(condition, leave, rest)
        self.start(leave)
        self.exit()
        self.start(rest)


def compiled(function: Function, **options: Any) -> Program:
    """Compile a copy."""
    return compile_function(function.copy(), Options(**options))


def ops(program: Program) -> list[str]:
    """Names of the operations, with vector widths as in `ld.global.v4`."""
    words = [max(1, int(insn["width"]) // 4) for insn in program.code]
    return [op + (f".v{n}" if n > 1 else "") for op, n in zip(program.ops, words, strict=True)]


# -- random kernels

WORDS_PER_THREAD = 16
INT_OPS = (
    "add.s32",
    "sub.s32",
    "mul.lo.s32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "min.s32",
    "max.u32",
    "mul.hi.u32",
    "mul.hi.s32",
)
SHIFTS = ("shl.b32", "shr.u32", "shr.s32")
UNARY = ("neg.s32", "not.b32", "abs.s32", "popc.b32", "clz.b32", "brev.b32", "cvt.s32.s8", "cvt.u32.u16")
FLOAT_OPS = ("add.f32", "sub.f32", "mul.f32", "min.f32", "max.f32", "div.rn.f32")
COMPARES = ("setp.lt.s32", "setp.ge.u32", "setp.eq.s32", "setp.ne.s32", "setp.gt.s32", "setp.le.u32")
FLOAT_COMPARES = ("setp.lt.f32", "setp.eq.f32", "setp.neu.f32", "setp.ge.f32")
LOGIC = ("and.pred", "or.pred", "xor.pred", "not.pred")
CONSTANTS = (0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 255, -1, -4, 0x7FFFFFFF, -0x80000000)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.25, 1e-30, 1e30, float("inf"))


class RandomKernel:
    """A random structured kernel whose threads touch only words of their own: `WORDS_PER_THREAD` in each array.

    Arrays x and y may be one buffer; f is float, s shared, and b a byte view of the same shared storage.
    """

    def __init__(self, random: Random, length: int, depth: int) -> None:
        self.random = random
        b = self.b = Builder()
        self.n = b.scalar("n")
        self.x, self.y = b.array("x"), b.array("y")
        self.floats = b.array("f")
        self.shared = b.shared("s", 64 * WORDS_PER_THREAD)
        self.bytes = b.shared("b", 256 * WORDS_PER_THREAD, element=1, offset=0)
        self.ints: list[Operand] = [TID, self.n]
        self.singles: list[Operand] = [fimm(1.5)]
        self.preds: list[Operand] = [b.emit("setp.lt.s32", TID, imm(13))]
        self.variables = [b.var(imm(5)), b.var(TID), b.var(fimm(0.25), F32), b.var(Imm(0, PRED), PRED)]
        self.base = b.emit("mul.lo.s32", TID, imm(WORDS_PER_THREAD))
        self.statements(length, depth)
        self.results()
        self.b.exit()

    @property
    def function(self) -> Function:
        return self.b.f

    def results(self) -> None:
        """Store what there is at the end: it was live until here."""
        b = self.b
        for k, value in enumerate([*self.variables[:2], *self.ints[-10:]]):
            b.store(self.x, self.base, value, k)
        for k, value in enumerate([self.variables[2], *self.singles[-12:]]):
            b.store(self.floats, self.base, value, k)
        for k, value in enumerate([self.variables[3], *self.preds[-3:]]):
            b.store(self.shared, self.base, b.emit("selp.b32", imm(1), imm(0), value), k)
            b.store(self.y, self.base, b.load(self.shared, self.base, k, S32), k + 12)

    def integer(self) -> Operand:
        r = self.random
        kind = r.randrange(6)
        if kind == 0:
            return imm(r.choice(CONSTANTS))
        return self.variables[r.randrange(2)] if kind == 1 else r.choice(self.ints[-16:] + self.ints[:2])

    def single(self) -> Operand:
        r = self.random
        kind = r.randrange(5)
        if kind == 0:
            return fimm(r.choice(FLOATS))
        return self.variables[2] if kind == 1 else r.choice(self.singles[-12:])

    def pred(self) -> Operand:
        return self.variables[3] if self.random.randrange(6) == 0 else self.random.choice(self.preds[-4:])

    def index(self) -> tuple[Operand, int]:
        """An index of this thread's words: a constant, or one computed modulo the words."""
        b, r = self.b, self.random
        constant = r.randrange(WORDS_PER_THREAD)
        kind = r.randrange(4)
        if kind == 0:
            within = b.emit("and.b32", self.integer(), imm(WORDS_PER_THREAD - 1))
            return b.emit("add.s32", within, self.base), 0
        if kind == 1:
            return b.emit("add.s32", self.base, imm(constant)), 0
        if kind == 2:
            ahead = b.emit("add.s32", TID, imm(1))
            return b.emit("mul.lo.s32", ahead, imm(WORDS_PER_THREAD)), constant - WORDS_PER_THREAD
        return self.base, constant

    def statements(self, length: int, depth: int) -> None:
        """Values defined inside an arm or a body are not used after it."""
        for _ in range(length):
            self.statement(length, depth)

    def scoped(self, length: int, depth: int) -> None:
        saved = list(self.ints), list(self.singles), list(self.preds)
        self.statements(length, depth)
        self.ints, self.singles, self.preds = saved

    def statement(self, length: int, depth: int) -> None:
        b, r = self.b, self.random
        kind = r.randrange(20)
        if kind < 6:
            self.integer_operation()
        elif kind < 8:
            self.singles.append(b.emit(r.choice(FLOAT_OPS), self.single(), self.single(), type=F32))
        elif kind < 10:
            self.predicate_operation()
        elif kind < 15:
            self.access()
        elif kind == 15:
            self.assign()
        elif kind == 16:
            b.effect(r.choice(("membar", "nop")))
        elif kind == 17 and not r.randrange(3):
            self.leave()
        elif kind == 18 and not r.randrange(3):
            self.guarded()
        elif depth and kind in (17, 18):
            orelse = (lambda: self.scoped(length // 2, depth - 1)) if r.randrange(2) else None
            b.if_(self.pred(), lambda: self.scoped(r.randrange(1, 2 + length // 2), depth - 1), orelse)
        elif depth:
            stop = b.emit("and.b32", self.integer(), imm(3))
            b.loop(imm(r.randrange(2)), stop, r.randrange(1, 3), lambda i: self.body(i, length // 2, depth - 1))

    def body(self, i: Reg, length: int, depth: int) -> None:
        b = self.b
        saved = list(self.ints), list(self.singles), list(self.preds)
        self.ints.append(b.emit("mov.b32", i))
        self.ints.append(b.emit("mul.lo.s32", i, self.integer()))
        address = b.emit("add.s32", self.base, i)
        self.singles.append(b.load(self.floats, address, self.random.randrange(8)))
        b.store(self.y, address, self.integer(), self.random.randrange(8))
        self.statements(max(length, 1), depth)
        self.ints, self.singles, self.preds = saved

    def leave(self) -> None:
        """break, or return: rarely, or little is left."""
        if self.b.afters:
            self.b.break_if(self.pred())
        elif not self.random.randrange(8):
            self.b.return_if(self.pred())

    def guarded(self) -> None:
        """An assignment, load or store under a guard."""
        b, r = self.b, self.random
        kind = r.randrange(3)
        if kind == 0:
            b.set(self.variables[0], self.integer())
        elif kind == 1:
            b.store(self.y, self.base, self.integer(), r.randrange(WORDS_PER_THREAD))
        else:
            self.ints.append(b.load(self.shared, self.base, r.randrange(WORDS_PER_THREAD), S32))
        guard = self.pred()
        if isinstance(guard, Reg):
            b.block.instrs[-1].guard, b.block.instrs[-1].guard_not = guard, bool(r.randrange(2))

    def integer_operation(self) -> None:
        b, r = self.b, self.random
        kind = r.randrange(8)
        if kind == 0:
            result = b.emit(r.choice(UNARY), self.integer())
        elif kind == 1:
            result = b.emit(r.choice(SHIFTS), self.integer(), imm(r.choice((0, 1, 2, 4, 31, 32, 40))))
        elif kind == 2:
            result = b.emit(
                r.choice(("div.s32", "div.u32", "rem.s32", "rem.u32")),
                self.integer(),
                imm(r.choice((1, 2, 3, 8, -1, -7))),
            )
        elif kind == 3:
            result = b.emit("selp.b32", self.integer(), self.integer(), self.pred())
        elif kind == 4:
            result = b.emit("mad.lo.s32", self.integer(), self.integer(), self.integer())
        else:
            result = b.emit(r.choice(INT_OPS), self.integer(), self.integer())
        self.ints.append(result)

    def predicate_operation(self) -> None:
        b, r = self.b, self.random
        kind = r.randrange(3)
        if kind == 0:
            result = b.emit(r.choice(COMPARES), self.integer(), self.integer())
        elif kind == 1:
            result = b.emit(r.choice(FLOAT_COMPARES), self.single(), self.single())
        else:
            op = r.choice(LOGIC)
            result = b.emit(op, *((self.pred(),) if op == "not.pred" else (self.pred(), self.pred())))
        self.preds.append(result)

    def access(self) -> None:
        b, r = self.b, self.random
        array = r.choice((self.x, self.x, self.y, self.shared, self.shared, self.floats, self.bytes))
        index, offset = self.index()
        if array is self.bytes:
            index = b.emit("shl.b32", index, imm(2))
            offset = 4 * offset + r.randrange(4)
        if array is self.floats:
            if r.randrange(2):
                b.store(array, index, self.single(), offset)
            else:
                self.singles.append(b.load(array, index, offset))
        elif r.randrange(2):
            b.store(array, index, self.integer(), offset)
        else:
            self.ints.append(b.load(array, index, offset, S32))

    def assign(self) -> None:
        variable = self.random.choice(self.variables)
        value = {F32: self.single, PRED: self.pred}.get(variable.type, self.integer)()
        self.b.set(variable, value)


THREADS = 40


def arguments(aliased: bool = True) -> list[Any]:
    """n, x, y, f; x and y one buffer, half a thread's words apart, if aliased."""
    rng = np.random.default_rng(3)
    words = THREADS * WORDS_PER_THREAD
    storage = rng.integers(0, 1 << 32, 2 * words, dtype=np.uint32)
    x = storage[:words]
    y = storage[:words] if aliased else storage[words:]
    return [7, x, y, rng.normal(size=words).astype(np.float32)]


def expected(function: Function, aliased: bool = True) -> list[Any]:
    """Arguments after the IR has been executed as it stands."""
    args = arguments(aliased)
    interpreter.run(function, THREADS, args)
    return args


def executed(program: Program, aliased: bool = True) -> list[Any]:
    """Arguments after the program has been executed by its definition."""
    args = arguments(aliased)
    machine.run(program, (1,), (THREADS,), args)
    return args


def simulated(program: Program, aliased: bool = True) -> list[Any]:
    """Arguments after the program has run on the machine."""
    args = arguments(aliased)
    launch(program, args, 1, THREADS, gpu="GTX285")
    return args


def assert_same(got: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
