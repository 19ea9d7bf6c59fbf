"""Index expressions as sums of products with constants, to compare them, to shift them and to find rows in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from smmux.multiplex.syntax import expression

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
        text = ""
        for name, factor in self.terms.items():
            atom = name if name.isidentifier() or abs(factor) == 1 and factor > 0 and not text else f"({name})"
            sign = "-" if factor < 0 else "+"
            part = atom if abs(factor) == 1 else f"{abs(factor)} * {atom}"
            text = f"{text} {sign} {part}" if text else part if factor > 0 else f"-{part}"
        if self.constant or not text:
            sign = "-" if self.constant < 0 else "+"
            text = f"{text} {sign} {abs(self.constant)}" if text else str(self.constant)
        return expression(text)


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
