"""Items of tuples: by a constant index, or numbers by one that is known only at run time."""

from __future__ import annotations

import ast

from smmux.compiler import ir
from smmux.compiler.build.numbers import Kind, Value, constant, weak
from smmux.compiler.python import arith, array_access, compare, environment
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import number, operand
from smmux.compiler.python.rules import evaluate
from smmux.compiler.python.typed_values import Anything, Tuple

MOST_CHOSEN = 64
"""Numbers of a tuple among which a computed index chooses [EST], by as many selections; more belong into an array."""


def item(f: Frame, node: ast.Subscript, owner: Tuple) -> Anything:
    """owner[index], or owner[a:b]."""
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if e is None else number(f, node, evaluate(f, e)).const
            for e in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return Tuple(owner.items[slice(*bounds)])
    index = number(f, node, evaluate(f, node.slice))
    if not index.known:
        return _computed(f, node, owner, index)
    if not -len(owner.items) <= index.const < len(owner.items):
        raise f.error(node, f"index {index.const} outside a tuple of {len(owner.items)}")
    found: Anything = owner.items[index.const]
    return found


def _computed(f: Frame, node: ast.Subscript, owner: Tuple, index: Value) -> Anything:
    """A number of a tuple by an index known only at run time."""
    items = [number for number in owner.items if isinstance(number, Value)]
    if index.kind.floating or not 0 < len(owner.items) == len(items) <= MOST_CHOSEN:
        if f.ctx.dry and (any_item := environment.one_of(owner.items)) is not None:
            return any_item
        wanted = f"or an integer that picks one of at most {MOST_CHOSEN} numbers; use an array"
        raise f.error(node, f"the index of a tuple has to be a compile-time constant, {wanted}")
    f.at(node)
    at = _from_start(f, array_access.indices(f, node, index)[0], len(items))
    chosen = items[-1]
    for i in range(len(items) - 2, -1, -1):
        chosen = arith.select(f, node, compare.numbers(f, node, "Eq", at, weak(i)), items[i], chosen)
    return chosen


def _from_start(f: Frame, index: Value, count: int) -> Value:
    """An index from the first item; the launch ends where there is no such item."""
    if f.ctx.dry:
        return Value(Kind.INT32)
    low, high, at = index.lo, index.hi, operand(f, index)
    if low < 0:
        back = f.b.op("add.s32", ir.Type.S32, at, operand(f, constant(Kind.INT32, count)))
        negative = f.b.op("setp.lt.s32", ir.Type.PRED, at, operand(f, constant(Kind.INT32, 0)))
        at = f.b.op("selp.b32", ir.Type.S32, back, at, negative)
    if low < -count or high >= count:
        outside = f.b.op("setp.ge.u32", ir.Type.PRED, at, operand(f, constant(Kind.INT32, count)))
        f.b.trap(outside, ir.Trap("axis", f"a tuple of {count}"))
    return Value(Kind.INT32, at, None, 0, count - 1)
