"""Expressions that have the same value whenever they are evaluated, in a thread, and texts that tell them apart.

Such a value is made of constants, indices of the thread, sizes, arguments of the kernel, variables that are assigned
once from nothing else, and counters of loops without barriers, whose heads belong to the text.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from smmux import cuda
from smmux.compiler.frontend.source import MISSING, assigned_names
from smmux.multiplex.analysis.integers import value_of
from smmux.types import Scalar

if TYPE_CHECKING:
    from smmux.multiplex.analysis.uniformity import Frame

__all__ = ["same_always", "text_of"]

PURE = (range, int, float, min, max, abs, len, cuda.grid, cuda.gridsize)
PARTS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Tuple)
MAX_DEPTH = 32


def same_always(frame: Frame, nodes: list[ast.expr]) -> set[str] | None:
    """Parameters of the function that steady expressions depend on; None if one of them is not steady."""
    needed: set[str] = set()
    for node in nodes:
        found = _needs(frame, node, None, 0)
        if found is None:
            return None
        needed |= found
    return needed


def _needs(frame: Frame, node: ast.expr, within: ast.AST | None, depth: int) -> set[str] | None:
    """within: the assignment of which this is the value."""
    if isinstance(node, ast.Constant):
        return set()
    if isinstance(node, ast.Name):
        return _variable(frame, node.id, within, depth + 1)
    if isinstance(node, ast.Attribute):
        captured = frame.source.resolve(node) is not MISSING or frame.source.resolve(node.value) is not MISSING
        return set() if captured or node.attr in ("shape", "size", "ndim") else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return _needs(frame, node.slice, within, depth)
    if isinstance(node, ast.Call):
        called = frame.source.resolve(node.func)
        if node.keywords or not (isinstance(called, Scalar) or any(called is pure for pure in PURE)):
            return None
        parts = node.args
    elif isinstance(node, PARTS):
        parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    else:
        return None
    needed: set[str] = set()
    for part in parts:
        found = _needs(frame, part, within, depth)
        if found is None:
            return None
        needed |= found
    return needed


def _variable(frame: Frame, name: str, within: ast.AST | None, depth: int) -> set[str] | None:
    stores = frame.definitions(name)
    if name in frame.source.parameters:
        return None if stores else {name}
    if not stores:
        return set()
    loops = [n for n in frame.own_loops() if isinstance(n, ast.For) and n in stores and isinstance(n.target, ast.Name)]
    if loops and not frame.synchronised(loops[-1]) and name not in assigned_names(loops[-1].body):
        inside = within is None or any(n is within for n in ast.walk(loops[-1]))
        return set() if inside else None
    value = value_of(stores[0], name) if len(stores) == 1 else None
    return _needs(frame, value, stores[0], depth) if value is not None and depth <= MAX_DEPTH else None


def text_of(frame: Frame, node: ast.expr) -> str:
    """The text of an expression in the kernel's terms: parameters of device functions are what they are in the call."""
    return ast.dump(_InTerms(frame).visit(copy.deepcopy(node)))


class _InTerms(ast.NodeTransformer):
    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def visit_Name(self, node: ast.Name) -> ast.expr:
        caller = self.frame.caller
        if caller is None or node.id not in self.frame.source.locals | set(self.frame.source.parameters):
            return node
        given = self.frame.argument(node.id)
        if node.id in self.frame.source.parameters and given is not None and not self.frame.definitions(node.id):
            found = _InTerms(caller).visit(copy.deepcopy(given))
            assert isinstance(found, ast.expr)
            return found
        return ast.Name(f"{self.frame.source.name}.{node.id}", ast.Load())
