"""Comparisons: exact also between int32 and uint32."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import INT32_MAX, INT64_MAX, RANGE, Complex, Kind, Value, constant, weak
from smmux.compiler.python import floats
from smmux.compiler.python.arith import logical_not
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import as_complex, exact_in_float32, number, operand, result, settle, to_kind
from smmux.compiler.python.float_arithmetic import to_float
from smmux.compiler.python.promotion import together
from smmux.compiler.python.python_operators import SYMBOL
from smmux.compiler.python.typed_values import Anything, Static, Tuple
from smmux.source.attributes import trusted
from smmux.source.constants import COMPARISONS

PTX = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}


def compare(f: Frame, node: ast.AST, op: str, left: Anything, right: Anything) -> Value:
    """left op right."""
    if op in ("Is", "IsNot") or isinstance(left, Static) or isinstance(right, Static):
        return _static(f, node, op, left, right)
    if op not in COMPARISONS:
        raise f.error(node, f"comparison {op} is not supported; use ==, !=, <, <=, > or >=")
    if isinstance(left, Tuple) and isinstance(right, Tuple) and op in ("Eq", "NotEq"):
        equal = _tuples_equal(f, node, left, right)
        return equal if op == "Eq" else logical_not(f, equal)
    if isinstance(left, Complex) or isinstance(right, Complex):
        return _complex(f, node, op, left, right)
    return numbers(f, node, op, number(f, node, left), number(f, node, right))


def _complex(f: Frame, node: ast.AST, op: str, left: Anything, right: Anything) -> Value:
    """Equality of complex numbers, or of one with a real one: that of their parts."""
    if op not in ("Eq", "NotEq"):
        raise f.error(node, "complex numbers have no order; compare .real, .imag or abs(...)")
    x, y = (v if isinstance(v, Complex) else as_complex(number(f, node, v)) for v in (left, right))
    equal = both(f, numbers(f, node, "Eq", x.re, y.re), numbers(f, node, "Eq", x.im, y.im))
    return equal if op == "Eq" else logical_not(f, equal)


def numbers(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """a op b for numbers."""
    value = _compared(f, node, op, a, b)
    integers = not (a.kind.floating or b.kind.floating or value.known or f.ctx.dry)
    if integers and (outcome := _certain(op, a, b)) is not None:
        f.ctx.outcomes[value.operand] = outcome
    return value


def _compared(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    if a.known and b.known:
        return weak(bool(COMPARISONS[op](a.const, b.const)))
    a, b = settle(f, node, a, "comparison"), settle(f, node, b, "comparison")
    kind = Kind.INT32 if a.kind is b.kind is Kind.BOOL else together(f, a, b)
    if kind.wide or kind is Kind.FLOAT16 or _out_of_range(a, kind) or _out_of_range(b, kind):
        return _wide(f, node, op, a, b, kind)
    if kind.floating:
        if a.kind is not b.kind and not (exact_in_float32(a) and exact_in_float32(b)):
            f.note(node, "Numba compares in float64: write float32(...) around literals and integers")
        return _emit(f, op, "f32", to_float(f, node, a), to_float(f, node, b))
    if kind is Kind.UINT32 and a.kind is not b.kind and not (a.kind.weak or b.kind.weak):
        return _mixed(f, node, op, a, b)
    return _emit(f, op, "u32" if kind is Kind.UINT32 else "s32", to_kind(f, node, a, kind), to_kind(f, node, b, kind))


def _out_of_range(value: Value, kind: Kind) -> bool:
    """True for a literal that the other operand's type does not hold."""
    return (
        value.kind is Kind.WEAK_INT
        and value.known
        and kind.integral
        and not kind.wide
        and (not RANGE[kind][0] <= value.const <= RANGE[kind][1])
    )


def _wide(f: Frame, node: ast.AST, op: str, a: Value, b: Value, kind: Kind) -> Value:
    """Compare numbers of which one has two words, or int32 with uint32; integers by their exact values."""
    if a.kind.floating or b.kind.floating:
        x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
        if not kind.double:
            return _emit(f, op, "f32", x, y)
        f.needs_double(node)
        return result(Kind.BOOL, floats.compare(f, "neu" if op == "NotEq" else PTX[op], x, y), 0, 1)
    outcome = _by_bounds(op, a, b)
    if outcome is not None and not f.ctx.dry:
        return weak(outcome)
    if {a.kind, b.kind} == {Kind.INT32, Kind.UINT32}:
        return _mixed(f, node, op, a, b)
    x, y = (to_kind(f, node, v, Kind.INT32) if v.kind is Kind.BOOL else v for v in (a, b))
    if max(x.hi, y.hi) > INT64_MAX:
        return _unsigned(f, node, op, x, y)
    x, y = (words.extend(f.b, v, Kind.INT64) for v in (x, y))
    return result(Kind.BOOL, words.compare(f.b, PTX[op], x, y), 0, 1)


def _by_bounds(op: str, a: Value, b: Value) -> bool | None:
    """What a comparison of integers gives whatever their values; None if that depends on them."""
    if a.hi < b.lo:
        return op in ("Lt", "LtE", "NotEq")
    if a.lo > b.hi:
        return op in ("Gt", "GtE", "NotEq")
    return None


def _certain(op: str, a: Value, b: Value) -> bool | None:
    """The same where the bounds may touch: of no use for the program, but it tells what no thread gets to."""
    if a.hi == b.lo and op in ("LtE", "Gt"):
        return op == "LtE"
    if a.lo == b.hi and op in ("GtE", "Lt"):
        return op == "GtE"
    return _by_bounds(op, a, b)


def _unsigned(f: Frame, node: ast.AST, op: str, x: Value, y: Value) -> Value:
    """Compare integers, one of which may pass the largest int64: a negative number is less than all such."""
    unsigned = [words.extend(f.b, v, Kind.UINT64) for v in (x, y)]
    outcome = result(Kind.BOOL, words.compare(f.b, PTX[op], *unsigned), 0, 1)
    for value, less in ((x, op in ("Lt", "LtE", "NotEq")), (y, op in ("Gt", "GtE", "NotEq"))):
        if value.lo < 0:
            sign = f.b.op("setp.lt.s32", ir.Type.PRED, words.high_word(f.b, value), words.ZERO)
            negative = result(Kind.BOOL, sign, 0, 1)
            outcome = either(f, negative, outcome) if less else both(f, logical_not(f, negative), outcome)
    return outcome


def _emit(f: Frame, op: str, suffix: str, x: Value, y: Value) -> Value:
    if suffix == "u32" and op in ("Eq", "NotEq"):
        suffix = "s32"
    name = "neu" if (op, suffix) == ("NotEq", "f32") else PTX[op]
    return result(Kind.BOOL, f.b.op(f"setp.{name}.{suffix}", ir.Type.PRED, operand(f, x), operand(f, y)), 0, 1)


def _mixed(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> Value:
    """Compare int32 with uint32: a negative number is less than every unsigned one."""
    if a.kind is Kind.UINT32:
        a, b, op = b, a, MIRRORED[op]
    a = replace(a, kind=Kind.INT32) if a.kind is not Kind.BOOL else to_kind(f, node, a, Kind.INT32)
    if b.hi <= INT32_MAX:
        return _emit(f, op, "s32", a, to_kind(f, node, b, Kind.INT32))
    unsigned = _emit(f, op, "u32", to_kind(f, node, a, Kind.UINT32), b)
    if a.lo >= 0:
        return unsigned
    zero = constant(Kind.INT32, 0)
    if op in ("Lt", "LtE", "NotEq"):
        negative, combine = _emit(f, "Lt", "s32", a, zero), "or.pred"
    else:
        negative, combine = _emit(f, "GtE", "s32", a, zero), "and.pred"
    return result(Kind.BOOL, f.b.op(combine, ir.Type.PRED, operand(f, negative), operand(f, unsigned)), 0, 1)


def both(f: Frame, a: Value, b: Value) -> Value:
    """a and b, for conditions that are already computed."""
    if a.known or b.known:
        value, other = (a, b) if a.known else (b, a)
        return other if value.const else weak(False)
    return result(Kind.BOOL, f.b.op("and.pred", ir.Type.PRED, operand(f, a), operand(f, b)), 0, 1)


def either(f: Frame, a: Value, b: Value) -> Value:
    """a or b, for conditions that are already computed."""
    if a.known or b.known:
        value, other = (a, b) if a.known else (b, a)
        return weak(True) if value.const else other
    return result(Kind.BOOL, f.b.op("or.pred", ir.Type.PRED, operand(f, a), operand(f, b)), 0, 1)


def _tuples_equal(f: Frame, node: ast.AST, left: Tuple, right: Tuple) -> Value:
    equal = weak(len(left.items) == len(right.items))
    for x, y in zip(left.items, right.items, strict=False):
        equal = both(f, equal, compare(f, node, "Eq", x, y))
    return equal


def _static(f: Frame, node: ast.AST, op: str, left: Anything, right: Anything) -> Value:
    """Compare compile-time objects: `x is None`, dtypes, strings."""
    if not (isinstance(left, Static) and isinstance(right, Static)):
        if op in ("Is", "IsNot") and (isinstance(left, Static) or isinstance(right, Static)):
            return weak(op == "IsNot")
        raise f.error(node, "only numbers can be compared in a kernel, and compile-time objects with each other")
    x, y = left.object, right.object
    if op in ("Is", "IsNot"):
        return weak((x is y) == (op == "Is"))
    if op not in ("Eq", "NotEq") or not (trusted(type(x)) and trusted(type(y))):
        raise f.error(node, f"comparison {SYMBOL[op]} of compile-time objects is not supported")
    return weak(bool(COMPARISONS[op](x, y)))
