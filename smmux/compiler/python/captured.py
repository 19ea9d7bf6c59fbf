"""Python objects that a kernel names, as compile-time values."""

from __future__ import annotations

import ast
import enum
from typing import Any

import numpy as np

from smmux.compiler.build.numbers import DTYPES, Complex, Kind, Value, constant, weak
from smmux.compiler.python.context import Frame
from smmux.compiler.python.typed_values import Anything, Static, Tuple
from smmux.source.constants import MOST_BITS, TooLong, plain


def lift(f: Frame, node: ast.AST, value: Any) -> Anything:
    """A captured Python object as a compile-time value."""
    if type(value) in (bool, float) or type(value) is int and value.bit_length() <= MOST_BITS:
        return weak(value)
    if isinstance(value, enum.Enum) and isinstance(value._value_, int):
        value = int(plain(value._value_))
    if not isinstance(value, np.generic):
        value = plain(value)
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise f.error(node, str(TooLong()))
        return weak(value)
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return Complex(weak(value.real), weak(value.imag))
    if isinstance(value, np.complexfloating) and value.dtype.name in DTYPES:
        kind = DTYPES[value.dtype.name].kind
        if kind is Kind.FLOAT64:
            f.ctx.has_wide_data()
        return Complex(constant(kind, float(value.real)), constant(kind, float(value.imag)))
    if isinstance(value, np.bool_):
        return weak(bool(value))
    if isinstance(value, np.generic):
        return _lift_numpy(f, node, value)
    if isinstance(value, tuple):
        return Tuple(tuple(lift(f, node, item) for item in value), tuple(getattr(value, "_fields", ())))
    return Static(value)


def _lift_numpy(f: Frame, node: ast.AST, value: np.generic) -> Value:
    """A NumPy number, typed."""
    if isinstance(value, np.floating) and value.dtype.name in DTYPES:
        if value.dtype.itemsize != 4:
            f.ctx.has_wide_data()
        return constant(DTYPES[value.dtype.name].kind, float(value))
    if isinstance(value, np.integer):
        if value.dtype.itemsize == 8:
            f.ctx.has_wide_data()
        return constant(DTYPES[value.dtype.name].kind, int(value))
    raise f.error(node, f"captured value of type {type(value).__name__} is not supported")
