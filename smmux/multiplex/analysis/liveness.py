"""Where the contents of shared arrays matter: backward liveness and forward definedness at every place of a kernel.

A store to an array replaces its contents, a redefine in the paper's sense, if every block gets to it, what was stored
before has been used, and nothing of the array has been loaded since the last barrier. The first store after uses stands
for all that follow up to the next use, and the stores of a loop without barriers count together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from smmux.multiplex.analysis.accesses import Alternatives, Barrier, Called, Event, Jump, Loop, Touch, barriers, touches
from smmux.multiplex.analysis.blocks import Block, Piece
from smmux.multiplex.analysis.facts import Array

__all__ = ["Places", "endless", "escaping", "places"]

Arrays = frozenset[Array]
NONE: Arrays = frozenset()


@dataclass(slots=True)
class Places:
    """Arrays in use at each position of each block, and at the tests of loops.

    whole: statements that count as one piece although all threads take the same way through them.
    """

    at: dict[tuple[int, int], Arrays] = field(default_factory=dict)
    test: dict[int, Arrays] = field(default_factory=dict)
    whole: frozenset[Piece] = frozenset()

    def open(self, block: Block, position: int) -> bool:
        """True where some array holds values that are still needed."""
        return bool(self.at[id(block), position])

    def open_at_test(self, piece: Piece) -> bool:
        """The same where a loop decides on another trip."""
        return bool(self.test[id(piece)])

    def entered(self, piece: Piece) -> bool:
        """Whether there are places within a statement."""
        return piece.uniform and piece not in self.whole

    def walk(self, block: Block) -> Iterator[Block]:
        """A block and those within its statements where there are places, in the order of the source."""
        yield block
        for piece in filter(self.entered, block.pieces):
            for side in piece.sides:
                yield from self.walk(side)


def places(body: Block, whole: frozenset[Piece] = frozenset()) -> Places:
    """Where arrays of a kernel are in use. whole: statements that count as one piece; so do, in addition, those whose
    ways in or out disagree.
    """
    while True:
        live, defined = _Live(whole), _Defined(whole)
        live.block(body, NONE, {})
        defined.block(body, NONE)
        found = Places(
            {key: arrays & defined.at[key] for key, arrays in live.at.items()},
            {key: arrays & defined.test[key] for key, arrays in live.test.items()},
            whole,
        )
        blocks = found.walk(body)
        torn = {p for b in blocks for i, p in enumerate(b.pieces) if found.entered(p) and _torn(found, b, i, p)}
        if not torn:
            return found
        whole |= torn


def _torn(found: Places, block: Block, i: int, piece: Piece) -> bool:
    """True for a statement whose ways in, or whose ways out, are in different states."""
    if piece.loops:
        around, inside = found.open_at_test(piece), found.open(piece.blocks[0], 0)
        broken = any(jump.kind == "break" for jump in escaping(piece.blocks[0].events))
        left_in_two_states = broken and not endless(piece) and around != found.open(block, i + 1)
        return around and not inside or left_in_two_states
    before = {found.open(side, 0) for side in piece.blocks} | {found.open(block, i)}
    ends = [found.open(side, len(side.pieces)) for side in piece.blocks if not _leaves(side)]
    after = {*ends, *([found.open(block, i + 1)] if ends else [])}
    return len(before) > 1 or len(after) > 1


def _leaves(block: Block) -> bool:
    return any(isinstance(e, Jump) for p in block.pieces[-1:] for e in p.events)


def escaping(events: list[Event]) -> Iterator[Jump]:
    """Jumps that leave a sequence: not those that end or repeat a loop, or end a device function, within it."""
    for event in events:
        if isinstance(event, Jump):
            yield event
        elif isinstance(event, Alternatives):
            for way in event.ways:
                yield from escaping(way)
        elif isinstance(event, Loop):
            yield from (jump for jump in escaping(event.body) if jump.kind == "return")
            yield from escaping(event.orelse)


def endless(piece: Piece) -> bool:
    """while True: left by break alone."""
    return piece.always and isinstance(piece.node, ast.While)


Exits = dict[str, Arrays]


class _Live:
    """Arrays whose contents are loaded later, before they are replaced."""

    def __init__(self, whole: frozenset[Piece]) -> None:
        self.whole = whole
        self.at: dict[tuple[int, int], Arrays] = {}
        self.test: dict[int, Arrays] = {}

    def block(self, block: Block, after: Arrays, exits: Exits) -> Arrays:
        """Backward through a statement list."""
        live = after
        self.at[id(block), len(block.pieces)] = live
        for i in reversed(range(len(block.pieces))):
            live = self.piece(block.pieces[i], live, exits)
            self.at[id(block), i] = live
        return live

    def piece(self, piece: Piece, after: Arrays, exits: Exits) -> Arrays:
        """Backward through a statement; at every place within, if borders may stand there."""
        if not piece.uniform or piece in self.whole:
            return through(piece.events, after, exits)
        if not piece.loops:
            ways = [self.block(side, after, exits) for side in piece.blocks]
            return NONE.union(*ways)
        body = piece.blocks[0]
        at_test: Arrays = NONE if endless(piece) else after
        while True:
            start = self.block(body, at_test, {**exits, "break": after, "continue": at_test})
            if start <= at_test:
                break
            at_test |= start
        self.test[id(piece)] = at_test
        return start if piece.always else start | after


def through(events: list[Event], after: Arrays, exits: Exits) -> Arrays:
    """Live before a sequence of events, from what is live after it."""
    live = after
    for event in reversed(events):
        live = _before(event, live, exits)
    return live


def _before(event: Event, after: Arrays, exits: Exits) -> Arrays:
    if isinstance(event, Touch):
        if event.array.space != "shared":
            return after
        if not event.write:
            return after | {event.array}
        return after - {event.array} if event.fresh else after
    if isinstance(event, Barrier):
        return after
    if isinstance(event, Jump):
        return exits.get(event.kind, NONE)
    if isinstance(event, Called):
        return through(event.body, after, {**exits, "return": after})
    if isinstance(event, Alternatives):
        return NONE.union(*(through(way, after, exits) for way in event.ways))
    return _loop(event, through(event.orelse, after, exits), {**exits, "break": after})


def _loop(event: Loop, after: Arrays, exits: Exits) -> Arrays:
    if not any(barriers(event.body)):
        needed = through(event.body, NONE, {**exits, "continue": NONE, "break": NONE})
        kept = through(event.body, after, {**exits, "continue": after, "break": after}) if event.always else after
        return needed | kept
    at_test = after
    while True:
        start = through(event.body, at_test, {**exits, "continue": at_test})
        if start <= at_test:
            return start if event.always else start | after
        at_test |= start


class _Defined:
    """Arrays that may have been stored to."""

    def __init__(self, whole: frozenset[Piece]) -> None:
        self.whole = whole
        self.at: dict[tuple[int, int], Arrays] = {}
        self.test: dict[int, Arrays] = {}

    def block(self, block: Block, before: Arrays) -> Arrays:
        """Forward through a statement list."""
        for i, piece in enumerate(block.pieces):
            self.at[id(block), i] = before
            stored = frozenset(t.array for t in touches(piece.events) if t.write)
            if piece.uniform and piece not in self.whole:
                inside = before | stored if piece.loops else before
                self.test[id(piece)] = before | stored
                for side in piece.blocks:
                    self.block(side, inside)
            before |= stored
        self.at[id(block), len(block.pieces)] = before
        return before
