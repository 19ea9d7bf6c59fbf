"""`with smmux.overlap():` in a kernel: what it says is kept with the statements, and it goes."""

from __future__ import annotations

import ast

from smmux.compiler.frontend.source import FunctionSource, is_overlap
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["overlapping", "without_annotations"]


def without_annotations(source: FunctionSource, tree: ast.FunctionDef) -> None:
    """Put what stands in annotations where they stand, in place; the statements remember it."""
    _plain(source, tree.body)


def overlapping(node: ast.stmt) -> bool:
    """Whether a statement was annotated."""
    return getattr(node, "overlapping", False)


def _plain(source: FunctionSource, body: list[ast.stmt]) -> None:
    made: list[ast.stmt] = []
    for node in body:
        for inner in ("body", "orelse"):
            if isinstance(getattr(node, inner, None), list):
                _plain(source, getattr(node, inner))
        if not isinstance(node, ast.With):
            made.append(node)
            continue
        if not is_overlap(source, node):
            raise refuse(source, node, "with is not supported, but for `with smmux.overlap():`")
        for statement in node.body:
            statement.overlapping = True  # type: ignore[attr-defined]
        made += node.body
    body[:] = made
