"""Shared-memory access regions of a kernel (the paper's Section 3).

A region reaches from the barrier before the first define of a shared array, by any thread of the block, to the barrier
after the last use; a redefine starts a new one. All shared arrays of a kernel count together, since they are allocated
together.
"""

from __future__ import annotations

import ast
import html
from collections.abc import Iterator
from dataclasses import dataclass

from smmux.compiler.frontend.source import FunctionSource
from smmux.kernel import Kernel, definition_of
from smmux.multiplex.analysis.accesses import Block, Event, Piece, barriers, touches
from smmux.multiplex.analysis.renaming import as_written, or_renamed
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.find import Span, Usage, find
from smmux.multiplex.regions.outline import without_returns
from smmux.multiplex.syntax.draft import Draft

__all__ = ["Region", "Regions", "regions"]


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
        inside = f", {_count(len(self.barriers), 'barrier')} inside" if self.barriers else ""
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
        _line_of(usage.barrier_at(span.begin)),
        _line_of(usage.barrier_at(span.end)),
        tuple(_loops(source, analysis.body, span.block)),
        tuple(f"{n:5} {source.line(n).rstrip()}" for n in range(low, high + 1)),
    )


def _line_of(piece: Piece | None) -> int | None:
    return None if piece is None else piece.node.lineno


def _loops(source: FunctionSource, block: Block, target: Block) -> Iterator[str]:
    """Heads of the loops around a block."""
    for piece in block.pieces:
        if any(target in side.walk() for side in piece.blocks):
            if piece.loops:
                yield as_written(source, piece.node).splitlines()[0].rstrip(":")
            for side in piece.blocks:
                yield from _loops(source, side, target)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
