"""Webs: the definitions of a name that can reach a use together. Each web of a name can be a variable of its own."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable
from dataclasses import replace

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.syntax.draft import Names

__all__ = ["separated"]

State = dict[str, frozenset[int]]
"""Definitions of each variable that can have made its value; empty where control does not come."""

STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert, ast.Pass, ast.If, ast.For, ast.While, ast.With,
    ast.Return, ast.Break, ast.Continue,
)  # fmt: skip
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await)


def separated(source: FunctionSource) -> FunctionSource:
    """A function with its webs apart: the first of a name keeps it. The same one if there is nothing to rename."""
    tree = copy.deepcopy(source.node)
    if not _plain(tree.body):
        return source
    webs = Webs(source)
    webs.block(tree.body)
    names, new = Names(source, tree), dict[str, str]()
    called: dict[tuple[str, int], str] = {(name, webs.root(webs.entry[name])): name for name in source.parameters}
    taken = set(source.parameters)
    for node, definition in webs.of.items():
        web = node.id, webs.root(definition)
        if web not in called:
            called[web] = names.new(node.id) if node.id in taken else node.id
            taken.add(node.id)
        if called[web] != node.id:
            new[called[web]] = node.id
        node.id = called[web]
    return replace(source, node=tree, webs={**source.webs, **new}) if new else source


def _plain(body: list[ast.stmt]) -> bool:
    """Whether statements and all in them are of kinds whose order of evaluation is known here."""
    inside = [node for statement in body for node in ast.walk(statement)]
    return all(isinstance(n, STATEMENTS) if isinstance(n, ast.stmt) else not isinstance(n, SCOPES) for n in inside)


class Webs:
    """A walk along control that joins the definitions which reach one use.

    of: for each mention of a variable one definition of its web. entry: what a variable is when the function begins.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.entry = {name: i for i, name in enumerate(sorted(source.locals))}
        self.above = list(self.entry.values())
        self.of: dict[ast.Name, int] = {}
        self.now: State = {name: frozenset({i}) for name, i in self.entry.items()}
        self.loops: list[tuple[list[State], list[State]]] = []  # what goes to the end of a loop, and to its next trip

    def root(self, definition: int) -> int:
        """The definition that stands for a web."""
        while self.above[definition] != definition:
            definition = self.above[definition]
        return definition

    def use(self, node: ast.Name) -> None:
        """All that can be in a variable here is of one web; where control does not come, the entry's."""
        for definition in self.now.get(node.id) or {self.entry[node.id]}:
            first = self.of.setdefault(node, definition)
            self.above[self.root(definition)] = self.root(first)

    def define(self, node: ast.Name) -> None:
        """From here on the variable is what it is assigned here."""
        if node not in self.of:
            self.of[node] = len(self.above)
            self.above.append(self.of[node])
        self.now = {**self.now, node.id: frozenset({self.of[node]})}

    # -- expressions, in the order of evaluation

    def value(self, node: ast.AST) -> None:
        """An expression, or a part of one."""
        if isinstance(node, ast.Name):
            if node.id in self.entry:
                self.use(node)
        elif isinstance(node, ast.NamedExpr):
            self.value(node.value)
            self.define(node.target)
        elif isinstance(node, ast.IfExp):
            self.value(node.test)
            self.sides(lambda: self.value(node.body), lambda: self.value(node.orelse))
        elif isinstance(node, ast.BoolOp | ast.Compare):
            self.operands(node.values if isinstance(node, ast.BoolOp) else [node.left, *node.comparators],
                          sure=1 if isinstance(node, ast.BoolOp) else 2)  # fmt: skip
        else:
            for part in ast.iter_child_nodes(node):
                self.value(part)

    def operands(self, parts: list[ast.expr], sure: int) -> None:
        """Operands each of which may be the last that is evaluated, but for those that surely are."""
        for i, part in enumerate(parts):
            self.sides(functools.partial(self.value, part), *[lambda: None] * (i >= sure))

    def target(self, node: ast.expr) -> None:
        """What is assigned to."""
        if isinstance(node, ast.Name):
            self.define(node)
        elif isinstance(node, ast.Tuple | ast.List):
            for item in node.elts:
                self.target(item)
        else:
            self.value(node)

    # -- statements

    def block(self, body: list[ast.stmt]) -> None:
        """A statement list."""
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        if isinstance(node, ast.Assign):
            self.value(node.value)
            for target in node.targets:
                self.target(target)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.value(node.value)
                self.target(node.target)
        elif isinstance(node, ast.AugAssign):
            self.value(node.target)
            self.value(node.value)
            if isinstance(node.target, ast.Name):
                self.define(node.target)  # in the web of what it uses
        elif isinstance(node, ast.If):
            self.value(node.test)
            self.sides(lambda: self.block(node.body), lambda: self.block(node.orelse))
        elif isinstance(node, ast.For | ast.While):
            self.loop(node)
        elif isinstance(node, ast.With):
            for item in node.items:
                self.value(item.context_expr)
            self.block(node.body)
        else:
            self.simple(node)

    def simple(self, node: ast.stmt) -> None:
        """A statement that assigns nothing."""
        for part in ast.iter_child_nodes(node):
            self.sides(functools.partial(self.value, part), lambda: None)
        if isinstance(node, ast.Break | ast.Continue) and self.loops:
            self.loops[-1][isinstance(node, ast.Continue)].append(self.now)
        if isinstance(node, ast.Break | ast.Continue | ast.Return):
            self.now = {}

    def sides(self, *ways: Callable[[], None]) -> None:
        """One way or another."""
        before, after = self.now, list[State]()
        for way in ways:
            self.now = before
            way()
            after.append(self.now)
        self.now = _merged(*after)

    def loop(self, node: ast.For | ast.While) -> None:
        """for and while, until no trip brings anything new."""
        if isinstance(node, ast.For):
            self.value(node.iter)
        ends, trips = list[State](), list[State]()
        self.loops.append((ends, trips))
        head: State | None = None
        while head != (head := _merged(head or {}, self.now, *trips)):
            self.now = head
            if isinstance(node, ast.While):
                self.value(node.test)
            ended = self.now
            if isinstance(node, ast.For):
                self.target(node.target)
            self.block(node.body)
        self.loops.pop()
        self.now = ended
        self.block(node.orelse)
        self.now = _merged(self.now, *ends)


def _merged(*states: State) -> State:
    """What can be in the variables where ways come together."""
    names = dict.fromkeys(name for state in states for name in state)
    return {name: frozenset[int]().union(*(state.get(name, ()) for state in states)) for name in names}
