"""Walking over syntax trees and copying them."""

from __future__ import annotations

import ast
import copy
from pathlib import Path

from smmux.base.trees import copied, walk


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


def test_copied_trees_are_those_of_deepcopy() -> None:
    """Also where a node stands twice, or another one stands for it; what a node holds beside its fields comes along."""
    tree = ast.parse(
        "def f(a, *b, c=(1, 2.5)):\n    'x'\n    for i in range(3):\n        a[i, :] += -b if c else a.T\n"
    )
    tree.body.append(tree.body[0])
    tree.body[0].beside = (1, [ast.Pass()])  # type: ignore[attr-defined]
    made = copied(tree)
    assert ast.dump(made, include_attributes=True) == ast.dump(copy.deepcopy(tree), include_attributes=True)
    assert made.body[0] is made.body[1] is not tree.body[0]
    assert made.body[0].beside[1][0] is not tree.body[0].beside[1][0]  # type: ignore[attr-defined]
    nodes = {id(node) for node in ast.walk(tree) if node._fields}
    assert not any(id(node) in nodes for node in ast.walk(made))
    other = ast.Pass()
    assert copied(tree, {id(tree.body[0]): other}).body == [other, other]
