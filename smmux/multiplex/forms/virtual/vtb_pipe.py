"""VTB_pipe: one virtual block works between regions while the other is in its region (Section 4.2, Figure 5)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

from smmux.kernel import Kernel
from smmux.multiplex.analysis.accesses import Block, Piece, touches
from smmux.multiplex.analysis.apart import or_apart
from smmux.multiplex.analysis.scalars import exposed
from smmux.multiplex.forms.virtual.geometry import Size, VirtualKernel
from smmux.multiplex.forms.virtual.spread import Spread, spread
from smmux.multiplex.forms.virtual.turns import Turns, segments
from smmux.multiplex.forms.virtual.vtb import finished, in_turns, merged, prepared
from smmux.multiplex.regions.find import is_barrier, synchronises
from smmux.multiplex.regions.peel import peel, works
from smmux.multiplex.regions.stage import REGISTERS
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["vtb_pipe"]


@or_apart
def vtb_pipe(
    kernel: Kernel, *, grid: Size | None = None, block: Size | None = None, stage_registers: int = REGISTERS
) -> VirtualKernel:
    """The kernel with two of its thread blocks put together, one of which runs ahead of the other.

    While virtual block 0 is in a region, virtual block 1 does the work in front of it, and while that is in the region,
    virtual block 0 goes on to the next. What overlaps so is what stands under `with smmux.overlap():`, or without such
    annotations: all work between two regions; in front of the first one what follows the global loads, or these if
    nothing does. Of a region that contains its own loads the first are taken out for that purpose (loop peeling).
    Beside a region that begins with a loop around barriers, such as a reduction tree, an annotated loop goes on by
    shares; without annotation nothing overlaps there, since loads would have to come back before every barrier.

    The result is launched and printed as one of `vtb`; so are the arguments and errors.
    """
    again = partial(vtb_pipe, kernel, stage_registers=stage_registers)
    merge = merged(kernel, 2, grid, block)
    draft = prepared(kernel, stage_registers)
    if stage_registers:
        peel(draft)
    indices = in_turns(draft, merge, turns=Pipeline)
    text = "a pipeline of 2 virtual thread blocks; one at a time uses shared memory."
    draft.name("_vtb_pipe", f"{draft.source.name}: {text}")
    return finished(draft, indices, again)


class Pipeline(Turns):
    """Regions in turns, with tasks of one virtual block beside the turn of the other."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.first = True  # no region has been met, nor a loop around one
        self.task: list[ast.stmt] = []  # what virtual block 1 does in the turn of virtual block 0
        self.spread: Spread | None = None  # of the task, if it goes beside a loop with barriers
        self.annotated = self.find_annotations(self.analysis.body)

    def find_annotations(self, block: Block) -> bool:
        """Whether there are any; one around a use of shared memory is refused: that cannot overlap with another's."""
        found = False
        for piece in block.pieces:
            if piece.node in self.draft.overlapping:
                found = True
                if any(touches(piece.events)) or synchronises(piece):
                    what = "has a barrier in it" if synchronises(piece) else "accesses a shared array"
                    raise refuse(self.source, piece.node, f"smmux.overlap() stands around a statement that {what}")
            for side in piece.blocks:
                found |= self.find_annotations(side)
        return found

    def inside(self, piece: Piece, block: Block, active: str | None) -> list[ast.stmt]:
        self.first = self.first and not (piece.loops and self.found.within(piece))
        return super().inside(piece, block, active)

    def region(self, made: list[ast.stmt], before: list[Piece], pieces: Sequence[Piece], active: str | None) -> None:
        start = self.cut(before)
        self.beside(self.proper(pieces), [piece.node for piece in before[start:]])
        if not self.task:
            start = len(before)
        made += self.common(before[:start], active)
        if self.task:
            run = copy.deepcopy(self.task)
            if start == 0 and active is None and made and self.guards(made[-1], "1"):
                made[-1].orelse = run  # type: ignore[attr-defined]
            else:
                made += self.under(self.guard("0", active), run)
        self.take_turns(made, pieces, active)
        self.first, self.task, self.spread = False, [], None

    def beside(self, pieces: Sequence[Piece], task: list[ast.stmt]) -> None:
        """Find out whether and where in a region of virtual block 0 there is time for a task of the other one."""
        if not task or exposed(self.source, task) & self.clobbered(pieces):
            return
        if slot(pieces) is None and self.annotated:
            self.spread = spread(pieces, task, self.analysis.integer)
        self.task = task if slot(pieces) is not None or self.spread is not None else []

    def guards(self, node: ast.stmt, turn: str) -> bool:
        """True for what one virtual block does alone, so that the other can work beside it."""
        return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == self.guard(turn, None)

    def cut(self, before: Sequence[Piece]) -> int:
        """Where the task begins among the statements in front of a region: what all threads execute stays outside."""
        common = [i for i, p in enumerate(before) if self.control.assigns(p) or self.declares(p.node)]
        start = common[-1] + 1 if common else 0
        rest = range(start, len(before))
        if self.annotated:
            return next((i for i in rest if before[i].node in self.draft.overlapping), len(before))
        loads = [i for i in rest if any(touches(before[i].events, "global"))]
        if self.first and loads and any(works(self.source, p) for p in before[loads[-1] + 1 :]):
            rest = range(loads[-1] + 1, len(before))
        return next((i for i in rest if i in loads or works(self.source, before[i])), len(before))

    def turn_of(self, turn: str, pieces: Sequence[Piece], active: str | None) -> list[ast.stmt]:
        if turn != "0" or not self.task:
            return super().turn_of(turn, pieces, active)
        made: list[ast.stmt] = []
        for i, part in enumerate(segments(pieces)):
            made += self.segment(part, self.guard("0", active))
            if self.spread is not None and part[0].node is self.spread.loop:
                assert isinstance(made[-1], ast.For)
                self.alongside(made[-1].body, [self.spread.share], active)
            elif i == slot(pieces):
                self.alongside(made, self.task, active)
        return made

    def alongside(self, made: list[ast.stmt], task: list[ast.stmt], active: str | None) -> None:
        """A task of virtual block 1 beside what virtual block 0 does last."""
        if active is None and self.guards(made[-1], "0"):
            made[-1].orelse = task  # type: ignore[attr-defined]
        else:
            made += self.under(self.guard("1", active), task)


def slot(pieces: Sequence[Piece]) -> int | None:
    """The segment of a region beside which the other virtual block works: the first use, as in Figure 5.

    None for a region that begins with a loop around barriers: the other virtual block has to meet them too.
    """
    parts = segments(pieces)
    for i, part in enumerate(parts):
        if synchronises(part[0]) and not is_barrier(part[0]):
            return None
        if not synchronises(part[0]) and (i > 0 or len(parts) == 1):
            return i
    return None
