"""Defines of shared arrays: the stores that follow one another until the first load, and whether they are enough.

A define replaces what an array held before, so that the array is not in use between the last load and it. One that
stores to fewer places than another of the same array cannot: a loop that writes the inside of a tile anew needs the
halo that was stored in front of it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from smmux.multiplex.facts import Array

__all__ = ["Defines", "Open", "merged"]

Define = dict[str, float]
"""Elements that a thread stores to, by the text of the index; infinite where a loop's length is not known."""

Open = dict[Array, dict[Hashable, Define]]
"""Defines that further stores belong to, by their place; several behind a branch."""


@dataclass(slots=True)
class Defines:
    """The defines of all arrays, by the place of their first store."""

    found: Open = field(default_factory=dict)

    def begin(self, array: Array, place: Hashable) -> dict[Hashable, Define]:
        """A define that begins at a store, as the only one that goes on."""
        return {place: self.found.setdefault(array, {}).setdefault(place, {})}

    def partial(self) -> Iterator[tuple[Array, Hashable]]:
        """Those that store to fewer elements than another one, apart from what both do."""
        for array, defines in self.found.items():
            for place, define in defines.items():
                if any(_elements(other, define) > _elements(define, other) for other in defines.values()):
                    yield array, place


def _elements(define: Define, but: Define) -> float:
    return math.fsum(count for index, count in define.items() if index not in but)


def merged(one: Open, other: Open) -> Open:
    """Defines that go on behind a branch: those of either side."""
    return {array: {**one.get(array, {}), **other.get(array, {})} for array in one.keys() | other.keys()}
