"""Arithmetic of integers of one word, with the bounds of the results; that of two words is in `words`."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import MACHINE_TYPE, RANGE, Kind, Value, constant
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import operand, result, settle, to_kind
from smmux.compiler.python.promotion import Typing, together
from smmux.compiler.python.python_operators import needs_integers
from smmux.source.constants import OPERATORS

INTEGER = {
    "Add": "add.s32",
    "Sub": "sub.s32",
    "Mult": "mul.lo.s32",
    "BitAnd": "and.b32",
    "BitOr": "or.b32",
    "BitXor": "xor.b32",
}


ALL_BITS = 64
"""A shift count that moves all 32 bits of a number out, as any larger one does: it keeps Python's integers small where
constants are folded. Any number from 32 on gives the same."""


def _bounds(op: str, a: Value, b: Value) -> tuple[int, int] | None:
    """Bounds of the exact integer result, if they follow from those of the operands."""
    if op == "Add":
        return a.lo + b.lo, a.hi + b.hi
    if op == "Sub":
        return a.lo - b.hi, a.hi - b.lo
    if op == "Mult":
        corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
        return min(corners), max(corners)
    if op == "BitAnd" and (a.lo >= 0 or b.lo >= 0):
        return 0, min(v.hi for v in (a, b) if v.lo >= 0)
    if op in ("BitOr", "BitXor") and a.lo >= 0 and b.lo >= 0:
        return 0, (1 << max(a.hi, b.hi).bit_length()) - 1
    return None


def integer_operation(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    """a op b as integers of a kind, for the operators + - * & | ^."""
    limits, drift = integer_limits(op, a, b, kind)
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    if x.known and y.known:
        return constant(kind, OPERATORS[op](x.const, y.const), drift)
    simple = _identity(op, x, y, kind)
    if simple is not None:
        return replace(simple, kind=kind, drift=drift)
    shift = _shift_of(x, y) if op == "Mult" else None
    if kind.wide:
        return _wide_integer(f, op, x, y, kind, limits, shift)
    if shift is not None:
        other, count = shift
        reg = f.b.op("shl.b32", MACHINE_TYPE[kind], operand(f, other), operand(f, constant(Kind.INT32, count)))
    else:
        reg = f.b.op(INTEGER[op], MACHINE_TYPE[kind], operand(f, x), operand(f, y))
    return result(kind, reg, *limits, drift)


def _wide_integer(
    f: Frame, op: str, x: Value, y: Value, kind: Kind, limits: tuple[int, int], shift: tuple[Value, int] | None
) -> Value:
    if shift is not None:
        return words.shift_left(f.b, kind, shift[0], constant(Kind.INT32, shift[1]), limits)
    if op in INTEGER_OF_WORDS:
        return INTEGER_OF_WORDS[op](f.b, kind, x, y, limits)
    return words.bitwise(f.b, kind, INTEGER[op], x, y, limits)


INTEGER_OF_WORDS = {"Add": words.add, "Sub": words.subtract, "Mult": words.multiply}


def integer_limits(op: str, a: Value, b: Value, kind: Kind) -> tuple[tuple[int, int], bool]:
    """Bounds of a result, and whether the exact one may need more than 32 bits."""
    low, high = RANGE[kind]
    exact = _bounds(op, a, b)
    if op in ("Add", "Sub", "Mult"):
        assert exact is not None
        fits = low <= exact[0] and exact[1] <= high
        drift = not kind.wide and (not fits or a.drift or b.drift)
        return (exact if fits else (low, high)), drift
    if kind.wide:
        return exact or _signed_bounds(a, b, kind), False
    if op == "BitAnd" and any(v.lo >= 0 and not v.drift for v in (a, b)):
        return exact or (low, high), False
    mixed = kind is Kind.UINT32 and (a.lo < 0 or b.lo < 0)
    return exact or (low, high), mixed or a.drift or b.drift


def _signed_bounds(a: Value, b: Value, kind: Kind) -> tuple[int, int]:
    """Bounds of an operation on the bits of numbers that may be negative: those of the shortest type of both."""
    size = max(v.bit_length() for v in (a.lo, a.hi, b.lo, b.hi))
    low, high = RANGE[kind]
    return max(low, -(1 << size)), min(high, (1 << size) - 1)


def _identity(op: str, x: Value, y: Value, kind: Kind) -> Value | None:
    """The operand that x + 0, x * 1 and the like equal; None for other operations."""
    for value, other in ((y, x), (x, y)) if op in ("Add", "Mult", "BitOr", "BitXor", "BitAnd") else ((y, x),):
        if not value.known:
            continue
        if value.const == 0 and op in ("Add", "Sub", "BitOr", "BitXor"):
            return other
        if value.const == 1 and op == "Mult":
            return other
        if value.const == 0 and op in ("Mult", "BitAnd"):
            return constant(kind, 0)
    return None


def _shift_of(x: Value, y: Value) -> tuple[Value, int] | None:
    """The other factor of a product with a power of two, and the shift that stands for it."""
    for value, other in ((y, x), (x, y)):
        if value.known and value.const > 1 and value.const & (value.const - 1) == 0:
            return other, value.const.bit_length() - 1
    return None


def shift(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """a << b or a >> b."""
    kind = together(f, a, b)
    if f.typing is Typing.NUMBA and not a.kind.weak:
        kind = together(f, a, a)
    if kind.floating:
        raise needs_integers(f, node, op, a, b)
    if op == "RShift":
        a = settle(f, node, a, ">>")
    b = settle(f, node, b, "shift count")
    if b.known and b.const < 0:
        raise f.error(node, "negative shift count")
    x, count = to_kind(f, node, a, kind), _shift_count(f, node, b)
    limits, drift = _shift_limits(op, a, b, kind)
    if x.known and count.known:
        return constant(kind, OPERATORS[op](x.const, min(count.const, ALL_BITS)), drift)
    if count.const == 0:
        return replace(x, drift=drift)
    if kind.wide:
        return (words.shift_left if op == "LShift" else words.shift_right)(f.b, kind, x, count, limits)
    name = "shl.b32" if op == "LShift" else "shr.u32" if kind is Kind.UINT32 else "shr.s32"
    return result(kind, f.b.op(name, MACHINE_TYPE[kind], operand(f, x), operand(f, count)), *limits, drift)


def _shift_count(f: Frame, node: ast.AST, b: Value) -> Value:
    """A shift count as one word, of which the machine takes all that are too large for the same."""
    if b.known:
        return constant(Kind.INT32, min(b.const, ALL_BITS))
    if b.kind is Kind.BOOL:
        return to_kind(f, node, b, Kind.INT32)
    if not b.kind.wide:
        return b
    if words.fits_unsigned(b.lo, b.hi):
        return Value(Kind.UINT32, b.operand, None, b.lo, b.hi)
    low, high = words.words_of(f.b, b)
    small = f.b.op("setp.eq.s32", ir.Type.PRED, high, words.ZERO)
    return Value(Kind.UINT32, f.b.op("selp.b32", ir.Type.U32, low, words.immediate(ALL_BITS), small), None, 0)


def _shift_limits(op: str, a: Value, b: Value, kind: Kind) -> tuple[tuple[int, int], bool]:
    low, high = RANGE[kind]
    if op == "RShift":
        if b.known:
            return (a.lo >> min(b.const, ALL_BITS), a.hi >> min(b.const, ALL_BITS)), False
        return (min(a.lo, 0), max(a.hi, 0)), False
    most = min(b.hi if b.lo >= 0 else ALL_BITS, ALL_BITS)
    exact = (min(a.lo, a.lo << most), max(a.hi, a.hi << most))
    fits = low <= exact[0] and exact[1] <= high
    return (exact if fits else (low, high)), not kind.wide and (not fits or a.drift)


def negate_integer(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    """-x of an integer, as one of a kind."""
    limits, drift = integer_limits("Sub", constant(kind, 0), value, kind)
    value = to_kind(f, node, value, kind)
    if kind.wide:
        return words.subtract(f.b, kind, constant(kind, 0), value, limits)
    return result(kind, f.b.op("neg.s32", MACHINE_TYPE[kind], operand(f, value)), *limits, drift)
