"""Making syntax trees: expressions and statements, and new ones at places of the user's file."""

from __future__ import annotations

import ast
import copy
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
Compound = TypeVar("Compound", ast.If, ast.For, ast.While, ast.If | ast.For | ast.While)

__all__ = ["at", "call", "element", "expression", "shell", "statement", "surrounding"]


def expression(text: str) -> ast.expr:
    """An expression from its text."""
    return ast.parse(text, mode="eval").body


def statement(text: str) -> ast.stmt:
    """A statement from its text."""
    return ast.parse(text).body[0]


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """function(arguments)."""
    return ast.Call(expression(function), [copy.deepcopy(a) for a in arguments], [])


def element(array: str, *index: ast.expr, store: bool = False) -> ast.Subscript:
    """array[index]."""
    items = [copy.deepcopy(i) for i in index]
    inside = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
    return ast.Subscript(ast.Name(array, ast.Load()), inside, ast.Store() if store else ast.Load())


def shell(node: Compound) -> Compound:
    """A branch or loop with nothing in it; its head is a copy, since what changes a tree must find each node once."""
    made = copy.copy(node)
    if isinstance(made, ast.For):
        made.target, made.iter = copy.deepcopy(made.target), copy.deepcopy(made.iter)
    else:
        made.test = copy.deepcopy(made.test)
    made.body, made.orelse = [], []
    return made


def at(node: Node, place: ast.AST) -> Node:
    """The node, all of it put where `place` is in the user's file."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes:
            ast.copy_location(inner, place)
    return node


def surrounding(node: Node, place: ast.stmt) -> Node:
    """A new statement around others: those of its parts that have no place yet are put where `place` is."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node
