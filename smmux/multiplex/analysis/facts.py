"""What is known of an expression before a kernel runs: is it the same in all threads of a block, which arrays is it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smmux.compiler.frontend.source import FunctionSource

__all__ = ["CONSTANT_OPERATIONS", "MISSING", "UNIFORM", "VARYING", "Array", "Fact", "join", "known"]

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


@dataclass(frozen=True, eq=False, slots=True)
class Array:
    """A shared array at its declaration, or an array parameter of the kernel, or a per-thread or constant array."""

    space: str  # "shared", "private" (a shared one that is apart, see `Analysis`), "global", "local" or "const"
    name: str
    node: ast.AST
    source: FunctionSource


@dataclass(frozen=True, slots=True)
class Fact:
    """What an expression can be.

    uniform: the same in all threads of a block. arrays: the arrays it can be, or be a row or view of. const: its value,
    or the captured object that it is. items: of a tuple.
    """

    uniform: bool
    arrays: frozenset[Array] = frozenset()
    const: Any = MISSING
    items: tuple[Fact, ...] | None = None


UNIFORM = Fact(True)
VARYING = Fact(False)


def known(value: Any) -> Fact:
    """A compile-time constant."""
    items = tuple(known(item) for item in value) if isinstance(value, tuple) else None
    return Fact(True, const=value, items=items)


def join(a: Fact | None, b: Fact) -> Fact:
    """What covers both."""
    if a is None or a == b:
        return b
    same = a.const is b.const or (a.const is not MISSING and b.const is not MISSING and _equal(a.const, b.const))
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
    return Fact(a.uniform and b.uniform, a.arrays | b.arrays, a.const if same else MISSING, items)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, int | float | str) and a == b


CONSTANT_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
"""How operators of the syntax tree compute with constants."""
