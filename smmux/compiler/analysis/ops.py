"""Properties of operations that the passes need and `csrc/tables/ops.def` does not tell."""

from __future__ import annotations

from functools import cache

from smmux import _core
from smmux.compiler.ir import Imm, Instr, Operand, Reg, Type

__all__ = [
    "COMMUTATIVE",
    "COMMUTATIVE_WIDE",
    "FENCES",
    "copy_of",
    "is_load",
    "is_memory",
    "is_pure",
    "is_removable",
    "is_store",
    "latency_class",
    "may_fault",
    "move",
]

COMMUTATIVE = frozenset(
    {
        "add.s32",
        "mul.lo.s32",
        "mul.hi.s32",
        "mul.hi.u32",
        "min.s32",
        "min.u32",
        "max.s32",
        "max.u32",
        "and.b32",
        "or.b32",
        "xor.b32",
        "add.f32",
        "mul.f32",
        "setp.eq.s32",
        "setp.ne.s32",
        "setp.eq.f32",
        "setp.neu.f32",
        "and.pred",
        "or.pred",
        "xor.pred",
    }
)
"""Operations whose first two sources may change places without changing a bit (NaN payloads aside)."""

COMMUTATIVE_WIDE = frozenset(
    {"addc.s32", "add.f64", "mul.f64", "setp.eq.s64", "setp.ne.s64", "setp.eq.f64", "setp.neu.f64"}
)
"""The same for operations on pairs of words: the first two sources with the next two."""

FENCES = frozenset({"bar.sync", "membar", "nop", "print"})
"""Operations that no memory access crosses; `nop` stands for a fence of the compiler alone (syncwarp). What is
printed stays in order."""


@cache
def _kind(op: str) -> str:
    if op.startswith(("ld.", "tex.")):
        return "load"
    if op.startswith("st."):
        return "store"
    if op.startswith("atom."):
        return "atom"
    if op in FENCES:
        return "fence"
    if op in ("bra", "cbr", "exit", "trap"):
        return "control"
    if op == "shfl" or op.startswith("vote."):
        return "cross"
    return "pure"


def is_load(instr: Instr) -> bool:
    """Whether an instruction reads memory and changes nothing."""
    return _kind(instr.op) == "load"


def is_store(instr: Instr) -> bool:
    """Whether an instruction writes memory: a store or an atomic."""
    return _kind(instr.op) in ("store", "atom")


def is_memory(instr: Instr) -> bool:
    """Whether an instruction is a load, store or atomic."""
    return _kind(instr.op) in ("load", "store", "atom")


def is_pure(op: str) -> bool:
    """Whether an operation's result depends on its sources alone, so that equal ones may be shared and unused ones
    dropped."""
    return _kind(op) == "pure"


def is_removable(instr: Instr) -> bool:
    """Whether an instruction may be dropped when no one reads its results; a dropped load drops its faults too, unless
    what follows counts on them."""
    if instr.op == "trap":
        return isinstance(instr.srcs[0], Imm) and not instr.srcs[0].bits
    return _kind(instr.op) in ("pure", "load", "cross") and "keep" not in instr.attrs


def may_fault(instr: Instr) -> bool:
    """Whether executing an instruction where the program would not could raise an error: division by what may be
    zero."""
    if instr.op.startswith(("div.s", "div.u", "rem.")):
        divisor = instr.srcs[len(instr.srcs) // 2 :]
        return not any(isinstance(word, Imm) and word.bits for word in divisor)
    return False


@cache
def latency_class(op: str) -> str:
    """Row of `classes.def`, in lower case, that says how long dependents wait."""
    return str(_core.OPS[op][2]).lower() if op in _core.OPS else "bra"


def copy_of(instr: Instr) -> Operand | None:
    """The source of a plain copy, else None."""
    if instr.op in ("mov.b32", "mov.pred") and instr.guard is None:
        return instr.srcs[0]
    return None


def move(dst: Reg, src: Operand, like: Instr | None = None) -> Instr:
    """A copy of `src` to `dst` with the source location of `like`."""
    return Instr("mov.pred" if dst.type is Type.PRED else "mov.b32", (dst,), (src,), like.loc if like else None)
