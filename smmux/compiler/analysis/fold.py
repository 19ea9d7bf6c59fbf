"""Constant folding and algebra that never changes a bit: 32-bit integers exactly, floats in NumPy's float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smmux.compiler.analysis import fold64
from smmux.compiler.ir import Imm, Instr, Operand, Reg, Type

__all__ = ["Rewrite", "evaluate", "simplify"]

MASK = 0xFFFFFFFF
Rewrite = tuple[str, tuple[Operand, ...]]
"""A cheaper operation with its sources."""


def _signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - _divide(a, b) * b


_INTEGER: dict[str, Callable[..., int]] = {
    "mov.b32": lambda a: a,
    "add.s32": lambda a, b: a + b,
    "add.sat.s32": lambda a, b: max(-(2**31), min(_signed(a) + _signed(b), 2**31 - 1)),
    "sub.s32": lambda a, b: a - b,
    "neg.s32": lambda a: -a,
    "abs.s32": lambda a: abs(_signed(a)),
    "min.s32": lambda a, b: min(_signed(a), _signed(b)),
    "min.u32": min,
    "max.s32": lambda a, b: max(_signed(a), _signed(b)),
    "max.u32": max,
    "mul.lo.s32": lambda a, b: a * b,
    "mul.hi.s32": lambda a, b: _signed(a) * _signed(b) >> 32,
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "mad.lo.s32": lambda a, b, c: a * b + c,
    "div.s32": lambda a, b: _divide(_signed(a), _signed(b)),
    "div.u32": lambda a, b: a // b,
    "rem.s32": lambda a, b: _remainder(_signed(a), _signed(b)),
    "rem.u32": lambda a, b: a % b,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "not.b32": lambda a: ~a,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
    "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "shr.s32": lambda a, b: _signed(a) >> min(b, 31),
    "popc.b32": lambda a: a.bit_count(),
    "clz.b32": lambda a: 32 - a.bit_length(),
    "brev.b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "neg.f32": lambda a: a ^ 0x80000000,
    "abs.f32": lambda a: a & 0x7FFFFFFF,
    "cvt.s32.s8": lambda a: (a & 0xFF) - (256 if a & 0x80 else 0),
    "cvt.u32.u8": lambda a: a & 0xFF,
    "cvt.s32.s16": lambda a: (a & 0xFFFF) - (65536 if a & 0x8000 else 0),
    "cvt.u32.u16": lambda a: a & 0xFFFF,
    "cvt.rn.f32.s32": lambda a: _bits(np.float32(_signed(a))),
    "cvt.rn.f32.u32": lambda a: _bits(np.float32(a)),
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: bool(a == b),
    "ne": lambda a, b: bool(a != b),
    "neu": lambda a, b: bool(a != b),
    "lt": lambda a, b: bool(a < b),
    "le": lambda a, b: bool(a <= b),
    "gt": lambda a, b: bool(a > b),
    "ge": lambda a, b: bool(a >= b),
}

_FLOAT: dict[str, Callable[..., Any]] = {
    "add.f32": lambda a, b: a + b,
    "sub.f32": lambda a, b: a - b,
    "mul.f32": lambda a, b: a * b,
    "mad.f32": lambda a, b, c: a * b + c,
    "div.rn.f32": lambda a, b: a / b,
    "sqrt.rn.f32": np.sqrt,
    "cvt.rmi.f32.f32": np.floor,
    "cvt.rpi.f32.f32": np.ceil,
    "cvt.rzi.f32.f32": np.trunc,
    "cvt.rni.f32.f32": np.rint,
}


def _float(bits: int) -> np.float32:
    return np.uint32(bits).view(np.float32)


def _bits(value: np.float32) -> int:
    return int(np.float32(value).view(np.uint32))


_VALUE: dict[str, Callable[[int], Any]] = {"s32": _signed, "u32": int, "f32": _float}


def evaluate(op: str, values: tuple[int, ...]) -> int | None:
    """The bits of a pure operation on constants (a predicate as 0 or 1); None if it is not folded.

    NaN results stay in the program: their payload is the machine's.
    """
    if op in fold64.TABLE:
        words = fold64.evaluate_wide(op, values)
        return words[0] if words else None
    if op in _INTEGER:
        if op.startswith(("div", "rem")) and values[1] == 0:
            return None
        return _INTEGER[op](*values) & MASK
    if op.startswith("setp."):
        _, relation, kind = op.split(".")
        return int(_COMPARE[relation](*map(_VALUE[kind], values)))
    if op in _FLOAT:
        with np.errstate(all="ignore"):
            result = _FLOAT[op](*map(_float, values))
        return None if np.isnan(result) else _bits(result)
    return _PREDICATE[op](*values) & 1 if op in _PREDICATE else None


_PREDICATE: dict[str, Callable[..., int]] = {
    "and.pred": lambda a, b: a & b,
    "or.pred": lambda a, b: a | b,
    "xor.pred": lambda a, b: a ^ b,
    "not.pred": lambda a: ~a,
    "mov.pred": lambda a: a,
}

_INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
ONE_F32 = 0x3F800000


def simplify(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    """A constant, an existing value or a cheaper operation that gives the same bits; None if there is none.

    defs: the definition of each register. Constants stand second in commutative operations.
    """
    if srcs and isinstance(srcs[0], Imm) and all(isinstance(src, Imm) for src in srcs):
        bits = evaluate(op, tuple(src.bits for src in srcs if isinstance(src, Imm)))
        if bits is not None:
            return Imm(bits, type)
    rule = _RULES.get(op)
    if rule is None and op.startswith("setp."):
        rule = _setp if len(srcs) == 2 else fold64.compare_wide
    return rule(op, srcs, type, defs) if rule is not None else None


def _constant(operand: Operand) -> int | None:
    return operand.bits if isinstance(operand, Imm) else None


def _inner(operand: Operand, op: str, defs: dict[Reg, Instr]) -> tuple[Operand, ...] | None:
    """Sources of the operation that defines `operand`, if it is an unguarded `op`."""
    instr = defs.get(operand) if isinstance(operand, Reg) else None
    return instr.srcs if instr is not None and instr.op == op and instr.guard is None else None


Rule = Callable[[str, tuple[Operand, ...], Type, dict[Reg, Instr]], "Operand | Rewrite | None"]


def _copy(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    return srcs[0]


def _add(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    k = _constant(b)
    if k is None:
        if negated := _inner(b, "neg.s32", defs):
            return "sub.s32", (a, negated[0])
        return None
    if k == 0:
        return a
    inner = _inner(a, "add.s32", defs)
    if inner and (c := _constant(inner[1])) is not None:
        return "add.s32", (inner[0], Imm((c + k) & MASK, type))
    return None


def _sub(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    if a == b:
        return Imm(0, type)
    if (k := _constant(b)) is not None:
        return "add.s32", (a, Imm(-k & MASK, type))
    return ("neg.s32", (b,)) if _constant(a) == 0 else None


def _mul(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    k = _constant(b)
    if k is None:
        return None
    if k == 0:
        return Imm(0, type)
    if k == 1:
        return a
    if k & (k - 1) == 0:
        return "shl.b32", (a, Imm(k.bit_length() - 1, Type.U32))
    return ("neg.s32", (a,)) if k == MASK else None


def _shift(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    k = _constant(b)
    if k is None:
        return Imm(0, type) if _constant(a) == 0 else None
    if k == 0:
        return a
    if k > 31 and op != "shr.s32":
        return Imm(0, type)
    inner = _inner(a, op, defs)
    if inner and (c := _constant(inner[1])) is not None:
        return op, (inner[0], Imm(min(c + k, 31 if op == "shr.s32" else 32), Type.U32))
    return None


def _and(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    if a == b or _constant(b) == MASK:
        return a
    if _constant(b) == 0:
        return Imm(0, type)
    inner = _inner(a, op, defs)
    if inner and (c := _constant(inner[1])) is not None and (k := _constant(b)) is not None:
        return op, (inner[0], Imm(c & k, type))
    return None


def _or(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    if a == b:
        return a if op == "or.b32" else Imm(0, type)
    if _constant(b) == MASK:
        return Imm(MASK, type) if op == "or.b32" else ("not.b32", (a,))
    return a if _constant(b) == 0 else None


def _involution(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    inner = _inner(srcs[0], op, defs)
    return inner[0] if inner else None


def _idempotent(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    return srcs[0] if srcs[0] == srcs[1] and not isinstance(srcs[0], Imm) else None


def _div(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    k = _constant(b)
    if k == 1:
        return a if op.startswith("div") else Imm(0, type)
    if k and k & (k - 1) == 0 and op.endswith("u32"):
        if op == "div.u32":
            return "shr.u32", (a, Imm(k.bit_length() - 1, Type.U32))
        return "and.b32", (a, Imm(k - 1, type))
    return None


def _float_mul(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    return srcs[0] if _constant(srcs[1]) == ONE_F32 else None


def _float_add(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    """x + -0 and x - +0 are x; x + +0 is not, for x = -0."""
    neutral = 0x80000000 if op == "add.f32" else 0
    return srcs[0] if _constant(srcs[1]) == neutral else None


def _float_div(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    """Division by a power of two is multiplication by its reciprocal, exactly, if that is a normal number."""
    k = _constant(srcs[1])
    if k == ONE_F32:
        return srcs[0]
    if k is None or k & 0x7FFFFF or not 1 <= (k >> 23 & 0xFF) <= 253:
        return None
    return "mul.f32", (srcs[0], Imm((k & 0x80000000) | (254 - (k >> 23 & 0xFF)) << 23, Type.F32))


def _setp(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    _, relation, kind = op.split(".")
    if a == b and kind != "f32" and not isinstance(a, Imm):
        return Imm(int(relation in ("eq", "le", "ge")), Type.PRED)
    inner = _inner(a, "selp.b32", defs)
    if inner and relation in ("eq", "ne") and kind == "s32" and (k := _constant(b)) is not None:
        yes, no = _constant(inner[0]), _constant(inner[1])
        if yes is not None and no is not None and yes != no and k in (yes, no):
            same = (k == yes) == (relation == "eq")
            return inner[2] if same else ("not.pred", (inner[2],))
    return None


def _selp(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b, q = srcs
    if a == b:
        return a
    if (k := _constant(q)) is not None:
        return a if k else b
    inner = _inner(q, "not.pred", defs)
    return (op, (b, a, inner[0])) if inner else None


def _not_pred(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    inner = _inner(srcs[0], "not.pred", defs)
    if inner:
        return inner[0]
    instr = defs.get(srcs[0]) if isinstance(srcs[0], Reg) else None
    if instr is not None and instr.op.startswith("setp.") and instr.guard is None:
        _, relation, kind = instr.op.split(".")
        if kind[0] != "f":
            return _inverse(relation, kind, instr.srcs)
        if relation in ("eq", "neu"):
            return f"setp.{'neu' if relation == 'eq' else 'eq'}.{kind}", instr.srcs
    return None


def _inverse(relation: str, kind: str, srcs: tuple[Operand, ...]) -> Rewrite:
    """The opposite comparison; eq and ne exist for s32 and s64 alone, which compare the same bits."""
    inverse = _INVERSE[relation]
    return f"setp.{inverse}.{kind.replace('u', 's') if inverse in ('eq', 'ne') else kind}", srcs


def _logic_pred(op: str, srcs: tuple[Operand, ...], type: Type, defs: dict[Reg, Instr]) -> Operand | Rewrite | None:
    a, b = srcs
    if a == b:
        return Imm(0, Type.PRED) if op == "xor.pred" else a
    k = _constant(b)
    if k is None:
        return None
    if op == "and.pred":
        return a if k else b
    if op == "or.pred":
        return b if k else a
    return ("not.pred", (a,)) if k else a


_RULES: dict[str, Rule] = {
    "mov.b32": _copy,
    "mov.pred": _copy,
    "add.s32": _add,
    "sub.s32": _sub,
    "mul.lo.s32": _mul,
    "shl.b32": _shift,
    "shr.u32": _shift,
    "shr.s32": _shift,
    "and.b32": _and,
    "or.b32": _or,
    "xor.b32": _or,
    "not.b32": _involution,
    "neg.s32": _involution,
    "neg.f32": _involution,
    "min.s32": _idempotent,
    "max.s32": _idempotent,
    "min.u32": _idempotent,
    "max.u32": _idempotent,
    "div.s32": _div,
    "div.u32": _div,
    "rem.s32": _div,
    "rem.u32": _div,
    "mul.f32": _float_mul,
    "add.f32": _float_add,
    "sub.f32": _float_add,
    "div.rn.f32": _float_div,
    "selp.b32": _selp,
    "not.pred": _not_pred,
    "and.pred": _logic_pred,
    "or.pred": _logic_pred,
    "xor.pred": _logic_pred,
    **fold64.RULES,
}
