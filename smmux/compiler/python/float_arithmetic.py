"""Arithmetic of floats: float32, on which the machine computes; float64 by `floats`; float16 as float32, rounded."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build.numbers import Kind, Value, constant
from smmux.compiler.python import floats
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import float64_in_numba, operand, result, to_kind
from smmux.compiler.python.inlining import library_number
from smmux.compiler.python.promotion import quotient_kind, together
from smmux.compiler.python.python_operators import needs_integers
from smmux.source.constants import OPERATORS

FLOAT = {"Add": "add.f32", "Sub": "sub.f32", "Mult": "mul.f32"}


def float_operation(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    """a op b as floats of a kind, for all operators but /."""
    if kind is not Kind.FLOAT32:
        return _other_float(f, node, op, a, b, kind)
    if op in ("FloorDiv", "Mod"):
        x, y = to_float(f, node, a), to_float(f, node, b)
        float64_in_numba(f, node, a, b)
        return library_number(f, node, "floor_divide" if op == "FloorDiv" else "modulo", x, y)
    if op not in FLOAT:
        raise needs_integers(f, node, op, a, b)
    drift = float64_in_numba(f, node, a, b)
    x, y = to_float(f, node, a), to_float(f, node, b)
    if x.known and y.known:
        return constant(Kind.FLOAT32, OPERATORS[op](x.const, y.const), drift)
    if op == "Mult" and (x.const == 1.0 or y.const == 1.0):
        return replace(y if x.known else x, drift=drift)
    return result(Kind.FLOAT32, f.b.op(FLOAT[op], ir.Type.F32, operand(f, x), operand(f, y)), drift=drift)


def _other_float(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    """Arithmetic of float64, or of float16, which is that of float32 rounded."""
    if op not in FLOAT and op not in ("FloorDiv", "Mod"):
        raise needs_integers(f, node, op, a, b)
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    if op in FLOAT and x.known and y.known:
        return constant(kind, OPERATORS[op](x.const, y.const))
    if kind is Kind.FLOAT16:
        wide = float_operation(f, node, op, *as_float32(f, node, x, y), Kind.FLOAT32)
        return to_kind(f, node, wide, kind)
    f.needs_double(node)
    if op in ("FloorDiv", "Mod"):
        name = "floor_divide" if op == "FloorDiv" else "modulo"
        quotient = library_number(f, node, name, *(replace(v, kind=Kind.FLOAT64) for v in (x, y)))
        return replace(quotient, kind=kind)
    return floats.operation(f, kind, f"{FLOAT[op].split('.')[0]}.f64", x, y)


def to_float(f: Frame, node: ast.AST, value: Value) -> Value:
    """A number as float32. Whether the conversion matters to Numba depends on the operation, which notes it."""
    return to_kind(f, node, value.settled, Kind.FLOAT32)


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


def as_float32(f: Frame, node: ast.AST, a: Value, b: Value) -> tuple[Value, Value]:
    """Two numbers as float32."""
    return to_kind(f, node, a, Kind.FLOAT32), to_kind(f, node, b, Kind.FLOAT32)


def _divide_other(f: Frame, node: ast.AST, a: Value, b: Value, kind: Kind) -> Value:
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    if x.known and y.known and y.const != 0.0:
        return constant(kind, x.const / y.const)
    if kind is Kind.FLOAT16:
        return to_kind(f, node, divide(f, node, *as_float32(f, node, x, y)), kind)
    f.needs_double(node)
    return floats.operation(f, kind, "div.rn.f64", x, y)


def negate_float(f: Frame, value: Value) -> Value:
    """-x of a float."""
    if value.known:
        return constant(value.kind, -value.const, value.drift)
    if value.kind.double:
        return floats.negate(f, value)
    return result(value.kind, f.b.op("neg.f32", ir.Type.F32, operand(f, value)), drift=value.drift)
