"""Python's built-in functions inside kernels."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import (
    INT32_MAX,
    INT32_MIN,
    MACHINE_TYPE,
    Complex,
    Kind,
    Value,
    constant,
    unknown,
    weak,
)
from smmux.compiler.python import arith, compare, complex_numbers, floats, iteration
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, lasting_kind, number, operand, result, settle, strong, to_kind, truth
from smmux.compiler.python.inlining import library_number
from smmux.compiler.python.promotion import Typing, divmod_kind
from smmux.compiler.python.rules import call
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple

MAX_DIGITS = 308  # of a power of ten that a float holds


@call(len)
def length(f: Frame, node: ast.AST, value: Anything) -> Value:
    """First extent of an array, or items of a tuple."""
    if isinstance(value, ArrayRef) and value.shape:
        return value.extents[0]
    if isinstance(value, Tuple):
        return weak(len(value.items))
    if (items := iteration.sequence(f, node, value)) is not None:
        return items.length
    raise f.error(node, "len needs an array, a tuple or a range")


@call(int)
def to_int(f: Frame, node: ast.AST, value: Anything) -> Value:
    """int(x): towards zero; an int32 where x is not a constant and there is no 64-bit data."""
    if isinstance(value, Static) and isinstance(value.object, str):
        return weak(_read(f, node, int, value.object))
    x = number(f, node, value)
    if x.known and (x.kind.weak or x.kind is Kind.BOOL):
        return weak(_whole(f, node, int, x.const))
    if x.kind.weak and f.narrow:
        return unknown(Kind.WEAK_INT)
    if x.kind is Kind.UINT64 or x.kind.integral and f.typing is not Typing.WIDE:
        return x
    return cast(f, node, x, whole_kind(f))


def _read(f: Frame, node: ast.AST, kind: Callable[[str], int | float], text: str) -> int | float:
    """A number written as text: float("inf")."""
    try:
        return kind(text)
    except ValueError as reason:
        raise f.error(node, str(reason)) from None


def whole_kind(f: Frame) -> Kind:
    """The type of Python's int(x), round(x) and math.floor(x)."""
    return {Typing.NARROW: Kind.INT32, Typing.WIDE: Kind.WEAK_INT, Typing.NUMBA: Kind.INT64}[f.typing]


def _whole(f: Frame, node: ast.AST, function: Callable[[Any], int], value: Any) -> int:
    """int(value) or round(value) of a constant."""
    try:
        return function(value)
    except (OverflowError, ValueError) as reason:  # an infinity, or no number
        raise f.error(node, f"constant expression: {reason}") from None


@call(float)
def to_float(f: Frame, node: ast.AST, value: Anything) -> Value:
    """float(x): a float32 where x is not a constant and there is no 64-bit data."""
    if isinstance(value, Static) and isinstance(value.object, str):
        return weak(_read(f, node, float, value.object))
    x = number(f, node, value)
    if x.kind.weak and (x.known or f.narrow):
        return weak(float(x.const)) if x.known else Value(Kind.WEAK_FLOAT)
    if f.typing is Typing.NUMBA and x.kind.floating:
        return x
    if not f.narrow:
        return cast(f, node, x, Kind.WEAK_FLOAT if f.typing is Typing.WIDE else Kind.FLOAT64)
    return replace(cast(f, node, x, Kind.FLOAT32), drift=True)


@call(bool)
def to_bool(f: Frame, node: ast.AST, value: Anything) -> Value:
    """bool(x)."""
    return truth(f, node, value)


@call(abs)
def absolute(f: Frame, node: ast.AST, value: Anything) -> Value:
    """abs(x)."""
    if isinstance(value, Complex):
        return complex_numbers.magnitude(f, node, value)
    x = number(f, node, value)
    if x.known:
        return weak(abs(x.const)) if x.kind.weak else constant(x.kind, abs(x.const))
    if x.kind in (Kind.UINT32, Kind.UINT64, Kind.BOOL) or x.kind.weak and f.narrow:
        return x
    if x.kind.double:
        return floats.absolute(f, x)
    if x.kind.wide:
        return words.absolute(f.b, x)
    if x.kind.floating:
        return result(x.kind, f.b.op("abs.f32", ir.Type.F32, operand(f, x)), drift=x.drift)
    x = settle(f, node, x, "abs")
    limits = (max(x.lo, -x.hi, 0), max(-x.lo, x.hi)) if x.lo > INT32_MIN else (INT32_MIN, INT32_MAX)
    size = result(x.kind, f.b.op("abs.s32", ir.Type.S32, operand(f, x)), *limits)
    return arith.in_its_width(f, node, x, size)


@call(complex)
def to_complex(f: Frame, node: ast.AST, real: Anything, imag: Anything | None = None) -> Complex:
    """complex(a, b)."""
    return complex_numbers.make(f, node, real, imag)


@call(round)
def rounded(f: Frame, node: ast.AST, value: Anything, digits: Anything | None = None) -> Value:
    """round(x): to the nearest integer, halves to even; round(x, n): the value that NumPy gives."""
    x = number(f, node, value)
    if digits is not None and not (isinstance(digits, Static) and digits.object is None):
        return _round_to(f, node, x, number(f, node, digits))
    if x.known:
        return weak(_whole(f, node, round, x.const))
    if not x.kind.floating:
        return whole_integer(f, node, x, whole_kind(f))
    x = settle(f, node, x, "round")
    if x.kind.double:
        return cast(f, node, floats.whole(f, "rni", x), whole_kind(f))
    return cast(f, node, result(Kind.FLOAT32, f.b.op("cvt.rni.f32.f32", ir.Type.F32, operand(f, x))), whole_kind(f))


def whole_integer(f: Frame, node: ast.AST, x: Value, kind: Kind) -> Value:
    """An integer rounded to an integer: itself, but that Numba's way leads over a float64."""
    if f.typing is not Typing.NUMBA:
        return x
    return cast(f, node, cast(f, node, x, Kind.FLOAT64) if x.kind.wide else x, kind)


def _round_to(f: Frame, node: ast.AST, x: Value, digits: Value) -> Value:
    """round(x, n): the type of x remains."""
    if not digits.kind.integral:
        raise f.error(node, "the number of digits in round(x, n) has to be an integer")
    if not digits.known:
        x = settle(f, node, cast(f, node, x, Kind.WEAK_FLOAT) if not x.kind.floating else x, "round")
        x = strong(f, node, x)
        return library_number(f, node, "round_to", x, cast(f, node, digits, Kind.INT32), constant(x.kind, 1.0))
    count = int(digits.const)
    if x.known and x.kind.weak:
        return weak(round(x.const, count))
    if not x.kind.floating:
        if count < 0:
            raise f.error(node, "round of an integer to tens: write (x + 5) // 10 * 10, or round(float32(x), -1)")
        return x
    x = strong(f, node, x)
    factor = constant(x.kind, math.prod([10.0] * min(abs(count), MAX_DIGITS)))  # with NumPy's roundings
    name = "round_to_digits" if count >= 0 else "round_to_tens"
    return library_number(f, node, name, settle(f, node, x, "round"), factor)


@call(pow)
def power(f: Frame, node: ast.AST, base: Anything, exponent: Anything) -> Value | Complex:
    """pow(x, y)."""
    if complex_numbers.either_complex(base, exponent):
        return complex_numbers.binary(f, node, "Pow", base, exponent)
    return arith.binary(f, node, "Pow", number(f, node, base), number(f, node, exponent))


@call(divmod)
def quotient_and_remainder(f: Frame, node: ast.AST, a: Anything, b: Anything) -> Tuple:
    """divmod(x, y)."""
    x, y = number(f, node, a), number(f, node, b)
    if f.typing is Typing.NUMBA:
        kind = divmod_kind(x, y)
        x, y = (v if kind is None else cast(f, node, v, kind) for v in (x, y))
    return Tuple((arith.binary(f, node, "FloorDiv", x, y), arith.binary(f, node, "Mod", x, y)))


def _extreme(name: str, f: Frame, node: ast.AST, *values: Anything) -> Value:
    items = values[0].items if len(values) == 1 and isinstance(values[0], Tuple) else values
    if not items:
        raise f.error(node, f"{name} needs at least one number")
    extreme = number(f, node, items[0])
    for item in items[1:]:
        extreme = _extreme_of_two(name, f, node, extreme, number(f, node, item))
    return extreme


def _extreme_of_two(name: str, f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    choose = min if name == "min" else max
    if a.known and b.known and (a.kind is b.kind or a.kind.weak and b.kind.weak):
        return a if choose(a.const, b.const) == a.const else b
    kind = lasting_kind(f, arith.common_kind(f, a, b))
    a, b = settle(f, node, a, name), settle(f, node, b, name)
    if kind is Kind.BOOL:
        return (compare.both if name == "min" else compare.either)(f, a, b)
    if kind.double:
        f.needs_double(node)
        return floats.operation(f, kind, f"{name}.f64", *(to_kind(f, node, v, kind) for v in (a, b)))
    if kind.wide:
        first = compare.numbers(f, node, "Lt" if name == "min" else "Gt", b, a)
        chosen = to_kind(f, node, arith.select(f, node, first, b, a), kind)  # of two constants one is left as it was
        return replace(chosen, lo=choose(a.lo, b.lo), hi=choose(a.hi, b.hi))
    drift = kind is Kind.FLOAT32 and a.kind is not b.kind
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    suffix = {Kind.FLOAT32: "f32", Kind.FLOAT16: "f32", Kind.UINT32: "u32"}.get(kind, "s32")
    reg = f.b.op(f"{name}.{suffix}", MACHINE_TYPE[kind], operand(f, strong(f, node, x)), operand(f, strong(f, node, y)))
    return result(kind, reg, choose(x.lo, y.lo), choose(x.hi, y.hi), drift)


call(min)(partial(_extreme, "min"))
call(max)(partial(_extreme, "max"))
