"""`cuda.libdevice` and `cuda.fp16`: functions of fixed types, each made of a function of numbers of any type."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smmux.base.counted import counted
from smmux.compiler.build import words
from smmux.compiler.build.numbers import Kind, Value, constant, weak
from smmux.compiler.library import machine_operations, mathlib_device
from smmux.compiler.python import arith
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, number
from smmux.compiler.python.inlining import library
from smmux.compiler.python.rules import CALLS, call
from smmux.compiler.python.typed_values import Anything, Tuple
from smmux.language import fp16, kernel_names as cuda, libdevice

KINDS = {
    "f": Kind.FLOAT32,
    "d": Kind.FLOAT64,
    "i": Kind.INT32,
    "u": Kind.UINT32,
    "q": Kind.INT64,
    "w": Kind.UINT64,
    "h": Kind.FLOAT16,
}


def applied(f: Frame, node: ast.AST, function: Any, *values: Anything) -> Anything:
    """The value of a function that kernels may call, or of one in the kernel language."""
    entry = CALLS.get(id(function))
    return entry[1](f, node, *values) if entry else library(f, node, function, *values)


# -- functions that take the frame, where there is none in Python


def _high_product(kind: Kind, f: Frame, node: ast.AST, x: Value, y: Value) -> Value:
    """The upper 32 bits of a product."""
    product = arith.binary(f, node, "Mult", cast(f, node, x, kind), cast(f, node, y, kind))
    return arith.binary(f, node, "RShift", product, weak(32))


def _distance(f: Frame, node: ast.AST, x: Value, y: Value, more: Value) -> Value:
    """abs(x - y) + more, as uint32."""
    larger, smaller = (number(f, node, applied(f, node, choice, x, y)) for choice in (max, min))
    size = arith.binary(f, node, "Sub", larger, smaller)
    return arith.binary(f, node, "Add", cast(f, node, size, Kind.UINT32), more)


def _once(f: Frame, node: ast.AST, *values: Value) -> Value:
    """A product, or a product and a sum, that nothing is fused with."""
    addend = values[2] if len(values) > 2 else constant(values[0].kind, -0.0)
    return number(f, node, applied(f, node, cuda.fma, *values[:2], addend))


def _sum(op: str, f: Frame, node: ast.AST, x: Value, y: Value) -> Value:
    """A sum or a difference that nothing is fused with."""
    return _once(f, node, y, constant(y.kind, 1.0 if op == "Add" else -1.0), x)


def _converted(rounding: Any, f: Frame, node: ast.AST, x: Value) -> Value:
    """A float rounded to an integer."""
    return number(f, node, applied(f, node, rounding, x))


def _words(make: Callable[[Kind, Any], Value], kind: Kind, f: Frame, node: ast.AST, x: Value) -> Value:
    """The same 64 bits as a number of another type."""
    return make(kind, words.words_of(f.b, x))


def _as_float(f: Frame, node: ast.AST, x: Value) -> Anything:
    return applied(f, node, machine_operations.as_float, cast(f, node, x, Kind.UINT32))


def _quickly(function: Any, f: Frame, node: ast.AST, *values: Value) -> Anything:
    """A function with approximations."""
    before, f.fastmath = f.fastmath, True
    try:
        return applied(f, node, function, *values)
    finally:
        f.fastmath = before


def _both_quickly(f: Frame, node: ast.AST, x: Value) -> Tuple:
    return Tuple(tuple(_quickly(function, f, node, x) for function in (math.sin, math.cos)))


OF_MATH = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "erf", "erfc"),
    *("exp", "exp2", "expm1", "fabs", "fmod", "frexp", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2"),
    *("modf", "nextafter", "pow", "remainder", "sin", "sinh", "sqrt", "tan", "tanh"),
)
QUICK = ("cos", "exp", "log", "log10", "log2", "pow", "sin", "tan")
FLOATS: dict[str, Any] = {name: getattr(math, name) for name in OF_MATH} | {
    "ceil": np.ceil,
    "cospi": mathlib_device.cospi,
    "exp10": mathlib_device.exp10,
    "fdim": mathlib_device.difference,
    "floor": np.floor,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "llrint": np.rint,
    "llround": mathlib_device.away,
    "nearbyint": np.rint,
    "normcdf": mathlib_device.normcdf,
    "powi": math.pow,
    "rcbrt": mathlib_device.rcbrt,
    "rint": np.rint,
    "round": mathlib_device.away,
    "rsqrt": mathlib_device.rsqrt,
    "scalbn": math.ldexp,
    "sincos": mathlib_device.sincos,
    "sincospi": mathlib_device.sincospi,
    "sinpi": mathlib_device.sinpi,
    "tgamma": math.gamma,
    "trunc": np.trunc,
}
"""Functions of float64, under their own names, and of float32, with an f behind."""

OTHERS: dict[str, Any] = {
    **dict.fromkeys(("dadd_rn",), operator.add),
    **dict.fromkeys(("dmul_rn",), operator.mul),
    **dict.fromkeys(("ddiv_rn", "fdiv_rn"), operator.truediv),
    **dict.fromkeys(("drcp_rn", "frcp_rn"), mathlib_device.reciprocal),
    **dict.fromkeys(("dsqrt_rn", "fsqrt_rn"), math.sqrt),
    **dict.fromkeys(("fma", "fmaf", "fma_rn", "fmul_rn"), _once),
    "fmaf_rn": _once,
    "fadd_rn": partial(_sum, "Add"),
    "fsub_rn": partial(_sum, "Sub"),
    "frsqrt_rn": mathlib_device.rsqrt,
    "saturatef": mathlib_device.saturated,
    **dict.fromkeys(("isfinited", "finitef"), math.isfinite),
    **dict.fromkeys(("isinfd", "isinff"), math.isinf),
    **dict.fromkeys(("isnand", "isnanf"), math.isnan),
    **dict.fromkeys(("signbitd", "signbitf"), np.signbit),
    **dict.fromkeys(("abs", "llabs"), abs),
    **dict.fromkeys(("max", "umax", "llmax", "ullmax"), max),
    **dict.fromkeys(("min", "umin", "llmin", "ullmin"), min),
    **dict.fromkeys(("popc", "popcll"), cuda.popc),
    **dict.fromkeys(("clz", "clzll"), cuda.clz),
    **dict.fromkeys(("ffs", "ffsll"), cuda.ffs),
    **dict.fromkeys(("brev", "brevll"), cuda.brev),
    "mulhi": partial(_high_product, Kind.INT64),
    "umulhi": partial(_high_product, Kind.UINT64),
    **dict.fromkeys(("mul24", "umul24"), mathlib_device.low_product),
    **dict.fromkeys(("hadd", "uhadd"), mathlib_device.half_sum),
    **dict.fromkeys(("rhadd", "urhadd"), mathlib_device.half_sum_up),
    **dict.fromkeys(("sad", "usad"), _distance),
    "double2hiint": machine_operations.high_word,
    "double2loint": machine_operations.low_word,
    "hiloint2double": machine_operations.from_words,
    "double_as_longlong": partial(_words, words.integer, Kind.INT64),
    "longlong_as_double": partial(_words, words.double, Kind.FLOAT64),
    "float_as_int": machine_operations.as_bits,
    "int_as_float": _as_float,
    "fast_fdividef": partial(_quickly, operator.truediv),
    "fast_exp10f": partial(_quickly, mathlib_device.exp10),
    "fast_sincosf": _both_quickly,
    **{f"fast_{name}f": partial(_quickly, getattr(math, name)) for name in QUICK},
}
ROUNDINGS = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}


def _of(name: str, results: str) -> Any:
    """What a function of `libdevice` is made of."""
    if name in OTHERS:
        return OTHERS[name]
    known = FLOATS.get(name) or FLOATS.get(name.removesuffix("f"))
    if known is not None:
        return known
    source, _, mode = name.rpartition("_")
    return partial(_converted, ROUNDINGS[mode] if source.startswith(("f", "d")) and results not in "fd" else _same)


def _same(x: Any) -> Any:
    """The number itself: the conversion of the result is what is wanted."""


call(_same)(lambda f, node, x: x)


def _fixed(
    function: Any, results: str, parameters: str, title: str, f: Frame, node: ast.AST, *values: Anything
) -> Anything:
    """A function whose arguments and results have the types of these letters."""
    if len(values) != len(parameters):
        raise f.error(node, f"{title} takes {counted(len(parameters), 'argument')}")
    x = [cast(f, node, number(f, node, v), KINDS[letter]) for v, letter in zip(values, parameters, strict=True)]
    rule = isinstance(function, partial) or function in (_once, _distance, _as_float, _both_quickly)
    value = function(f, node, *x) if rule else applied(f, node, function, *x)
    if isinstance(value, Tuple):
        pairs = zip(value.items, results, strict=True)
        return Tuple(tuple(cast(f, node, number(f, node, v), KINDS[letter]) for v, letter in pairs))
    return cast(f, node, number(f, node, value), KINDS[results]) if results != "b" else value


for _name, (_results, _parameters) in libdevice.SIGNATURES.items():
    _title = f"cuda.libdevice.{_name}"
    call(getattr(libdevice, _name))(partial(_fixed, _of(_name, _results), _results, _parameters, _title))


# -- numbers of 16 bits


def _exact(f: Frame, node: ast.AST, a: Value, b: Value, c: Value) -> Value:
    """a * b + c, whose parts a float64 holds; a float32 where there is none may round the sum twice."""
    kind = Kind.FLOAT64 if f.ctx.options.float64 else Kind.FLOAT32
    x, y, z = (cast(f, node, v, kind) for v in (a, b, c))
    return arith.binary(f, node, "Add", arith.binary(f, node, "Mult", x, y), z)


def _in_float32(function: Any, f: Frame, node: ast.AST, x: Value) -> Anything:
    """A function of several operations, of which only the last rounds to 16 bits."""
    return applied(f, node, function, cast(f, node, x, Kind.FLOAT32))


HALVES: dict[str, Any] = {
    "habs": abs,
    "hadd": operator.add,
    "hceil": np.ceil,
    "hdiv": operator.truediv,
    "hexp10": partial(_in_float32, mathlib_device.exp10),
    "hfloor": np.floor,
    "hfma": partial(_exact),
    "hmax": max,
    "hmin": min,
    "hmul": operator.mul,
    "hneg": operator.neg,
    "hrcp": mathlib_device.reciprocal,
    "hrint": np.rint,
    "hrsqrt": partial(_in_float32, mathlib_device.rsqrt),
    "hsub": operator.sub,
    "htrunc": np.trunc,
    **{f"h{name}": getattr(math, name) for name in ("cos", "exp", "exp2", "log", "log10", "log2", "sin", "sqrt")},
}
for _name, _count in fp16.ARGUMENTS.items():
    _function = HALVES.get(_name) or getattr(operator, _name.removeprefix("h"))
    _results = "b" if _name not in HALVES else "h"
    call(getattr(fp16, _name))(partial(_fixed, _function, _results, "h" * _count, f"cuda.fp16.{_name}"))
