"""Names that change their type: each definition becomes a variable of its own, as in static single assignment form.

A variable has one type throughout a function. Where the definitions of a name are of several types, such as `v = c[0];
v = v * 0.5`, its versions get names of their own: `v`, `v.1`, `v.2`. A version that stands for others, chosen by the
path on which control comes to a use, is assigned by copies at the ends of these paths, and takes the type that has room
for all of them. Only what is used later is copied (Braun et al. 2013, "Simple and efficient construction of static
single assignment form").
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from smmux.source.function_source import FunctionSource

Place = tuple[ast.AST, str]
"""Where copies go: to the end of a field of a statement, or before it if the field is ''."""


class Copy(ast.Assign):
    """One version takes the value of another, if it has one on this path."""


class Next(ast.AugAssign):
    """`target op= value` whose target is a new version of the name that it reads, `before`."""

    before: ast.Name
    _fields = ("before", "target", "op", "value")


class Mixed(Exception):
    """Names change their type in a function in which a pass has mixed what the versions of a name hold."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__("names change their type")
        self.names = names


@dataclass(eq=False, slots=True)
class Version:
    """What a name stands for from one definition on.

    node: the definition. sources: of a version that stands for others, these, each with the end of a path. same: the
    version that it turned out to be. used: whether anything reads it.
    """

    name: str
    node: ast.AST
    sources: list[tuple[Place, Version | None]] | None = None
    same: Version | None = None
    used: bool = False


def final(version: Version | None) -> Version | None:
    """The version that one turned out to be."""
    while version is not None and version.same is not None:
        version = version.same
    return version


def written(name: str) -> str:
    """The name of a version as the user wrote it."""
    return name if name.startswith(".") else name.partition(".")[0]


Env = dict[str, Version]
Path = tuple[Place, Env]


@dataclass(slots=True)
class Loop:
    """The paths that leave an iteration of a loop before its end."""

    breaks: list[Path] = field(default_factory=list)
    continues: list[Path] = field(default_factory=list)


def apart(source: FunctionSource, names: frozenset[str]) -> FunctionSource:
    """A function with the versions of these names, and of those that are apart already, as variables of their own."""
    whole = source.original or source
    names |= source.apart
    if names not in whole.versions:
        walk = _Walk(names - set(_conditional(whole.node)))
        walk.function(whole)
        renaming = _Renaming(walk)
        node, unread = renaming.function(whole), frozenset(renaming.names[v] for v in renaming.names if not v.used)
        whole.versions[names] = replace(whole, node=node, original=whole, apart=names, unread=unread)
    return whole.versions[names]


def spelled_out(source: FunctionSource, names: frozenset[str]) -> FunctionSource:
    """A function with the versions of names as variables of the text, for passes that change the text."""
    walk = _Walk(names - set(_conditional(source.node)))
    walk.function(source)
    return replace(source, node=_Spelling(walk, source).function(source))


def _conditional(node: ast.AST) -> Iterator[str]:
    """Names assigned within expressions of which only a part may be computed: these have no place for copies."""
    for inner in ast.walk(node):
        parts: list[ast.expr] = []
        if isinstance(inner, ast.BoolOp):
            parts = inner.values[1:]
        elif isinstance(inner, ast.IfExp):
            parts = [inner.body, inner.orelse]
        elif isinstance(inner, ast.Compare):
            parts = inner.comparators[1:]
        yield from (n.target.id for part in parts for n in ast.walk(part) if isinstance(n, ast.NamedExpr))


class _Walk:
    """Finds the versions, going once over the statements; `env` is None where control does not come."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.env: Env | None = {}
        self.loops: list[Loop] = []
        self.all: list[Version] = []
        self.of: dict[ast.Name, Version | None] = {}
        self.read: dict[ast.Name, Version | None] = {}  # what the target of an augmented assignment was

    def function(self, source: FunctionSource) -> None:
        """All of a function; parameters are the first versions of their names."""
        for name in (*source.parameters, *source.keywords, *source.rest):
            if name in self.names:
                self.define(name, source.node)
        self.body(source.node.body)
        self._simplify()
        self._mark()

    def define(self, name: str, node: ast.AST) -> Version:
        """A new version."""
        version = Version(name, node)
        self.all.append(version)
        if self.env is not None:
            self.env[name] = version
        return version

    def body(self, statements: list[ast.stmt]) -> None:
        """Statements in their order."""
        for node in statements:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        if isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.For | ast.While):
            self._loop(node)
        elif isinstance(node, ast.With):
            self.body(node.body)
        elif isinstance(node, ast.Break | ast.Continue):
            loop = self.loops[-1]
            if self.env is not None:
                (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(((node, ""), self.env))
            self.env = None
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if node.target.id in self.names:
                self.read[node.target] = (self.env or {}).get(node.target.id)
            self.expressions(node.value, node.target)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self.expressions(*([node.value] if node.value else []), *targets)
        else:
            self.expressions(*ast.iter_child_nodes(node))
            if isinstance(node, ast.Return | ast.Raise):
                self.env = None

    def expressions(self, *nodes: ast.AST) -> None:
        """Expressions and targets, in the order of their evaluation."""
        for node in nodes:
            if isinstance(node, ast.NamedExpr):
                self.expressions(node.value, node.target)
            elif not isinstance(node, ast.Name):
                self.expressions(*ast.iter_child_nodes(node))
            elif node.id in self.names and isinstance(node.ctx, ast.Load):
                self.of[node] = (self.env or {}).get(node.id)
            elif node.id in self.names:
                self.of[node] = self.define(node.id, node)

    def _if(self, node: ast.If) -> None:
        self.expressions(node.test)
        before = self.env
        paths: list[Path] = []
        for part in ("body", "orelse"):
            self.env = None if before is None else dict(before)
            self.body(getattr(node, part))
            if self.env is not None:
                paths.append(((node, part), self.env))
        self._join(paths, node)

    def _loop(self, node: ast.For | ast.While) -> None:
        if isinstance(node, ast.For):
            self.expressions(node.iter)
        if self.env is not None:
            changing = sorted(self.names.intersection(_assigned(node)))
            headers = {name: self._choice(name, node) for name in changing}
            paths = [((node, ""), self.env)]
            self.env = {**self.env, **headers}
        loop = Loop()
        self.loops.append(loop)
        if isinstance(node, ast.While):
            self.expressions(node.test)
        header = self.env
        self.env = None if header is None else dict(header)
        if isinstance(node, ast.For):
            self.expressions(node.target)
        self.body(node.body)
        self.loops.pop()
        ends = [*loop.continues, *([((node, "body"), self.env)] if self.env is not None else [])]
        if header is not None:
            for name, version in headers.items():
                version.sources = [(place, env.get(name)) for place, env in (*paths, *ends)]
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        self.env = None if endless else header
        self.body(node.orelse)
        self._join([*([((node, "orelse"), self.env)] if self.env is not None else []), *loop.breaks], node)

    def _join(self, paths: list[Path], node: ast.AST) -> None:
        """Go on where paths come together."""
        if not paths:
            self.env = None
            return
        joined: Env = {}
        for name in dict.fromkeys(name for _, env in paths for name in env):
            versions = [env.get(name) for _, env in paths]
            joined[name] = versions[0] if len(set(versions)) == 1 and versions[0] else self._choice(name, node, paths)
        self.env = joined

    def _choice(self, name: str, node: ast.AST, paths: Iterable[Path] = ()) -> Version:
        version = Version(name, node, [(place, env.get(name)) for place, env in paths])
        self.all.append(version)
        return version

    def _simplify(self) -> None:
        """Versions that stand for one other alone are that one; what is not assigned on a path counts as nothing."""
        changed = True
        while changed:
            changed = False
            for version in self.all:
                if version.sources is not None and version.same is None:
                    others = {final(source) for _, source in version.sources} - {version, None}
                    if len(others) == 1:
                        version.same, changed = others.pop(), True

    def _mark(self) -> None:
        """Find the versions that are read."""
        work = [final(v) for n, v in (*self.of.items(), *self.read.items()) if isinstance(n.ctx, ast.Load)]
        work += [final(v) for v in self.read.values()]
        while work:
            version = work.pop()
            if version is not None and not version.used:
                version.used = True
                work.extend(final(source) for _, source in version.sources or ())


def _assigned(node: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


class _Renaming:
    """Writes the function anew; what does not change is shared with the old tree."""

    def __init__(self, walk: _Walk) -> None:
        self.walk = walk
        self.names: dict[Version, str] = {}
        counts: dict[str, int] = {}
        for version in walk.all:
            if version.same is None and (version.sources is None or version.used):
                number = counts[version.name] = counts.get(version.name, -1) + 1
                self.names[version] = self.named(version.name, number) if number else version.name
        self.copies: dict[Place, list[ast.stmt]] = {}
        for version in walk.all:
            if version.sources is not None and version in self.names:
                for place, source in version.sources:
                    self._copy(place, version, final(source))

    def function(self, source: FunctionSource) -> ast.FunctionDef:
        """The function's new tree."""
        node = self.of(source.node)
        assert isinstance(node, ast.FunctionDef)
        return node

    def named(self, name: str, number: int) -> str:
        """The name of a version, one that no text can have."""
        return f"{name}.{number}"

    def copied(self, to: ast.Name, value: ast.Name) -> ast.stmt:
        """The statement that copies a version."""
        return Copy([to], value)

    def augmented(self, before: ast.Name, to: ast.Name, op: ast.operator, value: ast.expr) -> ast.stmt:
        """The statement that makes a version of the one before."""
        return Next(before=before, target=to, op=op, value=value)  # type: ignore[call-arg]

    def _copy(self, place: Place, target: Version, source: Version | None) -> None:
        if source is not None and source is not target:
            to = ast.Name(self.names[target], ast.Store())
            value = ast.Name(self.names[source], ast.Load())
            made = self.copied(to, value)
            for node in (made, to, value):
                ast.copy_location(node, source.node)
            self.copies.setdefault(place, []).append(made)

    def of(self, node: ast.AST) -> ast.AST:
        """A node with versions in place of names."""
        if isinstance(node, ast.Name):
            version = final(self.walk.of.get(node))
            return node if version is None else self._name(node, version, node.ctx)
        if isinstance(node, ast.AugAssign) and node.target in self.walk.read:
            return self._next(node)
        changed = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                new: object = self.of(value)
            elif isinstance(value, list):
                new = self._list(node, name, value)
            else:
                continue
            if new is not value:
                changed[name] = new
        if not changed:
            return node
        made = type(node)(**{**dict(ast.iter_fields(node)), **changed})
        return ast.copy_location(made, node)

    def _list(self, owner: ast.AST, name: str, old: list[Any]) -> list[Any]:
        new: list[Any] = []
        for item in old:
            new += self.copies.get((item, ""), ())
            new.append(self.of(item) if isinstance(item, ast.AST) else item)
        new += self.copies.get((owner, name), ())
        return old if len(new) == len(old) and all(a is b for a, b in zip(old, new, strict=True)) else new

    def _next(self, node: ast.AugAssign) -> ast.AST:
        assert isinstance(node.target, ast.Name)
        before, after = final(self.walk.read[node.target]), final(self.walk.of[node.target])
        assert after is not None
        old = self._name(node.target, before, ast.Load()) if before else node.target
        value = self.of(node.value)
        assert isinstance(value, ast.expr)
        return ast.copy_location(self.augmented(old, self._name(node.target, after, ast.Store()), node.op, value), node)

    def _name(self, node: ast.Name, version: Version, context: ast.expr_context) -> ast.Name:
        name = self.names[version]
        if name == node.id and type(context) is type(node.ctx):
            return node
        return ast.copy_location(ast.Name(name, context), node)


class _Spelling(_Renaming):
    """Writes versions as a user would."""

    def __init__(self, walk: _Walk, source: FunctionSource) -> None:
        self.taken = {n.id for n in ast.walk(source.node) if isinstance(n, ast.Name)} | source.locals
        super().__init__(walk)

    def named(self, name: str, number: int) -> str:
        made = next(text for i in itertools.count(number) if (text := f"{name}_{i}") not in self.taken)
        self.taken.add(made)
        return made

    def copied(self, to: ast.Name, value: ast.Name) -> ast.stmt:
        return ast.Assign([to], value)

    def augmented(self, before: ast.Name, to: ast.Name, op: ast.operator, value: ast.expr) -> ast.stmt:
        return ast.Assign([to], ast.copy_location(ast.BinOp(before, op, value), before))
