"""Coalescing: copies whose ends may share a register vanish, so that loops carry their variables without `mov`.

Classes of registers merge where their live ranges do not interfere: where they overlap only while both hold the same
value (Boissinot et al., "Revisiting out-of-SSA translation for correctness, code quality, and efficiency"). Copies in
the deepest loops go first.
"""

from __future__ import annotations

from collections.abc import Sequence

from smmux.compiler.analysis.live_ranges import LiveRanges, Segment
from smmux.compiler.ir import Reg, Type

__all__ = ["Classes", "coalesce"]


class Classes:
    """Registers grouped by the machine register they will share."""

    def __init__(self, ranges: LiveRanges) -> None:
        self.segments: dict[int, list[Segment]] = dict(ranges.segments)
        self.regs = ranges.regs
        self._parent: dict[int, int] = {}

    def find(self, id: int) -> int:
        """The id that stands for the class of register `id`."""
        parent = self._parent
        root = id
        while root in parent:
            root = parent[root]
        while id != root:
            parent[id], id = root, parent[id]
        return root

    def merge(self, first: int, second: int) -> bool:
        """Put two classes into one unless they interfere."""
        a, b = self.find(first), self.find(second)
        if a == b:
            return True
        if (self.regs[a].type is Type.PRED) != (self.regs[b].type is Type.PRED):
            return False
        union = _union(self.segments[a], self.segments[b])
        if union is None:
            return False
        self._parent[b] = a
        self.segments[a] = union
        del self.segments[b]
        return True


def _union(first: Sequence[Segment], second: Sequence[Segment]) -> list[Segment] | None:
    """Segments of two registers together, or None where they hold different values at one point."""
    merged: list[Segment] = []
    for segment in sorted([*first, *second]):
        if merged and segment[0] < merged[-1][1]:
            last = merged[-1]
            if last[2] != segment[2]:
                return None
            if segment[1] > last[1]:
                merged[-1] = (last[0], segment[1], last[2])
        else:
            merged.append(segment)
    return merged


def coalesce(ranges: LiveRanges) -> Classes:
    """Merge the ends of copies where possible and drop the copies that became moves to themselves."""
    classes = Classes(ranges)
    for _, instr in sorted(ranges.copies, key=lambda copy: -copy[0]):
        source = instr.srcs[0]
        assert isinstance(source, Reg)
        classes.merge(instr.dsts[0].id, source.id)
    return classes
