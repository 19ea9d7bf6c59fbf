"""Evaluates integer expressions in each thread of a block, where the kernel alone decides them, to tell whether all
that is loaded from an array was stored there.

The values are made of constants, `threadIdx.x`, counters of loops with constant ranges, variables that are assigned
once, parameters of device functions, and what functions without branches return. An answer must hold for every number
of threads with which the kernel stays within the array and loads only what it stored.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smmux import cuda
from smmux.compiler.python.call_graph import device_function
from smmux.language.types import Scalar, int32, int64, uint32, uint64
from smmux.multiplex.analysis.accesses import Jump, flat
from smmux.multiplex.analysis.facts import Array, Scope, Site, value_of
from smmux.multiplex.analysis.frames import Analysis
from smmux.source.constants import OPERATORS, SIGNS
from smmux.source.function_source import assigned_names

THREADS = 1024
"""Threads that a block can have at most."""

MAX_ELEMENTS = 1 << 20
MAX_TRIPS = 1024
MAX_INTEGER = (1 << 31) - 1
INTEGERS = (int32, int64, uint32, uint64)

Numbers = NDArray[np.int64]


class UnknownError(Exception):
    """The values of an expression cannot be told before the kernel runs, or may change from one time to the next."""


def per_thread(analysis: Analysis, node: ast.expr) -> Numbers:
    """The values of an expression of the kernel in threads 0 to 1023 of a block; raises `UnknownError`."""
    return np.broadcast_to(Values(analysis, ()).of(analysis.scopes[()], node), THREADS)


class Values:
    """Values of integer expressions: axis 0 for the threads, one more for each loop that has no barriers."""

    def __init__(self, analysis: Analysis, loops: Sequence[ast.For], synchronised: Collection[ast.stmt] = ()) -> None:
        self.analysis, self.loops, self.synchronised = analysis, loops, synchronised

    def of(self, scope: Scope, node: ast.expr) -> Numbers:
        """The values of an expression of a function."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd | ast.Invert):
            return np.asarray(SIGNS[type(node.op).__name__](self.of(scope, node.operand)))
        if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Div | ast.Pow | ast.MatMult):
            return self.leaf(scope, node)
        left, right = self.of(scope, node.left), self.of(scope, node.right)
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and (right <= 0).any():
            raise UnknownError(f"{ast.unparse(node)} divides by what is not positive")
        if isinstance(node.op, ast.LShift | ast.RShift) and ((right < 0) | (right > 31)).any():
            raise UnknownError(f"{ast.unparse(node)} shifts by less than 0 or more than 31")
        found: Numbers = np.asarray(OPERATORS[type(node.op).__name__](left, right))
        if found.size > MAX_ELEMENTS or (np.abs(found) > MAX_INTEGER).any():
            raise UnknownError(f"{ast.unparse(node)} is too large")
        return found

    def along(self, axis: int, values: Sequence[int]) -> Numbers:
        """Values that differ along one axis."""
        if len(values) > MAX_TRIPS:
            raise UnknownError(f"a loop of {len(values)} trips is too long to look at")
        return np.array(values, np.int64).reshape([-1 if k == axis else 1 for k in range(len(self.loops) + 1)])

    def leaf(self, scope: Scope, node: ast.expr) -> Numbers:
        """The values of an expression that is no operation."""
        simple = isinstance(node, ast.Constant | ast.Name | ast.Attribute)
        constant = self.analysis.integer(node, scope) if simple else None
        if constant is not None:
            return self.along(0, [constant])
        if isinstance(node, ast.Name):
            return self.variable(scope, node.id)
        if isinstance(node, ast.Attribute) and node.attr == "x" and scope.source.resolve(node.value) is cuda.threadIdx:
            return self.along(0, range(THREADS))
        if isinstance(node, ast.Call):
            return self.called(scope, node)
        raise UnknownError(f"{ast.unparse(node)} is not known before the kernel runs")

    def called(self, scope: Scope, node: ast.Call) -> Numbers:
        """The values that a device function without branches returns, or a conversion that changes none."""
        cast = scope.source.resolve(node.func)
        if isinstance(cast, Scalar) and cast in INTEGERS and len(node.args) == 1:
            found = self.of(scope, node.args[0])
            if (found >= 0).all():
                return found
        if (function := device_function(scope.source, node)) is not None:
            *before, last = function.node.body
            plain = all(isinstance(s, ast.Assign | ast.Expr) for s in before)
            if plain and isinstance(last, ast.Return) and last.value is not None:
                return self.of(Scope(function, function.node, scope, node), last.value)
        raise UnknownError(f"{ast.unparse(node)} is not known before the kernel runs")

    def variable(self, scope: Scope, name: str) -> Numbers:
        """The values of a loop's counter, a parameter, or a variable that is assigned once."""
        stores, given = scope.stores.get(name, []), scope.argument(name)
        if given is not None and scope.caller is not None:
            return self.of(scope.caller, given)
        counted = [loop for loop in self.loops if isinstance(loop.target, ast.Name) and loop.target.id == name]
        if counted and name not in assigned_names(counted[-1].body):
            over = self.analysis.trips(counted[-1], scope)
            if over is not None and counted[-1] not in self.synchronised and stores == counted[-1:]:
                return self.along(self.loops.index(counted[-1]) + 1, over)
        value = value_of(stores[0], name) if len(stores) == 1 and name not in scope.source.parameters else None
        if value is None:
            raise UnknownError(f"{name!r} is not known before the kernel runs")
        return self.of(scope, value)


# -- whether loads are covered by stores


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store of an element."""

    site: Site
    index: ast.expr | None  # None where it is not by an index, or not by all threads of the block


@dataclass(slots=True, eq=False)
class Define:
    """The stores that follow one another until the first load, and the loads of what they stored."""

    begin: Site  # where the first store stands
    places: set[Hashable] = field(default_factory=set)  # texts of those stored to, or what stands for one like no other
    stores: list[Access] = field(default_factory=list)
    loads: list[Access] = field(default_factory=list)
    varies: bool = False  # it stores to other places each time


class Coverage:
    """Answers for a kernel; synchronised: its loops with barriers."""

    def __init__(self, analysis: Analysis, synchronised: Collection[ast.stmt]) -> None:
        self.analysis, self.synchronised = analysis, synchronised
        self.jumps = any(isinstance(e, Jump) and e.conditional for e in flat(analysis.body.pieces))

    def holds(self, array: Array, doubtful: Sequence[Define], defines: Sequence[Define]) -> bool:
        """True if each of the doubtful defines certainly stores all that is loaded of its contents."""
        size = self.size(array)
        if size is None or self.jumps or any(define.varies for define in doubtful):
            return False
        try:
            stores = [[self.elements(a) for a in d.stores] for d in defines]
            loads = [[self.elements(a) for a in d.loads] for d in defines]
        except UnknownError:
            return False
        most = THREADS
        for elements in itertools.chain(*stores, *loads):
            outside = ((elements < 0) | (elements >= size)).any(axis=1)
            most = min(most, int(outside.argmax()) if outside.any() else THREADS)
        had = [_first(found, size, most) for found in stores]
        wanted = [_first(found, size, most) for found in loads]
        anywhere = np.minimum.reduce(had)
        possible = ~np.logical_or.reduce([_lacking(w, anywhere, most) for w in wanted])
        doubts = [_lacking(w, h, most) for w, h, define in zip(wanted, had, defines, strict=True) if define in doubtful]
        return bool(possible.any() and not (possible & np.logical_or.reduce(doubts)).any())

    def size(self, array: Array) -> int | None:
        """Elements of a one-dimensional array that the kernel itself declares."""
        call = array.node
        if not isinstance(call, ast.Call) or not call.args or array.source is not self.analysis.source:
            return None
        return self.analysis.integer(call.args[0])

    def elements(self, access: Access) -> Numbers:
        """The elements that each thread accesses, one row per thread; raises `UnknownError`."""
        if access.index is None:
            raise UnknownError("this access is not by an index, or not by all threads")
        axes = [loop for _, loop in access.site.loops if isinstance(loop, ast.For)]
        found = Values(self.analysis, axes, self.synchronised).of(access.site.scope, access.index)
        if THREADS * found[:1].size > MAX_ELEMENTS:
            raise UnknownError(f"{ast.unparse(access.index)} has too many values")
        return np.broadcast_to(found, (THREADS, *found.shape[1:])).reshape(THREADS, -1)


def _first(accesses: Sequence[Numbers], size: int, most: int) -> Numbers:
    """Return, for each element, how many threads a block needs to access it; more than any has if none does."""
    first = np.full(size, THREADS + 1, np.int64)
    for numbers in accesses:
        own = numbers[:most]
        np.minimum.at(first, own.ravel(), np.repeat(np.arange(1, len(own) + 1), own.shape[1]))
    return first


def _lacking(wanted: Numbers, had: Numbers, most: int) -> NDArray[np.bool_]:
    """Return which blocks, of 1 to `most` threads, load an element that they have not stored."""
    steps = np.zeros(THREADS + 2, np.int64)
    lacking = wanted < had
    np.add.at(steps, wanted[lacking], 1)
    np.add.at(steps, had[lacking], -1)
    return np.cumsum(steps)[1 : most + 1] > 0
