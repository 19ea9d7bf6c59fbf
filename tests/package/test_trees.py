"""Walking over syntax trees."""

from __future__ import annotations

import ast
from pathlib import Path

from smmux.base.trees import walk


def test_nodes_come_in_the_order_of_ast_walk() -> None:
    tree = ast.parse(Path(__file__).read_text() + "\n[*a, {**b}, lambda x, *y, z=1: x]\n")
    assert list(walk(tree)) == list(ast.walk(tree))


def test_what_is_changed_behind_a_node_is_seen() -> None:
    tree = ast.parse("a = b + 1")
    names = []
    for node in walk(tree):
        if isinstance(node, ast.BinOp):
            node.right = ast.Name("new")  # the node's own children have been seen by then
            node.left.id = "other"  # type: ignore[attr-defined]
        elif isinstance(node, ast.Name):
            names.append(node.id)
    assert names == ["a", "other"]
