"""Where shared memory is in use (Section 3), and the barriers of the source that the borders there make superfluous.

A region reaches from the barrier before the first define of a shared array, by any thread of the block, to the barrier
after the last use; a redefine starts a new one. All shared arrays of a kernel count together, since they are allocated
together.
"""

from __future__ import annotations

import ast
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from smmux.base.counted import counted
from smmux.base.tracebacks import brief
from smmux.kernels.kernel import Kernel, definition_of
from smmux.multiplex.analysis.accesses import Barrier, Block, Event, Piece, Touch, barriers, escaping, touches
from smmux.multiplex.analysis.dataflow import Places, places
from smmux.multiplex.analysis.renaming import as_written, or_renamed
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.outline import without_returns
from smmux.rewriting.draft import Draft
from smmux.rewriting.refusals import refuse
from smmux.source.function_source import FunctionSource


@dataclass(frozen=True, eq=False, slots=True)
class Border:
    """A place before piece `position` of a block where shared memory begins, or ceases, to be in use."""

    block: Block
    position: int
    begin: bool


@dataclass(frozen=True, eq=False, slots=True)
class Span:
    """The place of a region: the border where it begins and the one where it ends, around a loop if need be."""

    begin: Border
    end: Border

    @property
    def block(self) -> Block:
        """The statement list in which it begins."""
        return self.begin.block

    @property
    def start(self) -> int:
        """The position of its first statement there."""
        return self.begin.position

    @property
    def in_one_list(self) -> bool:
        """Whether it ends behind its beginning in the same statement list."""
        return self.end.block is self.block and self.end.position > self.start

    @property
    def stop(self) -> int:
        """The position behind its last statement in the list where it begins."""
        return self.end.position if self.in_one_list else len(self.block.pieces)

    @property
    def pieces(self) -> list[Piece]:
        """Its statements; those of the list where it begins come first if it ends elsewhere."""
        elsewhere = [] if self.in_one_list else self.end.block.pieces[: self.end.position]
        return self.block.pieces[self.start : self.stop] + elsewhere


@dataclass(frozen=True, slots=True)
class Usage:
    """Where a kernel has shared memory in use.

    in_turns: see `find`. superfluous: barriers outside regions that order nothing that the borders do not.
    """

    body: Block
    places: Places
    borders: list[Border]
    spans: list[Span]
    in_turns: bool
    superfluous: frozenset[Piece] = frozenset()

    def of(self, block: Block) -> list[Span]:
        """The regions that begin in a statement list itself."""
        return [span for span in self.spans if span.block is block]

    def within(self, piece: Piece) -> bool:
        """Whether there is a region in the statement lists of a piece."""
        return any(self.of(block) or any(map(self.within, block.pieces)) for block in piece.blocks)

    def line_at(self, border: Border) -> int | None:
        """The line of the barrier of the source that a border makes superfluous."""
        i = border.position - border.begin
        pieces = border.block.pieces[max(i, 0) : i + 1]
        return pieces[0].node.lineno if pieces and pieces[0] in self.superfluous else None


def find(analysis: Analysis, in_turns: bool = False) -> Usage:
    """The regions of a kernel, in the order of the source; raises `MultiplexError` where they cannot be told.

    in_turns: virtual blocks execute a region one after the other. So each begins and ends in one statement list: a
    region that would reach into a statement or out of it includes all of that.
    """
    body = analysis.body
    state = places(body)
    while in_turns and (crossed := frozenset(_crossing(state, body, None))):
        state = places(body, state.whole | crossed)
    borders = list(_borders(analysis, state, body))
    if not borders:
        why = f"{analysis.source.name!r} has no access to a shared array: there is nothing to multiplex"
        raise refuse(analysis.source, None, why)
    usage = Usage(body, state, borders, list(_paired(borders)), in_turns)
    assert not in_turns or all(span.in_one_list for span in usage.spans)
    superfluous = (_Order(usage, block).superfluous() for block in state.walk(body))
    return replace(usage, superfluous=frozenset[Piece]().union(*superfluous))


def _borders(analysis: Analysis, state: Places, block: Block) -> Iterator[Border]:
    for i, piece in enumerate(block.pieces):
        before, after = state.open(block, i), state.open(block, i + 1)
        if state.entered(piece):
            inside = state.open_at_test(piece) if piece.loops else before
            if inside and not before:
                yield Border(block, i, True)
            for side in piece.blocks:
                yield from _borders(analysis, state, side)
            if piece.loops and inside and not after and not piece.endless:
                yield Border(block, i + 1, False)
            continue
        used = any(touches(piece.events))
        if used or before:
            _refuse_exits(analysis, piece)
        if used and not before:
            yield Border(block, i, True)
        if used and not after:
            yield Border(block, i + 1, False)


def _refuse_exits(analysis: Analysis, piece: Piece) -> None:
    """A statement in a region must not lead out of it."""
    if isinstance(piece.node, ast.Break | ast.Continue):
        return  # where it leads, memory is in use as well
    for jump in escaping(piece.events):
        why = f"this {jump.kind} leaves a region in which shared arrays are in use; put what follows under a condition"
        raise refuse(analysis.source, jump.node, why)


def _paired(borders: list[Border]) -> Iterator[Span]:
    """Each beginning with the end that comes next, around the loop if need be."""
    for i, begin in enumerate(borders):
        if begin.begin:
            later = [b for b in borders[i:] if not b.begin] or [b for b in borders if not b.begin]
            same = [b for b in later if b.block is begin.block]
            yield Span(begin, (same or later)[0])


def _crossing(state: Places, block: Block, around: Piece | None) -> Iterator[Piece]:
    """Statements with a region that begins or ends within; in place of one that leaves a loop, that loop."""
    for i, piece in enumerate(block.pieces):
        leaves = around is not None and any(jump.kind != "return" for jump in escaping(piece.events))
        if not state.entered(piece):
            if leaves and around is not None and piece.blocks and state.open(block, i):
                yield around
            continue
        if _crossed(state, block, i, piece):
            yield around if leaves and around is not None else piece
        for side in piece.blocks:
            yield from _crossing(state, side, piece if piece.loops else around)


def _crossed(state: Places, block: Block, i: int, piece: Piece) -> bool:
    """True for a statement with a region that begins or ends within it, but not both."""
    inside = [state.open(b, k) for side in piece.blocks for b in state.walk(side) for k in range(len(b.pieces) + 1)]
    if state.open(block, i):
        return not all(inside)
    ends = any(state.open(side, len(side.pieces)) or state.open(side, 0) for side in piece.blocks)
    return ends or piece.loops and state.open_at_test(piece)


# -- barriers


def is_barrier(piece: Piece) -> bool:
    """True for a statement that is a plain barrier."""
    value = piece.node.value if isinstance(piece.node, ast.Expr) else None
    event = piece.events[0] if len(piece.events) == 1 else None
    return isinstance(event, Barrier) and event.node is value and not event.node.args


def synchronises(piece: Piece) -> bool:
    """Whether a statement has a barrier in it."""
    return any(barriers(piece.events))


class _Order:
    """What barriers order in a statement list between its regions.

    A border is a barrier itself; with turns there is one between them, so that nothing reaches over a whole region.
    """

    def __init__(self, usage: Usage, block: Block) -> None:
        self.usage, self.block, self.dropped = usage, block, set[Piece]()
        mine = [border for border in usage.borders if border.block is block]
        self.starts, self.ends = ({b.position for b in mine if b.begin is begin} for begin in (True, False))
        self.inside = not (mine and mine[0].begin)  # the list begins in a region, or has none
        self.elsewhere = [] if block is usage.body else _ordered(usage.body.pieces)

    def superfluous(self) -> set[Piece]:
        """Barriers outside of regions whose order borders, or other barriers, make as well."""
        inside = self.inside
        for i, piece in enumerate(self.block.pieces):
            inside = i in self.starts or inside and i not in self.ends
            if not inside and is_barrier(piece) and not _conflict(self.reached(i, -1), self.reached(i, 1)):
                self.dropped.add(piece)
        return self.dropped

    def reached(self, i: int, step: int) -> list[Touch]:
        """Accesses on one side of a barrier that it orders and no other one does: from it up to where one stays."""
        found: list[Touch] = []
        while self.usage.in_turns or i + (step > 0) not in self.starts | self.ends:
            i += step
            if not 0 <= i < len(self.block.pieces):
                return found + self.elsewhere
            found += _ordered(self.block.pieces[i].events)
            if self.stays(i, step):
                break
        return found

    def stays(self, i: int, step: int) -> bool:
        """Whether a statement has a barrier in it that is needed, or is the far end of a region in turns."""
        piece = self.block.pieces[i]
        if synchronises(piece) and piece not in self.dropped:
            return True
        far = i in self.starts if step < 0 else i + 1 in self.ends
        return self.usage.in_turns and (far or self.usage.within(piece))


def _ordered(events: Sequence[Event]) -> list[Touch]:
    """Accesses to global memory, and to shared arrays that virtual blocks have of their own."""
    return [*touches(events, "global"), *touches(events, "private")]


def _conflict(before: list[Touch], after: list[Touch]) -> bool:
    """Whether the order of accesses matters; different parameters are taken to be different arrays."""
    return any(a.array is b.array and (a.write or b.write) for a in before for b in after)


# -- regions as users see them


@dataclass(frozen=True, slots=True)
class Region:
    """A shared-memory access region, in lines of the kernel's file.

    first, last: lines of the statements with the first define and the last use. arrays: names of the shared arrays
    accessed. barriers: lines of the ordinary barriers between define and use, in device functions too. begins_at,
    ends_at: lines of the source's barriers at the borders, None where there is none. loops: the loops around it,
    outermost first; the region is entered once per iteration. text: its lines.
    """

    kernel: str
    filename: str
    first: int
    last: int
    arrays: tuple[str, ...]
    barriers: tuple[int, ...] = ()
    begins_at: int | None = None
    ends_at: int | None = None
    loops: tuple[str, ...] = ()
    text: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"
        inside = f", {counted(n, 'barrier')} inside" if (n := len(self.barriers)) else ""
        often = f", in each iteration of `{'` and `'.join(self.loops)}`" if self.loops else ""
        return f"<Region of {self.kernel}, {lines}: {', '.join(self.arrays)}{inside}{often}>"

    def _repr_html_(self) -> str:
        code = "\n".join(html.escape(line) for line in self.text)
        return f"<div>{html.escape(repr(self)[1:-1])}<pre>{code}</pre></div>"


class Regions(list[Region]):
    """The regions of a kernel, in the order of the source."""

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"

    def _repr_html_(self) -> str:
        return "".join(region._repr_html_() for region in self)


@brief
@or_renamed
def regions(kernel: Kernel) -> Regions:
    """The shared-memory access regions of a kernel; raises `MultiplexError` where they cannot be told."""
    draft = Draft(definition_of(kernel))
    without_returns(draft)
    ast.fix_missing_locations(draft.tree)
    analysis = analysed(draft)
    usage = find(analysis)
    return Regions(_region(analysis, usage, span) for span in usage.spans)


def _region(analysis: Analysis, usage: Usage, span: Span) -> Region:
    source = analysis.source
    used = [piece for piece in span.pieces if any(touches(piece.events))]
    events: list[Event] = [event for piece in span.pieces for event in piece.events]
    first, last = used[0].node.lineno, max(p.node.end_lineno or p.node.lineno for p in used)
    if span.end.block is not span.block:
        last = used[-1].node.end_lineno or used[-1].node.lineno
    low, high = min(first, last), max(first, last)
    return Region(
        source.name,
        source.filename,
        first,
        last,
        tuple(dict.fromkeys(t.array.name for t in touches(events))),
        tuple(b.node.lineno for b in barriers(events)),
        usage.line_at(span.begin),
        usage.line_at(span.end),
        tuple(_loops(source, analysis.body, span.block)),
        tuple(f"{n:5} {source.line(n).rstrip()}" for n in range(low, high + 1)),
    )


def _loops(source: FunctionSource, block: Block, target: Block) -> Iterator[str]:
    """Heads of the loops around a block."""
    for piece in block.pieces:
        if any(target in side.walk() for side in piece.blocks):
            if piece.loops:
                yield as_written(source, piece.node).splitlines()[0].rstrip(":")
            for side in piece.blocks:
                yield from _loops(source, side, target)
