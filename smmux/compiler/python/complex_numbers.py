"""Complex numbers: two floats each, with NumPy's arithmetic."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Any

from smmux.compiler.build.numbers import Complex, Kind, Value, constant, weak
from smmux.compiler.library.mathlib_complex import complex_power
from smmux.compiler.python import arith
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import as_complex, cast, complex_of, number, to_kind
from smmux.compiler.python.inlining import library
from smmux.compiler.python.mathematics64 import apply_double, float_kind
from smmux.compiler.python.promotion import UINT8_MAX, Typing, quotient_kind, together
from smmux.compiler.python.typed_values import Anything, Tuple, type_name

MOST_FACTORS = 100
"""Exponents below this are repeated products, as in NumPy's power of a complex number."""


def either_complex(*values: Anything) -> bool:
    """True if one of several values is a complex number."""
    return Complex in map(type, values)


def common(f: Frame, node: ast.AST, *values: Anything) -> tuple[Kind, list[Complex]]:
    """Numbers as complex numbers of one type, and the type of their parts."""
    numbers = [value if isinstance(value, Complex) else number(f, node, value) for value in values]
    first, *others = [as_complex(v).re for v in numbers]
    kind = first.kind
    for other in others:
        kind = together(f, first if kind is first.kind else constant(kind, 0), other)
    if f.typing is Typing.NUMBA and any(v.small and v.lo >= 0 and v.hi > UINT8_MAX for v in (first, *others)):
        kind = Kind.FLOAT64  # uint16 is no part of complex64 for Numba
    if not kind.floating:
        kind = quotient_kind(f, kind)
    return kind, [complex_of(f, node, v, kind) for v in numbers]


def binary(f: Frame, node: ast.AST, op: str, left: Anything, right: Anything) -> Complex:
    """left op right."""
    if op == "Pow":
        return _power(f, node, left, right)
    if op not in ("Add", "Sub", "Mult", "Div"):
        raise f.error(node, "complex numbers have + - * / ** == and !=; take .real and .imag")
    kind, (a, b) = common(f, node, left, right)
    if op in ("Add", "Sub"):
        return Complex(arith.binary(f, node, op, a.re, b.re), arith.binary(f, node, op, a.im, b.im))
    return _product(f, node, a, b) if op == "Mult" else _quotient(f, node, a, b)


def _product(f: Frame, node: ast.AST, a: Complex, b: Complex) -> Complex:
    def of(op: str, x: Value, y: Value) -> Value:
        return arith.binary(f, node, op, x, y)

    real = of("Sub", of("Mult", a.re, b.re), of("Mult", a.im, b.im))
    return Complex(real, of("Add", of("Mult", a.re, b.im), of("Mult", a.im, b.re)))


def _quotient(f: Frame, node: ast.AST, a: Complex, b: Complex) -> Complex:
    if all(v.known for v in (a.re, a.im, b.re, b.im)) and a.re.kind.weak:
        return folded(f, node, lambda: complex(a.re.const, a.im.const) / complex(b.re.const, b.im.const))
    function = "complex_quotient_of_numba" if f.typing is Typing.NUMBA else "complex_quotient"
    quotient = library(f, node, function, a.re, a.im, b.re, b.im)
    assert isinstance(quotient, Tuple)
    return Complex(*(cast(f, node, number(f, node, item), a.re.kind) for item in quotient.items))


def folded(f: Frame, node: ast.AST, function: Any) -> Complex:
    """The value of a constant expression."""
    try:
        value = function()
    except ArithmeticError as reason:
        raise f.error(node, f"constant expression: {reason}") from None
    return Complex(weak(value.real), weak(value.imag))


def _power(f: Frame, node: ast.AST, left: Anything, right: Anything) -> Complex:
    n = _whole_exponent(f, node, right)
    kind, (base, exponent) = common(f, node, left, right)
    if n is None:
        return _any_power(f, node, kind, base, exponent)
    one = Complex(constant(kind, 1.0), constant(kind, 0.0))
    power = one if n == 0 else _positive_power(f, node, base, abs(n))
    return _quotient(f, node, one, power) if n < 0 else power


def _whole_exponent(f: Frame, node: ast.AST, exponent: Anything) -> int | None:
    """A constant whole exponent that is small enough for products."""
    parts = as_complex(exponent if isinstance(exponent, Complex) else number(f, node, exponent))
    n = parts.re.const
    whole = parts.re.known and parts.im.const == 0 and abs(n) < MOST_FACTORS and n == int(n)
    return int(n) if whole else None


def _any_power(f: Frame, node: ast.AST, kind: Kind, base: Complex, exponent: Complex) -> Complex:
    """A power whose exponent is known at run time, or not whole."""
    parts = (base.re, base.im, exponent.re, exponent.im)
    if kind.double:
        f.needs_double(node)
    computed = Kind.FLOAT64 if kind.double else Kind.FLOAT32
    pair = library(f, node, complex_power, *(replace(to_kind(f, node, v, computed), kind=computed) for v in parts))
    assert isinstance(pair, Tuple)
    return Complex(*(replace(to_kind(f, node, number(f, node, v), computed), kind=kind) for v in pair.items))


def _positive_power(f: Frame, node: ast.AST, base: Complex, n: int) -> Complex:
    if n == 3:
        return _product(f, node, base, _product(f, node, base, base))
    power: Complex | None = None
    while True:
        if n & 1:
            power = base if power is None else _product(f, node, power, base)
        n >>= 1
        if not n:
            assert power is not None
            return power
        base = _product(f, node, base, base)


def negate(f: Frame, node: ast.AST, value: Complex) -> Complex:
    """-x."""
    return Complex(arith.negate(f, node, value.re), arith.negate(f, node, value.im))


def magnitude(f: Frame, node: ast.AST, value: Complex) -> Value:
    """abs(x)."""
    kind = float_kind(f, [value.re])
    if value.re.known and value.im.known and value.re.kind.weak:
        return weak(abs(complex(value.re.const, value.im.const)))
    if kind.double:
        return number(f, node, apply_double(f, node, math.hypot, [value.re, value.im], kind))
    parts = (to_kind(f, node, v, Kind.FLOAT32) for v in (value.re, value.im))
    return number(f, node, library(f, node, "hypot", *parts))


def attribute(f: Frame, node: ast.Attribute, value: Value | Complex) -> Value:
    """x.real and x.imag."""
    if node.attr not in ("real", "imag"):
        raise f.error(node, f"{type_name(value)} has no attribute {node.attr!r} in a kernel; there are real and imag")
    if isinstance(value, Complex):
        return value.re if node.attr == "real" else value.im
    return value if node.attr == "real" else constant(value.kind, 0)


def conjugate(f: Frame, node: ast.AST, value: Value | Complex) -> Value | Complex:
    """x.conjugate()."""
    return Complex(value.re, arith.negate(f, node, value.im)) if isinstance(value, Complex) else value


def make(f: Frame, node: ast.AST, real: Anything, imaginary: Anything | None) -> Complex:
    """complex(a, b)."""
    if imaginary is None and isinstance(real, Complex):
        return real
    re, im = number(f, node, real), weak(0.0) if imaginary is None else number(f, node, imaginary)
    kind = together(f, re, im)
    if not kind.floating:
        kind = quotient_kind(f, kind)
    if kind.weak and not (re.known and im.known) and f.narrow:
        kind = Kind.FLOAT32
    return Complex(to_kind(f, node, re, kind), to_kind(f, node, im, kind))
