"""Arithmetic: Python's operators on numbers."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from smmux.compiler import ir
from smmux.compiler.frontend import floats, floor_division, words
from smmux.compiler.frontend.captured import MOST_BITS, TOO_LONG
from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.convert import (
    cast_to,
    float64_in_numba,
    lasting_kind,
    operand,
    result,
    settle,
    to_kind,
)
from smmux.compiler.frontend.inlining import library_number
from smmux.compiler.frontend.mathlib64 import powers
from smmux.compiler.frontend.promotion import Typing, one_of_two, promoted, quotient_kind, together
from smmux.compiler.frontend.typed_values import DTYPES, MACHINE_TYPE, RANGE, Kind, Value, constant, unknown, weak
from smmux.errors import CompileError
from smmux.types import Scalar

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
}
SYMBOL = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
}  # fmt: skip
INTEGER = {
    "Add": "add.s32",
    "Sub": "sub.s32",
    "Mult": "mul.lo.s32",
    "BitAnd": "and.b32",
    "BitOr": "or.b32",
    "BitXor": "xor.b32",
}
FLOAT = {"Add": "add.f32", "Sub": "sub.f32", "Mult": "mul.f32"}
PREDICATE = {"BitAnd": "and.pred", "BitOr": "or.pred", "BitXor": "xor.pred"}

ALL_BITS = 64
"""A shift count that moves all 32 bits of a number out, as any larger one does: it keeps Python's integers small where
constants are folded. Any number from 32 on gives the same."""


def binary(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """a op b, for the operator of that name in `ast`."""
    if op not in PYTHON:
        raise f.error(node, f"operator {op} is not supported on numbers")
    if (
        (a.kind.weak or a.kind is Kind.BOOL)
        and (b.kind.weak or b.kind is Kind.BOOL)
        and (a.known or a.kind.weak)
        and (b.known or b.kind.weak)
        and (f.narrow or (a.known and b.known))
    ):
        return _literal(f, node, op, a, b)
    if a.kind is b.kind is Kind.BOOL and op in PREDICATE:
        return result(Kind.BOOL, f.b.op(PREDICATE[op], ir.Type.PRED, operand(f, a), operand(f, b)), 0, 1)
    if op == "Div":
        return divide(f, node, a, b)
    if op == "Pow":
        return _power(f, node, a, b)
    kind = together(f, a, b)
    if kind.floating:
        return _float(f, node, op, a, b, kind)
    if op in ("FloorDiv", "Mod"):
        return floor_division.floor_divide(f, node, a, b) if op == "FloorDiv" else floor_division.modulo(f, node, a, b)
    if op in ("LShift", "RShift"):
        return _shift(f, node, op, a, b)
    return _integer(f, node, op, a, b, kind)


def _literal(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """Literals fold as Python computes them."""
    if not (a.known and b.known):  # types are being inferred
        return unknown(Kind.WEAK_FLOAT if op == "Div" or Kind.WEAK_FLOAT in (a.kind, b.kind) else Kind.WEAK_INT)
    try:
        if _bits(op, a.const, b.const) > MOST_BITS:
            raise OverflowError(TOO_LONG)
        value = PYTHON[op](a.const, b.const)
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise OverflowError(TOO_LONG)
    except (ArithmeticError, TypeError, ValueError) as reason:
        raise f.error(node, f"constant expression: {reason}") from None
    if isinstance(value, complex):
        raise f.error(node, "complex numbers are not supported")
    return weak(value)


def _bits(op: str, a: Any, b: Any) -> int:
    """At least the bits of the result of an operation on Python integers, before it is computed."""
    if not (isinstance(a, int) and isinstance(b, int)) or b < 0:
        return 0
    if op == "LShift":
        return a.bit_length() + b if a else 0
    return (a.bit_length() - 1) * b if op == "Pow" and abs(a) > 1 else 0


def _float(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    if kind is not Kind.FLOAT32:
        return _other_float(f, node, op, a, b, kind)
    if op in ("FloorDiv", "Mod"):
        x, y = to_float(f, node, a), to_float(f, node, b)
        float64_in_numba(f, node, a, b)
        return library_number(f, node, "floor_divide" if op == "FloorDiv" else "modulo", x, y)
    if op not in FLOAT:
        raise _needs_integers(f, node, op, a, b)
    drift = float64_in_numba(f, node, a, b)
    x, y = to_float(f, node, a), to_float(f, node, b)
    if x.known and y.known:
        return constant(Kind.FLOAT32, PYTHON[op](x.const, y.const), drift)
    if op == "Mult" and (x.const == 1.0 or y.const == 1.0):
        return replace(y if x.known else x, drift=drift)
    return result(Kind.FLOAT32, f.b.op(FLOAT[op], ir.Type.F32, operand(f, x), operand(f, y)), drift=drift)


def _needs_integers(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> CompileError:
    signs = not (a.kind.floating or b.kind.floating)
    hint = ": no type holds both, so cast one of them" if signs else ""
    return f.error(node, f"operator {SYMBOL[op]} needs integers, not {a.kind.value} and {b.kind.value}{hint}")


def _other_float(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    """Arithmetic of float64, or of float16, which is that of float32 rounded."""
    if op not in FLOAT and op not in ("FloorDiv", "Mod"):
        raise _needs_integers(f, node, op, a, b)
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    if op in FLOAT and x.known and y.known:
        return constant(kind, PYTHON[op](x.const, y.const))
    if kind is Kind.FLOAT16:
        wide = _float(f, node, op, *_as_float32(f, node, x, y), Kind.FLOAT32)
        return to_kind(f, node, wide, kind)
    f.needs_double(node)
    if op in ("FloorDiv", "Mod"):
        name = "floor_divide" if op == "FloorDiv" else "modulo"
        quotient = library_number(f, node, name, *(replace(v, kind=Kind.FLOAT64) for v in (x, y)))
        return replace(quotient, kind=kind)
    return floats.operation(f, kind, f"{FLOAT[op].split('.')[0]}.f64", x, y)


def to_float(f: Frame, node: ast.AST, value: Value) -> Value:
    """A number as float32. Whether the conversion matters to Numba depends on the operation, which notes it."""
    return to_kind(f, node, replace(value, drift=False) if value.drift else value, Kind.FLOAT32)


def divide(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """True division: IEEE, or by reciprocal under fastmath."""
    kind = quotient_kind(f, together(f, a, b))
    if kind is not Kind.FLOAT32:
        return _divide_other(f, node, a, b, kind)
    drift = float64_in_numba(f, node, a, b)
    x, y = to_float(f, node, a), to_float(f, node, b)
    if x.known and y.known and y.const != 0.0:
        return constant(Kind.FLOAT32, x.const / y.const, drift)
    if y.known and y.const != 0.0 and math.frexp(y.const)[0] in (0.5, -0.5) and 2.0**-127 <= abs(y.const) < 2.0**126:
        reciprocal = constant(Kind.FLOAT32, 1.0 / y.const)  # of a power of two: exact, and a normal number
        return result(Kind.FLOAT32, f.b.op("mul.f32", ir.Type.F32, operand(f, x), operand(f, reciprocal)), drift=drift)
    if not f.fastmath:
        return result(Kind.FLOAT32, f.b.op("div.rn.f32", ir.Type.F32, operand(f, x), operand(f, y)), drift=drift)
    root = f.b.last("sqrt.approx.f32", y.operand)
    if x.const == 1.0 and root is not None:
        return result(Kind.FLOAT32, f.b.op("rsqrt.approx.f32", ir.Type.F32, *root.srcs), drift=drift)
    inverse = f.b.op("rcp.approx.f32", ir.Type.F32, operand(f, y))
    if x.const == 1.0:
        return result(Kind.FLOAT32, inverse, drift=drift)
    return result(Kind.FLOAT32, f.b.op("mul.f32", ir.Type.F32, operand(f, x), inverse), drift=drift)


def _as_float32(f: Frame, node: ast.AST, a: Value, b: Value) -> tuple[Value, Value]:
    return to_kind(f, node, a, Kind.FLOAT32), to_kind(f, node, b, Kind.FLOAT32)


def _divide_other(f: Frame, node: ast.AST, a: Value, b: Value, kind: Kind) -> Value:
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    if x.known and y.known and y.const != 0.0:
        return constant(kind, x.const / y.const)
    if kind is Kind.FLOAT16:
        return to_kind(f, node, divide(f, node, *_as_float32(f, node, x, y)), kind)
    f.needs_double(node)
    return floats.operation(f, kind, "div.rn.f64", x, y)


def bounds(op: str, a: Value, b: Value) -> tuple[int, int] | None:
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


def _integer(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    limits, drift = _limits(op, a, b, kind)
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    if x.known and y.known:
        return constant(kind, PYTHON[op](x.const, y.const), drift)
    simple = _identity(op, x, y, kind)
    if simple is not None:
        return replace(simple, kind=kind, drift=drift)
    shift = shift_of(x, y) if op == "Mult" else None
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
        return words.shift_left(f, kind, shift[0], constant(Kind.INT32, shift[1]), limits)
    if op in INTEGER_OF_WORDS:
        return INTEGER_OF_WORDS[op](f, kind, x, y, limits)
    return words.bitwise(f, kind, INTEGER[op], x, y, limits)


INTEGER_OF_WORDS = {"Add": words.add, "Sub": words.subtract, "Mult": words.multiply}


def _limits(op: str, a: Value, b: Value, kind: Kind) -> tuple[tuple[int, int], bool]:
    """Bounds of a result, and whether the exact one may need more than 32 bits."""
    low, high = RANGE[kind]
    exact = bounds(op, a, b)
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


def shift_of(x: Value, y: Value) -> tuple[Value, int] | None:
    """The other factor of a product with a power of two, and the shift that stands for it."""
    for value, other in ((y, x), (x, y)):
        if value.known and value.const > 1 and value.const & (value.const - 1) == 0:
            return other, value.const.bit_length() - 1
    return None


def _shift(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    kind = together(f, a, b)
    if f.typing is Typing.NUMBA and not a.kind.weak:
        kind = together(f, a, a)
    if kind.floating:
        raise _needs_integers(f, node, op, a, b)
    if op == "RShift":
        a = settle(f, node, a, ">>")
    b = settle(f, node, b, "shift count")
    if b.known and b.const < 0:
        raise f.error(node, "negative shift count")
    x, count = to_kind(f, node, a, kind), _shift_count(f, node, b)
    limits, drift = _shift_limits(op, a, b, kind)
    if x.known and count.known:
        return constant(kind, PYTHON[op](x.const, min(count.const, ALL_BITS)), drift)
    if count.const == 0:
        return replace(x, drift=drift)
    if kind.wide:
        return (words.shift_left if op == "LShift" else words.shift_right)(f, kind, x, count, limits)
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
    low, high = words.words_of(f, b)
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


def _power(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """A small constant exponent is repeated multiplication; otherwise exp2(y log2(x)), or squaring for integers."""
    kind = together(f, a, b)
    if f.typing is Typing.NUMBA and a.kind is Kind.FLOAT32 and not b.kind.floating:
        kind = Kind.FLOAT32
    if kind.double or kind is Kind.FLOAT16:
        return _other_power(f, node, a, b, kind)
    if b.known and not b.kind.floating and 0 <= b.const <= 32:
        return _repeated(f, node, a if a.kind.weak and not f.narrow else to_kind(f, node, a, kind), b.const)
    if kind.floating or (b.known and b.const < 0):
        float64_in_numba(f, node, a, b)
        return library_number(f, node, "power", to_float(f, node, a), to_float(f, node, b))
    kind = lasting_kind(f, kind)
    base, exponent = to_kind(f, node, a, kind), settle(f, node, to_kind(f, node, b, kind), "**")
    if kind is Kind.WEAK_INT:
        base, exponent = replace(base, kind=Kind.INT64), replace(exponent, kind=Kind.INT64)
    power = library_number(f, node, "integer_power", base, exponent)
    return replace(power, kind=kind, drift=not kind.wide)


def _other_power(f: Frame, node: ast.AST, a: Value, b: Value, kind: Kind) -> Value:
    """Powers of float64; those of float16 are those of float32 rounded."""
    if b.known and b.const in (0, 1, 2):
        return _repeated(f, node, to_kind(f, node, a, kind), int(b.const))
    if kind is Kind.FLOAT16:
        return to_kind(f, node, _power(f, node, *_as_float32(f, node, a, b)), kind)
    f.needs_double(node)
    x, y = (replace(to_kind(f, node, v, kind), kind=Kind.FLOAT64) for v in (a, b))
    return replace(library_number(f, node, powers.power, x, y), kind=kind)


def _repeated(f: Frame, node: ast.AST, base: Value, exponent: int) -> Value:
    if exponent == 0:
        return constant(base.kind, 1)
    power: Value | None = None
    while exponent:
        if exponent & 1:
            power = base if power is None else binary(f, node, "Mult", power, base)
        exponent >>= 1
        if exponent:
            base = binary(f, node, "Mult", base, base)
    assert power is not None
    return power


def multiply_add(f: Frame, node: ast.AST, a: Value, b: Value, c: Value) -> Value:
    """a * b + c as one operation where the machine has it, as nvcc contracts it by default."""
    product = together(f, a, b)
    kind = promoted(f, product, c.kind)
    plain = product.weak or product is not kind or (a.known and b.known) or (kind.integral and _cheap_product(a, b))
    plain |= kind.wide or kind is Kind.FLOAT16
    if plain or a.kind is b.kind is Kind.BOOL:
        return binary(f, node, "Add", binary(f, node, "Mult", a, b), c)
    if kind is Kind.FLOAT32:
        float64_in_numba(f, node, Value(kind, drift=float64_in_numba(f, node, a, b)), c)
        x, y, z = (to_float(f, node, v) for v in (a, b, c))
        if 1.0 in (x.const, y.const):
            return binary(f, node, "Add", y if x.known else x, z)
        name = "fma.rn.f32" if getattr(f.ctx.options, "fused_mad", False) else "mad.f32"
        return result(kind, f.b.op(name, ir.Type.F32, operand(f, x), operand(f, y), operand(f, z)))
    inner, inner_drift = _limits("Mult", a, b, kind)
    limits, drift = _limits("Add", Value(kind, lo=inner[0], hi=inner[1], drift=inner_drift), c, kind)
    operands = [operand(f, to_kind(f, node, v, kind)) for v in (a, b, c)]
    if c.known and c.const == 0:
        return binary(f, node, "Mult", a, b)
    return result(kind, f.b.op("mad.lo.s32", MACHINE_TYPE[kind], *operands), *limits, drift)


def _cheap_product(a: Value, b: Value) -> bool:
    """True for a product with 0, 1 or a power of two."""
    return any(v.known and (v.const in (0, 1) or (v.const > 0 and v.const & (v.const - 1) == 0)) for v in (a, b))


def plus(f: Frame, node: ast.AST, value: Value) -> Value:
    """+x: as wide as Numba makes it, where its rules hold."""
    plain = f.typing is not Typing.NUMBA or value.kind.floating or value.kind.weak
    return value if plain else to_kind(f, node, value, together(f, value, value))


def negate(f: Frame, node: ast.AST, value: Value) -> Value:
    """-x."""
    if value.known and (value.kind.weak or value.kind is Kind.BOOL):
        return weak(-value.const)
    if value.kind.weak and f.narrow:
        return value
    if value.kind.floating:
        return _negate_float(f, value)
    kind = _signed_kind(value.kind)
    if value.known:
        return constant(kind, -value.const, value.drift)
    return _as_numba(f, node, value, _negate_integer(f, node, value, kind))


def _signed_kind(kind: Kind) -> Kind:
    """The type of a number with its sign changed, which is its own but for a bool's."""
    return Kind.INT32 if kind is Kind.BOOL else kind


def _as_numba(f: Frame, node: ast.AST, value: Value, outcome: Value) -> Value:
    """What came out of -x or ~x, which Numba computes in the width of x and widens afterwards."""
    if f.typing is not Typing.NUMBA or value.kind.weak:
        return outcome
    if value.small:
        sizes = ("uint8", "uint16") if value.lo >= 0 else ("int8", "int16")
        size = next(s for s in sizes if value.hi <= DTYPES[s].hi and value.lo >= DTYPES[s].lo)
        narrowed = cast_to(f, node, outcome, Scalar(size))
        assert isinstance(narrowed, Value)
        outcome = narrowed
    return to_kind(f, node, outcome, together(f, value, value))


def _negate_float(f: Frame, value: Value) -> Value:
    if value.known:
        return constant(value.kind, -value.const, value.drift)
    if value.kind.double:
        return floats.negate(f, value)
    return result(value.kind, f.b.op("neg.f32", ir.Type.F32, operand(f, value)), drift=value.drift)


def _negate_integer(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    limits, drift = _limits("Sub", constant(kind, 0), value, kind)
    value = to_kind(f, node, value, kind)
    if kind.wide:
        return words.subtract(f, kind, constant(kind, 0), value, limits)
    return result(kind, f.b.op("neg.s32", MACHINE_TYPE[kind], operand(f, value)), *limits, drift)


def invert(f: Frame, node: ast.AST, value: Value) -> Value:
    """~x."""
    if value.kind.floating:
        raise f.error(node, "operator ~ needs an integer, not a float")
    if value.kind is Kind.BOOL:
        raise f.error(
            node,
            "operator ~ on a bool: NumPy gives its opposite, Python -1 or -2; write `not x`, or ~int32(x) for numbers",
        )
    if value.known:
        return weak(~value.const) if value.kind.weak else constant(value.kind, ~value.const, value.drift)
    if value.kind.weak and f.narrow:
        return value
    if value.kind.wide:
        return words.invert(f, value)
    drift = value.drift or value.kind is Kind.UINT32
    reg = f.b.op("not.b32", MACHINE_TYPE[value.kind], operand(f, value))
    limits = (~value.hi, ~value.lo) if value.kind is Kind.INT32 else RANGE[value.kind]
    return _as_numba(f, node, value, result(value.kind, reg, *limits, drift))


def logical_not(f: Frame, value: Value) -> Value:
    """not x, for a condition."""
    if value.known:
        return weak(not value.const)
    return result(Kind.BOOL, f.b.op("not.pred", ir.Type.PRED, operand(f, value)), 0, 1)


def common_kind(f: Frame, a: Value, b: Value) -> Kind:
    """Type of a value that is one of two numbers: it holds both; int64 for a literal that the other's type does not."""
    kind = one_of_two(f, a, b)
    if kind.integral and not kind.wide and Kind.WEAK_INT in (a.kind, b.kind):
        literal = a if a.kind is Kind.WEAK_INT else b
        low, high = RANGE[kind]
        if (literal.known or not f.narrow) and not (low <= literal.lo and literal.hi <= high):
            return Kind.INT64
    return kind


def select(f: Frame, node: ast.AST, condition: Value, a: Value, b: Value) -> Value:
    """a if condition else b, both already computed."""
    if condition.known:
        return a if condition.const else b
    if a.kind is b.kind is Kind.BOOL:
        chosen = f.b.op("and.pred", ir.Type.PRED, operand(f, condition), operand(f, a))
        other = f.b.op("and.pred", ir.Type.PRED, operand(f, logical_not(f, condition)), operand(f, b))
        return result(Kind.BOOL, f.b.op("or.pred", ir.Type.PRED, chosen, other), 0, 1)
    kind = lasting_kind(f, common_kind(f, a, b))
    drift = a.drift or b.drift or (kind is Kind.FLOAT32 and a.kind is not b.kind)
    x, y = to_kind(f, node, replace(a, drift=False), kind), to_kind(f, node, replace(b, drift=False), kind)
    if kind.wide:
        return words.select(f, kind, operand(f, condition), x, y)
    reg = f.b.op("selp.b32", MACHINE_TYPE[kind], operand(f, x), operand(f, y), operand(f, condition))
    return result(kind, reg, min(x.lo, y.lo), max(x.hi, y.hi), drift)
