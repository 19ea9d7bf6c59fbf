"""Sums of products: the text of their trees means what the expression meant."""

from __future__ import annotations

import ast

from hypothesis import given, strategies as st

from smmux.multiplex.analysis.facts import Linear, linear

ATOMS = st.sampled_from(["t", "n", "k", "1", "3", "40"])
OPERATORS = st.sampled_from(["+", "-", "*", "^", "|", "&", "<<", ">>", "%", "//"])


def joined(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(children, OPERATORS, children).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})")
    return binary | children.map(lambda inner: f"-({inner})")


def constant(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) else None


def value(node: ast.expr) -> int | str:
    try:
        return int(eval(ast.unparse(node), {"t": 5, "n": 11, "k": 2}))
    except (ArithmeticError, ValueError, OverflowError, MemoryError) as reason:
        return type(reason).__name__


@given(st.recursive(ATOMS, joined, max_leaves=6), st.integers(-3, 3), st.integers(-50, 50))
def test_a_multiple_and_a_shift(text: str, factor: int, shift: int) -> None:
    plain = ast.parse(text, mode="eval").body
    expected = value(plain)
    if isinstance(expected, str) or abs(expected) > 1 << 40:
        return
    made = (linear(plain, constant).times(factor) + Linear({}, shift)).node()
    assert value(ast.parse(ast.unparse(made), mode="eval").body) == factor * expected + shift
