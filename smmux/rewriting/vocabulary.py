"""Which calls of a kernel mean something to the passes: barriers, atomic operations, device functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from smmux import cuda
from smmux.base.trees import walk
from smmux.compiler.python.call_graph import device_function
from smmux.rewriting.refusals import refuse
from smmux.source.attributes import peek
from smmux.source.function_source import FunctionSource

COUNTING = (cuda.syncthreads_and, cuda.syncthreads_count, cuda.syncthreads_or)
BARRIERS = (cuda.syncthreads, *COUNTING)
ATOMICS = frozenset(id(function) for name, function in vars(cuda.atomic).items() if not name.startswith("_")
                    for function in (getattr(cuda.atomic, name),))  # fmt: skip


def calls(source: FunctionSource, node: ast.AST, functions: tuple[object, ...]) -> bool:
    """True for a call of one of these functions of the language."""
    return isinstance(node, ast.Call) and any(source.resolve(node.func) is function for function in functions)


def from_outside(source: FunctionSource, node: ast.expr) -> bool:
    """True for a name that a function captures, and for attributes of it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id not in source.locals


def functions(source: FunctionSource) -> Iterator[FunctionSource]:
    """A kernel or device function, and all device functions that it or those call or have at hand."""
    seen: set[FunctionSource] = set()
    waiting = [source]
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen.add(function)
            yield function
            named = [n for n in walk(function.node) if isinstance(n, ast.Name | ast.Attribute)]
            at_hand = [function.resolve(n) for n in named if from_outside(function, n)]
            waiting += held_functions((*at_hand, *function.defaults.values()))


def held_functions(value: object) -> Iterator[FunctionSource]:
    """The device function that an object from outside is, or those of a tuple, a list or a dict."""
    if isinstance(definition := peek(value, "definition"), FunctionSource):
        yield definition
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from held_functions(item)


def acts(source: FunctionSource, node: ast.AST) -> bool:
    """Whether a call does more than compute a value, so that it must not be executed again: it stores, or prints."""
    if not isinstance(node, ast.Call):
        return False
    called = device_function(source, node)
    if called is None:
        return id(source.resolve(node.func)) in ATOMICS or prints(source, node)
    inside = [(function, n) for function in functions(called) for n in walk(function.node)]
    stores = any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for _, n in inside)
    return stores or any(acts(f, n) for f, n in inside if isinstance(n, ast.Call) and device_function(f, n) is None)


def refuse_grids(source: FunctionSource) -> None:
    """Refuse a kernel whose blocks all wait for each other: those without shared memory, or a turn, cannot arrive."""
    for function in functions(source):
        for node in walk(function.node):
            if calls(function, node, (cuda.cg.this_grid,)):
                why = "all blocks of the grid wait for each other here, and blocks that wait for shared memory, or for"
                raise refuse(function, node, f"{why} their turn with it, cannot arrive")


def prints(source: FunctionSource, node: ast.AST) -> bool:
    """Whether a statement prints, or calls what does."""
    called = (device_function(source, n) for n in walk(node) if isinstance(n, ast.Call))
    places = [(source, node), *((f, f.node) for outer in called if outer is not None for f in functions(outer))]
    return any(isinstance(n, ast.Call) and f.resolve(n.func) is print for f, tree in places for n in walk(tree))
