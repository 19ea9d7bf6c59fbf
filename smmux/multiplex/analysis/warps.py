"""Finds what only the lockstep of a warp orders: a load and a store of one element by two threads without a barrier
between.

What is found here is certain: indices and conditions are known in each thread. A kernel can count on lockstep in ways
that are not seen here; the race check of a launch warns of these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from smmux.multiplex.analysis.accesses import Barrier, Touch
from smmux.multiplex.analysis.dataflow import Forward
from smmux.multiplex.analysis.frames import Analysis
from smmux.multiplex.analysis.threads import THREADS, Numbers, UnknownError, Values
from smmux.source.constants import COMPARISONS

WARP = 32


def torn_pair(analysis: Analysis, threads: int, n: int) -> tuple[Touch, Touch] | None:
    """Find two accesses ordered by lockstep whose threads share a warp now, but not once n blocks are put together.

    threads: of a block, which is one-dimensional.
    """
    own = np.arange(threads)
    placed = np.arange(n)[:, None] * threads + own
    together = own[:, None] // WARP == own // WARP
    apart = (placed[:, :, None] // WARP != placed[:, None, :] // WARP).any(axis=0)
    for first, second in _pairs(analysis):
        try:
            a, b = (_elements(analysis, touch)[:threads] for touch in (first, second))
        except UnknownError:
            continue
        same = (a[:, None] == b) & (a[:, None] >= 0)
        if (same & together & apart).any():
            return first, second
    return None


def _pairs(analysis: Analysis) -> Iterator[tuple[Touch, Touch]]:
    since = _Since()
    since.sequence(analysis.body.pieces, frozenset())
    yield from sorted(since.pairs, key=lambda pair: (pair[0].node.lineno, pair[1].node.lineno))  # type: ignore[attr-defined]


class _Since(Forward[Touch]):
    """Accesses of shared arrays since the last barrier; pairs: a load and a store of one array between two barriers."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: set[tuple[Touch, Touch]] = set()

    def step(self, event: Any, state: frozenset[Touch]) -> frozenset[Touch]:
        if isinstance(event, Barrier):
            return frozenset()
        if not isinstance(event, Touch) or event.array.space != "shared":
            return state
        self.pairs |= {(e, event) for e in state if e.array is event.array and e.write != event.write}
        return state | {event}


def _elements(analysis: Analysis, touch: Touch) -> Numbers:
    """The element that each thread accesses, negative where it does not get there; raises `UnknownError`."""
    node, site = touch.node, touch.site
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or isinstance(node.slice, ast.Tuple):
        raise UnknownError("this access has no single index")
    values = Values(analysis, ())
    found = np.broadcast_to(values.of(site.scope, node.slice), THREADS).copy()
    for condition in site.conditions:
        if condition.test is None:
            raise UnknownError("a condition is not known")
        holds = np.broadcast_to(_truth(values, condition.scope, condition.test), THREADS)
        found[holds != condition.side] = -1
    return found


def _truth(values: Values, scope: Any, test: ast.expr) -> Numbers:
    """Whether a comparison holds in each thread."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        compute = COMPARISONS.get(type(test.ops[0]).__name__)
        if compute is not None:
            return np.asarray(compute(values.of(scope, test.left), values.of(scope, test.comparators[0])))
    return np.asarray(values.of(scope, test) != 0)
