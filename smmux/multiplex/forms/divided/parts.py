"""An array in two parts by its leading index: which part an access goes to, and statements restricted to one part.

A statement is restricted by its leaves: simple statements, or whole loops all of whose accesses go to one part in each
iteration. A leaf with accesses is executed for its part alone, one without for both. What comes out of the array must
not go from one leaf to another, since the other one may be executed for the other part.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.analysis.integers import Linear, linear
from smmux.multiplex.analysis.scalars import assigned, exposed, fed_by, jumps_out, leaves_loop, names_in
from smmux.multiplex.syntax.build import at, call, element, shell
from smmux.multiplex.syntax.draft import Names
from smmux.multiplex.syntax.refusals import refuse
from smmux.types import int32

Node = TypeVar("Node", bound=ast.AST)

__all__ = ["PRIVATE", "PUBLIC", "Bounds", "NotDivisibleError", "Parts", "is_atomic", "range_of"]

PRIVATE, PUBLIC = "private", "public"
Bounds = Mapping[str, tuple[int, int]]


class NotDivisibleError(Exception):
    """A statement that cannot be executed once for each part."""


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
            if isinstance(node, ast.Subscript) and self.is_access(node):
                yield node

    def is_access(self, node: ast.Subscript) -> bool:
        """Whether an element is one of the array."""
        return isinstance(node.value, ast.Name) and node.value.id in self.limit

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
        found: set[str | None] = set()
        if isinstance(node, ast.For):
            bounds = self.within(node, bounds)
        if isinstance(node, ast.Subscript) and self.is_access(node):
            found.add(self.part(node, bounds))
        return found.union(*(self.parts(child, bounds) for child in ast.iter_child_nodes(node)))

    def of(self, node: ast.stmt, part: str) -> ast.stmt:
        """The statement, all of whose accesses go to one part."""
        made = copy.deepcopy(node)
        return made if part == PRIVATE else _ToPublic(self).visit(made)

    def moved(self, access: ast.Subscript, array: str) -> ast.Subscript:
        """The access in the public part, under another name, with the leading index counted from there."""
        assert isinstance(access.value, ast.Name)
        lead = (self.lead(access) + Linear({}, -self.limit[access.value.id])).node()
        rest = access.slice.elts[1:] if isinstance(access.slice, ast.Tuple) else []
        made = at(element(array, lead, *rest, store=isinstance(access.ctx, ast.Store)), access)
        made.atomic = is_atomic(access)  # type: ignore[attr-defined]
        return made

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
        if access is None or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
            return [], node
        if len(terms := self.lead(access).terms) < 2 and all(term.isidentifier() for term in terms):
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

    def restricted(self, node: ast.stmt, bounds: Bounds) -> tuple[list[ast.stmt], list[ast.stmt], set[str]]:
        """A statement for each part, without what goes to the other one, and the variables that are right in one alone.

        Raises `NotDivisibleError`.
        """
        one_sided = fed_by(self.source, [node], self.limit)
        while True:
            before = len(one_sided)
            made = [self._restricted(node, part, bounds, one_sided) for part in (PRIVATE, PUBLIC)]
            if len(one_sided) == before:
                return made[0], made[1], one_sided

    def _restricted(self, node: ast.stmt, part: str, bounds: Bounds, one_sided: set[str]) -> list[ast.stmt]:
        """One_sided: variables that leaves assign which are executed for one part alone; it grows."""
        found = self.parts(node, bounds)
        if isinstance(node, ast.If | ast.For | ast.While) and (None in found or len(found) > 1):
            return self._compound(node, part, bounds, one_sided)
        if not found:
            self.refuse_handed(node, one_sided)
            return [copy.deepcopy(node)]
        self.leaf(node, one_sided)
        if None not in found and len(found) == 1:
            return [self.of(node, part)] if found == {part} else []
        first, node = self.with_short_index(node)
        return [*first, self.guarded(node, part)]

    def _compound(
        self, node: ast.If | ast.For | ast.While, part: str, bounds: Bounds, one_sided: set[str]
    ) -> list[ast.stmt]:
        """A branch or loop with accesses to both parts."""
        if self.common_lead(node) is not None:
            self.leaf(node, one_sided)
            return [self.guarded(node, part)]
        if isinstance(node, ast.For) and (ranges := self.split_range(node, bounds)) is not None:
            self.leaf(node, one_sided)
            return [self.ranged(node, ranges[part], part)] if ranges[part] else []
        head = node.iter if isinstance(node, ast.For) else node.test
        if any(self.accesses(head)) or names_in(head) & one_sided:
            raise NotDivisibleError
        made = shell(node)
        inside = self.within(node, bounds) if isinstance(node, ast.For) else bounds
        made.body = [s for inner in node.body for s in self._restricted(inner, part, inside, one_sided)]
        made.orelse = [s for inner in node.orelse for s in self._restricted(inner, part, bounds, one_sided)]
        if not any(self.all_accesses(made)):
            self.leaf(node, one_sided)
            return []
        made.body = made.body or [at(ast.Pass(), node)]
        return [made]

    def leaf(self, node: ast.stmt, one_sided: set[str]) -> None:
        """A statement that is not executed, or not all of it, for the other part: it hands on no variables, and leads
        nowhere that the other part would not know of.
        """
        if jumps_out(node):
            raise NotDivisibleError
        self.refuse_handed(node, one_sided)
        changed = assigned(self.source, [node]) - set(self.limit)
        one_sided |= changed
        if isinstance(node, ast.For | ast.While) and changed & exposed(self.source, [node]):
            raise NotDivisibleError

    def refuse_handed(self, node: ast.stmt, one_sided: set[str]) -> None:
        """Refuse what needs variables that other leaves have assigned."""
        if exposed(self.source, [node]) & one_sided:
            raise NotDivisibleError

    def guarded(self, node: ast.stmt, part: str) -> ast.stmt:
        """The statement under the test of its leading index."""
        access = self.common_lead(node)
        if access is None:
            raise NotDivisibleError
        return at_head(ast.If(self.test(access, part), [self.of(node, part)], []), node)

    def all_accesses(self, node: ast.AST) -> Iterator[ast.AST]:
        """Accesses to either part."""
        both = {*self.limit, *self.public.values()}
        return (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in both)

    def within(self, node: ast.For, bounds: Bounds) -> Bounds:
        """Bounds in a loop's body."""
        over = range_of(node, self.constant)
        changing = assigned(self.source, [node])
        inside = {name: ends for name, ends in bounds.items() if name not in changing}
        if over and isinstance(node.target, ast.Name) and node.target.id not in assigned(self.source, node.body):
            inside[node.target.id] = (min(over), max(over))
        return inside

    def split_range(self, node: ast.For, bounds: Bounds) -> dict[str, range] | None:
        """The iterations that go to each part, if each goes to one, private ones first."""
        over = range_of(node, self.constant)
        if not over or over.step != 1 or not isinstance(node.target, ast.Name) or leaves_loop(node) or node.orelse:
            return None
        each = [self.parts(ast.Module(node.body, []), {**bounds, node.target.id: (i, i)}) for i in over]
        if node.target.id in assigned(self.source, node.body):
            return None
        first = sum(found == {PRIVATE} for found in each)
        if each != [{PRIVATE}] * first + [{PUBLIC}] * (len(each) - first):
            return None
        return {PRIVATE: over[:first], PUBLIC: over[first:]}

    def ranged(self, node: ast.For, over: range, part: str) -> ast.stmt:
        """The loop over some of its iterations, all of which go to one part."""
        made = shell(node)
        if over != range_of(node, self.constant):
            bounds = [over.start, over.stop] if over.start else [over.stop]
            assert isinstance(made.iter, ast.Call)
            made.iter = at(ast.Call(made.iter.func, [ast.Constant(b) for b in bounds], []), node.iter)
        made.body = [self.of(inner, part) for inner in node.body]
        return made

    # -- both parts at once

    def mixed(self, body: list[ast.stmt], bounds: Bounds) -> list[ast.stmt]:
        """Statements whose accesses go to the part that their index asks for."""
        return [made for node in body for made in self._mixed(node, bounds)]

    def _mixed(self, node: ast.stmt, bounds: Bounds) -> list[ast.stmt]:
        found = self.parts(node, bounds)
        if not found:
            return [node]
        if found in ({PRIVATE}, {PUBLIC}):
            return [self.of(node, str(next(iter(found))))]
        loads = not any(isinstance(a.ctx, ast.Store) or is_atomic(a) for a in self.accesses(node))
        if isinstance(node, ast.For | ast.If | ast.While) and (loads or self.common_lead(node) is None):
            made = shell(node)
            inside = self.within(node, bounds) if isinstance(node, ast.For) else bounds
            made.body, made.orelse = self.mixed(node.body, inside), self.mixed(node.orelse, bounds)
            head = "iter" if isinstance(node, ast.For) else "test"
            setattr(made, head, self.chosen(getattr(node, head), bounds))
            return [made]
        first, node = self.with_short_index(node)
        return [*first, self.either(node, bounds)]

    def either(self, node: ast.stmt, bounds: Bounds) -> ast.stmt:
        """A simple statement, or one all of whose accesses have one leading index, in the part that the index says."""
        stored = [a for a in self.accesses(node) if isinstance(a.ctx, ast.Store) or is_atomic(a)]
        if not stored and not isinstance(node, ast.For | ast.If | ast.While):
            return self.chosen(node, bounds)
        access = self.common_lead(node)
        if access is not None:
            return at_head(ast.If(self.test(access, PRIVATE), [node], [self.of(node, PUBLIC)]), node)
        if len(stored) != 1 or any(self.accesses(stored[0].slice)):
            raise refuse(self.source, node, "the accesses of this statement can go to different parts of the array")
        private, public = (self.chosen(node, bounds, {id(stored[0]): part}) for part in (PRIVATE, PUBLIC))
        part = self.part(stored[0], bounds)
        if part is not None:
            return private if part == PRIVATE else public
        return at_head(ast.If(self.test(stored[0], PRIVATE), [private], [public]), node)

    def chosen(self, node: Node, bounds: Bounds, decided: Mapping[int, str] | None = None) -> Node:
        """Every load from the part that its index says; decided: by id, parts of accesses for which that is known."""
        return _Chosen(self, bounds, decided or {}).made(node)


def is_atomic(access: ast.Subscript) -> bool:
    """True for the element that an atomic operation changes."""
    return getattr(access, "atomic", False)


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


class _Chosen:
    """Loads from the part that the index asks for."""

    def __init__(self, parts: Parts, bounds: Bounds, decided: Mapping[int, str]) -> None:
        self.parts, self.bounds, self.decided = parts, bounds, decided

    def made(self, node: Node) -> Node:
        """A copy of a tree with its accesses replaced."""
        if isinstance(node, ast.Subscript) and self.parts.is_access(node):
            return self.access(node)  # type: ignore[return-value]
        made = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(made, name, self.made(value))
            elif isinstance(value, list):
                setattr(made, name, [self.made(v) if isinstance(v, ast.AST) else v for v in value])
        return made

    def access(self, node: ast.Subscript) -> ast.expr:
        """One access."""
        assert isinstance(node.value, ast.Name)
        part = self.decided.get(id(node)) or self.parts.part(node, self.bounds)
        inner = copy.copy(node)
        inner.value, inner.slice = copy.copy(node.value), self.made(node.slice)
        if part == PRIVATE:
            return inner
        public = self.parts.moved(inner, self.parts.public[node.value.id])
        if part == PUBLIC:
            return public
        return ast.copy_location(ast.IfExp(self.parts.test(inner, PRIVATE), inner, public), node)
