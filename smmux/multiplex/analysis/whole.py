"""Arrays as a whole: what loops run over, and what is given to a function or has a method called.

Whatever is not known to leave the elements alone counts as loading and storing them.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any

from smmux.multiplex.analysis.facts import UNIFORM, Fact, join
from smmux.multiplex.analysis.frames import LOAD, STORE, Frame

UNTOUCHED = (len, range, isinstance, type)
READING = (min, max, sum, any, all, sorted, print, abs, tuple, list)


def root(node: ast.expr) -> str:
    """The name that an attribute, an element or what a method returns is of."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def whole_arguments(frame: Frame, node: ast.Call, function: Any, arguments: Sequence[Fact]) -> bool:
    """What a function may do to shared arrays that it is given; True if all threads of a block get the same."""
    if any(function is other for other in UNTOUCHED):
        return True
    named = [isinstance(value, ast.Name) for value in (*node.args, *(k.value for k in node.keywords))]
    whole = [fact for fact, name in zip(arguments, named, strict=True) if fact.shared and (fact.rank or name)]
    done = (LOAD,) if any(function is reading for reading in READING) else (LOAD, STORE)
    same = [frame.contents(fact, node, *done) for fact in whole]
    return all(same)


def method(frame: Frame, node: ast.Call, name: str, owner: Fact) -> Fact:
    """A method of an array: a view of it, or something that can do anything to its elements."""
    arguments = [frame.eval(argument).uniform for argument in node.args]
    if name == "view":
        return owner
    uniform = all(arguments) and owner.uniform
    if name in ("reshape", "ravel", "transpose"):
        return Fact(uniform, owner.arrays)
    return Fact(frame.contents(owner, node, LOAD, STORE) and uniform)


def iterated(frame: Frame, node: ast.expr, loaded: list[Fact]) -> tuple[bool, Fact, bool]:
    """Tell of what a for loop runs over: whether the number of trips is uniform, the fact of an item, and whether there
    is always a trip.

    loaded: gets arrays of which each trip loads an element.
    """
    function = frame.eval(node.func).const if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and function is range:
        bounds = [frame.eval(a) for a in node.args]
        values = [b.const for b in bounds]
        if all(isinstance(v, int) for v in values):
            return True, UNIFORM, len(range(*values)) > 0
        uniform = all(b.uniform for b in bounds)
        # range(thread, constant, constant): the threads of a block share the work
        shared_out = len(bounds) == 3 and not bounds[0].uniform and all(isinstance(v, int) for v in values[1:])
        return uniform, Fact(uniform), shared_out
    if isinstance(node, ast.Call) and any(function is each for each in (enumerate, zip, reversed)):
        over = [iterated(frame, a, loaded) for a in node.args[: 1 if function is not zip else None]]
        further = [frame.eval(a) for a in node.args[1:]] if function is enumerate else []
        further += [frame.eval(k.value) for k in node.keywords]
        uniform, always = all(each[0] for each in over), all(each[2] for each in over)
        items = tuple(each[1] for each in over)
        if function is reversed:
            return uniform, items[0] if items else UNIFORM, always
        items = (Fact(uniform and all(f.uniform for f in further)), *items) if function is enumerate else items
        return uniform, Fact(all(i.uniform for i in items), items=items), always
    whole = frame.eval(node)
    if whole.items:
        return True, functools.reduce(join, whole.items), True
    if whole.rank is None or whole.rank < 2:
        loaded.append(whole)
        stored = frame.analysis.stored
        same = all(a.space == "const" or a.space == "global" and a not in stored for a in whole.arrays)
        return whole.uniform, Fact(whole.uniform and same, whole.arrays, rank=whole.rank and 0), False
    return whole.uniform, Fact(whole.uniform, whole.arrays, rank=whole.rank - 1), False
