"""Values of integer expressions in each thread of a block, where the kernel alone decides them.

They are made of constants, `threadIdx.x`, counters of loops with constant ranges, variables that are assigned once,
parameters of device functions, and what functions without branches return.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from smmux import cuda
from smmux.compiler.frontend.source import assigned_names
from smmux.multiplex.analysis.facts import Scope
from smmux.multiplex.analysis.frames import Analysis
from smmux.multiplex.analysis.integers import CONSTANT_OPERATIONS, value_of
from smmux.multiplex.syntax.vocabulary import device_function
from smmux.types import int32, int64, uint32, uint64

__all__ = ["MAX_ELEMENTS", "THREADS", "Numbers", "UnknownError", "Values", "per_thread"]

THREADS = 1024
"""Threads that a block can have at most."""

MAX_ELEMENTS = 1 << 20
MAX_TRIPS = 1024
MAX_INTEGER = (1 << 31) - 1
INTEGERS = (int32, int64, uint32, uint64)

Numbers = NDArray[np.int64]


class UnknownError(Exception):
    """An expression whose values cannot be told before the kernel runs."""


def per_thread(analysis: Analysis, node: ast.expr) -> Numbers:
    """The values of an expression of the kernel in threads 0 to 1023 of a block; raises `UnknownError`."""
    return np.broadcast_to(Values(analysis, ()).of(analysis.scopes[()], node), THREADS)


class Values:
    """Values of integer expressions: axis 0 for the threads, one more for each loop that has no barriers."""

    def __init__(self, analysis: Analysis, loops: Sequence[ast.For], synchronised: Collection[ast.stmt] = ()) -> None:
        self.analysis, self.loops, self.synchronised = analysis, loops, synchronised

    def of(self, scope: Scope, node: ast.expr) -> Numbers:
        """The values of an expression of a function."""
        compute = CONSTANT_OPERATIONS.get(type(getattr(node, "op", None)))  # type: ignore[arg-type]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd | ast.Invert) and compute:
            return np.asarray(compute(self.of(scope, node.operand)))
        if not isinstance(node, ast.BinOp) or compute is None or isinstance(node.op, ast.Div | ast.Pow):
            return self.leaf(scope, node)
        left, right = self.of(scope, node.left), self.of(scope, node.right)
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and (right <= 0).any():
            raise UnknownError(f"{ast.unparse(node)} divides by what is not positive")
        if isinstance(node.op, ast.LShift | ast.RShift) and ((right < 0) | (right > 31)).any():
            raise UnknownError(f"{ast.unparse(node)} shifts by less than 0 or more than 31")
        found: Numbers = np.asarray(compute(left, right))
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
        if scope.source.resolve(node.func) in INTEGERS and len(node.args) == 1:
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
        stores, given = scope.assignments(name), scope.argument(name)
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
