"""`cmath` inside kernels, and NumPy's functions of complex numbers."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smmux.compiler.build.numbers import Complex, Kind, Value, weak
from smmux.compiler.library import mathlib_complex
from smmux.compiler.python import compare, complex_numbers, numpy_functions
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import as_complex, number, to_kind
from smmux.compiler.python.inlining import library
from smmux.compiler.python.mathematics64 import float_kind
from smmux.compiler.python.rules import CALLS, call
from smmux.compiler.python.typed_values import Anything, Tuple

REAL = numpy_functions.SAME
"""NumPy's functions of real numbers, which get complex ones beside them."""
NAMES = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "sin", "sinh", "sqrt"),
    *("tan", "tanh"),
)
NUMPY_NAMES = {"a" + name: "arc" + name for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}


def _parts(f: Frame, node: ast.AST, value: Anything) -> tuple[Kind, list[Value]]:
    """A number as the two floats that the library takes, and the type of the result's parts."""
    z = as_complex(value if isinstance(value, Complex) else number(f, node, value))
    kind = float_kind(f, [z.re, z.im])
    if kind.weak and f.narrow:
        kind = Kind.FLOAT32
    if kind.double:
        f.needs_double(node)
    computed = Kind.FLOAT64 if kind.double else Kind.FLOAT32
    return kind, [replace(to_kind(f, node, to_kind(f, node, v, kind), computed), kind=computed) for v in (z.re, z.im)]


def _pair(f: Frame, node: ast.AST, name: str, value: Anything) -> list[Value]:
    """The two results of a function of the library."""
    kind, parts = _parts(f, node, value)
    pair = library(f, node, getattr(mathlib_complex, name), *parts)
    assert isinstance(pair, Tuple)
    computed = parts[0].kind
    values = [to_kind(f, node, number(f, node, item), computed) for item in pair.items]
    return [replace(v, kind=kind) if kind.double else to_kind(f, node, v, kind) for v in values]


def _known(value: Anything) -> complex | None:
    """The value of a literal; None of others."""
    if isinstance(value, Complex):
        literal = value.re.known and value.im.known and value.re.kind.weak and value.im.kind.weak
        return complex(value.re.const, value.im.const) if literal else None
    return complex(value.const) if isinstance(value, Value) and value.known and value.kind.weak else None


def _function(name: str, f: Frame, node: ast.AST, value: Anything) -> Complex:
    known = _known(value)
    if known is None:
        return Complex(*_pair(f, node, f"complex_{name}", value))
    try:
        folded = getattr(cmath, name)(known)
    except (ArithmeticError, ValueError) as reason:
        raise f.error(node, f"cmath.{name} of a constant: {reason}") from None
    return Complex(weak(folded.real), weak(folded.imag))


def _also_complex(
    real: Callable[..., Any], rule: Callable[..., Any], f: Frame, node: ast.AST, *values: Anything
) -> Any:
    """NumPy's function of a complex number, or the one of real numbers."""
    return rule(f, node, *values) if isinstance(values[0], Complex) else CALLS[id(real)][1](f, node, *values)


for _name in NAMES:
    _rule = partial(_function, _name)
    call(getattr(cmath, _name))(_rule)
    _numpy = getattr(np, NUMPY_NAMES.get(_name, _name))
    call(_numpy)(partial(_also_complex, REAL[_numpy], _rule))


@call(cmath.log)
def logarithm(f: Frame, node: ast.AST, value: Anything, base: Anything | None = None) -> Complex:
    """cmath.log(z) and cmath.log(z, base)."""
    whole = _function("log", f, node, value)
    return whole if base is None else complex_numbers.binary(f, node, "Div", whole, _function("log", f, node, base))


@call(cmath.phase)
def phase(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The angle of a number."""
    z = as_complex(value if isinstance(value, Complex) else number(f, node, value))
    return number(f, node, CALLS[id(math.atan2)][1](f, node, z.im, z.re))


call(np.angle)(phase)


@call(cmath.polar)
def polar(f: Frame, node: ast.AST, value: Anything) -> Tuple:
    """Magnitude and angle."""
    return Tuple(tuple(_pair(f, node, "complex_polar", value)))


@call(cmath.rect)
def rect(f: Frame, node: ast.AST, r: Anything, phi: Anything) -> Complex:
    """The number with that magnitude and angle."""
    return Complex(*_pair(f, node, "complex_rect", Complex(number(f, node, r), number(f, node, phi))))


def _predicate(
    function: Callable[..., Any], join: Callable[..., Any], f: Frame, node: ast.AST, value: Anything
) -> Value:
    z = as_complex(value if isinstance(value, Complex) else number(f, node, value))
    rule = CALLS[id(function)][1]
    return join(f, rule(f, node, z.re), rule(f, node, z.im))  # type: ignore[no-any-return]


for _ufunc, _of_complex, _of_real, _join in (
    (np.isnan, cmath.isnan, math.isnan, compare.either),
    (np.isinf, cmath.isinf, math.isinf, compare.either),
    (np.isfinite, cmath.isfinite, math.isfinite, compare.both),
):
    call(_of_complex, _ufunc)(partial(_predicate, _of_real, _join))


# -- NumPy's names for the parts


@call(np.real)
def real(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The real part."""
    return as_complex(value if isinstance(value, Complex) else number(f, node, value)).re


@call(np.imag)
def imag(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The imaginary part; 0 of a real number."""
    return as_complex(value if isinstance(value, Complex) else number(f, node, value)).im
