"""Defines of the public part before it is allocated: the values wait in registers (the paper's Figure 6b, `reg`)."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field

from smmux.multiplex.parts import PRIVATE, PUBLIC, Bounds, Parts, at_head
from smmux.multiplex.syntax import at, element, statement

__all__ = ["Waiting"]


class NotDeferredError(Exception):
    """A define whose values cannot wait in a per-thread array of constant size."""


@dataclass
class Waiting:
    """The per-thread array in which values of the public part wait.

    array: the divided array; shape: of its public part; name: of the per-thread array. After the defines, `fixed` holds
    for each further index the expression that all of them have, or None where a loop of the kernel runs over it.
    """

    parts: Parts
    array: str
    shape: tuple[int, ...]
    name: str
    fixed: tuple[ast.expr | None, ...] | None = None
    loops: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)

    def deferred(self, body: list[ast.stmt], bounds: Bounds) -> list[ast.stmt]:
        """Statements that define the array, with the public part's values put into registers."""
        return [made for node in body for made in self._deferred(node, bounds)]

    def _deferred(self, node: ast.stmt, bounds: Bounds) -> list[ast.stmt]:
        parts = self.parts
        if not any(parts.accesses(node)):
            return [node]
        found = parts.parts(node, bounds)
        if found == {PRIVATE}:
            return [node]
        if isinstance(node, ast.For):
            return self._loop(node, bounds, found)
        if found == {PUBLIC}:
            return [self._into_registers(node)]
        if isinstance(node, ast.If):
            made = copy.copy(node)
            made.body, made.orelse = self.deferred(node.body, bounds), self.deferred(node.orelse, bounds)
            return [made]
        return [self._either(node)]

    def _loop(self, node: ast.For, bounds: Bounds, found: set[str | None]) -> list[ast.stmt]:
        parts = self.parts
        assert isinstance(node.target, ast.Name)
        ranges = parts.split_range(node, bounds)
        self.loops.append(node.target.id)
        try:
            if ranges is not None and ranges[PRIVATE] and ranges[PUBLIC]:
                rest = parts.ranged(node, ranges[PUBLIC], PRIVATE)
                assert isinstance(rest, ast.For)
                rest.body = [self._into_registers(s) for s in node.body]
                return [parts.ranged(node, ranges[PRIVATE], PRIVATE), rest]
            if found == {PUBLIC} or parts.common_lead(node) is None:
                made = copy.copy(node)
                made.body = self.deferred(node.body, parts.within(node, bounds))
                return [made]
            return [self._either(node)]
        finally:
            self.loops.pop()

    def _either(self, node: ast.stmt) -> ast.stmt:
        access = self.parts.common_lead(node)
        if access is None:
            raise NotDeferredError
        test = self.parts.test(access, PRIVATE)
        return at_head(ast.If(test, [node], [self._into_registers(copy.deepcopy(node))]), node)

    def _into_registers(self, node: ast.stmt) -> ast.stmt:
        """Stores to the array become stores to registers."""
        node = copy.deepcopy(node)
        loops = [
            *self.loops,
            *(n.target.id for n in ast.walk(node) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)),
        ]
        for inner in ast.walk(node):
            for name, value in ast.iter_fields(inner):
                if name == "targets" and isinstance(value, list):
                    value[:] = [
                        self._place(t, loops) if any(t is a for a in self.parts.accesses(t)) else t for t in value
                    ]
        return node

    def _place(self, access: ast.expr, loops: list[str]) -> ast.expr:
        assert isinstance(access, ast.Subscript)
        if not isinstance(access.value, ast.Name) or access.value.id != self.array:
            raise NotDeferredError
        rest = access.slice.elts[1:] if isinstance(access.slice, ast.Tuple) else []
        runs = [isinstance(i, ast.Name) and i.id in loops for i in rest]
        fixed = tuple(None if r else i for i, r in zip(rest, runs, strict=True))
        if self.fixed is not None and list(map(_dump, fixed)) != list(map(_dump, self.fixed)):
            raise NotDeferredError
        self.fixed = fixed
        self.running = [i.id for i, r in zip(rest, runs, strict=True) if r and isinstance(i, ast.Name)]
        moved = self.parts.moved(access, self.name)
        lead = moved.slice.elts[0] if isinstance(moved.slice, ast.Tuple) else moved.slice
        index = [lead, *(i for i, r in zip(rest, runs, strict=True) if r)]
        return at(element(self.name, *index, store=True), access)

    @property
    def extents(self) -> tuple[int, ...]:
        """Shape of the per-thread array: rows of the public part, and the indices that loops run over."""
        assert self.fixed is not None
        return (self.shape[0], *(n for n, f in zip(self.shape[1:], self.fixed, strict=True) if f is None))

    def stores(self, place: ast.stmt) -> list[ast.stmt]:
        """Loops that move all values to the public part."""
        assert self.fixed is not None
        row = self.parts.names.new("row", "public_row")
        running = [row, *self.running]
        rest = iter(running[1:])
        index = [ast.Name(row, ast.Load()), *(f or ast.Name(next(rest), ast.Load()) for f in self.fixed)]
        value = element(self.name, *(ast.Name(n, ast.Load()) for n in running))
        made: ast.stmt = ast.Assign([element(self.parts.public[self.array], *index, store=True)], value)
        for name, extent in reversed(list(zip(running, self.extents, strict=True))):
            loop = statement(f"for {name} in range({extent}):\n    pass")
            assert isinstance(loop, ast.For)
            loop.body = [made]
            made = loop
        return [at(made, place)]


def _dump(node: ast.expr | None) -> str:
    return "" if node is None else ast.dump(node)
