"""What a for loop runs over beside ranges and tuples: arrays, and `enumerate`, `zip` and `reversed` of anything."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from smmux.compiler import ir
from smmux.compiler.build.numbers import INT32_MAX, INT64_MAX, Kind, Value, constant, weak
from smmux.compiler.python import arith, array_access, array_declarations, compare, ranges
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, number, operand, result
from smmux.compiler.python.indexing import countable
from smmux.compiler.python.rules import CALLS, call
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple


@dataclass(frozen=True, eq=False)
class Sequence:
    """Items that a loop finds by their number. whole: the number has to be known, as that of a tuple's item."""

    length: Value
    item: Callable[[ast.AST, Value], Anything]
    whole: bool = False

    def __str__(self) -> str:
        return "that range, zip, enumerate or reversed makes; loop over it"


def as_array(f: Frame, node: ast.AST, value: Anything) -> Anything:
    """A captured NumPy array as a constant array of the kernel; any other value as it is."""
    if isinstance(value, Static) and isinstance(value.object, np.ndarray):
        return array_declarations.declare_const(f, node, value)
    return value


def sequence(f: Frame, node: ast.AST, value: Anything) -> Sequence | None:
    """The items of a value; None if it has none."""
    value = as_array(f, node, value)
    if isinstance(value, Tuple):
        return Sequence(weak(len(value.items)), partial(_tuple_item, f, value), whole=True)
    if isinstance(value, ArrayRef) and value.shape:
        countable(f, node, value, axes=1)
        return Sequence(value.extents[0], partial(_element, f, value))
    if isinstance(value, Static) and isinstance(value.object, Sequence):
        return value.object
    return None


def _tuple_item(f: Frame, items: Tuple, node: ast.AST, i: Value) -> Anything:
    if not i.known:
        raise f.error(node, "items of a tuple are known by number only while the kernel is compiled")
    item: Anything = items.items[i.const]
    return item


def _element(f: Frame, array: ArrayRef, node: ast.AST, i: Value) -> Anything:
    return array_access.load(f, node, array, array_access.indices(f, node, i))


def _needed(f: Frame, node: ast.AST, value: Anything) -> Sequence:
    found = sequence(f, node, value)
    if found is None:
        raise f.error(node, "an array, a tuple or range(...) is needed here")
    return found


# -- functions that make sequences


@call(range)
def numbers(f: Frame, node: ast.Call, *bounds: Anything) -> Static:
    """range(...) as a value."""
    over = ranges.make(f, node, [number(f, node, bound) for bound in bounds])
    return Static(Sequence(_trips(f, node, over), partial(_number, f, over)))


def _number(f: Frame, over: ranges.Range, node: ast.AST, i: Value) -> Anything:
    reached = arith.binary(f, node, "Add", over.start, arith.binary(f, node, "Mult", i, over.step))
    return reached if over.counted is over.kind else cast(f, node, reached, over.kind)


def _trips(f: Frame, node: ast.AST, over: ranges.Range) -> Value:
    """How many numbers a range has."""
    start, stop, step = over.start, over.stop, over.step
    if start.known and stop.known and step.known:
        return weak(ranges.trips(start.const, stop.const, step.const))
    if f.ctx.dry:
        return replace(stop, const=None, operand=None) if over.counted is over.kind is stop.kind else _many(over)
    if not step.known:
        raise f.error(node, "a range whose step is not a constant can only stand in a for statement")
    if over.kind in (Kind.INT32, Kind.UINT32):
        return _trips_in_32_bits(f, node, over)
    return _trips_in_64_bits(f, node, over)


def _many(over: ranges.Range) -> Value:
    """A number of items that is not known."""
    return Value(Kind.INT64 if over.kind is Kind.UINT64 else over.kind, None, None, 0, INT64_MAX)


def _trips_in_64_bits(f: Frame, node: ast.AST, over: ranges.Range) -> Value:
    """As many as an int64 holds: from the distance of the bounds, which a uint64 holds."""
    start, stop = over.start, over.stop
    if start.kind is over.kind is not stop.kind:  # the numbers end where the int64 does in which they are counted
        stop = _call(f, node, min, stop, constant(stop.kind, INT64_MAX))
    first, behind = (start, stop) if over.step.const > 0 else (stop, start)
    some = compare.numbers(f, node, "Lt", first, behind)
    first, behind, one = (cast(f, node, v, Kind.UINT64) for v in (first, behind, weak(1)))
    steps = arith.binary(f, node, "Sub", arith.binary(f, node, "Sub", behind, first), one)
    size = constant(Kind.UINT64, abs(over.step.const))
    distance = arith.binary(f, node, "Add", arith.binary(f, node, "FloorDiv", steps, size), one)
    trips = _call(f, node, min, distance, constant(Kind.UINT64, INT64_MAX))
    kind = _many(over).kind
    return arith.select(f, node, some, cast(f, node, trips, kind), constant(kind, 0))


def _trips_in_32_bits(f: Frame, node: ast.AST, over: ranges.Range) -> Value:
    """As many as an int32 holds: from the distance of the bounds, which a uint32 holds."""
    first, behind = (over.start, over.stop) if over.step.const > 0 else (over.stop, over.start)
    some = compare.numbers(f, node, "Lt", first, behind)
    one = ir.Imm(1, ir.Type.U32)
    distance = f.b.op("sub.s32", ir.Type.U32, operand(f, behind), operand(f, first))
    steps = f.b.op("sub.s32", ir.Type.U32, distance, one)
    if abs(over.step.const) > 1:
        steps = f.b.op("div.u32", ir.Type.U32, steps, ir.Imm(abs(over.step.const), ir.Type.U32))
    trips = f.b.op("min.u32", ir.Type.S32, f.b.op("add.s32", ir.Type.U32, steps, one), ir.Imm(INT32_MAX, ir.Type.U32))
    zero = ir.Imm(0, ir.Type.S32)
    return result(Kind.INT32, f.b.op("selp.b32", ir.Type.S32, trips, zero, operand(f, some)), 0, INT32_MAX)


def _call(f: Frame, node: ast.AST, function: Any, *arguments: Value) -> Value:
    value = CALLS[id(function)][1](f, node, *arguments)
    assert isinstance(value, Value)
    return value


@call(enumerate)
def enumerated(f: Frame, node: ast.AST, value: Anything, start: Anything | None = None) -> Anything:
    """enumerate(items, start)"""
    inner, first = _needed(f, node, value), weak(0) if start is None else number(f, node, start)
    if isinstance(value, Tuple) and first.known:
        return Tuple(tuple(Tuple((weak(first.const + i), item)) for i, item in enumerate(value.items)))

    def item(at: ast.AST, i: Value) -> Tuple:
        return Tuple((arith.binary(f, at, "Add", first, i), inner.item(at, i)))

    return Static(replace(inner, item=item))


@call(zip)
def zipped(f: Frame, node: ast.AST, *values: Anything) -> Anything:
    """zip(items, ...)"""
    tuples = [value.items for value in values if isinstance(value, Tuple)]
    if len(tuples) == len(values):
        return Tuple(tuple(map(Tuple, zip(*tuples, strict=False))))
    inner = [_needed(f, node, value) for value in values]
    length = inner[0].length
    for other in inner[1:]:
        shorter = compare.numbers(f, node, "Lt", length, other.length)
        known = (length if shorter.const else other.length) if shorter.known else None
        length = known or _call(f, node, min, length, other.length)
    whole = any(one.whole for one in inner)
    if whole and not length.known and not f.ctx.dry:
        raise f.error(node, "zip of a tuple needs arrays, tuples and ranges of known lengths")
    return Static(Sequence(length, lambda at, i: Tuple(tuple(one.item(at, i) for one in inner)), whole))


@call(reversed)
def backwards(f: Frame, node: ast.AST, value: Anything) -> Anything:
    """reversed(items)"""
    if isinstance(value, Tuple):
        return Tuple(value.items[::-1])
    inner = _needed(f, node, value)
    last = arith.binary(f, node, "Sub", inner.length, weak(1))
    return Static(replace(inner, item=lambda at, i: inner.item(at, arith.binary(f, at, "Sub", last, i))))
