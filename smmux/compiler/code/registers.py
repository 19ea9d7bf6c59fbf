"""Register allocation: a linear scan over live ranges with their holes.

Classes of coalesced registers are visited in order of their first point and take the lowest register that is free over
all their segments. On straight code that is optimal: the count is the largest number of values live at one time.
"""

from __future__ import annotations

from bisect import bisect_left
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
    """One register file: what each register holds and when."""

    def __init__(self) -> None:
        self.starts: list[list[int]] = []
        self.ends: list[list[int]] = []

    def place(self, segments: Sequence[Segment]) -> int:
        """Occupy the lowest register that is free over `segments`, which are sorted and disjoint, and return it."""
        first = segments[0][0]
        for number, (starts, ends) in enumerate(zip(self.starts, self.ends, strict=True)):
            if ends[-1] <= first:
                starts.extend(s[0] for s in segments)
                ends.extend(s[1] for s in segments)
                return number
            if self._fits(starts, ends, segments):
                for start, end, _ in segments:
                    at = bisect_left(starts, start)
                    starts.insert(at, start)
                    ends.insert(at, end)
                return number
        self.starts.append([s[0] for s in segments])
        self.ends.append([s[1] for s in segments])
        return len(self.starts) - 1

    @staticmethod
    def _fits(starts: list[int], ends: list[int], segments: Sequence[Segment]) -> bool:
        for start, end, _ in segments:
            at = bisect_left(starts, end)  # segments before `at` begin before this one ends
            if at and ends[at - 1] > start:
                return False
        return True


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
    return Assignment(numbers, len(registers.starts), len(predicates.starts))
