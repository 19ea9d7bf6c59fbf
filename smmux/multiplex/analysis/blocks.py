"""A kernel's statement lists with what each statement does: the places where a region may begin and end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from smmux.multiplex.analysis.accesses import Event

__all__ = ["Block", "Piece"]


@dataclass(slots=True, eq=False)
class Piece:
    """A statement, and what it does.

    uniform: all threads of a block that get here take the same way through it, and its head loads nothing shared, so
    that borders may be placed within. blocks: its statement lists. head: events of its condition or range.
    """

    node: ast.stmt
    events: list[Event] = field(default_factory=list)
    head: list[Event] = field(default_factory=list)
    uniform: bool = False
    always: bool = False
    blocks: list[Block] = field(default_factory=list)

    @property
    def loops(self) -> bool:
        """True for a loop statement."""
        return isinstance(self.node, ast.For | ast.While)

    @property
    def sides(self) -> list[Block]:
        """Its statement lists, but for the `else` of a loop: with one, a loop is never uniform."""
        return self.blocks[:1] if self.loops else self.blocks


@dataclass(slots=True, eq=False)
class Block:
    """A statement list of the kernel; position i is the place before piece i, the last one is its end."""

    body: list[ast.stmt]
    pieces: list[Piece] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        """What its statements do, one after the other."""
        return [event for piece in self.pieces for event in piece.events]

    def walk(self) -> Iterator[Block]:
        """This block and those within its uniform statements, in the order of the source."""
        yield self
        for piece in self.pieces:
            if piece.uniform:
                for block in piece.sides:
                    yield from block.walk()
