"""Walking over syntax trees and copying them; and how often garbage is looked for meanwhile."""

from __future__ import annotations

import ast
import copy
import gc
from pathlib import Path

import pytest

from smmux.base.garbage import rarely_collected
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


def test_garbage_is_looked_for_rarely_only_meanwhile() -> None:
    """Nested calls count as one; a threshold that somebody sets stays, as does that nothing is looked for."""
    threshold = gc.get_threshold()
    look = rarely_collected(gc.get_threshold)
    twice = rarely_collected(lambda: (look(), gc.get_threshold()))
    try:
        gc.set_threshold(700, 10, 10)
        assert twice() == ((100_000, 10, 10), (100_000, 10, 10))
        assert gc.get_threshold() == (700, 10, 10)
        rarely_collected(lambda: gc.set_threshold(500, 5, 5))()
        assert gc.get_threshold() == (500, 5, 5)
        gc.set_threshold(0, 10, 10)
        assert look()[0] == 0
        assert gc.get_threshold()[0] == 0
        gc.set_threshold(700, 10, 10)
        with pytest.raises(ZeroDivisionError):
            rarely_collected(lambda: 1 // 0)()
        assert gc.get_threshold() == (700, 10, 10)
    finally:
        gc.set_threshold(*threshold)
