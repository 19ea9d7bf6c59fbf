"""Slices and other views of arrays: `a[1:n]`, `a[i, ::-1]`, `a[..., None]`, `a.ravel()`, and stores to them.

A bound that is known only at run time is clipped to its axis by operations, as Python clips it, and the extent of the
view is then a number of the kernel.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import INT32_MAX, Complex, Kind, Value, constant, extent_value
from smmux.compiler.python import arith, array_access, fills
from smmux.compiler.python.array_declarations import contiguous, shape_of
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, number, operand
from smmux.compiler.python.indexing import countable, locate, scaled, too_many
from smmux.compiler.python.inlining import inline
from smmux.compiler.python.rules import evaluate, expression
from smmux.compiler.python.typed_values import Anything, ArrayRef, Choice, Static, Tuple
from smmux.source.function_source import from_function

MAX_AXES = 3
"""Axes of a slice that may be stored to: one loop each, written out in `fills`."""


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """lower:upper:step between brackets; None for what is left out."""

    lower: Value | None
    upper: Value | None
    step: Value | None


@expression(ast.Slice)
def slice_(f: Frame, node: ast.Slice) -> Static:
    """lower:upper:step."""
    bounds = [
        None if part is None else _bound(f, part, evaluate(f, part)) for part in (node.lower, node.upper, node.step)
    ]
    return Static(Slice(*bounds))


def _bound(f: Frame, node: ast.AST, value: Anything) -> Value | None:
    if isinstance(value, Static) and value.object is None:
        return None
    bound = number(f, node, value)
    if bound.kind.floating:
        raise f.error(node, "a slice needs integers, not floats")
    return bound


def between_brackets(f: Frame, node: ast.Subscript) -> Anything:
    """What picks elements of an array."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(part, ast.List) for part in parts):
        raise f.error(node, "a list is no index; index one element at a time")
    return evaluate(f, node.slice)


def is_view(value: Anything) -> bool:
    """Whether what stands between brackets picks a view: it has a slice, `...` or None."""
    items = value.items if isinstance(value, Tuple) else (value,)
    return any(isinstance(item, Static) and _special(item) for item in items)


def _special(item: Static) -> bool:
    return _no_axis(item) or isinstance(item.object, Slice)


def _no_axis(item: Static) -> bool:
    return item.object is None or item.object is Ellipsis


def view(f: Frame, node: ast.AST, array: ArrayRef, value: Anything) -> ArrayRef:
    """The view that slices, `...`, None and integers pick."""
    shape: list[int | Value] = []
    strides: list[int] = []
    rest = array
    for item in _expanded(f, node, array, value):
        if isinstance(item, Static) and item.object is None:
            shape.append(1)
            strides.append(0)
            continue
        axis = replace(rest, shape=(rest.shape[0], 1), strides=(rest.strides[0], 0))
        if isinstance(item, Static):
            assert isinstance(item.object, Slice)
            picked, extent, stride = _along(f, node, axis, item.object)
            shape.append(extent)
            strides.append(stride)
        else:
            picked = locate(f, node, axis, [_word(f, node, item)])
        rest = replace(rest, base=picked.base, offset=picked.offset, shape=rest.shape[1:], strides=rest.strides[1:])
    return replace(rest, shape=tuple(shape), strides=tuple(strides))


def _expanded(f: Frame, node: ast.AST, array: ArrayRef, value: Anything) -> list[Anything]:
    """An item per axis, and None for new ones."""
    items = list(value.items if isinstance(value, Tuple) else (value,))
    dots = [i for i, item in enumerate(items) if isinstance(item, Static) and item.object is Ellipsis]
    if len(dots) > 1:
        raise f.error(node, "an index can only have one ...")
    count = sum(not (isinstance(item, Static) and _no_axis(item)) for item in items)
    missing = len(array.shape) - count
    if missing < 0:
        raise too_many(f, node, array, count)
    place = dots[0] if dots else len(items)
    everything: Anything = Static(Slice(None, None, None))
    return [*items[:place], *[everything] * missing, *items[place + len(dots) :]]


def _word(f: Frame, node: ast.AST, item: Anything) -> Value:
    """An index or bound as one word."""
    index = number(f, node, item)
    if index.kind.floating:
        raise f.error(node, "an array index has to be an integer, not a float; write int(...) or use //")
    if index.kind is Kind.BOOL:
        index = cast(f, node, index, Kind.INT32)
    return index if index.known or f.ctx.dry or not index.kind.wide else words.index_word(f.b, index)


def _along(f: Frame, node: ast.AST, axis: ArrayRef, cut: Slice) -> tuple[ArrayRef, int | Value, int]:
    """The first element that a slice of the first axis picks, their number, and the distance between them."""
    if cut.step is not None and not cut.step.known:
        if f.ctx.dry:
            return axis, extent_value(None), axis.strides[0]
        raise f.error(
            node,
            "the step of a slice has to be a compile-time constant; write a for loop over range(start, stop, step)",
        )
    step = 1 if cut.step is None else int(cut.step.const)
    if step == 0:
        raise f.error(node, "the step of a slice must not be 0")
    countable(f, node, axis, 1)
    n = axis.shape[0]
    bounds = [bound and _word(f, node, bound) for bound in (cut.lower, cut.upper)]
    if isinstance(n, int) and all(bound is None or bound.known for bound in bounds):
        first, last = (None if bound is None else int(bound.const) for bound in bounds)
        start, stop, _ = slice(first, last, step).indices(n)
        length = len(range(start, stop, step))
        return (
            replace(axis, offset=axis.offset + (start * axis.strides[0] if length else 0)),
            length,
            step * axis.strides[0],
        )
    front, behind = (None, n) if step > 0 else (_plus(f, n, -1), -1)
    begin: int | Value | None = front if bounds[0] is None else _clipped(f, bounds[0], n, step)
    end = behind if bounds[1] is None else _clipped(f, bounds[1], n, step)
    extent = _length(f, node, begin or constant(Kind.INT32, 0), end, step)
    if begin is None:  # a view whose extent is a number has a base too, so that it can be another one on another path
        return replace(axis, base=axis.base or constant(Kind.INT32, 0)), extent, step * axis.strides[0]
    base = scaled(
        f, node, axis.base, begin if isinstance(begin, Value) else constant(Kind.INT32, begin), axis.strides[0]
    )
    return replace(axis, base=base), extent, step * axis.strides[0]


def _operand(f: Frame, value: int | Value) -> ir.Operand:
    return ir.Imm(value & 0xFFFFFFFF, ir.Type.S32) if isinstance(value, int) else operand(f, value)


def _high(value: int | Value) -> int:
    return value if isinstance(value, int) else min(value.hi, INT32_MAX)


def _plus(f: Frame, n: int | Value, more: int) -> int | Value:
    if isinstance(n, int):
        return n + more
    return Value(Kind.INT32, f.b.op("add.s32", ir.Type.S32, _operand(f, n), _operand(f, more)), None, more, _high(n))


def _clipped(f: Frame, bound: Value, n: int | Value, step: int) -> int | Value:
    """A bound of a slice within its axis: a negative one counts from the end."""
    low, high = (0, n) if step > 0 else (-1, _plus(f, n, -1))
    if bound.known and isinstance(n, int):
        start, stop, _ = slice(bound.const, bound.const, step).indices(n)
        return start
    at: ir.Operand
    if bound.known:
        limit = max(-INT32_MAX, min(int(bound.const), INT32_MAX))
        at = _operand(f, limit) if limit >= 0 else f.b.op("add.s32", ir.Type.S32, _operand(f, n), _operand(f, limit))
    else:
        at = operand(f, bound)
        if bound.hi > INT32_MAX:  # unsigned
            at = f.b.op("min.u32", ir.Type.S32, at, _operand(f, INT32_MAX))
        elif bound.lo < 0:
            sign = f.b.op("shr.s32", ir.Type.S32, at, _operand(f, 31))
            at = f.b.op("add.s32", ir.Type.S32, at, f.b.op("and.b32", ir.Type.S32, sign, _operand(f, n)))
    if not (bound.lo >= 0 and low == 0):
        at = f.b.op("max.s32", ir.Type.S32, at, _operand(f, low))
    return Value(Kind.INT32, f.b.op("min.s32", ir.Type.S32, at, _operand(f, high)), None, low, _high(n))


def _length(f: Frame, node: ast.AST, start: int | Value, stop: int | Value, step: int) -> int | Value:
    """The elements from start to stop, in steps."""
    if step < 0:
        start, stop, step = stop, start, -step
    if isinstance(start, Value) and start.const == 0:
        distance = stop
    else:
        difference = f.b.op("sub.s32", ir.Type.S32, _operand(f, stop), _operand(f, start))
        positive = f.b.op("max.s32", ir.Type.S32, difference, _operand(f, 0))
        distance = Value(Kind.INT32, positive, None, 0, min(_high(stop) + 1, INT32_MAX))
    if isinstance(distance, int):
        return -(-max(distance, 0) // step)
    if step > 1:
        more = _plus(f, distance, step - 1)
        assert isinstance(more, Value)
        distance = arith.binary(f, node, "FloorDiv", replace(more, lo=0), constant(Kind.INT32, step))
    return extent_value(distance.operand, _high(distance))


# -- stores


_FILLS: dict[bool, tuple[Any, Any, Any]] = {
    True: (fills.fill1, fills.fill2, fills.fill3),
    False: (fills.copy1, fills.copy2, fills.copy3),
}


def store(f: Frame, node: ast.AST, target: ArrayRef, value: Anything) -> None:
    """view = a number for all elements, or an array of the same shape."""
    if not target.shape:
        array_access.store(f, node, target, [], value)
        return
    if len(target.shape) > MAX_AXES:
        raise f.error(node, f"slices of at most {MAX_AXES} dimensions can be stored to; index one element at a time")
    if isinstance(value, ArrayRef):
        if isinstance(value.storage, Choice) or isinstance(target.storage, Choice) or _memory(value) == _memory(target):
            raise f.error(node, "a slice of an array is stored to a slice of the same one; copy the elements in a loop")
        if value.shape != target.shape and not f.ctx.dry:
            raise f.error(node, "only an array of the same constant shape can be stored to a slice; use a loop")
    elif not isinstance(value, Value | Complex):
        number(f, node, value)
    function = _FILLS[not isinstance(value, ArrayRef)][len(target.shape) - 1]
    inline(f, node, from_function(function, device=True, library=True), [target, value], {})


def _memory(array: ArrayRef) -> object:
    storage = array.storage
    return (storage.space, storage.index) if isinstance(storage, ir.Storage) else storage


# -- other views


def reshaped(f: Frame, node: ast.AST, array: ArrayRef, shape: Anything | None) -> ArrayRef:
    """a.reshape(...) of a contiguous array, or a.ravel() without a shape."""
    if any(isinstance(extent, Value) for extent in array.shape) or array.strides != contiguous(array.shape):
        raise f.error(node, "only contiguous arrays of constant shape can be reshaped")
    elements = math.prod(array.shape)
    if shape is None:
        extents: tuple[int, ...] = (elements,)
    else:
        items = shape.items if isinstance(shape, Tuple) else (shape,)
        open_axes = [i for i, item in enumerate(items) if isinstance(item, Value) and item.const == -1]
        others = tuple(item for i, item in enumerate(items) if i not in open_axes[:1])
        extents = known = shape_of(f, node, Tuple(others)) if others or not open_axes else ()
        if open_axes:
            rest = elements // max(math.prod(known), 1)
            extents = (*known[: open_axes[0]], rest, *known[open_axes[0] :])
    if math.prod(extents) != elements:
        raise f.error(node, f"an array of {elements} elements cannot be reshaped to {extents}")
    return replace(array, shape=extents, strides=contiguous(extents))
