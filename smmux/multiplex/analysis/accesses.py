"""What a statement does to memory, in order: a small tree that later analyses read instead of the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.analysis.facts import Array

__all__ = [
    "Alternatives",
    "Barrier",
    "Called",
    "Event",
    "Jump",
    "Loop",
    "Touch",
    "barriers",
    "flat",
    "touches",
]


@dataclass(frozen=True, slots=True)
class Touch:
    """A load or store of a shared or global array.

    fresh: what was stored before has been used, and not since the last barrier, so that a store replaces the contents.
    """

    array: Array
    write: bool
    node: ast.AST
    source: FunctionSource
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier of the source."""

    node: ast.Call
    source: FunctionSource


@dataclass(frozen=True, slots=True)
class Jump:
    """`break`, `continue`, or `return`."""

    kind: str
    node: ast.stmt


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several sequences."""

    ways: tuple[list[Event], ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A sequence that is repeated; `always` if some thread of every block gets there at least once."""

    body: list[Event]
    always: bool
    orelse: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Called:
    """What a device function does; a `return` in it ends this sequence only."""

    body: list[Event]


Event = Touch | Barrier | Jump | Alternatives | Loop | Called


def flat(events: list[Event]) -> Iterator[Touch | Barrier | Jump]:
    """All single events of a tree, in the order of the source."""
    for event in events:
        if isinstance(event, Alternatives):
            for way in event.ways:
                yield from flat(way)
        elif isinstance(event, Loop):
            yield from flat(event.body)
            yield from flat(event.orelse)
        elif isinstance(event, Called):
            yield from flat(event.body)
        else:
            yield event


def touches(events: list[Event], space: str = "shared") -> Iterator[Touch]:
    """Loads and stores of arrays of a space."""
    return (e for e in flat(events) if isinstance(e, Touch) and e.array.space == space)


def barriers(events: list[Event]) -> Iterator[Barrier]:
    """Barriers."""
    return (e for e in flat(events) if isinstance(e, Barrier))
