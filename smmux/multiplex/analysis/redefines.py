"""Defines of shared arrays: the stores that follow one another until the first load, and whether they are enough.

A define replaces what an array held before, so that the array is not in use between the last load and it. One that
leaves elements as another define of the same array stored them cannot: a loop that writes the inside of a tile anew
needs the halo that was stored in front of it. It is enough if it stores to all places, by their text, that any other
does; or if what is loaded until the next define is found to lie in what it stores (`coverage`).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from smmux.multiplex.analysis.facts import Array
from smmux.multiplex.analysis.steady import same_always, text_of

if TYPE_CHECKING:
    from smmux.multiplex.analysis.uniformity import Frame

__all__ = ["UNLIKE", "Access", "Define", "Defines", "Held", "Open", "beyond", "key_of", "merged"]

Item = TypeVar("Item")

UNLIKE = "#"
"""What the text of a place begins with that is like no other."""


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

    conditions, loops: around its first store. places: texts of the indices stored to.
    """

    conditions: tuple[tuple[ast.expr, bool], ...]
    loops: tuple[ast.stmt, ...]
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
    others: dict[Array, Define] = field(default_factory=dict)
    """Stores that belong to no define, as they follow a load; updates of elements only where they are known."""

    def begin(self, array: Array, place: Hashable, frame: Frame) -> dict[Hashable, Define]:
        """A define that begins at a store, as the only one that goes on."""
        new = Define(tuple(frame.conditions), tuple(frame.open_loops()))
        return {place: self.found.setdefault(array, {}).setdefault(place, new)}

    def load(self, array: Array, held: frozenset[Hashable], access: Access) -> None:
        """A load of what these defines stored."""
        for place in held:
            if place in self.found.get(array, {}):
                self.found[array][place].loads.append(access)

    def partial(self) -> Iterator[tuple[Array, Hashable]]:
        """Those that may leave elements as another one stored them."""
        from smmux.multiplex.analysis.coverage import covered

        for array, defines in self.found.items():
            everything = [*defines.values(), *([self.others[array]] if array in self.others else [])]
            doubtful = [
                place
                for place, define in defines.items()
                if define.varies or any(other.places - define.places for other in everything)
            ]
            if doubtful and not covered(array, [defines[place] for place in doubtful], everything):
                yield from ((array, place) for place in doubtful)


def beyond(around: Sequence[Item], now: Sequence[Item]) -> list[Item]:
    """What has come around since."""
    common = 0
    while common < min(len(around), len(now)) and around[common] is now[common]:
        common += 1
    return list(now[common:])


def key_of(frame: Frame, index: ast.expr, define: Define) -> tuple[str, bool]:
    """The text of a place, with all that it depends on; whether it changes from one trip of a loop with barriers to
    the next. A place is like no other if what it depends on is not always the same.
    """
    loops = frame.open_loops()
    tests = beyond(define.conditions, frame.conditions)
    inside = beyond(define.loops, loops)
    text, steady = [text_of(frame, index)], not any(frame.synchronised(loop) for loop in inside)
    function, needed = frame, [index]
    while True:
        for loop in function.own_loops():
            if frame.synchronised(loop):
                continue
            steady &= isinstance(loop, ast.For) and not loop.orelse and not _left(loop)
            if isinstance(loop, ast.For):
                needed.append(loop.iter)
                text.append(text_of(function, loop.iter))
        for condition in function.own_conditions():
            if any(condition is since for since in tests):
                test, side = condition
                needed.append(test)
                text.append(f"{side} {text_of(function, test)}")
        parameters = same_always(function, needed)
        steady &= parameters is not None
        if function.caller is None:
            break
        steady &= not _returns_early(function.source.node)
        given = [function.argument(name) for name in parameters or ()]
        needed = [node for node in given if node is not None]
        function = function.caller
    if steady:
        return " ".join(text), False
    return f"{UNLIKE}{id(index)} {frame.path}", any(frame.synchronised(loop) for loop in loops)


def _left(loop: ast.stmt) -> bool:
    return any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(loop))


def _returns_early(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.Return) and n is not function.body[-1] for n in ast.walk(function))


def merged(one: Open, other: Open) -> Open:
    """Defines that go on behind a branch: those of either side."""
    return {array: {**one.get(array, {}), **other.get(array, {})} for array in one.keys() | other.keys()}
