"""Small programs written instruction by instruction, so that launching can be tested without the compiler."""

import numpy as np

from smmux import _core
from smmux.compiler.program import INSN, OPERAND_NONE, OPERAND_SPECIAL, OPERAND_UNIFORM, UNIFORM, ParamWord, Program

NONE = OPERAND_NONE
TID = OPERAND_SPECIAL | _core.SPECIALS["tid.x"]
CTAID = OPERAND_SPECIAL | _core.SPECIALS["ctaid.x"]


def insn(op, line=0, **fields):
    """One instruction; operands that are not named are absent."""
    row = np.zeros((), INSN)
    row["op"], row["line"] = _core.OPS[op][0], line
    for operand in "qdabc":
        row[operand] = NONE
    row["aux"] = -1
    for name, value in fields.items():
        row[name] = value
    return row


class Assembler:
    """Collects instructions and uniform operands."""

    def __init__(self):
        self.code, self.uniforms = [], []

    def imm(self, value):
        return self._uniform("imm", value & 0xFFFFFFFF)

    def param(self, word):
        return self._uniform("param", word)

    def _uniform(self, kind, value):
        row = (_core.UNIFORMS[kind], value)
        if row not in self.uniforms:
            self.uniforms.append(row)
        return OPERAND_UNIFORM | self.uniforms.index(row)

    def __call__(self, op, line=0, **fields):
        self.code.append(insn(op, line, **fields))

    def program(self, params=("ptr",), nregs=8, name="kernel", filename="kernel.py", **facts):
        pointers = np.cumsum([kind == "ptr" for kind in params]) - 1
        words = tuple(
            ParamWord(f"p{position}", kind, int(array) if kind == "ptr" else -1)
            for position, (kind, array) in enumerate(zip(params, pointers, strict=True))
        )
        return Program(
            name=name,
            filename=filename,
            code=np.array(self.code, INSN),
            uniforms=np.array(self.uniforms, UNIFORM),
            nregs=nregs,
            npreds=1,
            params=words,
            **facts,
        )


def store_tid(scale=4):
    """p0[scale/4 * tid] = tid + p1, on lines 3 (address), 4 (value) and 5 (store)."""
    asm = Assembler()
    asm("mad.lo.s32", 3, d=0, a=TID, b=asm.imm(scale), c=asm.param(0))
    asm("add.s32", 4, d=1, a=TID, b=asm.param(1))
    asm("st.global", 5, a=0, d=1, width=4, aux=0)
    asm("exit", 6)
    return asm.program(("ptr", "s32"))


def spin():
    """Branches to itself for ever, on line 2."""
    asm = Assembler()
    asm("bra", 2, imm=0)
    asm("exit", 3)
    return asm.program(())
