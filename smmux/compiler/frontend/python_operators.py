"""Python's operators on numbers, by their names in `ast`: what each computes, and how it is written."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.typed_values import Value
from smmux.errors import CompileError

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
}
SYMBOL = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
}  # fmt: skip


def needs_integers(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> CompileError:
    """The error of an operator on integers that got other numbers."""
    signs = not (a.kind.floating or b.kind.floating)
    hint = ": no type holds both, so cast one of them" if signs else ""
    return f.error(node, f"operator {SYMBOL[op]} needs integers, not {a.kind.value} and {b.kind.value}{hint}")
