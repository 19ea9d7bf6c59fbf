"""Making syntax trees: new statements at places of the user's file, new names, and a kernel of the result."""

from __future__ import annotations

import ast
import copy
import itertools
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from smmux.compiler.frontend.source import MISSING, FunctionSource
from smmux.kernel import Kernel

Node = TypeVar("Node", bound=ast.AST)
Compound = TypeVar("Compound", ast.If, ast.For, ast.While, ast.If | ast.For | ast.While)

__all__ = ["Names", "at", "call", "describe", "element", "expression", "made", "shell", "statement"]


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


class Names:
    """Names of a kernel: those taken, and those that stand for modules of smmux."""

    def __init__(self, source: FunctionSource, tree: ast.FunctionDef) -> None:
        self.source = source
        self.taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {a.arg for a in tree.args.args}
        self.added: dict[str, Any] = {}

    def new(self, *wishes: str) -> str:
        """The first of the wishes that is free, or the last with a number."""
        numbered = (f"{wishes[-1]}_{i}" for i in itertools.count(2))
        wanted = itertools.chain(wishes, numbered)
        name = next(n for n in wanted if n not in self.taken and self.source.lookup(n) is MISSING)
        self.taken.add(name)
        return name

    def module(self, name: str, module: Any) -> str:
        """How the kernel calls a module of smmux; it becomes known to it if it was not."""
        for candidate in (name, *(n for n in self.taken if self.source.lookup(n) is module)):
            if self.source.lookup(candidate) is module and candidate not in self.source.locals:
                return candidate
        if name not in self.taken and self.source.lookup(name) is MISSING:
            found = name
            self.taken.add(name)
        else:
            found = next((n for n, m in self.added.items() if m is module), "") or self.new(f"{name}_module")
        self.added[found] = module
        return found


def describe(tree: ast.FunctionDef, text: str) -> None:
    """Give a function a docstring, in place of the one it has."""
    first = tree.body[0]
    has = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    tree.body[: int(has)] = [at(statement(repr(text)), first)]


def made(source: FunctionSource, tree: ast.FunctionDef, added: Mapping[str, Any]) -> Kernel:
    """A kernel from a changed tree of a function, in the same file, that knows a few more names."""
    more = dict(added)
    captured: Mapping[str, Any] = ChainMap(more, source.captured) if more else source.captured  # type: ignore[arg-type]
    return Kernel(replace(source, node=ast.fix_missing_locations(tree), captured=captured))
