"""Expressions of the kernel language."""

from __future__ import annotations

import ast
import enum
import types
from typing import Any

from smmux.compiler.build.numbers import Complex
from smmux.compiler.python import (
    arith,
    array_access,
    array_attributes,
    complex_numbers,
    environment,
    iteration,
    records,
    slices,
    tuples,
    unsupported,
)
from smmux.compiler.python.captured import lift
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import number, truth
from smmux.compiler.python.rules import evaluate, evaluate_all, expression
from smmux.compiler.python.special_registers import special
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple, type_name
from smmux.language.kernel_only import Attribute, Dim3
from smmux.source import attributes
from smmux.source.function_source import MISSING, adopted


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
        return array_attributes.attribute(f, node, owner)
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
    value = _captured_attribute(f, node, owner.object, node.attr)
    if value is MISSING:
        raise f.error(node, unsupported.of_attribute(owner.object, node.attr))
    if isinstance(value, Attribute):
        lowered: Anything = value.lower(f, node)
        return lowered
    return lift(f, node, value)


def _captured_attribute(f: Frame, node: ast.AST, owner: Any, name: str) -> Any:
    try:
        return adopted(attributes.attribute(owner, name))
    except attributes.ComputedError:
        raise f.error(node, unsupported.of_computed(name)) from None
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
    if op == "MatMult":
        raise f.error(node, f"@ is not supported in a kernel; {unsupported.OPERATORS['matmul']}")
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


@expression(ast.Subscript)
def subscript(f: Frame, node: ast.Subscript) -> Anything:
    """a[i], a[i, j], or an item of a tuple."""
    owner = iteration.as_array(f, node, evaluate(f, node.value))
    if isinstance(owner, Tuple):
        return tuples.item(f, node, owner)
    if isinstance(owner, ArrayRef):
        between = slices.between_brackets(f, node)
        name = records.name_of(f, node, owner, between)
        if name is not None:
            return array_attributes.member(f, node, owner, name)
        if slices.is_view(between):
            return slices.view(f, node, owner, between)
        index = array_access.indices(f, node, between)
        f.at(node)
        return array_access.load(f, node, owner, index)
    if isinstance(owner, Static) and attributes.peek(owner.object, "definition") is not None:
        raise f.error(node, "a kernel cannot launch kernels; launch them one after the other on the host")
    if isinstance(owner, Static) and isinstance(owner.object, list | dict):
        raise f.error(
            node, "a captured list or dict is not supported; use a tuple, or an array and cuda.const.array_like"
        )
    if isinstance(owner, Static) and isinstance(owner.object, enum.EnumType):
        return _member(f, node, owner.object)
    if isinstance(owner, Static) and isinstance(owner.object, types.ModuleType | type):
        raise f.error(node, "only arrays and tuples can be indexed")
    raise f.error(node, f"only arrays and tuples can be indexed, not {type_name(owner)}")


@expression(ast.NamedExpr)
def named(f: Frame, node: ast.NamedExpr) -> Anything:
    """(name := value)."""
    value = evaluate(f, node.value)
    environment.write(f, node, node.target.id, value)
    return value


def _member(f: Frame, node: ast.Subscript, enumeration: enum.EnumType) -> Anything:
    """A member of an enumeration by its name: Colour["RED"]."""
    name = evaluate(f, node.slice)
    members = attributes.peek(enumeration, "_member_map_")
    if not isinstance(name, Static) or not isinstance(name.object, str) or name.object not in members:
        raise f.error(node, f"a member of {enumeration.__name__} is named here by one of {', '.join(members)}")
    return lift(f, node, members[name.object])
