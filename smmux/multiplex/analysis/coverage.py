"""Whether what is loaded lies in what was stored: computed, thread by thread, where indices are simple enough.

How many threads a block has is not known: what must hold must do so for all sizes that the kernel can be for, with
which it stays within the array and loads nothing but what it stored.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smmux.multiplex.analysis.accesses import Jump, flat
from smmux.multiplex.analysis.facts import Array, Site
from smmux.multiplex.analysis.frames import Analysis
from smmux.multiplex.analysis.threads import MAX_ELEMENTS, THREADS, Numbers, UnknownError, Values

__all__ = ["Access", "Coverage", "Define"]


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store of an element; index: None where it is not by an index, or not by all threads of the block."""

    site: Site
    index: ast.expr | None


@dataclass(slots=True, eq=False)
class Define:
    """The stores that follow one another until the first load, and the loads of what they stored.

    begin: where the first store stands. places: texts of the places stored to, or what stands for one like no other.
    varies: it stores to other places each time.
    """

    begin: Site
    places: set[Hashable] = field(default_factory=set)
    stores: list[Access] = field(default_factory=list)
    loads: list[Access] = field(default_factory=list)
    varies: bool = False


class Coverage:
    """Answers for a kernel; synchronised: its loops with barriers."""

    def __init__(self, analysis: Analysis, synchronised: Collection[ast.stmt]) -> None:
        self.analysis, self.synchronised = analysis, synchronised
        self.jumps = any(isinstance(e, Jump) and e.conditional for e in flat(analysis.body.pieces))

    def holds(self, array: Array, doubtful: Sequence[Define], defines: Sequence[Define]) -> bool:
        """True if each of the doubtful defines certainly stores all that is loaded of its contents."""
        size = self.size(array)
        if size is None or self.jumps or any(define.varies for define in doubtful):
            return False
        stores = [[self.elements(a) for a in d.stores] for d in defines]
        loads = [[self.elements(a) for a in d.loads] for d in defines]
        most = THREADS
        for elements in (n for table in (stores, loads) for found in table for n in found):
            if elements is None:
                return False
            outside = ((elements < 0) | (elements >= size)).any(axis=1)
            most = min(most, int(outside.argmax()) if outside.any() else THREADS)
        had = [_first(found, size, most) for found in stores]
        wanted = [_first(found, size, most) for found in loads]
        anywhere = np.minimum.reduce(had)
        possible = ~np.logical_or.reduce([_lacking(w, anywhere, most) for w in wanted])
        doubts = [_lacking(w, h, most) for w, h, define in zip(wanted, had, defines, strict=True) if define in doubtful]
        return bool(possible.any() and not (possible & np.logical_or.reduce(doubts)).any())

    def size(self, array: Array) -> int | None:
        """Elements of a one-dimensional array that the kernel itself declares."""
        call = array.node
        if not isinstance(call, ast.Call) or not call.args or array.source is not self.analysis.source:
            return None
        return self.analysis.integer(call.args[0])

    def elements(self, access: Access) -> Numbers | None:
        """The elements that each thread accesses, one row per thread."""
        if access.index is None:
            return None
        axes = [loop for _, loop in access.site.loops if isinstance(loop, ast.For)]
        try:
            found = Values(self.analysis, axes, self.synchronised).of(access.site.scope, access.index)
        except UnknownError:
            return None
        if THREADS * found[:1].size > MAX_ELEMENTS:
            return None
        return np.broadcast_to(found, (THREADS, *found.shape[1:])).reshape(THREADS, -1)


def _first(accesses: Sequence[Numbers | None], size: int, most: int) -> Numbers:
    """The least block, by its number of threads, that accesses each element; more than any if none does."""
    first = np.full(size, THREADS + 1, np.int64)
    for numbers in accesses:
        assert numbers is not None
        own = numbers[:most]
        np.minimum.at(first, own.ravel(), np.repeat(np.arange(1, len(own) + 1), own.shape[1]))
    return first


def _lacking(wanted: Numbers, had: Numbers, most: int) -> NDArray[np.bool_]:
    """Of the blocks of 1 to `most` threads, those that want an element which they have not."""
    steps = np.zeros(THREADS + 2, np.int64)
    lacking = wanted < had
    np.add.at(steps, wanted[lacking], 1)
    np.add.at(steps, had[lacking], -1)
    return np.cumsum(steps)[1 : most + 1] > 0
