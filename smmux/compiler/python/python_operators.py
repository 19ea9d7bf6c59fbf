"""How Python's operators on numbers and its comparisons are written, by their names in `ast`."""

from __future__ import annotations

import ast

from smmux.compiler.build.numbers import Value
from smmux.compiler.python.context import Frame
from smmux.errors import CompileError

SYMBOL = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
}  # fmt: skip


def needs_integers(f: Frame, node: ast.AST, op: str, a: Value, b: Value) -> CompileError:
    """The error of an operator on integers that got other numbers."""
    signs = not (a.kind.floating or b.kind.floating)
    hint = ": no type holds both, so cast one of them" if signs else ""
    return f.error(node, f"operator {SYMBOL[op]} needs integers, not {a.kind.value} and {b.kind.value}{hint}")
