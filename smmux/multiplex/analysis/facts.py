"""What is known before a kernel runs: facts of expressions, arrays, and the places where something is executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.analysis.integers import assignments

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


@dataclass(frozen=True, eq=False, slots=True)
class Array:
    """A shared array at its declaration, or an array parameter of the kernel, or a per-thread or constant array."""

    space: str  # "shared", "private" (a shared one that is apart, see `Analysis`), "global", "local" or "const"
    name: str
    node: ast.AST
    source: FunctionSource


@dataclass(frozen=True, slots=True)
class Fact:
    """What an expression can be."""

    uniform: bool  # the same in all threads of a block
    arrays: frozenset[Array] = frozenset()  # those it can be, or be a row or view of
    const: Any = MISSING  # its value, or the captured object that it is
    items: tuple[Fact, ...] | None = None  # of a tuple


UNIFORM = Fact(True)
VARYING = Fact(False)


def known(value: Any) -> Fact:
    """A compile-time constant."""
    items = tuple(known(item) for item in value) if isinstance(value, tuple) else None
    return Fact(True, const=value, items=items)


def join(a: Fact | None, b: Fact) -> Fact:
    """What covers both."""
    if a is None or a == b:
        return b
    comparable = type(a.const) is type(b.const) and isinstance(a.const, int | float | str)
    same = a.const is b.const or comparable and a.const == b.const
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
    return Fact(a.uniform and b.uniform, a.arrays | b.arrays, a.const if same else MISSING, items)


# -- places in a program


@dataclass(eq=False)
class Scope:
    """A function as it is called from one place; the kernel has no caller and no call."""

    source: FunctionSource
    tree: ast.FunctionDef
    caller: Scope | None = None
    call: ast.Call | None = None
    facts: dict[str, Fact] = field(default_factory=dict)  # what is known of each variable
    left_early: bool = False  # some threads return from it before others do

    @cached_property
    def _assignments(self) -> dict[str, list[ast.AST]]:
        return assignments(self.tree)

    def assignments(self, name: str) -> list[ast.AST]:
        """The nodes that assign a variable."""
        return self._assignments.get(name, [])

    def argument(self, name: str) -> ast.expr | None:
        """The expression that the call gives a parameter which the function does not change."""
        if self.call is None or self.assignments(name):
            return None
        given = dict(zip(self.source.parameters, self.call.args, strict=False))
        given |= {k.arg: k.value for k in self.call.keywords if k.arg is not None}
        return given.get(name)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition under which something is executed, and its side."""

    scope: Scope
    test: ast.expr | None  # None for one that no expression tells
    side: bool


@dataclass(frozen=True, slots=True)
class Site:
    """The place of an access in the program."""

    scope: Scope
    statement: ast.stmt | None
    loops: tuple[tuple[Scope, ast.stmt], ...]  # those around it, with their functions, outermost first
    conditions: tuple[Condition, ...]
    divergent: bool  # some threads of a block may not get there
