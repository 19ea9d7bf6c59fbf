"""The uses of a divided array, brought to one form: elements with all their indices.

`tile[i][j]` becomes `tile[i, j]`; an atomic operation `add(tile, i, x)` becomes `add(tile[i], x)`, which no kernel may
contain, until the division is made. Rows, slices and other names for the array are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.syntax.build import at
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import ATOMICS

__all__ = ["elements_only", "with_atomics"]


def elements_only(source: FunctionSource, tree: ast.FunctionDef, arrays: Mapping[str, int]) -> None:
    """Rewrite all uses of arrays in place. arrays: by name of the array and its views, the number of indices."""
    for node in tree.body:
        _Uses(source, arrays).visit(node)


def with_atomics(tree: ast.FunctionDef) -> None:
    """Bring atomic operations back to the form of the language, in place."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and call.args and getattr(call.args[0], "atomic", False):
            place = call.args[0]
            assert isinstance(place, ast.Subscript)
            call.args[:1] = [place.value, place.slice]


class _Uses(ast.NodeTransformer):
    def __init__(self, source: FunctionSource, arrays: Mapping[str, int]) -> None:
        self.source, self.arrays = source, arrays

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "view" and isinstance(function.value, ast.Name):
            node.args = [self.visit(a) for a in node.args]
            return node
        is_array = node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in self.arrays
        if is_array and id(self.source.resolve(function)) in ATOMICS and len(node.args) > 1 and not node.keywords:
            place = at(ast.Subscript(node.args[0], node.args[1], ast.Load()), node.args[0])
            place.atomic = True  # type: ignore[attr-defined]
            node.args[:2] = [place]
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        array, items = node.value, _items(node.slice)
        while isinstance(array, ast.Subscript):
            items = _items(array.slice) + items
            array = array.value
        if not isinstance(array, ast.Name) or array.id not in self.arrays:
            return self.generic_visit(node)  # type: ignore[return-value]
        if len(items) != self.arrays[array.id] or any(isinstance(i, ast.Slice | ast.Starred) for i in items):
            raise self.refused(node, array.id)
        items = [self.visit(i) for i in items]
        node.value = array
        node.slice = items[0] if len(items) == 1 else at(ast.Tuple(items, ast.Load()), node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.arrays and isinstance(node.ctx, ast.Load):
            raise self.refused(node, node.id)
        return node

    def refused(self, node: ast.AST, name: str) -> Exception:
        """The error for a use that cannot be followed."""
        n = self.arrays[name]
        many = f"{n} indices" if n > 1 else "its index"
        return refuse(self.source, node, f"a divided array is used by its elements alone: {name}[...] with {many}")


def _items(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]
