"""Why a kernel cannot be multiplexed."""

from __future__ import annotations

import ast

from smmux.errors import CompileError
from smmux.source.function_source import FunctionSource


class MultiplexError(CompileError):
    """A kernel's use of shared memory cannot be multiplexed; file, line and column say where the reason is."""


def refuse(source: FunctionSource, node: ast.AST | None, why: str) -> MultiplexError:
    """The error for a place in a kernel or device function."""
    place = source.error(node, why)
    return MultiplexError(why, place.filename, place.lineno, place.offset, place.text or "")
