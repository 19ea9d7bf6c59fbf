"""Decides which reads of an array get a tile, and whether it serves the whole block or some iterations of a loop.

A tile is worth having if filling it takes no more loads than it replaces, counted for a block of this launch. If one
box for all reads is not worth it, the reads are divided into groups, and the group that shares most gets a tile.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smmux.preload.boxes import Box, box
from smmux.preload.classes import Row
from smmux.preload.counters import NoBox
from smmux.preload.intervals import united
from smmux.preload.strips import Strip, loops
from smmux.preload.study import Study

__all__ = ["chosen", "strips"]

MOST_PARTED = 32
"""Divide at most this many reads [EST]: a stencil of three axes has 27. All pairs are compared, so more take long."""


def strips(study: Study, numbers: Sequence[int]) -> tuple[tuple[Strip, ...], dict[ast.For, str]]:
    """Return the loops that may load tiles of some arrays, and for the other loops why they may not.

    A strip has just enough iterations for every thread to load an element.
    """
    found, refused = loops(study)
    made = []
    for strip in found:
        counts = [1]
        for number in numbers:
            try:
                one = box(study, number, _reads(study, number), strip)
            except NoBox:
                continue
            counts.append(-(-math.prod(study.block) // one.elements))
        made.append(replace(strip, length=min(max(counts), strip.trips)))
    return tuple(made), refused


def chosen(study: Study, number: int, strips: Sequence[Strip], room: int) -> Box:
    """Find the box of an array that spares most loads: one for all reads, or one for the reads that share most.

    Raises NoBox, with the reason why there is no box for all reads in the whole block.
    """
    rows = _reads(study, number)
    found, reasons = [], []
    for strip in (None, *strips):
        try:
            found.append(_worth(box(study, number, rows, strip), room))
        except NoBox as error:
            reasons.append(error)
    best = min(found, key=_order, default=None)
    if len(rows) <= MOST_PARTED and (
        best is None or best.loads - _least(rows, best) >= min(u.times for u in best.uses)
    ):
        found += [one for strip in (None, *strips) if (one := _shared(study, number, rows, strip, room))]
    if not found:
        raise reasons[0]
    return min(found, key=_order)


def _least(rows: Sequence[Row], one: Box) -> float:
    """Count the elements that a block reads, which have to be loaded whatever is chosen."""
    runs = united(np.concatenate([tile.runs for row in rows for tile in row.tiles]))
    return int((runs[:, 1] - runs[:, 0]).sum()) / one.itemsize


def _order(one: Box) -> tuple[float, int, int]:
    return -_saved(one), one.loads, one.nbytes


def _reads(study: Study, number: int) -> list[Row]:
    return [row for row in study.rows if row.found.array == number]


def _worth(one: Box, room: int) -> Box:
    """Return the box. Raises NoBox if it has no room, or takes more loads to fill than it spares."""
    shape, line = " x ".join(map(str, one.shape)), one.uses[0].node.lineno
    if one.loads > one.replaced:
        raise NoBox(f"a tile of {shape} elements, {one.loads} loads in the place of {one.replaced:.0f}", line)
    if one.nbytes > room:
        raise NoBox(f"a tile of {one.nbytes} bytes ({shape}), for which {room} are free", line)
    return one


def _saved(one: Box | None) -> float:
    return one.replaced - one.loads if one else 0


def _shared(study: Study, number: int, rows: Sequence[Row], strip: Strip | None, room: int) -> Box | None:
    """Find the group of reads whose box spares most loads, and return the box; None if none spares any.

    Groups are joined in pairs as long as two spare more together than apart. A single element needs no box, since one
    load gives it to all threads of a warp.
    """

    def of(group: frozenset[int]) -> Box | None:
        try:
            return _worth(box(study, number, [rows[k] for k in sorted(group)], strip), room)
        except NoBox:
            return None

    groups = {group: of(group) for group in (frozenset([k]) for k in range(len(rows)))}
    groups = {group: one for group, one in groups.items() if one}
    unions: dict[frozenset[int], Box | None] = {}
    while True:
        best, gain = None, 0.0
        for a, b in itertools.combinations(groups, 2):
            if a | b not in unions:
                unions[a | b] = of(a | b)
            more = _saved(unions[a | b]) - _saved(groups[a]) - _saved(groups[b])
            if more > gain:
                best, gain = (a, b), more
        if best is None:
            break
        a, b = best
        del groups[a], groups[b]
        groups[a | b] = unions[a | b]
    one = max((one for one in groups.values() if one and one.elements > 1), key=_saved, default=None)
    return one if _saved(one) > 0 else None
