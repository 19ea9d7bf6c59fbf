"""The functions of Python's module `operator`, and `sum`, `any` and `all` of a few numbers."""

from __future__ import annotations

import ast
import operator
from functools import partial
from typing import Any

from smmux.compiler.build.numbers import Value, weak
from smmux.compiler.python import arith, builtin, choices, compare, iteration
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import number, truth
from smmux.compiler.python.expression_rules import combine
from smmux.compiler.python.rules import call
from smmux.compiler.python.typed_values import Anything, Tuple

BINARY: dict[str, tuple[Any, ...]] = {
    "Add": (operator.add, operator.iadd),
    "Sub": (operator.sub, operator.isub),
    "Mult": (operator.mul, operator.imul),
    "Div": (operator.truediv, operator.itruediv),
    "FloorDiv": (operator.floordiv, operator.ifloordiv),
    "Mod": (operator.mod, operator.imod),
    "Pow": (operator.pow, operator.ipow),
    "LShift": (operator.lshift, operator.ilshift),
    "RShift": (operator.rshift, operator.irshift),
    "BitAnd": (operator.and_, operator.iand),
    "BitOr": (operator.or_, operator.ior),
    "BitXor": (operator.xor, operator.ixor),
}
COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
}


def _binary(op: str, f: Frame, node: ast.AST, a: Anything, b: Anything) -> Anything:
    return combine(f, node, op, a, b)


def _comparison(op: str, f: Frame, node: ast.AST, a: Anything, b: Anything) -> Value:
    return compare.compare(f, node, op, a, b)


for _op, _functions in BINARY.items():
    call(*_functions)(partial(_binary, _op))
for _op, _function in COMPARISONS.items():
    call(_function)(partial(_comparison, _op))


@call(operator.neg)
def negated(f: Frame, node: ast.AST, a: Anything) -> Value:
    """-a"""
    return arith.negate(f, node, number(f, node, a))


@call(operator.pos)
def as_it_is(f: Frame, node: ast.AST, a: Anything) -> Value:
    """+a"""
    return number(f, node, a)


@call(operator.inv, operator.invert)
def inverted(f: Frame, node: ast.AST, a: Anything) -> Value:
    """~a"""
    return arith.invert(f, node, number(f, node, a))


@call(operator.not_)
def denied(f: Frame, node: ast.AST, a: Anything) -> Value:
    """not a"""
    return arith.logical_not(f, truth(f, node, a))


@call(operator.truth)
def true(f: Frame, node: ast.AST, a: Anything) -> Value:
    """bool(a)"""
    return truth(f, node, a)


call(operator.abs)(builtin.absolute)


@call(operator.index)
def index(f: Frame, node: ast.AST, a: Anything) -> Value:
    """The integer itself."""
    x = number(f, node, a)
    if x.kind.floating:
        raise f.error(node, f"operator.index takes an integer, not {x.kind.value}; write int(...)")
    return x


@call(operator.contains)
def contains(f: Frame, node: ast.AST, items: Anything, a: Anything) -> Value:
    """a in items"""
    return choices.membership(f, node, ast.In(), a, items)


# -- of a few numbers


def _items(f: Frame, node: ast.AST, value: Anything, name: str) -> list[Anything]:
    if not isinstance(value, Tuple):
        kind = "an array" if iteration.sequence(f, node, value) is not None else "anything else"
        raise f.error(node, f"{name} takes a tuple in a kernel, not {kind}; use a for loop")
    return list(value.items)


@call(sum)
def total(f: Frame, node: ast.AST, value: Anything, start: Anything | None = None) -> Anything:
    """sum((a, b, ...), start)"""
    result: Anything = weak(0) if start is None else start
    for item in _items(f, node, value, "sum"):
        result = combine(f, node, "Add", result, item)
    return result


@call(any)
def one_of(f: Frame, node: ast.AST, value: Anything) -> Value:
    """any((a, b, ...))"""
    result = weak(False)
    for item in _items(f, node, value, "any"):
        result = compare.either(f, result, truth(f, node, item))
    return result


@call(all)
def each_of(f: Frame, node: ast.AST, value: Anything) -> Value:
    """all((a, b, ...))"""
    result = weak(True)
    for item in _items(f, node, value, "all"):
        result = compare.both(f, result, truth(f, node, item))
    return result
