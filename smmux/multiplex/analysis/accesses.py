"""The statements of a kernel with what each does to memory, as a tree that analyses read instead of the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from smmux.multiplex.analysis.facts import Array, Site


@dataclass(slots=True, eq=False)
class Touch:
    """A load or store of an array."""

    array: Array
    write: bool
    node: ast.AST
    site: Site
    redefines: bool = False  # this store replaces all that the array held before


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """A barrier of the source."""

    node: ast.Call


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    """`break`, `continue`, or `return`."""

    kind: str
    node: ast.stmt
    conditional: bool = True  # a condition or loop is around it
    divergent: bool = False  # only some threads of a block may get there


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """One of several sequences; uniform: all threads of a block take the same."""

    ways: tuple[Sequence[Event], ...]
    uniform: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A sequence that is repeated."""

    node: ast.For | ast.While
    body: Sequence[Event]
    again: Sequence[Event] = ()  # what follows each trip, the condition of `while`
    orelse: Sequence[Event] = ()
    always: bool = False  # some thread of every block makes a trip

    @property
    def endless(self) -> bool:
        """True for `while True`, which `break` alone ends."""
        return self.always and isinstance(self.node, ast.While)


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """The body of a device function; a `return` in it ends this sequence only."""

    body: Sequence[Event]


@dataclass(slots=True, eq=False)
class Piece:
    """A statement, and what it does.

    uniform: all threads of a block that get here take the same way through it, and its head loads nothing shared; so
    borders of regions may be placed inside.
    """

    node: ast.stmt
    events: list[Event] = field(default_factory=list)
    uniform: bool = False
    blocks: list[Block] = field(default_factory=list)  # its statement lists; of a loop without `else` the one

    @property
    def loops(self) -> bool:
        """True for a loop statement."""
        return isinstance(self.node, ast.For | ast.While)

    @property
    def endless(self) -> bool:
        """True for `while True`, which `break` alone ends."""
        return any(isinstance(event, Loop) and event.node is self.node and event.endless for event in self.events)


@dataclass(slots=True, eq=False)
class Block:
    """A statement list of the kernel; position i is the place before piece i, the last one is its end."""

    body: list[ast.stmt]
    pieces: list[Piece] = field(default_factory=list)

    def walk(self) -> Iterator[Block]:
        """This block and those within its statements, in the order of the source."""
        yield self
        for piece in self.pieces:
            for block in piece.blocks:
                yield from block.walk()


Event = Touch | Barrier | Jump | Alternatives | Loop | Called | Piece
NESTED = (Alternatives, Loop, Called, Piece)
"""Events that have others in them."""


def flat(events: Iterable[Any]) -> Iterator[Any]:
    """All single events of a tree, in the order of the source."""
    waiting = [iter(events)]
    while waiting:
        for event in waiting[-1]:
            if isinstance(event, NESTED):
                waiting.extend(map(iter, reversed(_sequences(event))))
                break
            yield event
        else:
            waiting.pop()


def _sequences(event: Alternatives | Loop | Called | Piece) -> Sequence[Sequence[Event]]:
    if isinstance(event, Alternatives):
        return event.ways
    if isinstance(event, Loop):
        return event.body, event.again, event.orelse
    return (event.events if isinstance(event, Piece) else event.body,)


def touches(events: Sequence[Event], space: str = "shared") -> Iterator[Touch]:
    """Loads and stores of arrays of a space."""
    return (e for e in flat(events) if isinstance(e, Touch) and e.array.space == space)


def barriers(events: Sequence[Event]) -> Iterator[Barrier]:
    """Barriers."""
    return (e for e in flat(events) if isinstance(e, Barrier))


def escaping(events: Sequence[Event]) -> Iterator[Jump]:
    """Jumps that leave a sequence: not those that end or repeat a loop, or end a device function, within it."""
    for event in events:
        if isinstance(event, Jump):
            yield event
        elif isinstance(event, Loop):
            yield from (jump for jump in escaping(event.body) if jump.kind == "return")
            yield from escaping(event.orelse)
        elif isinstance(event, Alternatives | Piece):
            for inner in _sequences(event):
                yield from escaping(inner)
