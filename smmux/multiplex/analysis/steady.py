"""Texts for places in arrays: two accesses with the same text go to the same places, whenever they are executed.

Such an index is made of constants, indices of the thread, sizes, arguments of the kernel, variables that are assigned
once from nothing else, and counters of loops without barriers, whose heads belong to the text.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence
from typing import TypeVar

from smmux import cuda
from smmux.compiler.frontend.source import MISSING, assigned_names
from smmux.multiplex.analysis.integers import value_of
from smmux.multiplex.analysis.scopes import Scope, Site
from smmux.types import Scalar

__all__ = ["beyond", "own_loops", "place_text"]

PURE = (range, int, float, min, max, abs, len, cuda.grid, cuda.gridsize)
PARTS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Tuple)
MAX_DEPTH = 32

Item = TypeVar("Item")


def place_text(site: Site, index: ast.expr, since: Site, synchronised: Collection[ast.stmt]) -> str | None:
    """The text of a place with all that it depends on; None if what it depends on is not always the same.

    since: where the define began whose conditions and loops are around all of its stores. synchronised: loops with
    barriers.
    """
    tests = beyond(since.conditions, site.conditions)
    if any(loop in synchronised for _, loop in beyond(since.loops, site.loops)):
        return None
    scope, needed, text = site.scope, [index], [_dumped(site.scope, index)]
    while True:
        for loop in own_loops(site, scope):
            if loop in synchronised:
                continue
            if not isinstance(loop, ast.For) or loop.orelse or _has(loop, ast.Break, ast.Continue):
                return None
            needed.append(loop.iter)
            text.append(_dumped(scope, loop.iter))
        for condition in (c for c in site.conditions if c.scope is scope and c in tests):
            if condition.test is None:
                return None
            needed.append(condition.test)
            text.append(f"{condition.side} {_dumped(scope, condition.test)}")
        parameters = _Steady(site, scope, synchronised).parameters(*needed)
        if parameters is None:
            return None
        if scope.caller is None:
            return " ".join(text)
        if any(isinstance(n, ast.Return) and n is not scope.tree.body[-1] for n in ast.walk(scope.tree)):
            return None
        given = [scope.argument(name) for name in parameters]
        scope, needed = scope.caller, [node for node in given if node is not None]


def own_loops(site: Site, scope: Scope) -> list[ast.stmt]:
    """The loops around an access in one of the functions that lead to it."""
    return [loop for function, loop in site.loops if function is scope]


def beyond(around: Sequence[Item], now: Sequence[Item]) -> list[Item]:
    """Conditions or loops that have come around since."""
    common = 0
    while common < min(len(around), len(now)) and around[common] == now[common]:
        common += 1
    return list(now[common:])


def _has(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


class _Steady:
    """Follows what an expression of a function is made of."""

    def __init__(self, site: Site, scope: Scope, synchronised: Collection[ast.stmt]) -> None:
        self.scope, self.synchronised = scope, synchronised
        self.counted = [n for n in own_loops(site, scope) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]

    def parameters(self, *nodes: ast.expr, within: ast.AST | None = None, depth: int = 0) -> set[str] | None:
        """Parameters that expressions depend on; None if one of them does not always have the same value.

        within: the assignment of which these are the value, or parts of it.
        """
        needed: set[str] = set()
        for node in nodes:
            found = self._needed(node, within, depth)
            if found is None:
                return None
            needed |= found
        return needed

    def _needed(self, node: ast.expr, within: ast.AST | None, depth: int) -> set[str] | None:
        source, parts = self.scope.source, list[ast.expr]()
        if isinstance(node, ast.Name):
            return self._variable(node.id, within, depth + 1)
        if isinstance(node, ast.Attribute):
            captured = source.resolve(node) is not MISSING or source.resolve(node.value) is not MISSING
            return set() if captured or node.attr in ("shape", "size", "ndim") else None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            parts = [node.slice]
        elif isinstance(node, ast.Call) and not node.keywords:
            called = source.resolve(node.func)
            if not (isinstance(called, Scalar) or any(called is pure for pure in PURE)):
                return None
            parts = node.args
        elif isinstance(node, PARTS):
            parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        elif not isinstance(node, ast.Constant):
            return None
        return self.parameters(*parts, within=within, depth=depth)

    def _variable(self, name: str, within: ast.AST | None, depth: int) -> set[str] | None:
        stores = self.scope.assignments(name)
        if name in self.scope.source.parameters:
            return None if stores else {name}
        if not stores:
            return set()
        loops = [loop for loop in self.counted if loop in stores]
        if loops and loops[-1] not in self.synchronised and name not in assigned_names(loops[-1].body):
            return set() if within is None or any(n is within for n in ast.walk(loops[-1])) else None
        value = value_of(stores[0], name) if len(stores) == 1 else None
        return self.parameters(value, within=stores[0], depth=depth) if value and depth <= MAX_DEPTH else None


def _dumped(scope: Scope, node: ast.expr) -> str:
    """The text of an expression in the kernel's terms: parameters of device functions are what they are in the call."""
    return ast.dump(_InTerms(scope).visit(copy.deepcopy(node)))


class _InTerms(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_Name(self, node: ast.Name) -> ast.expr:
        caller = self.scope.caller
        if caller is None or node.id not in self.scope.source.locals:
            return node
        given = self.scope.argument(node.id)
        if node.id not in self.scope.source.parameters or given is None:
            return ast.Name(f"{self.scope.source.name}.{node.id}", ast.Load())
        return _InTerms(caller).visit(copy.deepcopy(given))  # type: ignore[no-any-return]
