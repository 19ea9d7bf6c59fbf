"""What statements hand on: values that come out of an array, and variables needed behind a place of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.analysis.scalars import assigned, exposed, names_in
from smmux.multiplex.syntax.vocabulary import device_function

__all__ = ["fed_by", "fills", "jumps_out", "leaves_loop", "needed_after", "stored_once"]


def fed_by(source: FunctionSource, body: list[ast.stmt], arrays: Collection[str]) -> set[str]:
    """Variables and per-thread arrays into which values of the arrays go, or that are assigned where these decide."""
    found: set[str] = set()
    while True:
        before = len(found)
        _feed(source, body, arrays, found, False)
        if len(found) == before:
            return found


def _feed(
    source: FunctionSource, body: list[ast.stmt], arrays: Collection[str], found: set[str], inherited: bool
) -> None:
    for node in body:
        if isinstance(node, ast.If | ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            decided = inherited or _flows(head, arrays, found)
            if isinstance(node, ast.For) and decided:
                found |= names_in(node.target)
            _feed(source, node.body, arrays, found, decided)
            _feed(source, node.orelse, arrays, found, decided)
        elif inherited or any(_flows(part, arrays, found) for part in _operands(node)):
            found |= assigned(source, [node]) - set(arrays)


def _operands(node: ast.stmt) -> Iterator[ast.AST]:
    """What a simple statement uses: all but the elements that it stores to, of which it uses the indices."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    inner = [i for t in targets for i in (t.elts if isinstance(t, ast.Tuple) else [t])]
    yield from (t.slice for t in inner if isinstance(t, ast.Subscript))
    if not targets:
        yield node
    elif (value := getattr(node, "value", None)) is not None:
        yield value


def _flows(node: ast.AST, arrays: Collection[str], found: set[str]) -> bool:
    names = names_in(node)
    return bool(names & found) or not names.isdisjoint(arrays)


def leaves_loop(loop: ast.For | ast.While) -> bool:
    """Whether a loop can be left by `break` or `return`."""
    returns = any(isinstance(node, ast.Return) for node in ast.walk(loop))
    return returns or any(jumps_out(node, ast.Break) for node in loop.body)


def jumps_out(node: ast.AST, *kinds: type[ast.stmt]) -> bool:
    """Whether a statement has a `break` or `continue` (or one of these kinds) of a loop around it."""
    if isinstance(node, kinds or (ast.Break, ast.Continue)):
        return True
    inner = node.orelse if isinstance(node, ast.For | ast.While) else ast.iter_child_nodes(node)
    return any(jumps_out(child, *kinds) for child in inner)


def needed_after(source: FunctionSource, tree: ast.FunctionDef, body: list[ast.stmt], position: int) -> set[str]:
    """Variables whose values may be needed behind a position of a statement list of a kernel."""
    found = exposed(source, body[position:])
    for around, i, node in reversed(_path(tree.body, body)):
        if isinstance(node, ast.For | ast.While):
            found |= exposed(source, [node])
        found |= exposed(source, around[i + 1 :])
    return found


Path = list[tuple[list[ast.stmt], int, ast.stmt]]


def _path(outer: list[ast.stmt], body: list[ast.stmt]) -> Path:
    """Statements around a statement list, from outside, each with its list and place there."""
    for i, node in enumerate(outer):
        for inner in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if inner is body:
                return [(outer, i, node)]
            if isinstance(inner, list) and (path := _path(inner, body)):
                return [(outer, i, node), *path]
    return []


def stored_once(source: FunctionSource, node: ast.stmt, array: str) -> bool:
    """Whether a statement stores to each element of a per-thread array at most once, at one place."""
    places = list(_stores(node, array, ()))
    calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call) and device_function(source, inner))
    if len(places) != 1 or any(array in names_in(*call.args, *call.keywords) for call in calls):
        return False
    index, loops = places[0]
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return loops <= {i.id for i in items if isinstance(i, ast.Name)}


def _stores(node: ast.AST, array: str, loops: tuple[str, ...]) -> Iterator[tuple[ast.expr, set[str]]]:
    """Indices of stores to an array, with the variables of the loops around them ("" for one that is not for)."""
    if isinstance(node, ast.For | ast.While):
        loops = (*loops, node.target.id if isinstance(node, ast.For) and isinstance(node.target, ast.Name) else "")
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and array in names_in(node.value):
        yield node.slice, set(loops)
    for child in ast.iter_child_nodes(node):
        yield from _stores(child, array, loops)


def fills(source: FunctionSource, node: ast.stmt, array: str, size: int | None) -> bool:
    """Whether a statement, or the device function that it calls, is a loop that stores to all elements of an array."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = device_function(source, node.value)
        if function is None or node.value.keywords:
            return False
        inner = [p for p, a in zip(function.parameters, node.value.args, strict=False) if names_in(a) == {array}]
        loops = [s for s in function.node.body if isinstance(s, ast.For)]
        return len(inner) == 1 and any(fills(function, loop, inner[0], size) for loop in loops)
    if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name) or leaves_loop(node):
        return False
    over = node.iter
    extent = over.args[0] if isinstance(over, ast.Call) and ast.unparse(over.func) == "range" and over.args else None
    value = extent.value if isinstance(extent, ast.Constant) else source.resolve(extent) if extent is not None else None
    whole = isinstance(over, ast.Call) and len(over.args) == 1 and value == size and size is not None
    targets = [t for s in node.body if isinstance(s, ast.Assign) for t in s.targets]
    return whole and any(
        isinstance(t, ast.Subscript)
        and names_in(t.value) == {array}
        and isinstance(t.slice, ast.Name)
        and t.slice.id == node.target.id
        for t in targets
    )
