"""A task of one virtual block, spread over the iterations of a loop with barriers that the other one is in.

All threads meet the barriers of a loop such as that of a reduction tree. Between two of them there is time for a part
of the task only: where both loops have a constant number of trips, each trip takes its share.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from smmux.multiplex.analysis.accesses import Piece
from smmux.multiplex.analysis.scalars import names_in
from smmux.multiplex.forms.divided.parts import range_of
from smmux.multiplex.regions.find import is_barrier, synchronises
from smmux.multiplex.syntax.build import at, expression

__all__ = ["Spread", "spread"]


@dataclass(frozen=True, slots=True)
class Spread:
    """A loop with barriers of a region, and the share of a task that each of its trips takes."""

    loop: ast.For
    share: ast.For


def spread(
    pieces: Sequence[Piece], task: Sequence[ast.stmt], constant: Callable[[ast.expr], int | None]
) -> Spread | None:
    """How a task that is a loop can go beside the first loop with barriers of a region; None if it cannot."""
    piece = next((p for p in pieces if synchronises(p) and not is_barrier(p)), None)
    work = task[0] if len(task) == 1 else None
    if piece is None or not isinstance(piece.node, ast.For) or not isinstance(work, ast.For) or work.orelse:
        return None
    over, trips = range_of(piece.node, constant), range_of(work, constant)
    counter = piece.node.target
    if not over or not trips or trips.start or trips.step != 1 or not isinstance(counter, ast.Name):
        return None
    if counter.id in names_in(work) or any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(work)):
        return None
    each = -(-len(trips) // len(over))
    first = _times(each, _trip(counter.id, over))
    last = f"{first} + {each}" if each * len(over) == len(trips) else f"min({first} + {each}, {len(trips)})"
    share = copy.deepcopy(work)
    share.iter = at(expression(f"range({first}, {last})"), work.iter)
    return Spread(piece.node, share)


def _trip(counter: str, over: range) -> str:
    """The number of a trip, from zero."""
    start = f" - {over.start}" if over.start > 0 else f" + {-over.start}" if over.start else ""
    return counter + start if over.step == 1 else f"({counter}{start}) // {over.step}"


def _times(factor: int, text: str) -> str:
    if factor == 1:
        return text
    return f"{factor} * {text}" if text.isidentifier() else f"{factor} * ({text})"
