"""One name for several variables: what refuses a kernel as written takes one with these apart.

What is known of a variable goes by its name and covers all its assignments. So a loop counter that was something else
before can seem to differ between threads, though it does not.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections import ChainMap
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

from smmux.compiler.frontend.source import FunctionSource
from smmux.errors import CompileError
from smmux.kernel import Kernel
from smmux.multiplex.analysis.renaming import separated
from smmux.multiplex.syntax.refusals import MultiplexError

__all__ = ["apart", "as_written", "or_apart"]

Pass = TypeVar("Pass", bound=Callable[..., Any])


def or_apart(function: Pass) -> Pass:
    """A pass, its first argument a kernel, that has a second try at what it refuses; if in vain, the first error."""

    @functools.wraps(function)
    def either(kernel: Kernel, *arguments: Any, **options: Any) -> Any:
        try:
            return function(kernel, *arguments, **options)
        except MultiplexError:
            other = apart(kernel)
            if other is not None:
                with suppress(CompileError):
                    return function(other, *arguments, **options)
            raise

    return cast("Pass", either)


def apart(kernel: Kernel) -> Kernel | None:
    """The kernel with its webs, and those of its device functions, apart; None if each name is one variable."""
    made = _function(kernel, {})
    return None if made is kernel else made


def _function(function: Kernel, known: dict[int, Kernel]) -> Kernel:
    if id(function) not in known:
        known[id(function)] = function  # a recursive one stays as it is
        source = separated(function.definition)
        changed = {name: made for name, f in _called(source) if (made := _function(f, known)) is not f}
        if changed:
            source = replace(source, captured=ChainMap(dict(changed), source.captured))  # type: ignore[arg-type]
        if source is not function.definition:
            known[id(function)] = Kernel(source)
    return known[id(function)]


def _called(source: FunctionSource) -> Iterable[tuple[str, Kernel]]:
    """Device functions by the names that they have in a function."""
    for node in source.free:
        found = source.resolve(node)
        if isinstance(node, ast.Name) and isinstance(found, Kernel) and not found.definition.library:
            yield node.id, found


def as_written(source: FunctionSource, node: ast.AST) -> str:
    """An expression or statement as text, with the names that its variables had."""
    node = copy.deepcopy(node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = source.webs.get(inner.id, inner.id)
    return ast.unparse(node)
