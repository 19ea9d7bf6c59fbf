"""Register allocation: a linear scan over live ranges with their holes.

Classes of coalesced registers are visited in order of their first point and take the lowest register that is free over
all their segments. On straight code that is optimal: the count is the largest number of values live at one time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smmux.compiler.analysis.live_ranges import Segment
from smmux.compiler.code.coalesce import Classes
from smmux.compiler.ir import Type

__all__ = ["Assignment", "allocate"]


@dataclass(slots=True)
class Assignment:
    """Machine registers by id of the virtual one; nregs and npreds count how many were needed."""

    numbers: dict[int, int]
    nregs: int
    npreds: int


class _File:
    """One register file: the points at which each register holds a value, as sets of bits."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def place(self, segments: Sequence[Segment]) -> int:
        """Occupy the lowest register that is free over `segments`, which are sorted and disjoint, and return it."""
        points = 0
        for start, end, _ in segments:
            points |= (1 << end) - (1 << start)
        for number, taken in enumerate(self.taken):
            if not taken & points:
                self.taken[number] = taken | points
                return number
        self.taken.append(points)
        return len(self.taken) - 1


def allocate(classes: Classes) -> Assignment:
    """Give every class a register of its file."""
    numbers: dict[int, int] = {}
    registers, predicates = _File(), _File()
    for id, segments in sorted(classes.segments.items(), key=lambda item: (item[1][0], item[0])):
        predicate = classes.regs[id].type is Type.PRED
        numbers[id] = (predicates if predicate else registers).place(segments)
    for id in classes.regs:
        root = classes.find(id)
        if root != id:
            numbers[id] = numbers[root]
    return Assignment(numbers, len(registers.taken), len(predicates.taken))
