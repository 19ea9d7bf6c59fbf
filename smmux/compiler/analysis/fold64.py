"""Folding and algebra of operations on 64 bits: their sources are pairs of words, low word first."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smmux.compiler.ir import Imm, Instr, Operand, Reg, Type

__all__ = ["RULES", "Part", "WideRewrite", "compare_wide", "evaluate_wide", "simplify_wide", "words"]

MASK = 0xFFFFFFFF
Defs = dict[Reg, Instr]
Rewrite = tuple[str, tuple[Operand, ...]]
Part = Operand | Rewrite
"""One word of a result: a value that exists, or an operation that gives it."""
WideRewrite = Rewrite | tuple[Part, Part]
"""A cheaper operation with the same two results, or both words one by one; the second may read the first, as RESULT."""
RESULT = Reg(-1, Type.U32, "low word")


# -- constants


def _signed(bits: int, size: int) -> int:
    return bits - (1 << size) if bits >> (size - 1) else bits


_READ: dict[str, Callable[[int], Any]] = {
    "s32": lambda bits: _signed(bits, 32),
    "u32": int,
    "s64": lambda bits: _signed(bits, 64),
    "u64": int,
    "f16": lambda bits: np.uint16(bits & 0xFFFF).view(np.float16),
    "f32": lambda bits: np.uint32(bits).view(np.float32),
    "f64": lambda bits: np.uint64(bits).view(np.float64),
}
_FLOATS: dict[str, tuple[Any, Any]] = {
    "f16": (np.float16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
}


def _write(kind: str, value: Any) -> int | None:
    """The bits of a value; None for NaN, whose payload is the machine's."""
    if kind in _FLOATS:
        float_type, word = _FLOATS[kind]
        return None if np.isnan(value) else int(float_type(value).view(word))
    return int(value) & ((1 << int(kind[1:])) - 1)


def words(bits: int, count: int) -> tuple[int, ...]:
    """So many words of a number, the low one first."""
    return tuple(bits >> 32 * i & MASK for i in range(count))


def _quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _saturated(low: int, high: int) -> Callable[[Any], int]:
    """Conversion of a float to the nearest integer of a range towards zero; NaN gives 0."""

    def convert(a: Any) -> int:
        if np.isnan(a):
            return 0
        return min(max(int(a), low), high) if np.isfinite(a) else (high if a > 0 else low)

    return convert


def _limits(kind: str) -> tuple[int, int]:
    size = int(kind[1:])
    return (-(1 << size - 1), (1 << size - 1) - 1) if kind[0] == "s" else (0, (1 << size) - 1)


Row = tuple[str, str, Callable[..., Any]]
"""Kinds of the sources ("s64 u32") and of the result, and what it is."""


def _table() -> Iterator[tuple[str, Row]]:
    yield "addc.s32", ("u64 u64", "u32", lambda a, b: a + b >> 32)
    yield "subc.s32", ("u64 u64", "u32", lambda a, b: a - b >> 32)
    yield "shl.hi.b64", ("u64 u32", "u32", lambda a, b: a << b >> 32 if b < 64 else 0)
    yield "shr.lo.u64", ("u64 u32", "u32", lambda a, b: a >> b if b < 64 else 0)
    yield "shr.lo.s64", ("s64 u32", "u32", lambda a, b: a >> min(b, 63))
    for kind in ("s64", "u64"):
        yield f"div.{kind}", (f"{kind} {kind}", kind, lambda a, b: _quotient(a, b) if b else None)
        yield f"rem.{kind}", (f"{kind} {kind}", kind, lambda a, b: a - b * _quotient(a, b) if b else None)
        yield f"cvt.rn.f32.{kind}", (kind, "f32", np.float32)
        for source in ("f32", "f64"):
            yield f"cvt.rzi.{kind}.{source}", (source, kind, _saturated(*_limits(kind)))
    for kind in ("s32", "u32"):
        yield f"cvt.rzi.{kind}.f64", ("f64", kind, _saturated(*_limits(kind)))
    for kind in ("s32", "u32", "s64", "u64"):
        yield f"cvt.rn.f64.{kind}", (kind, "f64", np.float64)
    for name, function in {"add": operator.add, "sub": operator.sub, "mul": operator.mul}.items():
        yield f"{name}.f64", ("f64 f64", "f64", function)
    yield "div.rn.f64", ("f64 f64", "f64", operator.truediv)
    yield "sqrt.rn.f64", ("f64", "f64", np.sqrt)
    for mode, rounding in {"rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc, "rni": np.rint}.items():
        yield f"cvt.{mode}.f64.f64", ("f64", "f64", rounding)
    for op, kinds in {"cvt.f64.f32": "f32 f64", "cvt.rn.f32.f64": "f64 f32", "cvt.f32.f16": "f16 f32"}.items():
        yield op, (kinds.split()[0], kinds.split()[1], lambda a: a)
    yield "cvt.rn.f16.f32", ("f32", "f16", np.float16)
    yield "cvt.rn.f16.f64", ("f64", "f16", np.float16)
    for kind, relations in {"s64": "eq ne lt le gt ge", "u64": "lt le gt ge", "f64": "eq neu lt le gt ge"}.items():
        for relation in relations.split():
            compare = getattr(operator, relation.replace("neu", "ne"))
            yield f"setp.{relation}.{kind}", (f"{kind} {kind}", "u32", compare)


TABLE: dict[str, Row] = dict(_table())


def evaluate_wide(op: str, values: tuple[int, ...]) -> tuple[int, ...] | None:
    """The words of an operation's result on constant words; None if it is not folded."""
    row = TABLE.get(op)
    if row is None:
        return None
    sources, kind, function = row
    given, wide = iter(values), kind.endswith("64")
    operands = [next(given) | (next(given) << 32 if of.endswith("64") else 0) for of in sources.split()]
    with np.errstate(all="ignore"):
        value = function(*(_READ[of](bits) for of, bits in zip(sources.split(), operands, strict=True)))
        bits = None if value is None else _write(kind, value)
    return None if bits is None else words(bits, 2 if wide else 1)


# -- algebra


def _bits(operand: Operand) -> int | None:
    return operand.bits if isinstance(operand, Imm) else None


def _constant(low: Operand, high: Operand) -> int | None:
    """The 64 bits of a pair of constants."""
    return high.bits << 32 | low.bits if isinstance(low, Imm) and isinstance(high, Imm) else None


def _word(bits: int) -> Imm:
    return Imm(bits & MASK, Type.U32)


def _inner(operand: Operand, op: str, defs: Defs) -> tuple[Operand, ...] | None:
    instr = defs.get(operand) if isinstance(operand, Reg) else None
    return instr.srcs if instr is not None and instr.op == op and instr.guard is None else None


def _same(a: Operand, b: Operand) -> bool:
    return a == b or (isinstance(a, Imm) and isinstance(b, Imm) and a.bits == b.bits)


def _sign_extended(low: Operand, high: Operand, defs: Defs) -> bool:
    """Whether a pair is an int32 in 64 bits."""
    if (k := _bits(low)) is not None:
        return _bits(high) == (MASK if k >> 31 else 0)
    source = _inner(high, "shr.s32", defs)
    return source is not None and source[0] == low and (_bits(source[1]) or 0) >= 31


def _zero_extended(high: Operand) -> bool:
    """Whether a pair is a uint32 in 64 bits."""
    return _bits(high) == 0


def _addc(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    low, high, other_low, other_high = srcs
    k, added = _constant(other_low, other_high), _bits(other_low)
    if k == 0:
        return high
    if added == 0:
        return "add.s32", (high, other_high)
    if added is not None and (mine := _bits(low)) is not None:
        carry = mine + added >> 32
        if not carry:
            return "add.s32", (high, other_high)
        if (above := _bits(other_high)) is not None:
            return "add.s32", (high, _word(above + carry))
    if k is not None and (first := _inner(high, "addc.s32", defs)) and (lows := _inner(low, "add.s32", defs)):
        inner = _constant(first[2], first[3])
        if inner is not None and first[0] == lows[0] and _same(first[2], lows[1]):
            total = inner + k
            return op, (first[0], first[1], _word(total), _word(total >> 32))
    return None


def _subc(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    low, high, other_low, other_high = srcs
    if (k := _constant(other_low, other_high)) is not None:
        return "addc.s32", (low, high, _word(-k), _word(-k >> 32))
    if _same(low, other_low):
        return _word(0) if _same(high, other_high) else ("sub.s32", (high, other_high))
    return ("sub.s32", (high, other_high)) if _bits(other_low) == 0 else None


def _shl_high(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    low, high, by = srcs
    n = _bits(by)
    if n is None:
        return _word(0) if _constant(low, high) == 0 else None
    if n == 0:
        return high
    if n >= 32:
        return "shl.b32", (low, _word(n - 32))
    if _zero_extended(high):
        return "shr.u32", (low, _word(32 - n))
    return ("shl.b32", (high, by)) if _bits(low) == 0 else None


def _shr_low(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    low, high, by = srcs
    shift = "shr.u32" if op == "shr.lo.u64" else "shr.s32"
    n = _bits(by)
    if n == 0:
        return low
    if _zero_extended(high):
        return "shr.u32", (low, by)
    if shift == "shr.s32" and _sign_extended(low, high, defs):
        return shift, (low, by)
    return (shift, (high, _word(n - 32))) if n is not None and n >= 32 else None


def compare_wide(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    """A comparison of 64 bits as one of 32, if both sides are values of 32 bits, or if a sign decides."""
    low, high, other_low, other_high = srcs
    _, relation, kind = op.split(".")
    if kind == "f64":
        return None
    if _same(low, other_low) and _same(high, other_high):
        return Imm(int(relation in ("eq", "le", "ge")), Type.PRED)
    signed = _sign_extended(low, high, defs) and _sign_extended(other_low, other_high, defs)
    if signed or (_zero_extended(high) and _zero_extended(other_high)):
        ordered = "s32" if signed and kind == "s64" else "u32"
        return f"setp.{relation}.{'s32' if relation in ('eq', 'ne') else ordered}", (low, other_low)
    if kind == "s64" and relation in ("lt", "ge") and _constant(other_low, other_high) == 0:
        return f"setp.{relation}.s32", (high, other_high)
    return None


def _to_f32(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    if _zero_extended(srcs[1]):
        return "cvt.rn.f32.u32", srcs[:1]
    if op == "cvt.rn.f32.s64" and _sign_extended(srcs[0], srcs[1], defs):
        return "cvt.rn.f32.s32", srcs[:1]
    return None


def _narrowed(op: str, srcs: tuple[Operand, ...], type: Type, defs: Defs) -> Operand | Rewrite | None:
    """A float32 that was made a float64 and comes back."""
    low, high = (defs.get(src) if isinstance(src, Reg) else None for src in srcs)
    if low is None or low is not high or low.op != "cvt.f64.f32" or low.dsts != srcs:
        return None
    return low.srcs[0]


Rule = Callable[[str, tuple[Operand, ...], Type, Defs], "Operand | Rewrite | None"]

RULES: dict[str, Rule] = {
    "addc.s32": _addc,
    "subc.s32": _subc,
    "shl.hi.b64": _shl_high,
    "shr.lo.u64": _shr_low,
    "shr.lo.s64": _shr_low,
    "cvt.rn.f32.s64": _to_f32,
    "cvt.rn.f32.u64": _to_f32,
    "cvt.rn.f32.f64": _narrowed,
}
"""Rules of operations on 64 bits with one word as result, in the form of those of `fold`."""


def simplify_wide(op: str, srcs: tuple[Operand, ...], defs: Defs) -> WideRewrite | None:
    """Cheaper ways to both words of a result; None if there is none."""
    if all(isinstance(src, Imm) for src in srcs):
        found = evaluate_wide(op, tuple(src.bits for src in srcs if isinstance(src, Imm)))
        if found is not None:
            return _word(found[0]), _word(found[1])
    rule = _WIDE_RULES.get(op)
    return rule(op, srcs, defs) if rule is not None else None


def _divide(op: str, srcs: tuple[Operand, ...], defs: Defs) -> WideRewrite | None:
    """Division of values of 32 bits by an operation of 32 bits, and by powers of two by a shift or a mask."""
    low, high, other_low, other_high = srcs
    k, name = _constant(other_low, other_high), op.partition(".")[0]
    if k == 1:
        return (low, high) if name == "div" else (_word(0), _word(0))
    if _zero_extended(high) and _zero_extended(other_high):
        return (f"{name}.u32", (low, other_low)), _word(0)
    if op.endswith("s64"):
        if not (_sign_extended(low, high, defs) and _sign_extended(other_low, other_high, defs)):
            return None
        if name == "div" and (k is None or k == (1 << 64) - 1):  # -2**31 / -1 needs more than 32 bits
            return None
        return (f"{name}.s32", (low, other_low)), ("shr.s32", (RESULT, _word(31)))
    if not k or k & (k - 1):
        return None
    if name == "rem":
        return ("and.b32", (low, _word(k - 1))), ("and.b32", (high, _word(k - 1 >> 32)))
    by = _word(k.bit_length() - 1)
    return ("shr.lo.u64", (low, high, by)), ("shr.u32", (high, by))


ONE, MINUS_ZERO = 0x3FF << 52, 1 << 63


def _multiply(op: str, srcs: tuple[Operand, ...], defs: Defs) -> WideRewrite | None:
    return (srcs[0], srcs[1]) if _constant(srcs[2], srcs[3]) == ONE else None


def _add(op: str, srcs: tuple[Operand, ...], defs: Defs) -> WideRewrite | None:
    """x + -0 and x - +0 are x; x + +0 is not, for x = -0."""
    neutral = MINUS_ZERO if op == "add.f64" else 0
    return (srcs[0], srcs[1]) if _constant(srcs[2], srcs[3]) == neutral else None


def _float_divide(op: str, srcs: tuple[Operand, ...], defs: Defs) -> WideRewrite | None:
    """Division by a power of two is multiplication by its reciprocal, exactly, if that is a normal number."""
    k = _constant(srcs[2], srcs[3])
    if k == ONE:
        return srcs[0], srcs[1]
    if k is None or k & ((1 << 52) - 1) or not 1 <= (exponent := k >> 52 & 0x7FF) <= 2045:
        return None
    return "mul.f64", (*srcs[:2], _word(0), _word((k & MINUS_ZERO | 2046 - exponent << 52) >> 32))


def _to_f64(op: str, srcs: tuple[Operand, ...], defs: Defs) -> WideRewrite | None:
    if _zero_extended(srcs[1]):
        return "cvt.rn.f64.u32", srcs[:1]
    if op == "cvt.rn.f64.s64" and _sign_extended(srcs[0], srcs[1], defs):
        return "cvt.rn.f64.s32", srcs[:1]
    return None


_WIDE_RULES: dict[str, Callable[[str, tuple[Operand, ...], Defs], WideRewrite | None]] = {
    "div.s64": _divide,
    "div.u64": _divide,
    "rem.s64": _divide,
    "rem.u64": _divide,
    "mul.f64": _multiply,
    "add.f64": _add,
    "sub.f64": _add,
    "div.rn.f64": _float_divide,
    "cvt.rn.f64.s64": _to_f64,
    "cvt.rn.f64.u64": _to_f64,
}
