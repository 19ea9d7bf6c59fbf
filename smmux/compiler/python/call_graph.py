"""The device functions that a kernel calls, and how many calls these come to, once each is written out at its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from smmux.base.trees import walk
from smmux.source.attributes import peek
from smmux.source.function_source import FunctionSource

__all__ = ["check_calls", "device_function"]

MOST_CALLS = 4096
"""Calls of device functions that a kernel may have in all, those of a loop counted once [EST]. Compiler and passes take
time for each. Kernels written by hand have some tens. With fewer, functions that call others twice in a few levels are
refused; with more these take minutes before they turn out too long for a machine."""


def device_function(source: FunctionSource, node: ast.Call) -> FunctionSource | None:
    """The device function that a call is of."""
    found = peek(source.resolve(node.func), "definition")
    return found if isinstance(found, FunctionSource) else None


def check_calls(source: FunctionSource) -> None:
    """Raise CompileError for a kernel with too many calls."""
    known: dict[FunctionSource, int] = {}
    calls = [(node, 1 + _count(function, known)) for node, function in _calls(source)]
    total = sum(count for _, count in calls)
    if total > MOST_CALLS:
        node, count = max(calls, key=lambda call: call[1])
        raise source.error(
            node,
            f"the kernel has {total} calls of device functions once those within others are written out, {count} of "
            f"them here; {MOST_CALLS} is the most: keep what is computed twice in a variable",
        )


def _calls(source: FunctionSource) -> Iterator[tuple[ast.Call, FunctionSource]]:
    for node in walk(source.node):
        if isinstance(node, ast.Call) and (function := device_function(source, node)) is not None:
            yield node, function


def _count(function: FunctionSource, known: dict[FunctionSource, int]) -> int:
    """The calls within a function; one that calls itself is refused elsewhere."""
    if function not in known:
        known[function] = 0
        known[function] = sum(1 + _count(inner, known) for _, inner in _calls(function))
    return known[function]
