"""Arithmetic: Python's operators on numbers."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import DTYPES, MACHINE_TYPE, RANGE, Kind, Value, constant, unknown, weak
from smmux.compiler.library.mathlib64 import powers
from smmux.compiler.python import floor_division
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast_to, float64_in_numba, lasting_kind, operand, result, settle, to_kind
from smmux.compiler.python.float_arithmetic import as_float32, divide, float_operation, negate_float, to_float
from smmux.compiler.python.inlining import library_number
from smmux.compiler.python.integer_arithmetic import integer_limits, integer_operation, negate_integer, shift
from smmux.compiler.python.promotion import Typing, one_of_two, promoted, together
from smmux.language.types import Scalar
from smmux.source.constants import compute

WHOLE = ("Add", "Sub", "Mult")
"""Operators that make integers of integers."""
PREDICATE = {"BitAnd": "and.pred", "BitOr": "or.pred", "BitXor": "xor.pred"}


def binary(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """a op b, for the operator of that name in `ast`."""
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
        value = float_operation(f, node, op, a, b, kind)
        whole = kind is Kind.FLOAT64 and op in WHOLE and all(v.kind.integral or v.whole for v in (a, b))
        return replace(value, whole=True) if whole else value
    if op in ("FloorDiv", "Mod"):
        return floor_division.floor_divide(f, node, a, b) if op == "FloorDiv" else floor_division.modulo(f, node, a, b)
    if op in ("LShift", "RShift"):
        return shift(f, node, op, a, b)
    return integer_operation(f, node, op, a, b, kind)


def _literal(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """Literals fold as Python computes them."""
    if not (a.known and b.known):  # types are being inferred
        return unknown(Kind.WEAK_FLOAT if op == "Div" or Kind.WEAK_FLOAT in (a.kind, b.kind) else Kind.WEAK_INT)
    try:
        value = compute(op, a.const, b.const)
    except (ArithmeticError, TypeError, ValueError) as reason:
        raise f.error(node, f"constant expression: {reason}") from None
    if isinstance(value, complex):
        raise f.error(node, "complex numbers are not supported")
    return weak(value)


def _power(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """A small constant exponent is repeated multiplication; otherwise exp2(y log2(x)), or squaring for integers."""
    kind = together(f, a, b)
    if f.typing is Typing.NUMBA and a.kind is Kind.FLOAT32 and not b.kind.floating:
        kind = Kind.FLOAT32
    if b.known and b.const < 0 and not (kind.floating or f.narrow):
        kind = Kind.FLOAT64
    if b.known and b.const == -1 and kind.floating:
        return divide(f, node, to_kind(f, node, weak(1), kind), to_kind(f, node, a, kind))  # rounded once
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
        return to_kind(f, node, _power(f, node, *as_float32(f, node, a, b)), kind)
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
    inner, inner_drift = integer_limits("Mult", a, b, kind)
    limits, drift = integer_limits("Add", Value(kind, lo=inner[0], hi=inner[1], drift=inner_drift), c, kind)
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
        return negate_float(f, value)
    kind = _signed_kind(value.kind)
    if value.known:
        return constant(kind, -value.const, value.drift)
    return _as_numba(f, node, value, negate_integer(f, node, value, kind))


def _signed_kind(kind: Kind) -> Kind:
    """The type of a number with its sign changed, which is its own but for a bool's."""
    return Kind.INT32 if kind is Kind.BOOL else kind


def _as_numba(f: Frame, node: ast.AST, value: Value, outcome: Value) -> Value:
    """What came out of -x or ~x, which Numba computes in the width of x and widens afterwards."""
    if f.typing is not Typing.NUMBA or value.kind.weak:
        return outcome
    return to_kind(f, node, in_its_width(f, node, value, outcome), together(f, value, value))


def in_its_width(f: Frame, node: ast.AST, value: Value, outcome: Value) -> Value:
    """What came out of -x, ~x or abs(x) as Numba computes it, in the 8 or 16 bits of an x that has so few."""
    if f.typing is not Typing.NUMBA or not value.small:
        return outcome
    sizes = ("uint8", "uint16") if value.lo >= 0 else ("int8", "int16")
    size = next(s for s in sizes if value.hi <= DTYPES[s].hi and value.lo >= DTYPES[s].lo)
    narrowed = cast_to(f, node, outcome, Scalar(size))
    assert isinstance(narrowed, Value)
    return narrowed


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
        return words.invert(f.b, value)
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
    x, y = to_kind(f, node, a.settled, kind), to_kind(f, node, b.settled, kind)
    if kind.wide:
        return words.select(f.b, kind, operand(f, condition), x, y)
    reg = f.b.op("selp.b32", MACHINE_TYPE[kind], operand(f, x), operand(f, y), operand(f, condition))
    return result(kind, reg, min(x.lo, y.lo), max(x.hi, y.hi), drift)
