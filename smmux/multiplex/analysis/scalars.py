"""Finds which variables and per-thread arrays statements assign, and which they need from before."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from smmux.base.trees import walk
from smmux.compiler.python.call_graph import device_function
from smmux.multiplex.analysis.accesses import Alternatives, Jump, Loop, Piece, escaping, flat
from smmux.multiplex.analysis.dataflow import Backward
from smmux.multiplex.analysis.facts import constant, trips
from smmux.rewriting.build import names_in
from smmux.source.function_source import FunctionSource


@dataclass(frozen=True, slots=True, eq=False)
class Mention:
    """A place where a function names a variable or an array."""

    node: ast.Name
    reads: bool = True  # its value matters
    stores: bool = False  # it is assigned, or some of its elements are
    whole: bool = False  # it is, as a whole


@dataclass(slots=True)
class Mentions:
    """Reads statements as events: mentions of variables, in the order of evaluation."""

    source: FunctionSource
    followed: bool = True  # a device function is known by what it does with its parameters
    lists: dict[int, list[Any]] = field(default_factory=dict)  # events by the id of their list

    def block(self, body: Iterable[ast.stmt]) -> list[Any]:
        """A statement list."""
        self.lists[id(body)] = [Piece(node, list(self.statement(node))) for node in body]
        return self.lists[id(body)]

    def statement(self, node: ast.stmt) -> Iterator[Any]:
        """One statement."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            yield from self.assignment(node)
        elif isinstance(node, ast.If):
            yield from self.value(node.test)
            yield Alternatives((self.block(node.body), self.block(node.orelse)))
        elif isinstance(node, ast.For):
            yield from self.value(node.iter)
            body = Alternatives((self.block(node.body),))
            yield Loop(node, [*self.target(node.target), body], (), self.block(node.orelse))
        elif isinstance(node, ast.While):
            test = list(self.value(node.test))
            yield from test
            yield Loop(node, self.block(node.body), test, self.block(node.orelse))
        elif isinstance(node, ast.With):
            for item in node.items:
                yield from self.value(item.context_expr)
            yield Alternatives((self.block(node.body),))
        elif isinstance(node, ast.Assert):
            yield Alternatives((list(self.value(node.test)), []))
        else:
            yield from self.parts(node)
            if isinstance(node, ast.Return | ast.Break | ast.Continue):
                yield Jump(type(node).__name__.lower(), node)

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[Any]:
        """What is assigned, then where to; `a += b` needs its target too."""
        if node.value is None:
            return
        if isinstance(node, ast.AugAssign):
            yield from self.value(node.target)
        yield from self.value(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from self.changed(target) if isinstance(node, ast.AugAssign) else self.target(target)

    def target(self, node: ast.expr) -> Iterator[Any]:
        """What is assigned to: a variable, elements, or several of these."""
        if isinstance(node, ast.Tuple | ast.List):
            for item in node.elts:
                yield from self.target(item)
            return
        if isinstance(node, ast.Subscript):
            yield from () if isinstance(node.value, ast.Name) else self.value(node.value)
            yield from self.value(node.slice)
        yield from self.changed(node)

    def changed(self, node: ast.expr) -> Iterator[Any]:
        """The variable that is assigned, or the array whose elements are."""
        whole = isinstance(node, ast.Name)
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            yield Mention(node, reads=False, stores=True, whole=whole)

    def value(self, node: ast.AST) -> Iterator[Any]:
        """An expression, or a part of one."""
        if isinstance(node, ast.Name):
            yield Mention(node)
        elif isinstance(node, ast.NamedExpr):
            yield from self.value(node.value)
            yield from self.target(node.target)
        elif isinstance(node, ast.IfExp):
            yield from self.value(node.test)
            yield Alternatives((list(self.value(node.body)), list(self.value(node.orelse))))
        elif isinstance(node, ast.BoolOp | ast.Compare):
            operands = node.values if isinstance(node, ast.BoolOp) else [node.left, *node.comparators]
            sure = 1 if isinstance(node, ast.BoolOp) else 2  # the others may be left out
            for operand in operands[:sure]:
                yield from self.value(operand)
            for operand in operands[sure:]:
                yield Alternatives((list(self.value(operand)), []))
        elif isinstance(node, ast.Call) and self.followed and (function := device_function(self.source, node)):
            yield from self.call(node, function)
        else:
            yield from self.parts(node)

    def parts(self, node: ast.AST) -> Iterator[Any]:
        """All that a node consists of."""
        for part in ast.iter_child_nodes(node):
            yield from self.value(part)

    def call(self, node: ast.Call, function: FunctionSource) -> Iterator[Any]:
        """A call of a device function: of an argument it may need the value, and it may store to it."""
        body = Mentions(function).block(function.node.body)
        needed, stored = _Needed().sequence(body, frozenset()), _stored(body)
        given = [*zip(function.parameters, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
        for name, argument in given:
            if name is None or name in needed:
                yield from self.value(argument)
            if name in stored:
                inside = (n for n in walk(argument) if isinstance(n, ast.Name))
                yield from (Mention(n, reads=False, stores=True) for n in inside)


def _stored(events: Iterable[Any]) -> set[str]:
    return {event.node.id for event in flat(events) if isinstance(event, Mention) and event.stores}


def assigned(source: FunctionSource, nodes: Iterable[ast.stmt]) -> set[str]:
    """Variables assigned, and per-thread arrays stored to, in statements and by the functions they call."""
    return _stored(Mentions(source).block(nodes))


def certain(body: Iterable[ast.stmt]) -> set[str]:
    """Variables assigned as a whole by plain assignments."""
    targets = [t for s in body if isinstance(s, ast.Assign) for t in s.targets]
    items = [i for t in targets for i in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return {i.id for i in items if isinstance(i, ast.Name)}


class _Needed(Backward[str]):
    """Variables whose values are read later, before others replace them."""

    def step(self, event: Mention, state: frozenset[str]) -> frozenset[str]:
        state = state - {event.node.id} if event.whole else state
        return state | {event.node.id} if event.reads else state


def exposed(source: FunctionSource, body: Iterable[ast.stmt]) -> set[str]:
    """Find the variables that statements read, on some path, before they assign them."""
    return set(_Needed().sequence(Mentions(source).block(body), frozenset()))


def needed_after(source: FunctionSource, tree: ast.FunctionDef, body: list[ast.stmt], position: int) -> set[str]:
    """Variables whose values may be needed behind a position of a statement list of a kernel."""
    needed, mentions = _Needed(), Mentions(source)
    needed.sequence(mentions.block(tree.body), frozenset())
    return set(needed.at[id(mentions.lists[id(body)]), position])


Flow = tuple[set[str], set[str]]  # variables that change together, and those that decide how


def closure(seeds: Collection[str], flows: Collection[Flow]) -> set[str]:
    """Return all variables that the given ones influence, directly or through others."""
    found, known = set(seeds), -1
    while known != (known := len(found)):
        found.update(*(changed for changed, used in flows if used & found))
    return found


def fed_by(source: FunctionSource, body: list[ast.stmt], seeds: Collection[str]) -> set[str]:
    """Return the variables and per-thread arrays that the seeds flow into, or whose assignment the seeds decide on."""
    return closure(seeds, list(_flows(source, body))) - set(seeds)


def _flows(source: FunctionSource, body: list[ast.stmt]) -> Iterator[Flow]:
    """What statements change, and what decides how."""
    for node in body:
        if isinstance(node, ast.If | ast.For | ast.While):
            yield assigned(source, [node]), names_in(node.iter if isinstance(node, ast.For) else node.test)
            yield from _flows(source, [*node.body, *node.orelse])
        else:
            mentions = [m for m in flat(Mentions(source).block([node])) if isinstance(m, Mention)]
            yield _stored(mentions), {m.node.id for m in mentions if m.reads}


def leaving(source: FunctionSource, body: Iterable[ast.stmt]) -> set[str]:
    """Kinds of jumps that lead out of statements: `break` and `continue` of a loop around them, and `return`."""
    return {jump.kind for jump in escaping(Mentions(source, followed=False).block(body))}


def stored_once(source: FunctionSource, node: ast.stmt, array: str) -> bool:
    """Whether a statement stores to each element of a per-thread array at most once, at one place."""
    places = list(_stores(node, array, ()))
    calls = (inner for inner in walk(node) if isinstance(inner, ast.Call) and device_function(source, inner))
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
        return len(inner) == 1 and any(fills(function, loop, inner[0], size) for loop in function.node.body)
    if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name) or leaving(source, node.body):
        return False
    counter = node.target.id
    stores = (t for s in node.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Subscript))
    over = trips(source, node, lambda bound: constant(source, bound))
    return bool(size and over == range(size)) and any(
        names_in(t.value) == {array} and isinstance(t.slice, ast.Name) and t.slice.id == counter for t in stores
    )
