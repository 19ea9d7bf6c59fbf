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
    """What an expression can be.

    uniform: the same in all threads of a block. arrays: the arrays it can be, or be a row or view of. const: its value,
    or the captured object that it is. items: of a tuple.
    """

    uniform: bool
    arrays: frozenset[Array] = frozenset()
    const: Any = MISSING
    items: tuple[Fact, ...] | None = None


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
    """A function as it is called from one place; the kernel has no caller and no call.

    facts: what is known of each variable. left_early: some threads return from it before others do.
    """

    source: FunctionSource
    tree: ast.FunctionDef
    caller: Scope | None = None
    call: ast.Call | None = None
    facts: dict[str, Fact] = field(default_factory=dict)
    left_early: bool = False

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
    """A condition under which something is executed, and its side; test: None for one that no expression tells."""

    scope: Scope
    test: ast.expr | None
    side: bool


@dataclass(frozen=True, slots=True)
class Site:
    """The place of an access in the program.

    loops: those around it, with their functions, outermost first. divergent: some threads of a block may not get there.
    """

    scope: Scope
    statement: ast.stmt | None
    loops: tuple[tuple[Scope, ast.stmt], ...]
    conditions: tuple[Condition, ...]
    divergent: bool
