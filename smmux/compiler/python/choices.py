"""Expressions of which only a part may be computed: chained comparisons, `and`, `or` and `a if c else b`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from smmux.base.trees import walk
from smmux.compiler.build.numbers import Complex, Kind, Value, unknown, weak
from smmux.compiler.python import arith, array_choices, assignment, compare, environment
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import join, lasting_kind, number, operand, strong, truth
from smmux.compiler.python.rules import evaluate, expression
from smmux.compiler.python.typed_values import Anything, Tuple, type_name


@expression(ast.Compare)
def comparison(f: Frame, node: ast.Compare) -> Value:
    """a < b < c: each operand is computed at most once, and not at all behind a comparison that is false."""
    return _chain(f, node, evaluate(f, node.left), 0)


def _chain(f: Frame, node: ast.Compare, left: Anything, first: int) -> Value:
    """The comparisons from one of them on; `left` is the operand on its left."""
    outcome = weak(True)
    for i in range(first, len(node.ops)):
        op, operand_node = node.ops[i], node.comparators[i]
        if i > first and outcome.known and not f.ctx.dry:
            return _chain(f, node, left, i) if outcome.const else outcome
        if i > first and not harmless(f, operand_node):
            rest = partial(_chain, f, node, left, i)
            return number(f, node, _branch(f, node, outcome, rest, weak(False), Value(Kind.BOOL)))
        right = evaluate(f, operand_node)
        f.at(node)
        if isinstance(op, ast.In | ast.NotIn):
            outcome = compare.both(f, outcome, membership(f, node, op, left, right))
        else:
            outcome = compare.both(f, outcome, compare.compare(f, node, type(op).__name__, left, right))
        left = right
    return outcome


def membership(f: Frame, node: ast.AST, op: ast.cmpop, left: Anything, right: Anything) -> Value:
    """left in right, or left not in right."""
    if not isinstance(right, Tuple):
        raise f.error(node, "`in` needs a tuple on its right")
    differs = weak(True)
    for item in right.items:
        differs = compare.both(f, differs, compare.compare(f, node, "NotEq", left, item))
    return differs if isinstance(op, ast.NotIn) else arith.logical_not(f, differs)


@expression(ast.BoolOp)
def boolean(f: Frame, node: ast.BoolOp) -> Anything:
    """`and`, `or`: the right side is skipped by a branch if it could fault or takes long, else both are computed."""
    value = evaluate(f, node.values[0])
    for right in node.values[1:]:
        value = _and_or(f, node, value, right)
    return value


def _and_or(f: Frame, node: ast.BoolOp, left: Anything, right: ast.expr) -> Anything:
    conjunction = isinstance(node.op, ast.And)
    condition = truth(f, node, left)
    if condition.known and not f.ctx.dry:
        return evaluate(f, right) if condition.const == conjunction else left
    if harmless(f, right):
        other = evaluate(f, right)
        if _boolean(left) and _boolean(other):
            y = number(f, right, other)
            return compare.both(f, condition, y) if conjunction else compare.either(f, condition, y)
        a, b = (other, left) if conjunction else (left, other)
        if isinstance(a, Complex) or isinstance(b, Complex):
            return _branch(f, node, condition, a, b)
        return arith.select(f, node, condition, number(f, node, a), number(f, node, b))
    return _branch(f, node, condition, right if conjunction else left, left if conjunction else right)


def _boolean(value: Anything) -> bool:
    return isinstance(value, Value) and value.kind is Kind.BOOL


@expression(ast.IfExp)
def conditional(f: Frame, node: ast.IfExp) -> Anything:
    """a if c else b: only one side is computed, or both and a select where that is harmless and cheap."""
    condition = truth(f, node.test, evaluate(f, node.test))
    if condition.known:
        return evaluate(f, node.body if condition.const else node.orelse)
    if harmless(f, node.body) and harmless(f, node.orelse):
        a, b = evaluate(f, node.body), evaluate(f, node.orelse)
        if isinstance(a, Value) and isinstance(b, Value):
            f.at(node)
            return arith.select(f, node, condition, a, b)
    return _branch(f, node, condition, node.body, node.orelse)


Side = ast.expr | Callable[[], Anything] | Anything
"""One of two expressions: as written, as a function that lowers it, or its value."""


def _side(f: Frame, what: Side) -> Anything:
    if isinstance(what, ast.expr):
        return evaluate(f, what)
    return what if isinstance(what, Anything) else what()


def _branch(
    f: Frame, node: ast.expr, condition: Value, yes: Side, no: Side, template: Anything | None = None
) -> Anything:
    """The value of one of two expressions, chosen by a branch. template: its type, if that is known."""

    def side(what: Side) -> Anything:
        value = _side(f, what)
        return strong(f, node, value) if isinstance(value, Value) and f.narrow else value

    if f.ctx.dry and template is not None:
        side(yes), side(no)  # names that they bind get their types
        return template
    if f.ctx.dry:
        return _remembered(f, node, lambda: _select_type(f, node, side(yes), side(no)))
    key = (f.id, f".{node.lineno}.{node.col_offset}")
    edges = []
    blocks = f.b.new_block(), f.b.new_block()
    if template is None:
        with f.inferring():
            template = _probe_type(f, node, yes, no)
    env = f.ctx.env
    f.b.branch_if(operand(f, condition), *blocks)
    for block, what in zip(blocks, (yes, no), strict=True):
        f.b.start(block)
        f.ctx.env = dict(env)
        with f.on_side(condition, block is blocks[0]):
            value = side(what)
        f.ctx.env[key] = environment.conform(f, node, value, template)
        assert f.b.block is not None
        edges.append((f.b.block, f.ctx.env))
    f.at(node)
    environment.merge(f, node, edges)
    return f.ctx.env.pop(key)


def _remembered(f: Frame, node: ast.expr, find: Callable[[], Anything]) -> Anything:
    """The type of an expression; that of a conditional one is found once, since others may stand in it."""
    if f.probed is None or not isinstance(node, ast.IfExp):
        return find()
    if node not in f.probed:
        f.probed[node] = find()
    return f.probed[node]


def _probe_type(f: Frame, node: ast.expr, *sides: Side) -> Anything:
    """The joined type of both sides, from the inferred types of the variables."""
    values = [_side(f, side) for side in sides]
    return _select_type(f, node, *values)


def _select_type(f: Frame, node: ast.expr, a: Anything, b: Anything) -> Anything:
    if isinstance(a, Value) and isinstance(b, Value):
        return unknown(lasting_kind(f, arith.common_kind(f, a, b)), a.drift or b.drift)
    if isinstance(a, Value | Complex) and isinstance(b, Value | Complex):
        return join(a, b)
    if environment.alike(a, b):
        return a
    if array_choices.possible(a, b):
        return environment.either(f, f".{node.lineno}.{node.col_offset}", a, b)
    raise f.error(node, f"the two sides are {type_name(a)} and {type_name(b)}; they need one type")


HARMLESS = (
    ast.Name, ast.Constant, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip


HARMLESS_NODES = 12
"""Parts of an expression that is computed where its value may not be wanted [EST]: about the five operations of an arm
that if-conversion executes for all lanes, with their operands. Longer ones get a branch. No shipped kernel changes with
6 or 24."""


def harmless(f: Frame, node: ast.expr) -> bool:
    """True if an expression may be computed where its value is not wanted: it is short, touches no memory, and has no
    variable that may not be assigned."""
    count = 0
    for inner in walk(node):
        count += isinstance(inner, ast.expr)
        if not isinstance(inner, HARMLESS) or count > HARMLESS_NODES:
            return False
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv | ast.Mod | ast.Div | ast.Pow):
            return False
    return assignment.sure(f, node)
