"""Syntax trees from text, by one thread at a time.

CPython 3.11 counts the depth of all trees that it builds in one place, so that two threads that parse at once can fail
with a SystemError (CPython issue 106905, mended in 3.11.8).
"""

from __future__ import annotations

import ast
import threading

_ONE = threading.RLock()  # an object's finalizer may parse while its thread does


def module(text: str, filename: str = "<unknown>") -> ast.Module:
    """Statements from their text."""
    with _ONE:
        return ast.parse(text, filename)


def expression(text: str) -> ast.expr:
    """An expression from its text."""
    with _ONE:
        return ast.parse(text, mode="eval").body


def statement(text: str) -> ast.stmt:
    """A statement from its text."""
    return module(text).body[0]
