"""Defines of shared arrays: the stores that follow one another until the first load, and whether they are enough.

A define replaces what an array held before, so that the array is not in use between the last load and it. One that
leaves elements as another define of the same array stored them cannot: a loop that writes the inside of a tile anew
needs the halo that was stored in front of it. It is enough if it stores to all places, by their text, that any other
does; or if what is loaded until the next define is found to lie in what it stores (`coverage`).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smmux.multiplex.facts import Array
from smmux.multiplex.names import names_in

if TYPE_CHECKING:
    from smmux.multiplex.walk import Frame

__all__ = ["Access", "Define", "Defines", "Held", "Open", "key_of", "merged"]


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store of an element: where it stands, its index, the loops around it.

    index: None where the access is not by an index, or not by all threads of the block.
    """

    frame: Frame
    index: ast.expr | None
    loops: tuple[ast.stmt, ...]


@dataclass(slots=True)
class Define:
    """The stores of a define and the loads of what it stored.

    depth: conditions and loops around its first store. places: texts of the indices stored to.
    """

    depth: tuple[int, int]
    places: set[str] = field(default_factory=set)
    stores: list[Access] = field(default_factory=list)
    loads: list[Access] = field(default_factory=list)
    varies: bool = False  # stores to other places each time


Open = dict[Array, dict[Hashable, Define]]
"""Defines that further stores belong to, by their place; several behind a branch."""

Held = dict[Array, frozenset[Hashable]]
"""Places of the defines that an array's contents can come from."""


@dataclass(slots=True)
class Defines:
    """The defines of all arrays, by the place of their first store."""

    found: Open = field(default_factory=dict)

    def begin(self, array: Array, place: Hashable, depth: tuple[int, int]) -> dict[Hashable, Define]:
        """A define that begins at a store, as the only one that goes on."""
        return {place: self.found.setdefault(array, {}).setdefault(place, Define(depth))}

    def load(self, array: Array, held: frozenset[Hashable], access: Access) -> None:
        """A load of what these defines stored."""
        for place in held:
            if place in self.found.get(array, {}):
                self.found[array][place].loads.append(access)

    def partial(self) -> Iterator[tuple[Array, Hashable]]:
        """Those that may leave elements as another one stored them."""
        from smmux.multiplex.coverage import covered

        for array, defines in self.found.items():
            doubtful = [
                place
                for place, define in defines.items()
                if define.varies or any(other.places - define.places for other in defines.values())
            ]
            if doubtful and not covered(array, [defines[place] for place in doubtful], list(defines.values())):
                yield from ((array, place) for place in doubtful)


def key_of(frame: Frame, index: ast.expr, depth: int) -> tuple[str, bool]:
    """The text of a place, with all that it depends on; whether it changes from one trip of a loop with barriers to
    the next. A place is like no other if a name that it depends on is assigned more than once.
    """
    free = [loop for loop in frame.open_loops() if not frame.synchronised(loop)]
    tests = frame.conditions[depth:]
    text = (
        frame.given
        + ast.dump(index)
        + "".join(map(_head, free))
        + "".join(f"{side} {ast.dump(t)}" for t, side in tests)
    )
    counters = names_in(*(loop.target for loop in free if isinstance(loop, ast.For)))
    names = names_in(index, *(t for t, _ in tests)) - counters
    changes, several = frame.changing(names), frame.assigned_again(names)
    inner = frame
    while inner.caller is not None:
        names, inner = names_in(inner.call_node), inner.caller
        changes, several = changes or inner.changing(names), several or inner.assigned_again(names)
    return text + (f"#{id(index)} {frame.path}" if changes or several else ""), changes


def _head(loop: ast.stmt) -> str:
    return ast.dump(loop.iter) if isinstance(loop, ast.For) else f"while {id(loop)}"


def merged(one: Open, other: Open) -> Open:
    """Defines that go on behind a branch: those of either side."""
    return {array: {**one.get(array, {}), **other.get(array, {})} for array in one.keys() | other.keys()}
