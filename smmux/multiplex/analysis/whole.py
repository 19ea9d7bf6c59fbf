"""Uses of arrays as a whole: loops over them, calls that they are given to, and calls of their methods.

A use that is not known to leave the elements alone counts as loading and storing them.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from smmux.multiplex.analysis.facts import UNIFORM, Fact, join
from smmux.multiplex.analysis.frames import LOAD, STORE, Frame

UNTOUCHED = (len, range, isinstance, type)
READING = (min, max, sum, any, all, sorted, print, abs, tuple, list)


def root(node: ast.expr) -> str:
    """The variable that attributes, elements and calls begin with, as `a` of `a.b[0].c()`; empty if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def whole_arguments(frame: Frame, node: ast.Call, function: Any, arguments: Sequence[Fact]) -> bool:
    """Note what a function may do to the shared arrays that it is given; True if all threads of a block see the same
    contents there."""
    if any(function is other for other in UNTOUCHED):
        return True
    named = [isinstance(value, ast.Name) for value in (*node.args, *(k.value for k in node.keywords))]
    whole = [fact for fact, name in zip(arguments, named, strict=True) if fact.shared and (fact.rank or name)]
    done = (LOAD,) if any(function is reading for reading in READING) else (LOAD, STORE)
    same = [frame.contents(fact, node, *done) for fact in whole]
    return all(same)


def method(frame: Frame, node: ast.Call, name: str, owner: Fact) -> Fact:
    """The fact of what a method of an array returns: a view of the array or, for any method not known here, something
    that may have loaded and stored all elements."""
    arguments = [frame.eval(argument).uniform for argument in node.args]
    if name == "view":
        return owner
    uniform = all(arguments) and owner.uniform
    if name in ("reshape", "ravel", "transpose"):
        return Fact(uniform, owner.arrays)
    return Fact(frame.contents(owner, node, LOAD, STORE) and uniform)


class Trips(NamedTuple):
    """What is known of what a for loop runs over.

    uniform: whether all threads of a block make the same number of trips. item: the fact of the loop's variable.
    always: whether there is at least one trip.
    """

    uniform: bool
    item: Fact
    always: bool


def iterated(frame: Frame, node: ast.expr, loaded: list[Fact]) -> Trips:
    """What is known of the trips of a for loop over an expression.

    loaded: gets the arrays of which each trip loads an element.
    """
    function = frame.eval(node.func).const if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and function is range:
        return _range(frame, node)
    if isinstance(node, ast.Call) and any(function is each for each in (enumerate, zip, reversed)):
        return _combined(frame, node, function, loaded)
    whole = frame.eval(node)
    if whole.items:
        return Trips(True, functools.reduce(join, whole.items), True)
    if whole.rank is None or whole.rank < 2:
        loaded.append(whole)
        stored = frame.analysis.stored
        same = all(a.space == "const" or a.space == "global" and a not in stored for a in whole.arrays)
        return Trips(whole.uniform, Fact(whole.uniform and same, whole.arrays, rank=whole.rank and 0), False)
    return Trips(whole.uniform, Fact(whole.uniform, whole.arrays, rank=whole.rank - 1), False)


def _range(frame: Frame, node: ast.Call) -> Trips:
    """The trips of a call of range."""
    bounds = [frame.eval(argument) for argument in node.args]
    values = [bound.const for bound in bounds]
    if all(isinstance(value, int) for value in values):
        return Trips(True, UNIFORM, len(range(*values)) > 0)
    uniform = all(bound.uniform for bound in bounds)
    # range(thread, constant, constant): the threads of a block share the work, and each has a part of it
    shared_out = len(bounds) == 3 and not bounds[0].uniform and all(isinstance(value, int) for value in values[1:])
    return Trips(uniform, Fact(uniform), shared_out)


def _combined(frame: Frame, node: ast.Call, function: Any, loaded: list[Fact]) -> Trips:
    """The trips of a call of enumerate, zip or reversed: those of what it is given."""
    over = [iterated(frame, argument, loaded) for argument in node.args[: None if function is zip else 1]]
    further = [frame.eval(argument) for argument in node.args[1:]] if function is enumerate else []
    further += [frame.eval(keyword.value) for keyword in node.keywords]
    uniform, always = all(each.uniform for each in over), all(each.always for each in over)
    items = tuple(each.item for each in over)
    if function is reversed:
        return Trips(uniform, items[0] if items else UNIFORM, always)
    if function is enumerate:
        items = Fact(uniform and all(fact.uniform for fact in further)), *items
    return Trips(uniform, Fact(all(item.uniform for item in items), items=items), always)
