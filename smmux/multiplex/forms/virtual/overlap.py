"""What one virtual block can do while the other is in its region (the paper's Section 4.2, Figure 5)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

from smmux.multiplex.analysis.accesses import Block, Piece, touches
from smmux.multiplex.analysis.scalars import exposed
from smmux.multiplex.forms.virtual.control import Control, segments
from smmux.multiplex.regions.find import is_barrier, synchronises
from smmux.multiplex.regions.loads import works
from smmux.multiplex.syntax.build import at, expression, names_in
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.refusals import refuse


@dataclass(frozen=True, slots=True)
class Task:
    """Work in front of a region that virtual block 1 does in the turn of virtual block 0.

    start: where it begins among the statements in front. run: its statements. segment: of the region, beside which it
    is done. share: its part there: all of it, or in_loop what each trip of the segment's loop takes.
    """

    start: int
    run: list[ast.stmt]
    segment: int
    share: list[ast.stmt]
    in_loop: bool = False


class Overlap:
    """Finds tasks: what stands under `with smmux.overlap():`, or all work between regions where nothing does."""

    def __init__(self, draft: Draft, control: Control) -> None:
        self.draft, self.source, self.analysis, self.control = draft, draft.source, control.analysis, control
        self.annotated = self.has_annotations(self.analysis.body)

    def has_annotations(self, block: Block) -> bool:
        """Whether there are any; one around a use of shared memory is refused: that cannot overlap with another's."""
        annotated = [piece for inner in block.walk() for piece in inner.pieces if piece.node in self.draft.overlapping]
        for piece in annotated:
            if any(touches(piece.events)) or synchronises(piece):
                what = "has a barrier in it" if synchronises(piece) else "accesses a shared array"
                raise refuse(self.source, piece.node, f"smmux.overlap() stands around a statement that {what}")
        return bool(annotated)

    def task(self, before: Sequence[Piece], region: Sequence[Piece], first: bool) -> Task | None:
        """The work in front of a region that can be done beside it; first: no region has been met before."""
        start = self.start(before, first)
        run = [piece.node for piece in before[start:]]
        if not run or exposed(self.source, run) & self.control.clobbered(region):
            return None
        parts = segments(region)
        compound = next((i for i, p in enumerate(parts) if synchronises(p[0]) and not is_barrier(p[0])), len(parts))
        uses = (i for i, p in enumerate(parts[:compound]) if not synchronises(p[0]) and (i > 0 or len(parts) == 1))
        use = next(uses, None)
        if use is not None:
            return Task(start, run, use, run)
        if not self.annotated or compound == len(parts):
            return None
        share = self.spread(parts[compound][0].node, run)
        return None if share is None else Task(start, run, compound, [share], in_loop=True)

    def start(self, before: Sequence[Piece], first: bool) -> int:
        """Where the task begins among the statements in front of a region: what all threads execute stays outside."""
        common = [i for i, piece in enumerate(before) if self.control.common(piece)]
        rest = range(common[-1] + 1 if common else 0, len(before))
        if self.annotated:
            return next((i for i in rest if before[i].node in self.draft.overlapping), len(before))
        loads = [i for i in rest if any(touches(before[i].events, "global"))]
        if first and loads and any(works(self.source, p) for p in before[loads[-1] + 1 :]):
            rest = range(loads[-1] + 1, len(before))
        return next((i for i in rest if i in loads or works(self.source, before[i])), len(before))

    def spread(self, node: ast.stmt, task: Sequence[ast.stmt]) -> ast.For | None:
        """The share of a task that each trip of a loop with barriers takes; None if it cannot be spread over it.

        All threads meet the barriers of a loop such as that of a reduction tree. Between two of them there is time for
        a part of the task only: where both loops have a constant number of trips, each trip takes its share.
        """
        work = task[0] if len(task) == 1 else None
        over, trips = self.analysis.trips(node), self.analysis.trips(work) if work is not None else None
        if not (over and trips) or trips.start or trips.step != 1:
            return None
        assert isinstance(node, ast.For)
        assert isinstance(node.target, ast.Name)
        assert isinstance(work, ast.For)
        left = any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(work))
        if work.orelse or left or node.target.id in names_in(work):
            return None
        each = -(-len(trips) // len(over))
        first = _times(each, _trip(node.target.id, over))
        last = f"{first} + {each}" if each * len(over) == len(trips) else f"min({first} + {each}, {len(trips)})"
        share = copy.deepcopy(work)
        share.iter = at(expression(f"range({first}, {last})"), work.iter)
        return share


def _trip(counter: str, over: range) -> str:
    """The number of a trip, from zero."""
    start = f" - {over.start}" if over.start > 0 else f" + {-over.start}" if over.start else ""
    return counter + start if over.step == 1 else f"({counter}{start}) // {over.step}"


def _times(factor: int, text: str) -> str:
    if factor == 1:
        return text
    return f"{factor} * {text}" if text.isidentifier() else f"{factor} * ({text})"
