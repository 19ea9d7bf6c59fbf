"""An array in two parts by its leading index: which part an access goes to, and statements restricted to one part.

Restricting a statement to a part drops some of its leaves: simple statements, or whole loops whose accesses all go to
one part in each iteration. A leaf that accesses the array stays for its part alone; one that does not stays for both.
No leaf may need a value that another one loaded from the array, since that one may be dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from smmux.base.trees import copied
from smmux.language.types import Scalar, int32, uint32, uint64
from smmux.multiplex.analysis.facts import Linear, linear
from smmux.multiplex.analysis.scalars import assigned, exposed, fed_by, leaving
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.divided.uses import Use, Uses
from smmux.rewriting.build import at, call, names_in, shell
from smmux.rewriting.draft import Names
from smmux.source.function_source import FunctionSource

Node = TypeVar("Node", bound=ast.AST)

PRIVATE, PUBLIC = "private", "public"
Bounds = Mapping[str, tuple[int, int]]


class NotDivisibleError(Exception):
    """A statement that cannot be executed once for each part."""


@dataclass
class Parts:
    """The division of an array and of its views.

    limit: by name of the array or view, how many of its leading indices are private. public: name of the other part.
    types: of elements. bounds: of threadIdx components, where the block's size is given.
    """

    analysis: Analysis
    names: Names
    limit: dict[str, int]
    public: dict[str, str]
    types: dict[str, ast.expr]
    bounds: Bounds
    short: dict[str, str] = field(default_factory=dict)  # names for long indices

    def __post_init__(self) -> None:
        self.source: FunctionSource = self.analysis.source
        self.uses = Uses(self.source, self.limit)

    # -- uses

    def lead(self, use: Use) -> Linear:
        """The leading index."""
        return linear(use.index[0], self.analysis.integer)

    def part(self, use: Use, bounds: Bounds) -> str | None:
        """The part that a use is of, where the bounds tell."""
        limit, found = self.limit[use.array], self.lead(use).bounds(bounds)
        if found is None or found[0] < limit <= found[1]:
            return None
        return PRIVATE if found[1] < limit else PUBLIC

    def parts(self, node: ast.AST, bounds: Bounds) -> set[str | None]:
        """The parts that the uses in a statement are of; loops of constant length within are followed."""
        found: set[str | None] = set()
        if isinstance(node, ast.For):
            bounds = self.within(node, bounds)
        if (use := self.uses.use(node)) is not None:
            found.add(self.part(use, bounds))
        return found | self.parts_in(ast.iter_child_nodes(node), bounds)

    def parts_in(self, nodes: Iterable[ast.AST], bounds: Bounds) -> set[str | None]:
        """The parts that the uses in several statements are of."""
        return set[str | None]().union(*(self.parts(node, bounds) for node in nodes))

    def of(self, node: ast.stmt, part: str) -> ast.stmt:
        """The statement, all of whose uses are of one part."""
        return copied(node) if part == PRIVATE else self.uses.changed(node, lambda _, use: self.moved(use))

    def moved(self, use: Use) -> ast.expr:
        """The use in the public part, under its name, with the leading index counted from there."""
        return use.elsewhere(self.public[use.array], self.row(use).node(), *use.index[1:])

    def row(self, use: Use) -> Linear:
        """The leading index in the public part."""
        return self.lead(use) + Linear({}, -self.limit[use.array])

    # -- tests

    def common_lead(self, node: ast.stmt) -> Use | None:
        """A use with the leading index of all uses in a statement, which does not change within; else None."""
        found = list(self.uses.of(node))
        one = {(self.limit[use.array], ast.dump(self.lead(use).node())) for use in found}
        if len(one) != 1 or names_in(self.lead(found[0]).node()) & assigned(self.source, [node]):
            return None
        return found[0]

    def test(self, use: Use, part: str) -> ast.expr:
        """Whether a use is of a part, constants on the right."""
        lead = self.lead(use)
        right = ast.Constant(self.limit[use.array] - lead.constant)
        operator = ast.Lt() if part == PRIVATE else ast.GtE()
        return at(ast.Compare(Linear(lead.terms).node(), [operator], [right]), use.node)

    def with_short_index(self, node: ast.stmt) -> tuple[list[ast.stmt], ast.stmt]:
        """A statement whose leading index is a name, with the assignment of that name if it is a longer expression."""
        use = self.common_lead(node)
        if use is None or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
            return [], node
        if len(terms := self.lead(use).terms) < 2 and all(term.isidentifier() for term in terms):
            return [], node
        key = " ".join(map(ast.dump, use.index))
        name = self.short.get(key) or self.names.new("place", "index")
        self.short[key] = name
        type_ = self.unsigned(use.index[0]) or int32
        value = call(self.names.module(type_.name, type_), use.index[0])
        first = at(ast.Assign([ast.Name(name, ast.Store())], value), node)
        node = copied(node)
        for inner in list(self.uses.of(node)):
            inner.put(at(ast.Name(name, ast.Load()), inner.node), *inner.index[1:])
        return [first], node

    def unsigned(self, index: ast.expr) -> Scalar | None:
        """Return the unsigned type with which an index, or part of one, is written."""
        if isinstance(index, ast.BinOp):
            return self.unsigned(index.left) or self.unsigned(index.right)
        found = self.source.resolve(index.func) if isinstance(index, ast.Call) else None
        return next((type_ for type_ in (uint32, uint64) if found is type_), None)

    # -- restriction to a part

    def restricted(self, node: ast.stmt, bounds: Bounds) -> tuple[list[ast.stmt], list[ast.stmt], set[str]]:
        """Restrict a statement to each part. Returns both statements, and the variables that are right in only one of
        them.

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
            return [copied(node)]
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
        if any(self.uses.of(head)) or names_in(head) & one_sided:
            raise NotDivisibleError
        made = shell(node)
        inside = self.within(node, bounds) if isinstance(node, ast.For) else bounds
        made.body = [s for inner in node.body for s in self._restricted(inner, part, inside, one_sided)]
        made.orelse = [s for inner in node.orelse for s in self._restricted(inner, part, bounds, one_sided)]
        if names_in(made).isdisjoint(self.arrays):
            self.leaf(node, one_sided)
            return []
        made.body = made.body or [at(ast.Pass(), node)]
        return [made]

    def leaf(self, node: ast.stmt, one_sided: set[str]) -> None:
        """Check a leaf that is dropped, at least partly, for one part: no other may need its variables or jumps."""
        if leaving(self.source, [node]) - {"return"}:
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
        use = self.common_lead(node)
        if use is None:
            raise NotDivisibleError
        return ast.copy_location(ast.If(self.test(use, part), [self.of(node, part)], []), node)

    @property
    def arrays(self) -> set[str]:
        """Names of both parts and of their views."""
        return {*self.limit, *self.public.values()}

    def within(self, node: ast.For, bounds: Bounds) -> Bounds:
        """Bounds in a loop's body."""
        over = self.analysis.trips(node)
        changing = assigned(self.source, [node])
        inside = {name: ends for name, ends in bounds.items() if name not in changing}
        if over and isinstance(node.target, ast.Name) and node.target.id not in assigned(self.source, node.body):
            inside[node.target.id] = (min(over), max(over))
        return inside

    def split_range(self, node: ast.For, bounds: Bounds) -> dict[str, range] | None:
        """The iterations that go to each part, if each goes to one, private ones first."""
        over = self.analysis.trips(node)
        left = leaving(self.source, node.body) & {"break", "return"}
        if not over or over.step != 1 or not isinstance(node.target, ast.Name) or left or node.orelse:
            return None
        if node.target.id in assigned(self.source, node.body):
            return None
        each = [self.parts_in(node.body, {**bounds, node.target.id: (i, i)}) for i in over]
        first = sum(found == {PRIVATE} for found in each)
        if each != [{PRIVATE}] * first + [{PUBLIC}] * (len(each) - first):
            return None
        return {PRIVATE: over[:first], PUBLIC: over[first:]}

    def ranged(self, node: ast.For, over: range, part: str) -> ast.stmt:
        """The loop over some of its iterations, all of which go to one part."""
        made = shell(node)
        if over != self.analysis.trips(node):
            bounds = [over.start, over.stop] if over.start else [over.stop]
            assert isinstance(made.iter, ast.Call)
            made.iter = at(ast.Call(made.iter.func, [ast.Constant(b) for b in bounds], []), node.iter)
        made.body = [self.of(inner, part) for inner in node.body]
        return made

    # -- both parts at once

    def chosen(self, node: Node, bounds: Bounds) -> Node:
        """A copy with every load from the part that its index says."""

        def choice(original: Use, use: Use) -> ast.expr:
            part = self.part(original, bounds)
            if part == PRIVATE:
                return use.node
            public = self.moved(use)
            if part == PUBLIC:
                return public
            return ast.copy_location(ast.IfExp(self.test(use, PRIVATE), use.node, public), use.node)

        return self.uses.changed(node, choice)
