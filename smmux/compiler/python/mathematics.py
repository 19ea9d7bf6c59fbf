"""`math.*` inside kernels: one row per function."""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from smmux.base.counted import counted
from smmux.compiler import ir
from smmux.compiler.build.numbers import Kind, Value, bits, constant, unknown, weak
from smmux.compiler.library import machine_operations
from smmux.compiler.library.mathlib64 import remainders
from smmux.compiler.python import arith, floats
from smmux.compiler.python.builtin import whole_integer, whole_kind
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, float64_in_numba, lasting_kind, number, operand, result, settle, to_kind
from smmux.compiler.python.float_arithmetic import divide, to_float
from smmux.compiler.python.inlining import library
from smmux.compiler.python.mathematics64 import apply_double, float_kind
from smmux.compiler.python.promotion import together
from smmux.compiler.python.rules import call
from smmux.compiler.python.typed_values import Anything
from smmux.language import kernel_names as cuda

RELATIVE, ABSOLUTE = weak(1e-9), weak(0.0)
LOG2_E, LN_2, LOG10_2 = 1.4426950408889634, 0.6931471805599453, 0.3010299956639812


@dataclass(frozen=True, slots=True)
class Row:
    """A function of floats.

    exact: name of an operation ("sqrt.rn.f32") or of a function in `mathlib`. fast: the same for fastmath, as the
    operation, with factors before and after it; None: as exact. correct: the result is the rounded exact one.
    """

    function: Callable[..., Any]
    exact: str
    fast: str | None = None
    before: float = 1.0
    after: float = 1.0
    arguments: int = 1
    correct: bool = False


ROWS = (
    Row(math.sqrt, "sqrt.rn.f32", "sqrt.approx.f32", correct=True),
    Row(math.fabs, "abs.f32", correct=True),
    Row(math.sin, "sin", "sin.approx.f32"),
    Row(math.cos, "cos", "cos.approx.f32"),
    Row(math.tan, "tan"),
    Row(math.exp, "exp", "ex2.approx.f32", before=LOG2_E),
    Row(math.exp2, "exp2", "ex2.approx.f32"),
    Row(math.expm1, "expm1"),
    Row(math.log2, "log2", "lg2.approx.f32"),
    Row(math.log10, "log10", "lg2.approx.f32", after=LOG10_2),
    Row(math.log1p, "log1p"),
    Row(math.asin, "asin"),
    Row(math.acos, "acos"),
    Row(math.atan, "atan"),
    Row(math.atan2, "atan2", arguments=2),
    Row(math.sinh, "sinh"),
    Row(math.cosh, "cosh"),
    Row(math.tanh, "tanh"),
    Row(math.asinh, "asinh"),
    Row(math.acosh, "acosh"),
    Row(math.atanh, "atanh"),
    Row(math.erf, "erf"),
    Row(math.erfc, "erfc"),
    Row(math.hypot, "hypot", arguments=2),
    Row(math.fmod, "fmod", arguments=2),
    Row(math.copysign, "copysign", arguments=2, correct=True),
    Row(math.remainder, "remainder", arguments=2),
    Row(math.nextafter, "nextafter", arguments=2),
    Row(math.ulp, "ulp"),
    Row(math.cbrt, "cbrt"),
    Row(math.gamma, "gamma"),
    Row(math.lgamma, "lgamma"),
)


def _register(row: Row) -> None:
    def rule(f: Frame, node: ast.AST, *values: Anything) -> Any:
        if len(values) != row.arguments:
            raise f.error(node, f"math.{row.function.__name__} takes {counted(row.arguments, 'argument')}")
        return _apply(f, node, row, [number(f, node, v) for v in values])

    call(row.function)(rule)
    if row.function is math.cbrt:
        call(cuda.cbrt)(rule)


def _apply(f: Frame, node: ast.AST, row: Row, values: list[Value]) -> Any:
    if all(v.known and (v.kind.weak or v.kind is Kind.BOOL) or v.kind.weak and f.narrow for v in values):
        return _fold(f, node, row.function, values)
    kind = float_kind(f, values)
    if kind.double:
        return apply_double(f, node, row.function, values, kind)
    name = f"math.{row.function.__name__}"
    drift = row.correct and float64_in_numba(f, node, *values)
    for v in values:
        settle(f, node, v, name)
        if v.kind is not Kind.FLOAT32 and not row.correct and not v.known:
            f.note(node, f"{name} of an integer is a float64 in Numba: write {name}(float32(...))")
    x = [to_float(f, node, v) for v in values]
    if kind is Kind.FLOAT16:
        if row.function in (math.nextafter, math.ulp):
            raise f.error(node, f"{name} of float16 is not supported; write it of float32(...)")
        return cast(f, node, _apply(f, node, row, x), kind)
    if row.fast is not None and f.fastmath:
        value = arith.binary(f, node, "Mult", x[0], constant(Kind.FLOAT32, row.before))
        value = result(Kind.FLOAT32, f.b.op(row.fast, ir.Type.F32, operand(f, value)))
        return arith.binary(f, node, "Mult", value, constant(Kind.FLOAT32, row.after))
    if "." in row.exact:
        return result(Kind.FLOAT32, f.b.op(row.exact, ir.Type.F32, *(operand(f, v) for v in x)), drift=drift)
    return library(f, node, row.exact, *x)


def _fold(f: Frame, node: ast.AST, function: Callable[..., Any], values: list[Value]) -> Anything:
    """A function of literals is a literal."""
    if not all(v.known for v in values):
        return Value(Kind.WEAK_FLOAT)
    try:
        return weak(function(*(v.const for v in values)))
    except (ArithmeticError, ValueError) as reason:
        raise f.error(node, f"math.{function.__name__} of a constant: {reason}") from None


for _row in ROWS:
    _register(_row)


def _float_argument(f: Frame, node: ast.AST, value: Anything, what: str) -> Value:
    return to_float(f, node, settle(f, node, number(f, node, value), what))


@call(math.log)
def log(f: Frame, node: ast.AST, x: Anything, base: Anything | None = None) -> Any:
    """math.log(x) and math.log(x, base)."""
    row = Row(math.log, "log", "lg2.approx.f32", after=LN_2)
    values = [number(f, node, v) for v in ((x,) if base is None else (x, base))]
    if all(v.kind.weak and (v.known or f.narrow) for v in values):
        return _fold(f, node, math.log, values)
    logarithms = [_apply(f, node, row, [v]) for v in values]
    return logarithms[0] if base is None else divide(f, node, *logarithms)


@call(math.pow)
def power(f: Frame, node: ast.AST, x: Anything, y: Anything) -> Any:
    """math.pow(x, y)."""
    a, b = number(f, node, x), number(f, node, y)
    if a.kind.weak and b.kind.weak and (f.narrow or a.known and b.known):
        return _fold(f, node, math.pow, [a, b])
    kind = float_kind(f, [a, b])
    if kind.double:
        return apply_double(f, node, math.pow, [a, b], kind)
    if not f.fastmath:
        return _apply(f, node, Row(math.pow, "power", arguments=2), [a, b])
    logarithm = f.b.op("lg2.approx.f32", ir.Type.F32, operand(f, _float_argument(f, node, a, "math.pow")))
    exponent = arith.binary(f, node, "Mult", _float_argument(f, node, b, "math.pow"), result(Kind.FLOAT32, logarithm))
    return result(Kind.FLOAT32, f.b.op("ex2.approx.f32", ir.Type.F32, operand(f, exponent)))


def _whole(op: str, function: Callable[[float], int]) -> None:
    """floor, ceil, trunc: an int, as in Python."""

    @call(function)
    def rule(f: Frame, node: ast.AST, value: Anything) -> Value:
        x = number(f, node, value)
        if not x.kind.floating:
            return whole_integer(f, node, x, together(f, x, x))
        if x.known and (x.kind.weak or not math.isfinite(x.const)):
            return number(f, node, _fold(f, node, function, [x]))
        if x.kind.weak and f.narrow:
            return unknown(Kind.WEAK_INT)
        if x.kind.double:
            return cast(f, node, floats.whole(f, op.split(".")[1], x) if op else x, whole_kind(f))
        x = settle(f, node, x, f"math.{function.__name__}")
        if op:
            x = result(Kind.FLOAT32, f.b.op(op, ir.Type.F32, operand(f, x)))
        return cast(f, node, x, whole_kind(f))


_whole("cvt.rmi.f32.f32", math.floor)
_whole("cvt.rpi.f32.f32", math.ceil)
_whole("", math.trunc)


def _predicate(function: Callable[[float], bool], compare: str, against: float | None) -> None:
    """isnan, isinf, isfinite: a comparison of the magnitude."""

    @call(function)
    def rule(f: Frame, node: ast.AST, value: Anything) -> Value:
        x = number(f, node, value)
        if x.known or not x.kind.floating:
            return weak(function(x.const if x.known else 0))
        if x.kind.double:
            return result(Kind.BOOL, _compare_size(f, x, compare, against), 0, 1)
        source = operand(f, x)
        if against is None:
            return result(Kind.BOOL, f.b.op(compare, ir.Type.PRED, source, source), 0, 1)
        size = f.b.op("abs.f32", ir.Type.F32, source)
        limit = ir.Imm(bits(Kind.FLOAT32, against), ir.Type.F32)
        return result(Kind.BOOL, f.b.op(compare, ir.Type.PRED, size, limit), 0, 1)


def _compare_size(f: Frame, x: Value, compare: str, against: float | None) -> ir.Reg:
    name = compare.split(".")[1]
    if against is None:
        return floats.compare(f, name, x, x)
    return floats.compare(f, name, floats.absolute(f, x), constant(Kind.FLOAT64, against))


_predicate(math.isnan, "setp.neu.f32", None)
_predicate(math.isinf, "setp.eq.f32", math.inf)
_predicate(math.isfinite, "setp.lt.f32", math.inf)


@call(math.degrees)
def degrees(f: Frame, node: ast.AST, x: Anything) -> Value:
    """math.degrees(x)."""
    return _scaled(f, node, x, math.degrees)


@call(math.radians)
def radians(f: Frame, node: ast.AST, x: Anything) -> Value:
    """math.radians(x)."""
    return _scaled(f, node, x, math.radians)


def _scaled(f: Frame, node: ast.AST, value: Anything, function: Callable[[float], float]) -> Value:
    x = number(f, node, value)
    if x.kind.weak and (x.known or f.narrow):
        return weak(function(x.const)) if x.known else Value(Kind.WEAK_FLOAT)
    kind = float_kind(f, [x])
    if kind.double:
        return arith.binary(f, node, "Mult", to_kind(f, node, x, kind), constant(Kind.FLOAT64, function(1.0)))
    factor = constant(Kind.FLOAT32, function(1.0))
    return arith.binary(f, node, "Mult", _float_argument(f, node, x, f"math.{function.__name__}"), factor)


@call(math.ldexp)
def ldexp(f: Frame, node: ast.AST, x: Anything, exponent: Anything) -> Any:
    """math.ldexp(x, exponent)."""
    e = number(f, node, exponent)
    if e.kind.floating:
        raise f.error(node, "the exponent of math.ldexp has to be an integer")
    mantissa = number(f, node, x)
    kind = float_kind(f, [mantissa])
    if kind.double:
        exact = replace(to_kind(f, node, mantissa, kind), kind=Kind.FLOAT64)
        return library(f, node, remainders.ldexp, exact, cast(f, node, e, Kind.INT32))
    return library(f, node, "ldexp", _float_argument(f, node, x, "math.ldexp"), cast(f, node, e, Kind.INT32))


@call(math.modf)
def modf(f: Frame, node: ast.AST, x: Anything) -> Anything:
    """math.modf(x)."""
    return _double_or(f, node, math.modf, x, "modf")


@call(math.frexp)
def frexp(f: Frame, node: ast.AST, x: Anything) -> Anything:
    """math.frexp(x)."""
    return _double_or(f, node, math.frexp, x, "frexp")


def _double_or(f: Frame, node: ast.AST, function: Callable[..., Any], value: Anything, name: str) -> Anything:
    """A function that gives several values: of float64, or the library's of float32."""
    x = number(f, node, value)
    kind = float_kind(f, [x])
    if kind.double:
        return apply_double(f, node, function, [x], kind)
    return library(f, node, name, _float_argument(f, node, x, f"math.{name}"))


@call(math.isclose)
def isclose(
    f: Frame, node: ast.AST, a: Anything, b: Anything, *, rel_tol: Anything = RELATIVE, abs_tol: Anything = ABSOLUTE
) -> Anything:
    """math.isclose(a, b), as a bool."""
    values = [number(f, node, v) for v in (a, b, rel_tol, abs_tol)]
    if all(v.known for v in values):
        return weak(math.isclose(values[0].const, values[1].const, rel_tol=values[2].const, abs_tol=values[3].const))
    kind = lasting_kind(f, float_kind(f, values[:2]))
    if kind.double:
        f.needs_double(node)
    return library(f, node, "isclose", *(to_kind(f, node, v, kind) for v in values))


def _of_integers(name: str, function: Callable[..., int], f: Frame, node: ast.AST, a: Anything, b: Anything) -> Any:
    """A function of two integers, in the type that holds both."""
    x, y = number(f, node, a), number(f, node, b)
    if x.kind.floating or y.kind.floating:
        raise f.error(node, f"math.{name} needs integers")
    if x.known and y.known:
        return weak(function(int(x.const), int(y.const)))
    kind = lasting_kind(f, arith.common_kind(f, x, y))
    kind = Kind.INT32 if kind is Kind.BOOL else kind
    return library(f, node, name, to_kind(f, node, x, kind), to_kind(f, node, y, kind))


call(math.gcd)(partial(_of_integers, "gcd", math.gcd))
call(math.lcm)(partial(_of_integers, "lcm", math.lcm))


# -- the operations that the library names


@call(machine_operations.ex2)
def ex2(f: Frame, node: ast.AST, x: Anything) -> Value:
    """ex2.approx."""
    return result(Kind.FLOAT32, f.b.op("ex2.approx.f32", ir.Type.F32, operand(f, number(f, node, x))))


@call(machine_operations.as_bits)
def as_bits(f: Frame, node: ast.AST, x: Anything) -> Value:
    """Reinterpretation: no operation."""
    value = number(f, node, x)
    if value.known:
        return constant(Kind.UINT32, bits(Kind.FLOAT32, value.const))
    return result(Kind.UINT32, operand(f, value))


@call(machine_operations.as_float)
def as_float(f: Frame, node: ast.AST, x: Anything) -> Value:
    """Reinterpretation: no operation."""
    value = number(f, node, x)
    if value.known:
        return constant(Kind.FLOAT32, _float_of(value.const))
    return result(Kind.FLOAT32, operand(f, value))


def _float_of(pattern: int) -> float:

    return float(struct.unpack("<f", struct.pack("<I", pattern & 0xFFFFFFFF))[0])
