"""NumPy's functions of numbers inside kernels: each is one of `math`, an operator, or a function of the library."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smmux.compiler.build.numbers import Complex, Kind, Value, weak
from smmux.compiler.library import machine_operations, mathlib_floats
from smmux.compiler.python import arith, compare, complex_numbers
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, number, to_kind, truth
from smmux.compiler.python.inlining import library_number
from smmux.compiler.python.mathematics64 import float_kind
from smmux.compiler.python.rules import CALLS, call
from smmux.compiler.python.typed_values import Anything

SAME: dict[Any, Callable[..., Any]] = {
    np.absolute: abs,
    np.arccos: math.acos,
    np.arccosh: math.acosh,
    np.arcsin: math.asin,
    np.arcsinh: math.asinh,
    np.arctan: math.atan,
    np.arctan2: math.atan2,
    np.arctanh: math.atanh,
    np.cbrt: math.cbrt,
    np.copysign: math.copysign,
    np.cos: math.cos,
    np.cosh: math.cosh,
    np.deg2rad: math.radians,
    np.degrees: math.degrees,
    np.divmod: divmod,
    np.exp: math.exp,
    np.exp2: math.exp2,
    np.expm1: math.expm1,
    np.fabs: math.fabs,
    np.frexp: math.frexp,
    np.gcd: math.gcd,
    np.hypot: math.hypot,
    np.isfinite: math.isfinite,
    np.isinf: math.isinf,
    np.isnan: math.isnan,
    np.lcm: math.lcm,
    np.ldexp: math.ldexp,
    np.log: math.log,
    np.log10: math.log10,
    np.log1p: math.log1p,
    np.log2: math.log2,
    np.modf: math.modf,
    np.nextafter: math.nextafter,
    np.rad2deg: math.degrees,
    np.radians: math.radians,
    np.sin: math.sin,
    np.sinh: math.sinh,
    np.sqrt: math.sqrt,
    np.tan: math.tan,
    np.tanh: math.tanh,
}
"""Functions that Python has too."""
OPERATORS = {
    np.add: "Add",
    np.bitwise_and: "BitAnd",
    np.bitwise_or: "BitOr",
    np.bitwise_xor: "BitXor",
    np.divide: "Div",
    np.floor_divide: "FloorDiv",
    np.left_shift: "LShift",
    np.multiply: "Mult",
    np.power: "Pow",
    np.remainder: "Mod",
    np.right_shift: "RShift",
    np.subtract: "Sub",
}
COMPARISONS = {
    np.equal: "Eq",
    np.greater: "Gt",
    np.greater_equal: "GtE",
    np.less: "Lt",
    np.less_equal: "LtE",
    np.not_equal: "NotEq",
}


def _same(function: Callable[..., Any], f: Frame, node: ast.AST, *values: Anything) -> Anything:
    return CALLS[id(function)][1](f, node, *values)


def _operator(op: str, f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    return arith.binary(f, node, op, number(f, node, x), number(f, node, y))


def _comparison(op: str, f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    return compare.numbers(f, node, op, number(f, node, x), number(f, node, y))


for _function, _other in SAME.items():
    call(_function)(partial(_same, _other))
for _function, _op in OPERATORS.items():
    call(_function)(partial(_operator, _op))
for _function, _op in COMPARISONS.items():
    call(_function)(partial(_comparison, _op))


# -- whole numbers that stay floats


def _whole(function: Callable[[Any], Any], python: Callable[[Any], Any], f: Frame, node: ast.AST, x: Anything) -> Value:
    value = number(f, node, x)
    if not value.kind.floating:
        return value
    if value.known:
        return value if not math.isfinite(value.const) else weak(float(python(value.const)))
    return number(f, node, CALLS[id(function)][1](f, node, value))


call(np.rint)(partial(_whole, machine_operations.nearest, np.rint))
call(np.trunc)(partial(_whole, machine_operations.truncated, np.trunc))
call(np.floor)(partial(_whole, machine_operations.lowered, np.floor))
call(np.ceil)(partial(_whole, machine_operations.raised, np.ceil))


# -- the smaller, the larger, the sign


def _chosen(
    integers: Callable[..., Any], floats: Callable[..., Any], f: Frame, node: ast.AST, *values: Anything
) -> Value:
    """A choice among two numbers: of integers as Python does it, of floats with NumPy's rules for NaN."""
    a, b = (number(f, node, v) for v in values)
    kind = arith.common_kind(f, a, b)
    if not kind.floating or (a.known and b.known):
        return number(f, node, CALLS[id(integers)][1](f, node, a, b))
    return library_number(f, node, floats, to_kind(f, node, a, kind), to_kind(f, node, b, kind))


for _function, _integers, _floats in (
    (np.minimum, min, mathlib_floats.minimum),
    (np.maximum, max, mathlib_floats.maximum),
    (np.fmin, min, mathlib_floats.fmin),
    (np.fmax, max, mathlib_floats.fmax),
):
    call(_function)(partial(_chosen, _integers, _floats))


@call(np.sign)
def sign(f: Frame, node: ast.AST, x: Anything) -> Value:
    """-1, 0 or 1, in the number's own type; NaN for NaN."""
    value = number(f, node, x)
    if value.known:
        return weak(type(value.const)(np.sign(value.const)))
    name = mathlib_floats.sign if value.kind.floating else mathlib_floats.sign_of_integer
    return to_kind(f, node, library_number(f, node, name, value), value.kind)


@call(np.clip)
def clip(f: Frame, node: ast.AST, x: Anything, low: Anything, high: Anything) -> Anything:
    """x, or the bound that it passes."""
    return _same(np.minimum, f, node, _same(np.maximum, f, node, x, low), high)


@call(np.where)
def where(f: Frame, node: ast.AST, condition: Anything, x: Anything, y: Anything) -> Value:
    """x where the condition is true, else y."""
    return arith.select(f, node, truth(f, node, condition), number(f, node, x), number(f, node, y))


# -- others


@call(np.conj)
def conjugate(f: Frame, node: ast.AST, x: Anything) -> Value | Complex:
    """The conjugate complex number; a real one itself."""
    return complex_numbers.conjugate(f, node, x if isinstance(x, Complex) else number(f, node, x))


@call(np.round)
def rounded(f: Frame, node: ast.AST, x: Anything, decimals: Anything | None = None) -> Anything:
    """x rounded to a number of decimals, as a number of its own type."""
    return _same(np.rint, f, node, x) if decimals is None else _same(round, f, node, x, decimals)


call(np.around)(rounded)


@call(np.float_power)
def float_power(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Anything:
    """x ** y, computed as float64."""
    return _operator("Pow", f, node, cast(f, node, number(f, node, x), Kind.FLOAT64), y)


@call(np.heaviside)
def heaviside(f: Frame, node: ast.AST, x: Anything, at_zero: Anything) -> Value:
    """0 for a negative number, 1 for a positive one, a given one for 0."""
    return _of_floats(mathlib_floats.heaviside, f, node, x, at_zero)


@call(np.logaddexp)
def logaddexp(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    """log(exp(x) + exp(y))"""
    return _of_floats(mathlib_floats.logaddexp, f, node, x, y)


def _of_floats(function: Callable[..., Any], f: Frame, node: ast.AST, *values: Anything) -> Value:
    """A function of the library of two floats of one type."""
    x = [number(f, node, v) for v in values]
    kind = float_kind(f, x)
    return library_number(f, node, function, *(to_kind(f, node, v, kind) for v in x))


@call(np.signbit)
def signbit(f: Frame, node: ast.AST, x: Anything) -> Value:
    """True for a negative number, a negative zero included."""
    one = CALLS[id(math.copysign)][1](f, node, weak(1.0), x)
    return compare.numbers(f, node, "Lt", number(f, node, one), weak(0))


@call(np.square)
def square(f: Frame, node: ast.AST, x: Anything) -> Value:
    """x * x."""
    return _operator("Mult", f, node, x, x)


@call(np.reciprocal)
def reciprocal(f: Frame, node: ast.AST, x: Anything) -> Value:
    """1 / x of a float."""
    value = number(f, node, x)
    if not value.kind.floating:
        raise f.error(node, "numpy.reciprocal of an integer is 0 but for 1 and -1; write 1 / x")
    return arith.binary(f, node, "Div", weak(1), value)


@call(np.negative)
def negative(f: Frame, node: ast.AST, x: Anything) -> Value:
    """-x."""
    return arith.negate(f, node, number(f, node, x))


@call(np.positive)
def positive(f: Frame, node: ast.AST, x: Anything) -> Value:
    """+x."""
    return number(f, node, x)


@call(np.invert)
def invert(f: Frame, node: ast.AST, x: Anything) -> Value:
    """~x."""
    return arith.invert(f, node, number(f, node, x))


@call(np.logical_not)
def logical_not(f: Frame, node: ast.AST, x: Anything) -> Value:
    """not x."""
    return arith.logical_not(f, truth(f, node, x))


@call(np.logical_and)
def logical_and(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    """x and y, as a bool."""
    return compare.both(f, truth(f, node, x), truth(f, node, y))


@call(np.logical_or)
def logical_or(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    """x or y, as a bool."""
    return compare.either(f, truth(f, node, x), truth(f, node, y))


@call(np.logical_xor)
def logical_xor(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    """Whether one of the two is true and the other false."""
    a, b = truth(f, node, x), truth(f, node, y)
    return compare.either(f, compare.both(f, a, arith.logical_not(f, b)), compare.both(f, b, arith.logical_not(f, a)))


@call(np.fmod)
def fmod(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Anything:
    """The remainder with the sign of x, of floats."""
    if not (number(f, node, x).kind.floating or number(f, node, y).kind.floating):
        raise f.error(node, "numpy.fmod of integers: write x % y, whose result has the sign of y")
    return _same(math.fmod, f, node, x, y)
