"""Expressions of the kernel language."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from smmux.compiler.frontend import (
    arith,
    array_access,
    assignment,
    compare,
    complex_numbers,
    environment,
    iteration,
    records,
    slices,
    unsupported,
)
from smmux.compiler.frontend.captured import lift
from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.convert import lasting_kind, number, operand, strong, truth
from smmux.compiler.frontend.rules import evaluate, evaluate_all, expression
from smmux.compiler.frontend.source import MISSING, adopted
from smmux.compiler.frontend.special_registers import special
from smmux.compiler.frontend.typed_values import (
    Anything,
    ArrayRef,
    Complex,
    Kind,
    Static,
    Tuple,
    Value,
    type_name,
    unknown,
    weak,
)
from smmux.language import Attribute, Dim3


@expression(ast.Constant)
def literal(f: Frame, node: ast.Constant) -> Anything:
    """Numbers, True, False, None, strings."""
    if isinstance(node.value, bytes):
        raise f.error(node, f"{type(node.value).__name__} is not supported in a kernel")
    return lift(f, node, node.value)


@expression(ast.Name)
def name(f: Frame, node: ast.Name) -> Anything:
    """A local variable, or something captured."""
    if node.id in f.source.locals:
        return environment.read(f, node, node.id)
    value = f.source.lookup(node.id)
    if value is MISSING:
        raise f.error(node, f"name {node.id!r} is not defined")
    return lift(f, node, value)


@expression(ast.Attribute)
def attribute(f: Frame, node: ast.Attribute) -> Anything:
    """`a.shape`, `math.pi`, `cuda.threadIdx.x`."""
    owner = evaluate(f, node.value)
    if isinstance(owner, ArrayRef):
        return array_access.attribute(f, node, owner)
    if not isinstance(owner, Static):
        if isinstance(owner, Tuple) and node.attr in owner.names:
            item: Anything = owner.items[owner.names.index(node.attr)]
            return item
        if isinstance(owner, Tuple) and owner.names:
            raise f.error(node, unsupported.of_field(node.attr, owner.names))
        if isinstance(owner, Tuple):
            raise f.error(node, f"a tuple or list has no attribute {node.attr!r} in a kernel; use cuda.local.array")
        return complex_numbers.attribute(f, node, owner)
    if isinstance(owner.object, Dim3):
        if node.attr not in ("x", "y", "z"):
            raise f.error(node, f"{owner.object.name} has x, y and z, not {node.attr!r}")
        return special(f, owner.object.register, node.attr)
    value = _captured_attribute(owner.object, node.attr)
    if value is MISSING:
        raise f.error(node, unsupported.of_attribute(owner.object, node.attr))
    if isinstance(value, Attribute):
        lowered: Anything = value.lower(f, node)
        return lowered
    return lift(f, node, value)


def _captured_attribute(owner: Any, name: str) -> Any:
    try:
        return adopted(getattr(owner, name))
    except AttributeError:
        return MISSING


@expression(ast.Tuple, ast.List)
def sequence(f: Frame, node: ast.Tuple | ast.List) -> Tuple:
    """(a, b): a compile-time tuple of values."""
    return Tuple(tuple(evaluate_all(f, node.elts)))


@expression(ast.BinOp)
def binary(f: Frame, node: ast.BinOp) -> Anything:
    """a op b; products that are added to something become multiply-adds."""
    if isinstance(node.op, ast.Add):
        for product, addend in ((node.left, node.right), (node.right, node.left)):
            if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
                return _multiply_add(f, node, product, addend, product is node.left)
    left, right = evaluate(f, node.left), evaluate(f, node.right)
    return combine(f, node, type(node.op).__name__, left, right)


def combine(f: Frame, node: ast.AST, op: str, left: Anything, right: Anything) -> Anything:
    """An operator on two values."""
    if isinstance(left, Tuple) and isinstance(right, Tuple) and op == "Add":
        return Tuple(left.items + right.items)
    if op == "Mult" and isinstance(left, Tuple) != isinstance(right, Tuple):
        return _repeated(f, node, *((left, right) if isinstance(left, Tuple) else (right, left)))
    f.at(node)
    if complex_numbers.either_complex(left, right):
        return complex_numbers.binary(f, node, op, left, right)
    return arith.binary(f, node, op, number(f, node, left), number(f, node, right))


MOST_ITEMS = 10_000  # of a tuple [EST]: each is lowered by itself


def _repeated(f: Frame, node: ast.AST, items: Anything, times: Anything) -> Tuple:
    """items * times, for a tuple."""
    count = number(f, node, times)
    if not (isinstance(items, Tuple) and count.known and count.kind.integral):
        raise f.error(node, "a tuple can be repeated a constant number of times")
    if len(items.items) * max(count.const, 0) > MOST_ITEMS:
        raise f.error(node, f"a tuple of more than {MOST_ITEMS} items; use cuda.local.array")
    return Tuple(items.items * count.const)


def _multiply_add(f: Frame, node: ast.BinOp, product: ast.BinOp, addend: ast.expr, first: bool) -> Anything:
    if first:
        a, b = evaluate(f, product.left), evaluate(f, product.right)
        c = evaluate(f, addend)
    else:
        c = evaluate(f, addend)
        a, b = evaluate(f, product.left), evaluate(f, product.right)
    f.at(node)
    return _sum_of_product(f, node, product, a, b, c, first)


def _sum_of_product(
    f: Frame, node: ast.AST, product: ast.AST, a: Anything, b: Anything, c: Anything, first: bool
) -> Anything:
    if complex_numbers.either_complex(a, b, c) or any(isinstance(v, Tuple) for v in (a, b, c)):
        value = combine(f, product, "Mult", a, b)
        return combine(f, node, "Add", *((value, c) if first else (c, value)))
    return arith.multiply_add(f, node, number(f, product, a), number(f, product, b), number(f, node, c))


def augmented(f: Frame, node: ast.AugAssign, current: Anything) -> Anything:
    """The new value of the target of `target op= value`."""
    value = node.value
    if isinstance(node.op, ast.Add) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        a, b = evaluate(f, value.left), evaluate(f, value.right)
        f.at(node)
        return _sum_of_product(f, node, value, a, b, current, False)
    return combine(f, node, type(node.op).__name__, current, evaluate(f, value))


@expression(ast.UnaryOp)
def unary(f: Frame, node: ast.UnaryOp) -> Anything:
    """-x, +x, ~x, not x."""
    value = evaluate(f, node.operand)
    if isinstance(node.op, ast.Not):
        return arith.logical_not(f, truth(f, node, value))
    if isinstance(value, Complex) and not isinstance(node.op, ast.Invert):
        return complex_numbers.negate(f, node, value) if isinstance(node.op, ast.USub) else value
    x = number(f, node, value)
    if isinstance(node.op, ast.USub):
        return arith.negate(f, node, x)
    return arith.invert(f, node, x) if isinstance(node.op, ast.Invert) else arith.plus(f, node, x)


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
            outcome = compare.both(f, outcome, _membership(f, node, op, left, right))
        else:
            outcome = compare.both(f, outcome, compare.compare(f, node, type(op).__name__, left, right))
        left = right
    return outcome


def _membership(f: Frame, node: ast.AST, op: ast.cmpop, left: Anything, right: Anything) -> Value:
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
    if environment.alike(a, b):
        return a
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
    for inner in ast.walk(node):
        count += isinstance(inner, ast.expr)
        if not isinstance(inner, HARMLESS) or count > HARMLESS_NODES:
            return False
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv | ast.Mod | ast.Div | ast.Pow):
            return False
    return assignment.sure(f, node)


@expression(ast.Subscript)
def subscript(f: Frame, node: ast.Subscript) -> Anything:
    """a[i], a[i, j], or an item of a tuple."""
    owner = iteration.as_array(f, node, evaluate(f, node.value))
    if isinstance(owner, Tuple):
        return _tuple_item(f, node, owner)
    if isinstance(owner, ArrayRef):
        between = evaluate(f, node.slice)
        name = records.name_of(f, node, owner, between)
        if name is not None:
            return array_access.member(f, node, owner, name)
        if slices.is_view(between):
            return slices.view(f, node, owner, between)
        index = array_access.indices(f, node, between)
        f.at(node)
        return array_access.load(f, node, owner, index)
    if isinstance(owner, Static) and hasattr(owner.object, "definition"):
        raise f.error(node, "a kernel cannot launch kernels; launch them one after the other on the host")
    if isinstance(owner, Static) and isinstance(owner.object, list | dict):
        raise f.error(
            node, "a captured list or dict is not supported; use a tuple, or an array and cuda.const.array_like"
        )
    if isinstance(owner, Static) and isinstance(owner.object, types.ModuleType | type):
        raise f.error(node, "only arrays and tuples can be indexed")
    raise f.error(node, f"only arrays and tuples can be indexed, not {type_name(owner)}")


def _tuple_item(f: Frame, node: ast.Subscript, owner: Tuple) -> Anything:
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if e is None else number(f, node, evaluate(f, e)).const
            for e in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return Tuple(owner.items[slice(*bounds)])
    index = number(f, node, evaluate(f, node.slice))
    if not index.known:
        if f.ctx.dry and (any_item := environment.one_of(owner.items)) is not None:
            return any_item
        raise f.error(node, "the index of a tuple has to be a compile-time constant; use an array for a computed index")
    if not -len(owner.items) <= index.const < len(owner.items):
        raise f.error(node, f"index {index.const} outside a tuple of {len(owner.items)}")
    item: Anything = owner.items[index.const]
    return item


@expression(ast.NamedExpr)
def named(f: Frame, node: ast.NamedExpr) -> Anything:
    """(name := value)."""
    value = evaluate(f, node.value)
    environment.write(f, node, node.target.id, value)
    return value
