"""Functions of float64: each an operation of the machine, or a function of the library."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from smmux.compiler.build.numbers import Kind, Value
from smmux.compiler.library import mathlib_floats
from smmux.compiler.library.mathlib64 import (
    arcs,
    double_words,
    error_function,
    exponentials,
    gamma_function,
    hyperbolic,
    logarithms,
    powers,
    remainders,
    trigonometric,
)
from smmux.compiler.python import floats
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import to_kind
from smmux.compiler.python.inlining import library
from smmux.compiler.python.promotion import promoted, quotient_kind
from smmux.compiler.python.typed_values import Anything, Tuple

DOUBLE: dict[Callable[..., Any], str | Callable[..., Any]] = {
    math.sqrt: "sqrt.rn.f64",
    math.sin: trigonometric.sin,
    math.cos: trigonometric.cos,
    math.tan: trigonometric.tan,
    math.exp: exponentials.exp,
    math.exp2: exponentials.exp2,
    math.expm1: exponentials.expm1,
    math.log: logarithms.log,
    math.log2: logarithms.log2,
    math.log10: logarithms.log10,
    math.log1p: logarithms.log1p,
    math.asin: arcs.asin,
    math.acos: arcs.acos,
    math.atan: arcs.atan,
    math.atan2: arcs.atan2,
    math.sinh: hyperbolic.sinh,
    math.cosh: hyperbolic.cosh,
    math.tanh: hyperbolic.tanh,
    math.asinh: hyperbolic.asinh,
    math.acosh: hyperbolic.acosh,
    math.atanh: hyperbolic.atanh,
    math.erf: error_function.erf,
    math.erfc: error_function.erfc,
    math.pow: powers.power,
    math.cbrt: powers.cbrt,
    math.hypot: powers.hypot,
    math.gamma: gamma_function.gamma,
    math.lgamma: gamma_function.lgamma,
    math.fmod: remainders.fmod,
    math.nextafter: remainders.nextafter,
    math.ulp: remainders.ulp,
    math.modf: remainders.modf,
    math.frexp: remainders.frexp,
    math.copysign: double_words.copysign,
    math.remainder: mathlib_floats.remainder,
}
"""Functions of float64, each as an operation or a function of the library."""


def float_kind(f: Frame, values: Sequence[Value]) -> Kind:
    """The type in which a function of these numbers is computed."""
    kind = values[0].kind
    for value in values[1:]:
        kind = promoted(f, kind, value.kind)
    return kind if kind.floating and (not kind.weak or not f.narrow) else quotient_kind(f, kind)


def apply_double(
    f: Frame, node: ast.AST, function: Callable[..., Any], values: Sequence[Value], kind: Kind
) -> Anything:
    """A function of float64; a Python float of a Python float."""
    f.needs_double(node)
    x = [replace(to_kind(f, node, v, kind), kind=Kind.FLOAT64) for v in values]
    if function is math.fabs:
        return floats.absolute(f, replace(x[0], kind=kind))
    target = DOUBLE.get(function)
    if target is None:
        raise f.error(node, f"math.{function.__name__} of float64 is not supported; write it of float32(...)")
    if isinstance(target, str):
        return floats.operation(f, kind, target, *x)
    return _as(library(f, node, target, *x), kind)


def _as(value: Anything, kind: Kind) -> Anything:
    """A float64, or the float64 parts of a tuple, as the type of the arguments."""
    if isinstance(value, Tuple):
        return Tuple(tuple(_as(item, kind) for item in value.items))
    if isinstance(value, Value) and value.kind is Kind.FLOAT64:
        return replace(value, kind=kind)
    return value
