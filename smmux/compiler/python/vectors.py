"""Values with named items that kernels make: named tuples, and vectors such as float32x4."""

from __future__ import annotations

import ast
from typing import Any

from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast_to, number
from smmux.compiler.python.typed_values import Anything, Tuple
from smmux.language.vector_types import VectorType


def named_tuple(f: Frame, node: ast.AST, kind: Any, arguments: list[Anything], keywords: dict[str, Anything]) -> Tuple:
    """Point(x, y) of a named tuple's class."""
    names: tuple[str, ...] = kind._fields
    given = dict(zip(names, arguments, strict=False)) | keywords
    if len(arguments) + len(keywords) != len(names) or set(given) != set(names):
        raise f.error(node, f"{kind.__name__} takes {', '.join(names)}, each once")
    return Tuple(tuple(given[name] for name in names), names)


def vector(f: Frame, node: ast.AST, kind: VectorType, arguments: list[Anything]) -> Tuple:
    """float32x4(...) of numbers and shorter vectors, in order."""
    parts: list[Anything] = []
    for argument in arguments:
        parts.extend(argument.items if isinstance(argument, Tuple) else [argument])
    if len(parts) != kind.count:
        raise f.error(node, f"{kind} has {kind.count} components, {len(parts)} given")
    return Tuple(tuple(cast_to(f, node, number(f, node, part), kind.base) for part in parts), kind.components)
