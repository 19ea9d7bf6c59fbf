"""Texts for places in arrays: two accesses with the same text go to the same places, whenever they are executed.

Such an index is made of constants, indices of the thread, sizes, arguments of the kernel, variables that are assigned
once from nothing else, and counters of loops without barriers, whose heads belong to the text.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import TypeVar

from smmux import cuda
from smmux.compiler.frontend.source import MISSING, assigned_names
from smmux.multiplex.analysis.facts import Scope, Site
from smmux.multiplex.analysis.integers import value_of
from smmux.types import Scalar

__all__ = ["beyond", "place_text"]

PURE = (range, int, float, min, max, abs, len, cuda.grid, cuda.gridsize)
PARTS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Tuple)
MAX_DEPTH = 32

Item = TypeVar("Item")


def place_text(site: Site, index: ast.expr, since: Site, synchronised: Collection[ast.stmt]) -> str | None:
    """The text of a place with all that it depends on; None if what it depends on is not always the same.

    since: where the define began whose conditions and loops are around all of its stores. synchronised: loops with
    barriers.
    """
    if any(loop in synchronised for _, loop in beyond(since.loops, site.loops)):
        return None
    texts, scope = _Texts(site, synchronised), site.scope
    try:
        parts = [texts.of(scope, index)]
        parts += [texts.head(function, loop) for function, loop in site.loops if loop not in synchronised]
        for condition in beyond(since.conditions, site.conditions):
            if condition.test is None:
                return None
            parts.append(f"{condition.side} {texts.of(condition.scope, condition.test)}")
    except _UnsteadyError:
        return None
    while scope.caller is not None:
        if any(isinstance(n, ast.Return) and n is not scope.tree.body[-1] for n in ast.walk(scope.tree)):
            return None
        scope = scope.caller
    return " ".join(parts)


def beyond(around: Sequence[Item], now: Sequence[Item]) -> list[Item]:
    """Conditions or loops that have come around since."""
    common = 0
    while common < min(len(around), len(now)) and around[common] == now[common]:
        common += 1
    return list(now[common:])


class _UnsteadyError(Exception):
    """An expression that may have another value the next time."""


class _Texts:
    """Texts of steady expressions around an access; parameters of device functions are what they are in the call."""

    def __init__(self, site: Site, synchronised: Collection[ast.stmt]) -> None:
        self.site, self.synchronised = site, synchronised

    def head(self, scope: Scope, loop: ast.stmt) -> str:
        """What a loop runs over, if it makes all of its trips."""
        if not isinstance(loop, ast.For) or loop.orelse:
            raise _UnsteadyError
        if any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(loop)):
            raise _UnsteadyError
        return self.of(scope, loop.iter)

    def of(self, scope: Scope, node: ast.expr, within: ast.AST | None = None, depth: int = 0) -> str:
        """The text of an expression; within: the assignment of which it is the value."""
        source = scope.source
        if isinstance(node, ast.Name):
            return self.variable(scope, node.id, within, depth + 1)
        if isinstance(node, ast.Constant):
            return ast.dump(node)
        if isinstance(node, ast.Attribute):
            captured = source.resolve(node) is not MISSING or source.resolve(node.value) is not MISSING
            if not captured and node.attr not in ("shape", "size", "ndim"):
                raise _UnsteadyError
            return ast.dump(node) if captured else f"{_array(scope, node.value)}.{node.attr}"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            kind, parts = f"{_array(scope, node.value.value)}.shape", [node.slice]
        elif isinstance(node, ast.Call) and not node.keywords:
            called = source.resolve(node.func)
            if not (isinstance(called, Scalar) or any(called is pure for pure in PURE)):
                raise _UnsteadyError
            kind, parts = ast.unparse(node.func), node.args
        elif isinstance(node, PARTS):
            operators = [type(n).__name__ for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr)]
            kind = " ".join([type(node).__name__, *operators])
            parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        else:
            raise _UnsteadyError
        return f"{kind}({', '.join(self.of(scope, part, within, depth) for part in parts)})"

    def variable(self, scope: Scope, name: str, within: ast.AST | None, depth: int) -> str:
        """The text of a variable: its name, once it is known to have always the same value."""
        stores, text = scope.assignments(name), name if scope.caller is None else f"{scope.source.name}.{name}"
        given = scope.argument(name)
        if given is not None and scope.caller is not None:
            return self.of(scope.caller, given, None, depth)
        if not stores:
            return text if name in scope.source.locals else name
        if name in scope.source.parameters:
            raise _UnsteadyError
        loops = [n for function, n in self.site.loops if function is scope and n in stores]
        counted = [n for n in loops if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
        if counted and counted[-1] not in self.synchronised and name not in assigned_names(counted[-1].body):
            if within is not None and not any(n is within for n in ast.walk(counted[-1])):
                raise _UnsteadyError
            return text
        value = value_of(stores[0], name) if len(stores) == 1 else None
        if value is None or depth > MAX_DEPTH:
            raise _UnsteadyError
        self.of(scope, value, stores[0], depth)
        return text


def _array(scope: Scope, node: ast.expr) -> str:
    """The text of an array."""
    while isinstance(node, ast.Name) and scope.caller is not None and (given := scope.argument(node.id)) is not None:
        scope, node = scope.caller, given
    return f"{scope.source.name}.{ast.dump(node)}"
