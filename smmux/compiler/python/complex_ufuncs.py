"""NumPy's functions of two complex numbers beside those of real ones: operators, order, the larger and the smaller."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smmux.compiler.build.numbers import Complex, Value, constant, weak
from smmux.compiler.library import mathlib_complex
from smmux.compiler.python import arith, compare, complex_functions, complex_numbers, numpy_functions
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import as_complex, number
from smmux.compiler.python.inlining import library
from smmux.compiler.python.rules import CALLS, call
from smmux.compiler.python.typed_values import Anything, Tuple

FIRST = complex_functions, numpy_functions
"""The modules whose rules these extend, and which therefore come first."""

Rule = Callable[..., Anything]


def _either(real: Rule, rule: Rule, f: Frame, node: ast.AST, *values: Anything) -> Anything:
    """The rule of complex numbers if one of the numbers is, else that of real ones."""
    return (rule if complex_numbers.either_complex(*values) else real)(f, node, *values)


def _register(function: Any, rule: Rule) -> None:
    call(function)(partial(_either, CALLS[id(function)][1], rule))


def _operator(op: str, f: Frame, node: ast.AST, x: Anything, y: Anything) -> Complex:
    return complex_numbers.binary(f, node, op, x, y)


def _compared(op: str, f: Frame, node: ast.AST, x: Anything, y: Anything) -> Value:
    """NumPy's order is by real parts, then by imaginary ones."""
    if op in ("Eq", "NotEq"):
        return compare.compare(f, node, op, x, y)
    a, b = (as_complex(v if isinstance(v, Complex) else number(f, node, v)) for v in (x, y))
    first = compare.numbers(f, node, op.removesuffix("E"), a.re, b.re)
    for part in (a.im, b.im):  # of which none may be NaN
        first = compare.both(f, first, compare.numbers(f, node, "Eq", part, part))
    alike, second = compare.numbers(f, node, "Eq", a.re, b.re), compare.numbers(f, node, op, a.im, b.im)
    return compare.either(f, first, compare.both(f, alike, second))


def _chosen(function: Callable[..., Any], f: Frame, node: ast.AST, x: Anything, y: Anything) -> Complex:
    """One of two complex numbers."""
    _, (a, b) = complex_numbers.common(f, node, x, y)
    pair = library(f, node, function, a.re, a.im, b.re, b.im)
    assert isinstance(pair, Tuple)
    return Complex(*(number(f, node, item) for item in pair.items))


def _log2(f: Frame, node: ast.AST, x: Anything) -> Complex:
    natural = CALLS[id(np.log)][1](f, node, x)
    assert isinstance(natural, Complex)
    factor = constant(natural.re.kind, 1.0 / math.log(2.0))
    return Complex(*(arith.binary(f, node, "Mult", part, factor) for part in (natural.re, natural.im)))


def _square(f: Frame, node: ast.AST, x: Anything) -> Complex:
    return complex_numbers.binary(f, node, "Mult", x, x)


def _reciprocal(f: Frame, node: ast.AST, x: Anything) -> Complex:
    return complex_numbers.binary(f, node, "Div", weak(1.0), x)


for _function, _op in numpy_functions.OPERATORS.items():
    if _op in ("Add", "Sub", "Mult", "Div", "Pow"):
        _register(_function, partial(_operator, _op))
for _function, _op in numpy_functions.COMPARISONS.items():
    _register(_function, partial(_compared, _op))
for _function, _choice in (
    (np.minimum, mathlib_complex.complex_minimum),
    (np.maximum, mathlib_complex.complex_maximum),
    (np.fmin, mathlib_complex.complex_fmin),
    (np.fmax, mathlib_complex.complex_fmax),
):
    _register(_function, partial(_chosen, _choice))
_register(np.log2, _log2)
_register(np.square, _square)
_register(np.reciprocal, _reciprocal)
_register(np.negative, complex_numbers.negate)
_register(np.positive, lambda f, node, x: x)
