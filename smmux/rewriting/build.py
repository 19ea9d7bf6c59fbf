"""Making syntax trees: expressions and statements, and new ones at places of the user's file."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from typing import TypeVar

from smmux.base.parsing import expression
from smmux.base.trees import copied, walk

Node = TypeVar("Node", bound=ast.AST)
Compound = TypeVar("Compound", ast.If, ast.For, ast.While, ast.If | ast.For | ast.While)

# -- parts of a tree


def names_in(*nodes: ast.AST | None) -> set[str]:
    """All names that occur."""
    return {n.id for node in nodes if node is not None for n in walk(node) if isinstance(n, ast.Name)}


def lists(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists of a statement."""
    for inner in (getattr(node, "body", None), getattr(node, "orelse", None)):
        if isinstance(inner, list):
            yield inner


def has_docstring(function: ast.FunctionDef) -> bool:
    """Whether a function begins with a docstring."""
    return ast.get_docstring(function, clean=False) is not None


# -- new trees


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """function(arguments)."""
    return ast.Call(expression(function), [copied(a) for a in arguments], [])


def element(array: str, *index: ast.expr, store: bool = False) -> ast.Subscript:
    """array[index]."""
    items = [copied(i) for i in index]
    inside = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
    return ast.Subscript(ast.Name(array, ast.Load()), inside, ast.Store() if store else ast.Load())


def shell(node: Compound) -> Compound:
    """Make an empty branch or loop with a copied head: a node that stands twice in a tree would be changed twice."""
    made = copy.copy(node)
    made.body, made.orelse = [], []
    return copied(made)


def at(node: Node, place: ast.AST) -> Node:
    """The node, all of it put where `place` is in the user's file."""
    for inner in walk(node):
        if "lineno" in inner._attributes:
            ast.copy_location(inner, place)
    return node


def surrounding(node: Node, place: ast.stmt) -> Node:
    """A new statement around others: those of its parts that have no place yet are put where `place` is."""
    for inner in walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node


# -- changed trees


def behind(tree: ast.AST, node: ast.stmt, *new: ast.stmt) -> None:
    """Put new statements behind one of a tree, in place."""
    around = (body for outer in walk(tree) if isinstance(outer, ast.stmt) for body in lists(outer))
    body = next(body for body in around if node in body)
    place = body.index(node) + 1
    body[place:place] = [at(statement, node) for statement in new]


def substitute(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put a node in the place of another one, in place."""
    for outer in walk(tree):
        for name, value in ast.iter_fields(outer):
            if value is old:
                setattr(outer, name, new)
            elif isinstance(value, list) and old in value:
                value[value.index(old)] = new


def renamed(tree: Node, names: Mapping[str, ast.expr]) -> Node:
    """A tree, changed in place, with copies of expressions where variables were."""
    made: Node = _Renamed(names).visit(tree)
    return made


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        new = copied(self.names[node.id])
        if isinstance(new, ast.Name):
            new.ctx = node.ctx
        return ast.copy_location(new, node)
