"""From one type to another: literals to machine types, promotion of operands, casts, joins of definitions."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.typed_values import (
    DTYPES,
    INT32_MAX,
    INT32_MIN,
    MACHINE_TYPE,
    RANGE,
    STRONG,
    SUPPORTED,
    UINT32_MAX,
    Anything,
    ArrayRef,
    Kind,
    Static,
    Tuple,
    Value,
    bits,
    constant,
    describe,
    round32,
    same_view,
    type_name,
    weak,
)
from smmux.types import Scalar

FLOAT32_EXACT = 2**24  # integers up to this magnitude are float32 numbers
MAX_MACHINE_INT = {Kind.INT32: INT32_MAX, Kind.UINT32: UINT32_MAX}


def operand(f: Frame, value: Value) -> ir.Operand:
    """The machine's operand that holds a number."""
    if value.known:
        return ir.Imm(bits(value.kind, value.const), MACHINE_TYPE[value.kind])
    return value.operand if value.operand is not None else f.b.reg(MACHINE_TYPE[value.kind])


def result(kind: Kind, reg: ir.Operand, lo: int = INT32_MIN, hi: int = UINT32_MAX, drift: bool = False) -> Value:
    """A number in a register, its bounds limited by its type."""
    low, high = RANGE.get(kind, (0, 0))
    return Value(kind, reg, None, max(lo, low), min(hi, high), drift)


def number(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The value itself, if it is a number; else a CompileError."""
    if isinstance(value, Value):
        return value
    if isinstance(value, ArrayRef):
        missing = len(value.shape)
        raise f.error(
            node,
            f"{value.name!r} is {type_name(value)} here; {missing} more ind{'ex' if missing == 1 else 'ices'} needed",
        )
    raise f.error(node, f"a number is needed here, not {type_name(value)}")


def settle(f: Frame, node: ast.AST, value: Value, what: str) -> Value:
    """A value about to be used where its upper bits matter; noted if Numba's wider result could differ there."""
    if value.drift:
        wide, cast = ("float64", "float32") if value.kind.floating else ("int64", value.kind.value)
        f.note(node, f"{what} uses a value that Numba holds as {wide}: write {cast}(...) around it")
        return replace(value, drift=False)
    return value


def strong(f: Frame, node: ast.AST, value: Value) -> Value:
    """The value with a machine type: an int literal becomes int32, a float literal float32."""
    return to_kind(f, node, value, STRONG.get(value.kind, value.kind))


def to_kind(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    """Implicit conversion of an operand to the type of the operation."""
    if value.kind is kind:
        return value
    if value.kind is Kind.WEAK_INT and kind in MAX_MACHINE_INT:
        _check_literal(f, node, value, kind)
    return cast(f, node, value, kind)


def _check_literal(f: Frame, node: ast.AST, value: Value, kind: Kind) -> None:
    low, high = RANGE[kind]
    if value.known and not low <= value.const <= high:
        hint = f"; write uint32({value.const})" if kind is Kind.INT32 and 0 < value.const <= UINT32_MAX else ""
        raise f.error(node, f"integer {value.const} does not fit {kind.value}{hint}")


def cast(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    """Conversion as by a cast: wraps integers, rounds towards zero from float32."""
    if value.kind is kind:
        return replace(value, drift=False) if value.drift else value
    if value.known:
        return _cast_constant(f, node, value, kind)
    if kind is Kind.BOOL:
        return truth(f, node, value)
    if value.kind is Kind.BOOL:
        one, zero = constant(kind, 1), constant(kind, 0)
        return result(
            kind, f.b.op("selp.b32", MACHINE_TYPE[kind], operand(f, one), operand(f, zero), operand(f, value)), 0, 1
        )
    if kind.floating:
        if value.kind.floating:
            return replace(value, kind=kind, drift=False)
        value = settle(f, node, value, "conversion to float32")
        name = "cvt.rn.f32.u32" if value.kind is Kind.UINT32 else "cvt.rn.f32.s32"
        return result(kind, f.b.op(name, ir.Type.F32, operand(f, value)))
    if value.kind.floating:
        value = settle(f, node, value, f"conversion to {kind.value}")
        name = "cvt.rzi.u32.f32" if kind is Kind.UINT32 else "cvt.rzi.s32.f32"
        return result(kind, f.b.op(name, MACHINE_TYPE[kind], operand(f, value)))
    low, high = RANGE.get(kind, (INT32_MIN, INT32_MAX))
    if low <= value.lo and value.hi <= high:
        return Value(kind, value.operand, None, value.lo, value.hi)
    return Value(kind, value.operand, None, low, high)


def _cast_constant(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    content = value.const
    if kind is Kind.BOOL:
        return weak(bool(content))
    if value.kind.floating and kind.integral:
        if content != content or content in (float("inf"), float("-inf")):
            raise f.error(node, f"cannot convert {content} to {kind.value}")
        content = int(content)
    return constant(kind, content)


def cast_to(f: Frame, node: ast.AST, value: Value, dtype: Scalar) -> Value:
    """A cast written in the source, or the conversion by a store: `uint8(x)` keeps 8 bits, as an int32."""
    element = element_type(f, node, dtype)
    value = cast(f, node, value, element.kind)
    if element.size == 4 or element.kind is Kind.BOOL or (element.lo <= value.lo and value.hi <= element.hi):
        return value
    if value.known:
        span = element.hi - element.lo + 1
        return constant(element.kind, (value.const - element.lo) % span + element.lo)
    name = f"cvt.{'s32.s' if element.signed else 'u32.u'}{8 * element.size}"
    return result(element.kind, f.b.op(name, ir.Type.S32, operand(f, value)), element.lo, element.hi)


def element_type(f: Frame, node: ast.AST, dtype: Scalar):  # type: ignore[no-untyped-def]
    """The behaviour of loads and stores of a type."""
    if dtype.name not in DTYPES:
        raise f.error(node, f"{dtype.name} is not supported by the machine; supported are {SUPPORTED}")
    return DTYPES[dtype.name]


def truth(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The value as a condition."""
    if isinstance(value, Static) and value.object is None:
        return weak(False)
    if isinstance(value, Tuple):
        return weak(bool(value.items))
    value = number(f, node, value)
    if value.kind is Kind.BOOL:
        return value
    if value.known:
        return weak(bool(value.const))
    value = settle(f, node, value, "condition")
    name = "setp.neu.f32" if value.kind.floating else "setp.ne.s32"
    return result(
        Kind.BOOL, f.b.op(name, ir.Type.PRED, operand(f, value), operand(f, constant(strong_kind(value.kind), 0))), 0, 1
    )


def strong_kind(kind: Kind) -> Kind:
    """The machine type of a kind."""
    return STRONG.get(kind, kind)


def promoted(a: Kind, b: Kind) -> Kind:
    """Type of an arithmetic operation (NEP 50 on 32-bit types)."""
    if a.weak and b.weak:
        return Kind.WEAK_FLOAT if Kind.WEAK_FLOAT in (a, b) else Kind.WEAK_INT
    if a.floating or b.floating:
        return Kind.FLOAT32
    return Kind.UINT32 if Kind.UINT32 in (a, b) else Kind.INT32


def exact_in_float32(value: Value) -> bool:
    """True if the number converts to float32 without rounding, whatever it is at run time."""
    if value.known:
        return bool(value.const != value.const or round32(value.const) == value.const)
    return value.kind in (Kind.FLOAT32, Kind.BOOL) or (-FLOAT32_EXACT <= value.lo and value.hi <= FLOAT32_EXACT)


def float64_in_numba(f: Frame, node: ast.AST, *values: Value) -> bool:
    """True if compiled Numba computes an operation on these in float64, and rounding that gives our result.

    One +, -, *, / or sqrt of float32 numbers, computed in float64 and then rounded, is the float32 result; several are
    not.
    """
    wide = any(v.drift or v.kind is not Kind.FLOAT32 for v in values)
    for v in values:
        settle(f, node, v, "float arithmetic")
    if not wide:
        return False
    if all(map(exact_in_float32, values)):
        return True
    f.note(node, "Numba computes this in float64: write float32(...) around literals and integers")
    return False


class Conflict(Exception):
    """Two definitions of a variable have types that do not join."""


def join(a: Anything, b: Anything) -> Anything:
    """The type of a variable with two definitions."""
    if describe(a) == describe(b):
        return a
    if isinstance(a, Value) and isinstance(b, Value):
        joined = _join_numbers(a, b)
        return (
            a if describe(joined) == describe(a) else joined
        )  # the same object: inference is over when nothing changes
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        items = tuple(map(join, a.items, b.items))
        return a if all(x is y for x, y in zip(items, a.items, strict=True)) else Tuple(items)
    if isinstance(a, ArrayRef) and isinstance(b, ArrayRef) and a.dtype == b.dtype:
        if same_view(a, b):
            return a if a.base is not None else b
        if (a.shape, a.strides) == (b.shape, b.strides):
            return a  # several arrays of one type: which one has to be known wherever it is used
    raise Conflict


def _join_numbers(a: Value, b: Value) -> Value:
    drift = a.drift or b.drift
    if a.kind is b.kind:
        if not a.known and a.drift == drift and (a.lo, a.hi) == (Value(a.kind).lo, Value(a.kind).hi):
            return a  # already as wide as can be
        # Bounds are kept only while all definitions agree, so that inference comes to an end.
        return (
            Value(a.kind, None, None, a.lo, a.hi, drift) if (a.lo, a.hi) == (b.lo, b.hi) else Value(a.kind, drift=drift)
        )
    kinds = {a.kind, b.kind}
    if kinds == {Kind.WEAK_INT, Kind.WEAK_FLOAT}:
        return Value(Kind.WEAK_FLOAT)
    if Kind.BOOL in kinds and not (kinds & {Kind.FLOAT32, Kind.WEAK_FLOAT}):
        return Value(Kind.UINT32 if Kind.UINT32 in kinds else Kind.INT32, drift=drift)
    for literal, typed in ((a.kind, b.kind), (b.kind, a.kind)):
        if literal.weak and not typed.weak and (literal is Kind.WEAK_INT or typed is Kind.FLOAT32):
            # Numba's variable would be float64, since its literals are.
            return Value(typed, drift=drift or typed is Kind.FLOAT32)
    raise Conflict
