"""An array in two parts by its leading index: which part an access goes to, and statements restricted to one part."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.errors import refuse
from smmux.multiplex.linear import Linear, linear
from smmux.multiplex.names import assigned, names_in
from smmux.multiplex.syntax import Names, at, call, element
from smmux.types import int32

__all__ = ["PRIVATE", "PUBLIC", "Bounds", "Parts", "range_of"]

PRIVATE, PUBLIC = "private", "public"
Bounds = Mapping[str, tuple[int, int]]


@dataclass
class Parts:
    """The division of an array and of its views.

    limit: by name of the array or view, how many of its leading indices are private. public: name of the other part.
    bounds: of threadIdx components, where the block's size is given. constant: values of constant expressions.
    """

    source: FunctionSource
    names: Names
    limit: dict[str, int]
    public: dict[str, str]
    constant: Callable[[ast.expr], int | None]
    bounds: Bounds = field(default_factory=dict)
    short: dict[str, str] = field(default_factory=dict)  # names for long indices

    # -- accesses

    def accesses(self, *nodes: ast.AST) -> Iterator[ast.Subscript]:
        """Accesses to the array in statements."""
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.limit:
                yield node

    def lead(self, access: ast.Subscript) -> Linear:
        """The leading index."""
        index = access.slice.elts[0] if isinstance(access.slice, ast.Tuple) else access.slice
        return linear(index, self.constant)

    def part(self, access: ast.Subscript, bounds: Bounds) -> str | None:
        """The part that an access goes to, where the bounds tell."""
        assert isinstance(access.value, ast.Name)
        limit, found = self.limit[access.value.id], self.lead(access).bounds(bounds)
        if found is None or found[0] < limit <= found[1]:
            return None
        return PRIVATE if found[1] < limit else PUBLIC

    def parts(self, node: ast.AST, bounds: Bounds) -> set[str | None]:
        """The parts that the accesses of a statement go to; loops of constant length within are followed."""
        inner = dict(bounds)
        for loop in ast.walk(node):
            if (
                isinstance(loop, ast.For)
                and (over := range_of(loop, self.constant))
                and isinstance(loop.target, ast.Name)
            ):
                inner[loop.target.id] = (min(over), max(over))
        return {self.part(a, inner) for a in self.accesses(node)}

    def of(self, node: ast.stmt, part: str) -> ast.stmt:
        """The statement, all of whose accesses go to one part."""
        made = copy.deepcopy(node)
        return made if part == PRIVATE else _ToPublic(self).visit(made)

    def moved(self, access: ast.Subscript, array: str) -> ast.Subscript:
        """The access in the public part, under another name, with the leading index counted from there."""
        assert isinstance(access.value, ast.Name)
        lead = (self.lead(access) + Linear({}, -self.limit[access.value.id])).node()
        rest = access.slice.elts[1:] if isinstance(access.slice, ast.Tuple) else []
        return at(element(array, lead, *rest, store=isinstance(access.ctx, ast.Store)), access)

    # -- tests

    def common_lead(self, node: ast.stmt) -> ast.Subscript | None:
        """An access with the leading index of all accesses in a statement, which does not change within; else None."""
        found = list(self.accesses(node))
        one = {(self.limit[a.value.id], ast.dump(self.lead(a).node())) for a in found if isinstance(a.value, ast.Name)}
        if len(one) != 1 or names_in(self.lead(found[0]).node()) & assigned(self.source, [node]):
            return None
        return found[0]

    def test(self, access: ast.Subscript, part: str) -> ast.expr:
        """Whether an access goes to a part, constants on the right."""
        assert isinstance(access.value, ast.Name)
        lead = self.lead(access)
        right = ast.Constant(self.limit[access.value.id] - lead.constant)
        operator = ast.Lt() if part == PRIVATE else ast.GtE()
        return at(ast.Compare(Linear(lead.terms).node(), [operator], [right]), access)

    def with_short_index(self, node: ast.stmt) -> tuple[list[ast.stmt], ast.stmt]:
        """A statement whose leading index is a name, with the assignment of that name if it is a longer expression."""
        access = self.common_lead(node)
        if access is None or len(self.lead(access).terms) < 2 or not isinstance(node, ast.Assign | ast.AugAssign):
            return [], node
        name = self.short.get(ast.dump(access.slice)) or self.names.new("place", "index")
        self.short[ast.dump(access.slice)] = name
        index = access.slice.elts[0] if isinstance(access.slice, ast.Tuple) else access.slice
        first = at(ast.Assign([ast.Name(name, ast.Store())], call(self.names.module("int32", int32), index)), node)
        node = copy.deepcopy(node)
        for inner in self.accesses(node):
            if isinstance(inner.slice, ast.Tuple):
                inner.slice.elts[0] = at(ast.Name(name, ast.Load()), inner)
            else:
                inner.slice = at(ast.Name(name, ast.Load()), inner)
        return [first], node

    # -- restriction to a part

    def restricted(self, body: list[ast.stmt], part: str, bounds: Bounds) -> list[ast.stmt]:
        """Statements without what goes to the other part."""
        return [made for node in body for made in self._restricted(node, part, bounds)]

    def _restricted(self, node: ast.stmt, part: str, bounds: Bounds) -> list[ast.stmt]:
        if not any(self.accesses(node)):
            return [copy.deepcopy(node)]
        found = self.parts(node, bounds)
        if found == {part}:
            return [self.of(node, part)]
        if len(found) == 1 and None not in found:
            return []
        if isinstance(node, ast.For):
            return self._loop(node, part, bounds)
        if isinstance(node, ast.If):
            made = copy.copy(node)
            made.body = self.restricted(node.body, part, bounds)
            made.orelse = self.restricted(node.orelse, part, bounds)
            return [made] if made.body else []
        first, node = self.with_short_index(node)
        return [*first, self.guarded(node, part)]

    def guarded(self, node: ast.stmt, part: str) -> ast.stmt:
        """The statement under the test of its leading index."""
        access = self.common_lead(node)
        if access is None:
            raise refuse(self.source, node, "the accesses of this statement can go to different parts of the array")
        return at_head(ast.If(self.test(access, part), [self.of(node, part)], []), node)

    def _loop(self, node: ast.For, part: str, bounds: Bounds) -> list[ast.stmt]:
        ranges = self.split_range(node, bounds)
        if ranges is not None:
            return [self.ranged(node, ranges[part], part)] if ranges[part] else []
        if self.common_lead(node) is not None:
            return [self.guarded(node, part)]
        made = copy.copy(node)
        made.body = self.restricted(node.body, part, self.within(node, bounds))
        return [made] if any(self.all_accesses(made)) else []

    def all_accesses(self, node: ast.AST) -> Iterator[ast.AST]:
        """Accesses to either part."""
        both = {*self.limit, *self.public.values()}
        return (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in both)

    def within(self, node: ast.For, bounds: Bounds) -> Bounds:
        """Bounds in a loop's body."""
        over = range_of(node, self.constant)
        if not over or not isinstance(node.target, ast.Name):
            return bounds
        return {**bounds, node.target.id: (min(over), max(over))}

    def split_range(self, node: ast.For, bounds: Bounds) -> dict[str, range] | None:
        """The iterations that go to each part, if each goes to one, private ones first."""
        over = range_of(node, self.constant)
        if not over or over.step != 1 or not isinstance(node.target, ast.Name):
            return None
        each = [self.parts(ast.Module(node.body, []), {**bounds, node.target.id: (i, i)}) for i in over]
        first = sum(found == {PRIVATE} for found in each)
        if each != [{PRIVATE}] * first + [{PUBLIC}] * (len(each) - first):
            return None
        return {PRIVATE: over[:first], PUBLIC: over[first:]}

    def ranged(self, node: ast.For, over: range, part: str) -> ast.stmt:
        """The loop over some of its iterations, all of which go to one part."""
        made = copy.copy(node)
        if over != range_of(node, self.constant):
            bounds = [over.start, over.stop] if over.start else [over.stop]
            assert isinstance(node.iter, ast.Call)
            made.iter = at(ast.Call(node.iter.func, [ast.Constant(b) for b in bounds], []), node.iter)
        made.body = [self.of(inner, part) for inner in node.body]
        return made

    # -- both parts at once

    def mixed(self, body: list[ast.stmt], bounds: Bounds) -> list[ast.stmt]:
        """Statements whose accesses go to the part that their index asks for."""
        return [made for node in body for made in self._mixed(node, bounds)]

    def _mixed(self, node: ast.stmt, bounds: Bounds) -> list[ast.stmt]:
        if not any(self.accesses(node)):
            return [node]
        found = self.parts(node, bounds)
        if found in ({PRIVATE}, {PUBLIC}):
            return [self.of(node, str(next(iter(found))))]
        if isinstance(node, ast.For | ast.If | ast.While) and self.common_lead(node) is None:
            made = copy.copy(node)
            inside = self.within(node, bounds) if isinstance(node, ast.For) else bounds
            made.body, made.orelse = self.mixed(node.body, inside), self.mixed(node.orelse, inside)
            return [made]
        first, node = self.with_short_index(node)
        if isinstance(node, ast.Assign) and not any(self.accesses(*node.targets)):
            return [*first, _Chosen(self).visit(copy.deepcopy(node))]
        access = self.common_lead(node)
        if access is None:
            raise refuse(self.source, node, "the accesses of this statement can go to different parts of the array")
        return [*first, at_head(ast.If(self.test(access, PRIVATE), [node], [self.of(node, PUBLIC)]), node)]


def at_head(node: ast.If, place: ast.stmt) -> ast.If:
    """A new `if` put where its statement is."""
    return ast.copy_location(node, place)


def range_of(node: ast.For, constant: Callable[[ast.expr], int | None]) -> range | None:
    """The iterations of a loop over a constant range."""
    over = node.iter
    if not (isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"):
        return None
    bounds = [constant(a) for a in over.args]
    return range(*bounds) if all(b is not None for b in bounds) else None  # type: ignore[arg-type]


class _ToPublic(ast.NodeTransformer):
    """Accesses to the public part."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.parts.limit:
            return self.parts.moved(node, self.parts.public[node.value.id])
        return self.generic_visit(node)  # type: ignore[return-value]


class _Chosen(ast.NodeTransformer):
    """Loads from the part that the index asks for."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not (isinstance(node.value, ast.Name) and node.value.id in self.parts.limit):
            return self.generic_visit(node)  # type: ignore[return-value]
        public = self.parts.moved(node, self.parts.public[node.value.id])
        return ast.copy_location(ast.IfExp(self.parts.test(node, PRIVATE), node, public), node)
