"""Gives each variable a name of its own, so that a kernel that is refused as written gets another try.

Facts belong to names and cover all assignments to a name. So a loop counter whose name was used for something else
before can seem to differ between threads, though it does not. The definitions that can reach a use together, a web, are
one variable; each web of a name can have a name of its own.
"""

from __future__ import annotations

import ast
import functools
from collections import ChainMap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

from smmux.base.deep import deep
from smmux.base.garbage import rarely_collected
from smmux.base.trees import copied, walk
from smmux.errors import CompileError
from smmux.kernels.kernel import Kernel
from smmux.multiplex.analysis.dataflow import Forward
from smmux.multiplex.analysis.scalars import Mention, Mentions
from smmux.rewriting.draft import Names
from smmux.rewriting.refusals import MultiplexError
from smmux.source.function_source import FunctionSource

Pass = TypeVar("Pass", bound=Callable[..., Any])


def or_renamed(function: Pass) -> Pass:
    """Let a pass over a kernel try again with separate names if it refuses the kernel; if it refuses again, raise the
    first error.
    """

    @functools.wraps(function)
    def either(kernel: Kernel, *arguments: Any, **options: Any) -> Any:
        try:
            return function(kernel, *arguments, **options)
        except MultiplexError:
            other = _apart(kernel, {})
            if other is not kernel:
                with suppress(CompileError):
                    return function(other, *arguments, **options)
            raise

    return cast("Pass", rarely_collected(deep(either)))


def _apart(function: Kernel, known: dict[Kernel, Kernel]) -> Kernel:
    """Give each web of a function and of its device functions a name; return the function itself if each name is one
    web.
    """
    if function not in known:
        known[function] = function  # a recursive one stays as it is
        source = separated(function.definition)
        named = [node for node in source.free if isinstance(node, ast.Name)]
        called = {n.id: f for n in named if isinstance(f := source.resolve(n), Kernel) and not f.definition.library}
        changed = {name: made for name, f in called.items() if (made := _apart(f, known)) is not f}
        if changed:
            source = replace(source, captured=ChainMap(dict(changed), source.captured))  # type: ignore[arg-type]
        if source is not function.definition:
            known[function] = Kernel(source)
    return known[function]


def as_written(source: FunctionSource, node: ast.AST) -> str:
    """An expression or statement as text, with the names that its variables had."""
    node = copied(node)
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            inner.id = source.webs.get(inner.id, inner.id)
    return ast.unparse(node)


STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert, ast.Pass, ast.If, ast.For, ast.While, ast.With,
    ast.Return, ast.Break, ast.Continue, ast.Raise,
)  # fmt: skip
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await)


def separated(source: FunctionSource) -> FunctionSource:
    """Give each web of a function a name, the first the old one; return the function itself if nothing changes."""
    tree = copied(source.node)
    if not _plain(tree.body):
        return source
    webs = _Webs(source)
    webs.sequence(Mentions(source, followed=False).block(tree.body), frozenset(webs.entry.items()))
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
    inside = [node for statement in body for node in walk(statement)]
    return all(isinstance(n, STATEMENTS) if isinstance(n, ast.stmt) else not isinstance(n, SCOPES) for n in inside)


class _Webs(Forward[tuple[str, int]]):
    """Joins the definitions that reach one use; a state has the definitions that can have made each variable.

    of: for each mention of a variable one definition of its web. entry: what a variable is when the function begins.
    """

    def __init__(self, source: FunctionSource) -> None:
        super().__init__()
        self.entry = {name: i for i, name in enumerate(sorted(source.locals))}
        self.above = list(self.entry.values())
        self.of: dict[ast.Name, int] = {}

    def root(self, definition: int) -> int:
        """The definition that stands for a web."""
        while self.above[definition] != definition:
            definition = self.above[definition]
        return definition

    def step(self, event: Mention, state: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        node = event.node
        if node.id not in self.entry:
            return state
        if not event.whole:  # all that can be in it is of one web; where control does not come, the entry's
            for definition in sorted(d for name, d in state if name == node.id) or [self.entry[node.id]]:
                self.above[self.root(definition)] = self.root(self.of.setdefault(node, definition))
            return state
        if node not in self.of:  # `a += b` is in the web of what it uses
            self.of[node] = len(self.above)
            self.above.append(self.of[node])
        return frozenset(entry for entry in state if entry[0] != node.id) | {(node.id, self.of[node])}
