"""Finds loops that all threads of a block go through together, and that can load a tile for every few iterations."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from smmux.base.trees import walk
from smmux.preload.counters import Counter, Counters, NoBox
from smmux.preload.study import Study
from smmux.preload.symbolic import Opaque

__all__ = ["Strip", "loops"]

LEAVING = (ast.Break, ast.Continue, ast.Return)
"""The statements by which some threads may miss a barrier."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A loop divided into strips: a tile serves `length` iterations, the last one perhaps fewer.

    place: of the loop's header. node: the loop in the kernel's tree. counter: its variable. stop: where its range ends.
    trips: how many iterations the loop has.
    """

    place: int
    node: ast.For
    counter: Counter
    stop: ast.expr
    trips: int
    length: int = 1

    @property
    def count(self) -> int:
        """The number of strips of the loop."""
        return -(-self.trips // self.length)


def loops(study: Study) -> tuple[list[Strip], dict[ast.For, str]]:
    """Return the loops that may have barriers, and for the others why they may not."""
    found, refused = [], {}
    for node in walk(study.source.node):
        if isinstance(node, ast.For):
            try:
                found.append(_strip(study, node))
            except NoBox as error:
                refused[node] = error.reason
    return found, refused


def _strip(study: Study, node: ast.For) -> Strip:
    """Divide a loop into strips of one iteration. Raises NoBox if some threads may leave the loop, or not reach it."""
    body = study.source.node.body
    if node not in body:
        raise NoBox("stands in another statement, which some threads may not reach")
    before = [inner for one in body[: body.index(node)] for inner in walk(one)]
    if any(isinstance(inner, ast.Return) for inner in before):
        raise NoBox("stands behind a return")
    if node.orelse or any(isinstance(inner, LEAVING) for inner in walk(node)):
        raise NoBox("may be left before its end, or has an else")
    places = [place for place, loop in study.tiles.loops.items() if loop.line == node.lineno]
    try:
        ((fixed, varying),) = [study.tiles.trips_of(place) for place in places]
        counter = Counters(study.source, study.tiles).of(places[0], node)
    except Opaque as error:
        raise NoBox(f"has {error.reason}") from None
    except (NoBox, ValueError):
        raise NoBox("has no variable that counts its iterations from a number") from None
    assert isinstance(node.iter, ast.Call)
    stop = node.iter.args[min(1, len(node.iter.args) - 1)]
    if varying or _changed(stop, node):
        raise NoBox("has a trip count that changes")
    if fixed[places[0]] < 2:
        raise NoBox("has no second iteration")
    return Strip(places[0], node, counter, stop, fixed[places[0]])


def _changed(stop: ast.expr, loop: ast.For) -> bool:
    """Tell whether a loop changes a name that its range depends on. Python computes the range only once."""
    stored = {n.id for n in walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return any(isinstance(n, ast.Name) and n.id in stored for n in walk(stop))
