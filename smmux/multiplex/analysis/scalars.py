"""Which variables statements assign, and which they need from before."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.syntax.vocabulary import device_function

__all__ = ["assigned", "certain", "exposed", "names_in"]


def names_in(*nodes: ast.AST | None) -> set[str]:
    """All names that occur."""
    return {n.id for node in nodes if node is not None for n in ast.walk(node) if isinstance(n, ast.Name)}


def assigned(source: FunctionSource, nodes: Iterable[ast.AST]) -> set[str]:
    """Variables assigned, and per-thread arrays stored to, in statements and by the functions they call."""
    found: set[str] = set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found |= names_in(node.value)
        elif isinstance(node, ast.Call) and (function := device_function(source, node)) is not None:
            stored = assigned(function, function.node.body)
            found |= {n for name, a in _arguments(function, node) if name in stored for n in names_in(a)}
    return found


def exposed(source: FunctionSource, body: Iterable[ast.stmt]) -> set[str]:
    """Variables whose values from before are needed: read before they are assigned on every way."""
    needed: set[str] = set()
    sure: set[str] = set()
    for node in body:
        if isinstance(node, ast.If):
            inside = exposed(source, node.body) | exposed(source, node.orelse) | names_in(node.test)
            needed |= inside - sure
            sure |= certain(node.body) & certain(node.orelse)
        elif isinstance(node, ast.For):
            inside = exposed(source, node.body) - names_in(node.target) | exposed(source, node.orelse)
            needed |= (names_in(node.iter) | inside) - sure
        elif isinstance(node, ast.While):
            needed |= (names_in(node.test) | exposed(source, node.body) | exposed(source, node.orelse)) - sure
        else:
            needed |= _read(source, node) - sure
            sure |= certain([node])
    return needed


def certain(body: Iterable[ast.stmt]) -> set[str]:
    """Variables assigned as a whole by plain assignments."""
    targets = [t for s in body if isinstance(s, ast.Assign) for t in s.targets]
    items = [i for t in targets for i in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return {i.id for i in items if isinstance(i, ast.Name)}


def _read(source: FunctionSource, node: ast.AST) -> set[str]:
    """Variables that a simple statement reads; an array that is only stored to is not read."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.AugAssign):
        return names_in(node)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
        return _read(source, node.slice)
    if isinstance(node, ast.Call) and (function := device_function(source, node)) is not None:
        needed = exposed(function, function.node.body)
        return {n for name, a in _arguments(function, node) if name in needed for n in names_in(a)}
    return {name for child in ast.iter_child_nodes(node) for name in _read(source, child)}


def _arguments(function: FunctionSource, node: ast.Call) -> Iterable[tuple[str, ast.expr]]:
    yield from zip(function.parameters, node.args, strict=False)
    yield from ((k.arg, k.value) for k in node.keywords if k.arg is not None)
