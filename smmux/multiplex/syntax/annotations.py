"""`with smmux.overlap():` in a kernel, which passes take out before they look at it."""

from __future__ import annotations

import ast

from smmux.compiler.frontend.source import FunctionSource, is_overlap
from smmux.multiplex.syntax.build import lists
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["without_annotations"]


def without_annotations(source: FunctionSource, body: list[ast.stmt]) -> set[ast.stmt]:
    """Put what stands in annotations where they stand, in place. Returns the statements that were annotated."""
    annotated: set[ast.stmt] = set()
    made: list[ast.stmt] = []
    for node in body:
        for inner in lists(node):
            annotated |= without_annotations(source, inner)
        if not isinstance(node, ast.With):
            made.append(node)
        elif is_overlap(source, node):
            annotated |= set(node.body)
            made += node.body
        else:
            raise refuse(source, node, "with is not supported, but for `with smmux.overlap():`")
    body[:] = made
    return annotated
