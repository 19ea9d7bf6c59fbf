"""64-bit numbers as two words: what is known of each, and integer arithmetic made of 32-bit operations.

Wherever the bounds of an integer fit 32 bits, its upper word is not kept but follows from the lower one; where nobody
reads an upper word, the operations that compute it are dropped as dead code.
"""

from __future__ import annotations

from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build.builder import Builder
from smmux.compiler.build.numbers import (
    INT32_MAX,
    INT32_MIN,
    MACHINE_TYPE,
    RANGE,
    UINT32_MAX,
    Kind,
    Value,
    constant,
    pattern,
)

Words = tuple[ir.Operand, ir.Operand]
ZERO = ir.Imm(0, ir.Type.U32)


def immediate(bits: int) -> ir.Imm:
    """A word that is known."""
    return ir.Imm(bits & UINT32_MAX, ir.Type.U32)


def fits_signed(low: int, high: int) -> bool:
    """True for bounds within those of int32."""
    return low >= INT32_MIN and high <= INT32_MAX


def fits_unsigned(low: int, high: int) -> bool:
    """True for bounds within those of uint32."""
    return low >= 0 and high <= UINT32_MAX


def fits(low: int, high: int) -> bool:
    """True if the lower word and the bounds tell the whole number."""
    return fits_signed(low, high) or fits_unsigned(low, high)


def words_of(code: Builder, value: Value) -> Words:
    """The two words of a number of 64 bits, or of a 32-bit integer as an int64."""
    if value.known:
        bits = pattern(value.kind, value.const)
        return immediate(bits), immediate(bits >> 32)
    return low_word(code, value), high_word(code, value)


def low_word(code: Builder, value: Value) -> ir.Operand:
    """The lower word."""
    if value.known:
        return immediate(pattern(value.kind, value.const))
    return value.operand if value.operand is not None else code.reg(MACHINE_TYPE[value.kind])


def high_word(code: Builder, value: Value) -> ir.Operand:
    """The upper word; for an integer that fits 32 bits, made of the lower one."""
    if value.known:
        return immediate(pattern(value.kind, value.const) >> 32)
    if value.high is not None:
        return value.high
    if value.operand is None or value.kind.double:  # while types are inferred
        return code.reg(ir.Type.U32)
    if value.lo >= 0:
        return ZERO
    return code.op("shr.s32", ir.Type.U32, value.operand, immediate(31))


def integer(kind: Kind, words: Words, low: int | None = None, high: int | None = None) -> Value:
    """A number of 64 bits in two words; the upper one is forgotten where the bounds make up for it."""
    limits = RANGE[kind]
    low = limits[0] if low is None else max(low, limits[0])
    high = limits[1] if high is None else min(high, limits[1])
    return Value(kind, words[0], None, low, high, high=None if fits(low, high) else words[1])


def double(kind: Kind, words: Words) -> Value:
    """A float64 in two words."""
    return Value(kind, words[0], high=words[1])


def extend(code: Builder, value: Value, kind: Kind) -> Value:
    """An integer as one of two words; modulo 2**64 where the type cannot hold it."""
    if value.known:
        return constant(kind, value.const)
    low, high = RANGE[kind]
    if low <= value.lo and value.hi <= high:
        return Value(kind, value.operand, None, value.lo, value.hi, high=value.high)
    return Value(kind, low_word(code, value), None, low, high, high=high_word(code, value))


def add(code: Builder, kind: Kind, x: Value, y: Value, limits: tuple[int, int]) -> Value:
    """x + y."""
    return _sum(code, kind, ("add.s32", "addc.s32"), x, y, limits)


def subtract(code: Builder, kind: Kind, x: Value, y: Value, limits: tuple[int, int]) -> Value:
    """x - y."""
    return _sum(code, kind, ("sub.s32", "subc.s32"), x, y, limits)


def _sum(code: Builder, kind: Kind, ops: tuple[str, str], x: Value, y: Value, limits: tuple[int, int]) -> Value:
    a, b = low_word(code, x), low_word(code, y)
    low = code.op(ops[0], ir.Type.U32, a, b)
    if fits(*limits):
        return Value(kind, low, None, *limits)
    return integer(kind, (low, code.op(ops[1], ir.Type.U32, a, high_word(code, x), b, high_word(code, y))), *limits)


def multiply(code: Builder, kind: Kind, x: Value, y: Value, limits: tuple[int, int]) -> Value:
    """x * y, modulo 2**64."""
    a, b = low_word(code, x), low_word(code, y)
    low = code.op("mul.lo.s32", ir.Type.U32, a, b)
    if fits(*limits):
        return Value(kind, low, None, *limits)
    if fits_signed(x.lo, x.hi) and fits_signed(y.lo, y.hi) and (x.lo < 0 or y.lo < 0):
        return integer(kind, (low, code.op("mul.hi.s32", ir.Type.U32, a, b)), *limits)
    high: ir.Operand = code.op("mul.hi.u32", ir.Type.U32, a, b)
    for word, other in ((high_word(code, x), b), (high_word(code, y), a)):
        if word != ZERO:
            high = code.op("mad.lo.s32", ir.Type.U32, word, other, high)
    return integer(kind, (low, high), *limits)


def bitwise(code: Builder, kind: Kind, op: str, x: Value, y: Value, limits: tuple[int, int]) -> Value:
    """An operation on the bits, word by word."""
    low = code.op(op, ir.Type.U32, low_word(code, x), low_word(code, y))
    if fits(*limits):
        return Value(kind, low, None, *limits)
    return integer(kind, (low, code.op(op, ir.Type.U32, high_word(code, x), high_word(code, y))), *limits)


def invert(code: Builder, value: Value) -> Value:
    """~x."""
    limits = (~value.hi, ~value.lo) if value.kind is not Kind.UINT64 else RANGE[Kind.UINT64]
    low = code.op("not.b32", ir.Type.U32, low_word(code, value))
    if fits(*limits):
        return Value(value.kind, low, None, *limits)
    return integer(value.kind, (low, code.op("not.b32", ir.Type.U32, high_word(code, value))), *limits)


def shift_left(code: Builder, kind: Kind, x: Value, count: Value, limits: tuple[int, int]) -> Value:
    """x << count, for a count that is one word, of 64 bits or more: 0."""
    a = low_word(code, x)
    if count.known and count.const >= 32:
        low: ir.Operand = ZERO
        if count.const >= 64:
            return integer(kind, (ZERO, ZERO), 0, 0)
        return integer(kind, (low, code.op("shl.b32", ir.Type.U32, a, immediate(count.const - 32))), *limits)
    n = low_word(code, count)
    low = code.op("shl.b32", ir.Type.U32, a, n)
    if fits(*limits):
        return Value(kind, low, None, *limits)
    return integer(kind, (low, code.op("shl.hi.b64", ir.Type.U32, a, high_word(code, x), n)), *limits)


def shift_right(code: Builder, kind: Kind, x: Value, count: Value, limits: tuple[int, int]) -> Value:
    """x >> count: with the sign for signed types."""
    if fits(x.lo, x.hi):
        name = "shr.u32" if x.lo >= 0 else "shr.s32"
        return Value(kind, code.op(name, ir.Type.U32, low_word(code, x), low_word(code, count)), None, *limits)
    sign = "u" if kind is Kind.UINT64 else "s"
    low, high = words_of(code, x)
    if count.known and count.const >= 32:
        moved = code.op(f"shr.{sign}32", ir.Type.U32, high, immediate(min(count.const - 32, 32)))
        rest: ir.Operand = ZERO if sign == "u" else code.op("shr.s32", ir.Type.U32, high, immediate(31))
        return integer(kind, (moved, rest), *limits)
    n = low_word(code, count)
    lower = code.op(f"shr.lo.{sign}64", ir.Type.U32, low, high, n)
    return integer(kind, (lower, code.op(f"shr.{sign}32", ir.Type.U32, high, n)), *limits)


def compare(code: Builder, name: str, x: Value, y: Value) -> ir.Reg:
    """A comparison, "lt" or another, of two integers of one type; of one word each where both fit it."""
    bounds = min(x.lo, y.lo), max(x.hi, y.hi)
    for fit, sign in ((fits_signed, "s32"), (fits_unsigned, "u32")):
        if fit(*bounds):
            suffix = "s32" if name in ("eq", "ne") else sign
            return code.op(f"setp.{name}.{suffix}", ir.Type.PRED, low_word(code, x), low_word(code, y))
    suffix = "u64" if x.kind is Kind.UINT64 and name not in ("eq", "ne") else "s64"
    return code.op(f"setp.{name}.{suffix}", ir.Type.PRED, *words_of(code, x), *words_of(code, y))


def is_zero(code: Builder, name: str, value: Value) -> ir.Reg:
    """Compare an integer with 0: "eq" or "ne"."""
    low = low_word(code, value)
    if not fits(value.lo, value.hi):
        low = code.op("or.b32", ir.Type.U32, low, high_word(code, value))
    return code.op(f"setp.{name}.s32", ir.Type.PRED, low, ZERO)


def select(code: Builder, kind: Kind, condition: ir.Operand, x: Value, y: Value) -> Value:
    """x if the condition holds, else y, for two numbers of one type."""
    low = code.op("selp.b32", ir.Type.U32, low_word(code, x), low_word(code, y), condition)
    limits = min(x.lo, y.lo), max(x.hi, y.hi)
    if not kind.double and fits(*limits):
        return Value(kind, low, None, *limits)
    high = code.op("selp.b32", ir.Type.U32, high_word(code, x), high_word(code, y), condition)
    return double(kind, (low, high)) if kind.double else integer(kind, (low, high), *limits)


def absolute(code: Builder, value: Value) -> Value:
    """abs(x) of a signed integer; of the least it is that one itself."""
    if value.lo >= 0:
        return value
    low, high = RANGE[value.kind]
    overflows = value.lo == low
    limits = (low, high) if overflows else (max(value.lo, -value.hi, 0), max(-value.lo, value.hi))
    negated = subtract(code, value.kind, constant(value.kind, 0), value, limits)
    sign = high_word(code, value) if value.high is not None else low_word(code, value)
    negative = code.op("setp.lt.s32", ir.Type.PRED, sign, ZERO)
    return replace(select(code, value.kind, negative, negated, value), lo=limits[0], hi=limits[1])


def index_word(code: Builder, value: Value) -> Value:
    """A 64-bit index as an int32; one that an int32 cannot hold becomes the nearest that it can, outside any array."""
    if fits_signed(value.lo, value.hi):
        return Value(Kind.INT32, value.operand, None, value.lo, value.hi)
    low, high = words_of(code, value)
    if value.lo >= 0:
        small = code.op("setp.le.u64", ir.Type.PRED, low, high, immediate(INT32_MAX), ZERO)
        largest: ir.Operand = immediate(INT32_MAX)
    else:
        sign = code.op("shr.s32", ir.Type.U32, low, immediate(31))
        small = code.op("setp.eq.s32", ir.Type.PRED, sign, high)
        over = code.op("shr.s32", ir.Type.U32, high, immediate(31))
        largest = code.op("xor.b32", ir.Type.U32, over, immediate(INT32_MAX))
    word = code.op("selp.b32", ir.Type.S32, low, largest, small)
    return Value(Kind.INT32, word, None, max(value.lo, INT32_MIN), min(value.hi, INT32_MAX))
