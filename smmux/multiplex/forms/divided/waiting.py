"""Moves defines of the public part in front of its region; values wait in registers (the paper's Figure 6b, `reg`)."""

from __future__ import annotations

import ast
import copy
import itertools
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from smmux.base.parsing import statement
from smmux.base.trees import copied, walk
from smmux.multiplex.analysis.scalars import leaving
from smmux.multiplex.forms.divided.parts import PRIVATE, PUBLIC, Bounds, Parts
from smmux.multiplex.forms.divided.uses import Use
from smmux.rewriting.build import at, names_in, shell

MAX_ROWS = 4096  # of combinations of loop variables that are looked at


class NotDeferredError(Exception):
    """A define whose values cannot wait in a per-thread array of constant size."""


@dataclass
class Waiting:
    """The per-thread array in which values of the public part wait.

    array: the divided array; shape: of its public part; name: of the per-thread array. After the defines, `fixed` holds
    for each further index the expression that all of them have, or None where a loop of the kernel runs over it, and
    `rows` the rows of the public part that every thread has defined.
    """

    parts: Parts
    array: str
    shape: tuple[int, ...]
    name: str
    fixed: tuple[ast.expr | None, ...] | None = None
    rows: frozenset[int] = frozenset()
    running: tuple[str, ...] = ()
    loops: tuple[tuple[str, range | None], ...] = field(default=(), repr=False)

    def deferred(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement that defines the array, with the public part's values put into registers.

        Raises `NotDeferredError`, and changes nothing, where that is not possible.
        """
        trial = replace(self)
        made = trial._deferred(node, {}, True)
        self.fixed, self.rows, self.running = trial.fixed, trial.rows, trial.running
        return made

    def _deferred(self, node: ast.stmt, bounds: Bounds, certain: bool) -> list[ast.stmt]:
        """Certain: every thread gets here, in every iteration of `loops`."""
        parts = self.parts
        found = parts.parts(node, bounds)
        if not found or found == {PRIVATE}:
            return [node]
        if isinstance(node, ast.For):
            return self._loop(node, bounds, certain, found)
        if found == {PUBLIC} and not isinstance(node, ast.If | ast.While):
            return [self._into_registers(node, certain)]
        if isinstance(node, ast.If):
            made = shell(node)
            made.body = [s for inner in node.body for s in self._deferred(inner, bounds, False)]
            made.orelse = [s for inner in node.orelse for s in self._deferred(inner, bounds, False)]
            return [made]
        return [self._either(node, certain)]

    def _loop(self, node: ast.For, bounds: Bounds, certain: bool, found: set[str | None]) -> list[ast.stmt]:
        parts = self.parts
        if not isinstance(node.target, ast.Name) or not self._whole(node):
            raise NotDeferredError
        ranges = parts.split_range(node, bounds)
        if ranges is not None and ranges[PRIVATE] and ranges[PUBLIC]:
            rest = parts.ranged(node, ranges[PUBLIC], PRIVATE)
            assert isinstance(rest, ast.For)
            over = ranges[PUBLIC]
            inside = {**parts.within(node, bounds), node.target.id: (min(over), max(over))}
            rest.body = self._body(node, over, inside, certain)
            return [parts.ranged(node, ranges[PRIVATE], PRIVATE), rest]
        if found == {PUBLIC} or parts.common_lead(node) is None:
            made = shell(node)
            made.body = self._body(node, parts.analysis.trips(node), parts.within(node, bounds), certain)
            return [made]
        return [self._either(node, certain)]

    def _body(self, node: ast.For, over: range | None, bounds: Bounds, certain: bool) -> list[ast.stmt]:
        """The body of a loop."""
        assert isinstance(node.target, ast.Name)
        outer, self.loops = self.loops, (*self.loops, (node.target.id, over))
        made = [s for inner in node.body for s in self._deferred(inner, bounds, certain and bool(over))]
        self.loops = outer
        return made

    def _either(self, node: ast.stmt, certain: bool) -> ast.stmt:
        use = self.parts.common_lead(node)
        if use is None:
            raise NotDeferredError
        test = self.parts.test(use, PRIVATE)
        return ast.copy_location(ast.If(test, [node], [self._into_registers(copied(node), certain)]), node)

    def _into_registers(self, node: ast.stmt, certain: bool) -> ast.stmt:
        """Stores to the array become stores to registers."""
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and self._whole(node):
            loop = shell(node)
            over = self.parts.analysis.trips(node)
            outer, self.loops = self.loops, (*self.loops, (node.target.id, over))
            loop.body = [self._into_registers(s, certain and bool(over)) for s in node.body]
            self.loops = outer
            return loop
        made = copy.copy(node)
        if not any(self.parts.uses.of(node)):
            return made
        if not isinstance(node, ast.Assign) or any(self.parts.uses.of(node.value)):
            raise NotDeferredError
        made.targets = [self._place(t, certain) for t in node.targets]  # type: ignore[attr-defined]
        return made

    def _place(self, target: ast.expr, certain: bool) -> ast.expr:
        """The register that holds an element."""
        use = self.parts.uses.use(target)
        if use is None or use.array != self.array:
            raise NotDeferredError
        rest, over = use.index[1:], dict(self.loops)
        running = tuple(i.id for i in rest if isinstance(i, ast.Name) and i.id in over)
        fixed = tuple(None if isinstance(i, ast.Name) and i.id in over else i for i in rest)
        extents = [range(n) for n, i in zip(self.shape[1:], fixed, strict=True) if i is None]
        if [over[name] for name in running] != extents or names_in(*fixed) & over.keys():
            raise NotDeferredError
        if any(isinstance(n, ast.Subscript | ast.Call) for i in fixed if i is not None for n in walk(i)):
            raise NotDeferredError
        if self.fixed is not None and _dumped(fixed) != _dumped(self.fixed):
            raise NotDeferredError  # all defines are of the same elements of a row: the thread's own
        self.fixed, self.running = fixed, running
        self._count_rows(use, certain)
        return use.elsewhere(self.name, self.parts.row(use).node(), *(ast.Name(n, ast.Load()) for n in running))

    def _count_rows(self, use: Use, certain: bool) -> None:
        """Rows become certain, or have to be: what waits is stored by every thread."""
        rows = self._rows_of(use)
        if certain and rows is not None:
            self.rows |= rows
        elif not (rows if rows is not None else set(range(self.shape[0]))) <= self.rows:
            raise NotDeferredError

    def _rows_of(self, use: Use) -> set[int] | None:
        """Rows of the public part that an access goes to in the iterations of the loops, if these are known."""
        lead, over = self.parts.lead(use), dict(self.loops)
        ranges = [values for term in lead.terms if (values := over.get(term)) is not None]
        if len(ranges) < len(lead.terms) or math.prod(map(len, ranges)) > MAX_ROWS:
            return None
        first = lead.constant - self.parts.limit[self.array]
        rows = (first + sum(map(operator.mul, lead.terms.values(), trip)) for trip in itertools.product(*ranges))
        return {row for row in rows if row >= 0}

    def _whole(self, loop: ast.For) -> bool:
        """Whether all of a loop's body is executed in all of its iterations."""
        return not loop.orelse and not leaving(self.parts.source, loop.body)

    @property
    def extents(self) -> tuple[int, ...]:
        """Shape of the per-thread array: rows of the public part, and the indices that loops run over."""
        assert self.fixed is not None
        return (self.shape[0], *(n for n, f in zip(self.shape[1:], self.fixed, strict=True) if f is None))

    def stores(self, place: ast.stmt) -> list[ast.stmt]:
        """Loops that move all values to the public part."""
        assert self.fixed is not None
        row = self.parts.names.new("row", "public_row")
        rest = iter(self.running)
        index = [row, *(next(rest) if f is None else ast.unparse(f) for f in self.fixed)]
        heads = [f"for {n} in range({extent}):" for n, extent in zip(self.running, self.extents[1:], strict=True)]
        running = ", ".join([row, *self.running])
        heads.append(f"{self.parts.public[self.array]}[{', '.join(index)}] = {self.name}[{running}]")
        first = (n for n in sorted(self.rows) if n - 1 not in self.rows)
        stop = (n + 1 for n in sorted(self.rows) if n + 1 not in self.rows)
        runs = (f"{a}, {b}" if a else f"{b}" for a, b in zip(first, stop, strict=True))
        nests = ([f"for {row} in range({run}):", *heads] for run in runs)
        texts = ("\n".join(" " * depth + line for depth, line in enumerate(nest)) for nest in nests)
        return [at(statement(text), place) for text in texts]


def _dumped(nodes: Iterable[ast.expr | None]) -> list[str | None]:
    return [None if node is None else ast.dump(node) for node in nodes]
