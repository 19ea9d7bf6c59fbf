"""Writes statements that access both parts of a divided array, and test the index each time."""

from __future__ import annotations

import ast

from smmux.multiplex.analysis.accesses import barriers, touches
from smmux.multiplex.forms.divided.lockstep import in_lockstep
from smmux.multiplex.forms.divided.parts import PRIVATE, PUBLIC, Bounds, Parts
from smmux.rewriting.build import shell


class Mixed:
    """Writes statements of a kernel whose accesses go to the part that their index asks for."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.uses = parts, parts.uses
        self.pieces = {piece.node: piece for block in parts.analysis.body.walk() for piece in block.pieces}

    def block(self, body: list[ast.stmt], bounds: Bounds) -> list[ast.stmt]:
        """A statement list."""
        return [made for node in body for made in self.statement(node, bounds)]

    def statement(self, node: ast.stmt, bounds: Bounds) -> list[ast.stmt]:
        """A statement."""
        parts = self.parts
        found = parts.parts(node, bounds)
        if not found:
            return [node]
        if found in ({PRIVATE}, {PUBLIC}):
            return [parts.of(node, str(next(iter(found))))]
        if isinstance(node, ast.For | ast.If | ast.While) and not self.whole(node):
            made = shell(node)
            inside = parts.within(node, bounds) if isinstance(node, ast.For) else bounds
            made.body, made.orelse = self.block(node.body, inside), self.block(node.orelse, bounds)
            head = "iter" if isinstance(node, ast.For) else "test"
            setattr(made, head, parts.chosen(getattr(node, head), bounds))
            return [made]
        together = not isinstance(node, ast.For | ast.If | ast.While) and self.conflicts(node)
        first, node = parts.with_short_index(node)
        return [*first, *self.either(node, bounds, together)]

    def whole(self, node: ast.stmt) -> bool:
        """Tell whether some threads may go through a branch or loop that stores to the array before the others do."""
        stores = any(use.stores for use in self.uses.of(node))
        return stores and self.parts.common_lead(node) is not None and not (self.meets(node) or self.conflicts(node))

    def meets(self, node: ast.stmt) -> bool:
        """Whether a statement has a barrier in it."""
        return any(barriers(self.pieces[node].events))

    def conflicts(self, node: ast.stmt) -> bool:
        """Whether a statement stores to an array in global memory that it accesses elsewhere too."""
        found = list(touches(self.pieces[node].events, "global"))
        return any(a.write and a.array is b.array and a is not b for a in found for b in found)

    def either(self, node: ast.stmt, bounds: Bounds, together: bool) -> list[ast.stmt]:
        """A simple statement, or one all of whose uses have one leading index, in the part that the index says.

        together: all threads have to load before any of them stores, as they do in lockstep.
        """
        parts = self.parts
        stored = [use for use in self.uses.of(node) if use.stores]
        if not stored and not isinstance(node, ast.For | ast.If | ast.While):
            return [parts.chosen(node, bounds)]
        common = parts.common_lead(node)
        if common is not None and not together:
            return [ast.copy_location(ast.If(parts.test(common, PRIVATE), [node], [parts.of(node, PUBLIC)]), node)]
        if len(stored) == 1 and parts.part(stored[0], bounds) is not None:
            return [parts.chosen(node, bounds)]
        return in_lockstep(parts, node, bounds)
