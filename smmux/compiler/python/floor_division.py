"""Integer floor division and remainder, signed, unsigned and mixed; both follow Python's rules of sign."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import INT32_MIN, MACHINE_TYPE, RANGE, Kind, Value, constant
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import operand, result, settle, to_kind
from smmux.compiler.python.inlining import library_number
from smmux.compiler.python.promotion import together


def floor_divide(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """a // b."""
    a, b, kind = _prepare(f, node, a, b, "//")
    if kind.wide and not (a.known and b.known):
        return _of_words(f, node, "floor_divide", a, b, kind)
    return _floor_divide(f, a, b, kind)


def _floor_divide(f: Frame, a: Value, b: Value, kind: Kind) -> Value:
    """Divide numbers of one word."""
    unsigned = kind is Kind.UINT32
    if a.known and b.known:
        return constant(kind, a.const // b.const)
    limits = (a.lo // b.const, a.hi // b.const) if b.known and b.const > 0 else (min(a.lo, -a.hi - 1), max(a.hi, -a.lo))
    if a.lo >= 0 and b.lo > 0:
        limits = (0, a.hi // b.lo)
    if b.const == 1:
        return Value(kind, a.operand, None, a.lo, a.hi)
    if b.known and b.const > 0 and b.const & (b.const - 1) == 0:
        count = operand(f, constant(Kind.INT32, b.const.bit_length() - 1))
        return result(
            kind, f.b.op("shr.u32" if unsigned else "shr.s32", MACHINE_TYPE[kind], operand(f, a), count), *limits
        )
    quotient = f.b.op("div.u32" if unsigned else "div.s32", MACHINE_TYPE[kind], operand(f, a), operand(f, b))
    if unsigned or (a.lo >= 0 and b.lo > 0):
        return result(kind, quotient, *limits)
    remainder = _truncated_remainder(f, quotient, a, b)
    low = f.b.op("sub.s32", ir.Type.S32, quotient, ir.Imm(1, ir.Type.S32))
    return result(kind, f.b.op("selp.b32", ir.Type.S32, low, quotient, _sign_differs(f, remainder, b)), *limits)


def modulo(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """a % b."""
    a, b, kind = _prepare(f, node, a, b, "%")
    if kind.wide and not (a.known and b.known):
        return _of_words(f, node, "modulo", a, b, kind)
    return _modulo(f, a, b, kind)


def _modulo(f: Frame, a: Value, b: Value, kind: Kind) -> Value:
    """Remainder of numbers of one word."""
    unsigned = kind is Kind.UINT32
    if a.known and b.known:
        return constant(kind, a.const % b.const)
    limits = (0, b.hi - 1) if b.lo > 0 else (min(b.lo, 0), max(b.hi, 0))
    if b.const == 1:
        return constant(kind, 0)
    if b.known and b.const > 0 and b.const & (b.const - 1) == 0:
        mask = operand(f, constant(kind, b.const - 1))
        return result(kind, f.b.op("and.b32", MACHINE_TYPE[kind], operand(f, a), mask), *limits)
    remainder = f.b.op("rem.u32" if unsigned else "rem.s32", MACHINE_TYPE[kind], operand(f, a), operand(f, b))
    if unsigned or (a.lo >= 0 and b.lo > 0):
        return result(kind, remainder, *limits)
    moved = f.b.op("add.s32", ir.Type.S32, remainder, operand(f, b))
    return result(kind, f.b.op("selp.b32", ir.Type.S32, moved, remainder, _sign_differs(f, remainder, b)), *limits)


def _prepare(f: Frame, node: ast.AST, a: Value, b: Value, symbol: str) -> tuple[Value, Value, Kind]:
    """Operands, in the type of the operation but for those of two words, and that type."""
    a, b = settle(f, node, a, symbol), settle(f, node, b, symbol)
    if b.known and b.const == 0:
        raise f.error(node, "integer division by zero")
    kind = together(f, a, b)
    a, b = (to_kind(f, node, v, kind) if v.kind is Kind.BOOL else v for v in (a, b))
    if kind.wide and not (a.known and b.known):
        for value in (a, b):
            if value.known:
                to_kind(f, node, value, kind)  # refuses a literal out of range
        return a, b, kind
    return to_kind(f, node, a, kind), to_kind(f, node, b, kind), kind


def _of_words(f: Frame, node: ast.AST, name: str, a: Value, b: Value, kind: Kind) -> Value:
    """Divide numbers that together need 64 bits: in 32 where both fit one type of these."""
    divide = _floor_divide if name == "floor_divide" else _modulo
    low, high = min(a.lo, b.lo), max(a.hi, b.hi)
    overflows = a.lo <= INT32_MIN and b.lo <= -1 <= b.hi
    for fits, narrow in ((words.fits_signed, Kind.INT32), (words.fits_unsigned, Kind.UINT32)):
        if fits(low, high) and not (narrow is Kind.INT32 and overflows):
            return words.extend(f.b, divide(f, _as(f, a, narrow), _as(f, b, narrow), narrow), kind)
    if words.fits_signed(a.lo, a.hi) and words.fits_unsigned(b.lo, b.hi):
        exact = library_number(f, node, f"{name}_signed_unsigned", _as(f, a, Kind.INT32), _as(f, b, Kind.UINT32))
        return words.extend(f.b, exact, kind)
    if words.fits_unsigned(a.lo, a.hi) and words.fits_signed(b.lo, b.hi) and name == "modulo":
        exact = library_number(f, node, f"{name}_unsigned_signed", _as(f, a, Kind.UINT32), _as(f, b, Kind.INT32))
        return words.extend(f.b, exact, kind)
    return _wide(f, name, words.extend(f.b, a, kind), words.extend(f.b, b, kind), kind)


def _as(f: Frame, value: Value, kind: Kind) -> Value:
    """An integer that a type of one word holds, in that type."""
    if value.known:
        return constant(kind, value.const)
    return Value(kind, words.low_word(f.b, value), None, value.lo, value.hi)


def _wide(f: Frame, name: str, a: Value, b: Value, kind: Kind) -> Value:
    """Divide in 64 bits: the truncated quotient, or its remainder, moved to the floor where the signs differ."""
    unsigned = kind is Kind.UINT64 or (a.lo >= 0 and b.lo >= 0)
    power = b.known and b.const > 0 and b.const & (b.const - 1) == 0
    if power and name == "modulo":
        return words.bitwise(f.b, kind, "and.b32", a, constant(kind, b.const - 1), (0, b.const - 1))
    if power:
        count = constant(Kind.INT32, b.const.bit_length() - 1)
        return words.shift_right(f.b, kind, a, count, (a.lo // b.const, a.hi // b.const))
    bound = max(abs(a.lo), abs(a.hi))
    limits = (max(-bound, RANGE[kind][0]), min(bound, RANGE[kind][1]))
    if unsigned:
        operation = "div.u64" if name == "floor_divide" else "rem.u64"
        return words.integer(kind, f.b.pair(operation, *words.words_of(f.b, a), *words.words_of(f.b, b)), 0, a.hi)
    quotient = words.integer(kind, f.b.pair("div.s64", *words.words_of(f.b, a), *words.words_of(f.b, b)))
    product = words.multiply(f.b, kind, quotient, b, RANGE[kind])
    remainder = words.subtract(f.b, kind, a, product, RANGE[kind])
    moved = _differs(f, remainder, b)
    if name == "modulo":
        limits = (0, b.hi - 1) if b.lo > 0 else (min(b.lo, 0), max(b.hi, 0))
        other = words.add(f.b, kind, remainder, b, RANGE[kind])
        return replace(words.select(f.b, kind, moved, other, remainder), lo=limits[0], hi=limits[1])
    other = words.subtract(f.b, kind, quotient, constant(kind, 1), RANGE[kind])
    return replace(words.select(f.b, kind, moved, other, quotient), lo=limits[0], hi=limits[1])


def _differs(f: Frame, remainder: Value, b: Value) -> ir.Operand:
    """True where a remainder of two words is not zero and has not the divisor's sign."""
    high = words.high_word(f.b, remainder)
    if b.lo > 0:
        return f.b.op("setp.lt.s32", ir.Type.PRED, high, words.ZERO)
    signs = f.b.op("xor.b32", ir.Type.U32, high, words.high_word(f.b, b))
    differ = f.b.op("setp.lt.s32", ir.Type.PRED, signs, words.ZERO)
    return f.b.op("and.pred", ir.Type.PRED, differ, words.is_zero(f.b, "ne", remainder))


def _truncated_remainder(f: Frame, quotient: ir.Reg, a: Value, b: Value) -> ir.Reg:
    """a - quotient * b, cheaper than a second division."""
    product = f.b.op("mul.lo.s32", ir.Type.S32, quotient, operand(f, b))
    return f.b.op("sub.s32", ir.Type.S32, operand(f, a), product)


def _sign_differs(f: Frame, remainder: ir.Reg, b: Value) -> ir.Operand:
    """True where the remainder is not zero and has not the divisor's sign: there truncation is not the floor."""
    zero = ir.Imm(0, ir.Type.S32)
    if b.lo > 0:
        return f.b.op("setp.lt.s32", ir.Type.PRED, remainder, zero)
    signs = f.b.op("xor.b32", ir.Type.S32, remainder, operand(f, b))
    differ = f.b.op("setp.lt.s32", ir.Type.PRED, signs, zero)
    rest = f.b.op("setp.ne.s32", ir.Type.PRED, remainder, zero)
    return f.b.op("and.pred", ir.Type.PRED, differ, rest)
