"""Index expressions as sums of products with constants, to compare them, to shift them and to find rows in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from smmux.multiplex.syntax.build import expression

__all__ = ["Linear", "linear"]


@dataclass(frozen=True)
class Linear:
    """A sum of terms: text of an expression -> its integer factor, and a constant."""

    terms: Mapping[str, int]
    constant: int = 0

    def __add__(self, other: Linear) -> Linear:
        terms = dict(self.terms)
        for text, factor in other.terms.items():
            terms[text] = terms.get(text, 0) + factor
        return Linear({t: f for t, f in terms.items() if f}, self.constant + other.constant)

    def times(self, factor: int) -> Linear:
        """The sum, every term multiplied."""
        return Linear({t: factor * f for t, f in self.terms.items() if factor}, factor * self.constant)

    def bounds(self, known: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
        """Least and greatest value, if all terms are bounded."""
        low = high = self.constant
        for text, factor in self.terms.items():
            if text not in known:
                return None
            ends = [factor * end for end in known[text]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def node(self) -> ast.expr:
        """The sum as a person would write it: terms, then the constant."""
        total: ast.expr | None = None
        for text, factor in self.terms.items():
            total = _plus(total, expression(text), factor)
        return _plus(total, None, self.constant) if self.constant or total is None else total


def _plus(total: ast.expr | None, term: ast.expr | None, factor: int) -> ast.expr:
    """total + factor * term, or + factor; built as a tree, so that whoever writes it knows where parentheses belong."""
    size = abs(factor) if total is not None else factor
    if term is None:
        part: ast.expr = ast.Constant(size)
    elif abs(size) == 1:
        part = term if size > 0 else ast.UnaryOp(ast.USub(), term)
    else:
        part = ast.BinOp(ast.Constant(size), ast.Mult(), term)
    return part if total is None else ast.BinOp(total, ast.Add() if factor > 0 else ast.Sub(), part)


def linear(
    node: ast.expr, constant: Callable[[ast.expr], int | None], defined: Mapping[str, ast.expr] | None = None
) -> Linear:
    """The linear form of an expression.

    constant: the value of an expression that is a compile-time constant. defined: expressions that names stand for.
    """
    if (value := constant(node)) is not None:
        return Linear({}, value)
    if isinstance(node, ast.Name) and defined and node.id in defined:
        return linear(defined[node.id], constant, defined)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return linear(node.operand, constant, defined).times(-1)
    if isinstance(node, ast.BinOp):
        a, b = (linear(side, constant, defined) for side in (node.left, node.right))
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a + b.times(-1)
        if isinstance(node.op, ast.Mult) and not (a.terms and b.terms):
            return a.times(b.constant) if not b.terms else b.times(a.constant)
    return Linear({ast.unparse(node): 1})
