"""Elements of local arrays that a loop stores to, found from what its lowering did and not from names in its text.

A local array lies in registers, and has names that the text of a loop need not show: rows, items of tuples, what a
function returns. So a loop is lowered with variables for the elements that its text shows; where its end or a `break`
then leaves other elements changed, they are remembered and the loop is lowered once more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from smmux.base.trees import walk
from smmux.compiler.python import array_access
from smmux.compiler.python.context import Edge, Env, Frame, Key
from smmux.compiler.python.identity import same
from smmux.compiler.python.typed_values import Anything, ArrayRef, LocalArray, Tuple


def arrays_in(value: Anything | None) -> Iterator[ArrayRef]:
    """The arrays that a value refers to."""
    if isinstance(value, ArrayRef):
        yield value
    elif isinstance(value, Tuple):
        for item in value.items:
            yield from arrays_in(item)


def _known(env: Env) -> dict[LocalArray, None]:
    """The local arrays in registers that exist while these variables do."""
    storages = (array.storage for value in env.values() for array in arrays_in(value))
    return dict.fromkeys(s for s in storages if isinstance(s, LocalArray) and s.memory is None)


def _remembered(f: Frame, node: ast.AST) -> Iterator[Key]:
    """Elements that an earlier lowering of the loop has found changed."""
    places = f.ctx.stored.get((node, f.source))
    if places:
        for storage in _known(f.ctx.env):
            yield from ((storage, i) for i in range(storage.elements) if (storage.place, i) in places)


def unforeseen(f: Frame, before: Env, header: Env, edges: Iterable[Edge | Env]) -> set[tuple[object, int]]:
    """Elements, by the place of their array, that differ at an end of an iteration and are no variables of the loop."""
    envs = [edge if isinstance(edge, dict) else edge[1] for edge in edges]
    changed = [
        key
        for env in envs
        for key, value in env.items()
        if isinstance(key[0], LocalArray)
        and key not in header
        and not (key in before and (before[key] is value or same(before[key], value)))
    ]
    if not changed:
        return set()
    known = _known(before)
    return {(storage.place, index) for storage, index in changed if storage in known}


def of_loop(f: Frame, node: ast.For | ast.While) -> Iterator[Key]:
    """Elements of local arrays that get a variable in the loop."""
    yield from _shown(f, node)
    yield from _remembered(f, node)


def _shown(f: Frame, node: ast.For | ast.While) -> Iterator[Key]:
    """Registers of per-thread arrays that the loop, as its text shows, stores to or passes to a function."""
    names: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Store):
            names |= {n.id for n in walk(inner.value) if isinstance(n, ast.Name)}
        elif isinstance(inner, ast.Call):
            names |= {n.id for a in inner.args for n in walk(a) if isinstance(n, ast.Name)}
            names |= {n.id for k in inner.keywords for n in walk(k.value) if isinstance(n, ast.Name)}
        elif isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Name | ast.Tuple):
            names |= {n.id for n in walk(inner.value) if isinstance(n, ast.Name)}
    seen: set[Key] = set()
    for name in sorted(names):
        value = f.ctx.env.get(f.key(name))
        for array in arrays_in(value):
            for key in array_access.local_elements(array):
                if key not in seen:
                    seen.add(key)
                    yield key
