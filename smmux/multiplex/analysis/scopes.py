"""Functions on a walk: the kernel, or a device function at one of its calls, where it has arguments of its own."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.analysis.facts import Fact
from smmux.multiplex.analysis.integers import assignments

__all__ = ["Condition", "Scope", "Site"]


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
