"""Whether what is loaded lies in what was stored: computed, thread by thread, where indices are simple enough.

An index is computed if it consists of constants, `threadIdx.x`, counters of loops with constant ranges, variables that
are assigned once and parameters of device functions. How many threads a block has is not known: what must hold must do
so for all sizes that the kernel can be for, with which it stays within the array and loads nothing but what it stored.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smmux import cuda
from smmux.compiler.frontend.source import assigned_names
from smmux.multiplex.analysis.facts import Array
from smmux.multiplex.analysis.integers import MAX_ELEMENTS, THREADS, Numbers, UnknownError, evaluated, value_of
from smmux.multiplex.analysis.redefines import Access, Define
from smmux.multiplex.analysis.uniformity import Frame

__all__ = ["covered"]

MAX_TRIPS = 1024


def covered(array: Array, doubtful: Sequence[Define], defines: Sequence[Define]) -> bool:
    """True if each of these defines certainly stores all that is loaded of its contents."""
    frames = [access.frame for define in defines for access in define.stores]
    size = _size(frames[0], array) if frames else None
    if size is None or frames[0].jumps() or any(define.varies for define in doubtful):
        return False
    stores = [[_indices(a) for a in d.stores] for d in defines]
    loads = [[_indices(a) for a in d.loads] for d in defines]
    most = THREADS
    for numbers in (n for table in (stores, loads) for found in table for n in found):
        if numbers is None:
            return False
        outside = ((numbers < 0) | (numbers >= size)).any(axis=1)
        most = min(most, int(outside.argmax()) if outside.any() else THREADS)
    had = [_first(found, size, most) for found in stores]
    wanted = [_first(found, size, most) for found in loads]
    anywhere = np.minimum.reduce(had)
    possible = ~np.logical_or.reduce([_lacking(w, anywhere, most) for w in wanted])
    doubts = [
        _lacking(wanted[k], had[k], most) for k, define in enumerate(defines) if any(define is d for d in doubtful)
    ]
    return bool(possible.any() and not (possible & np.logical_or.reduce(doubts)).any())


def _first(accesses: Sequence[Numbers | None], size: int, most: int) -> Numbers:
    """The least block, by its number of threads, that accesses each element; more than any if none does."""
    first = np.full(size, THREADS + 1, np.int64)
    for numbers in accesses:
        assert numbers is not None
        own = numbers[:most]
        np.minimum.at(first, own.ravel(), np.repeat(np.arange(1, len(own) + 1), own.shape[1]))
    return first


def _lacking(wanted: Numbers, had: Numbers, most: int) -> NDArray[np.bool_]:
    """Of the blocks of 1 to `most` threads, those that want an element which they have not."""
    steps = np.zeros(THREADS + 2, np.int64)
    lacking = wanted < had
    np.add.at(steps, wanted[lacking], 1)
    np.add.at(steps, had[lacking], -1)
    return np.cumsum(steps)[1 : most + 1] > 0


def _size(frame: Frame, array: Array) -> int | None:
    """Elements of a one-dimensional array."""
    call = array.node
    root = frame
    while root.caller is not None:
        root = root.caller
    if root.analysis.declared_in.get(array) is not root.source:
        return None
    return root.integer(call.args[0]) if isinstance(call, ast.Call) and call.args else None


def _indices(access: Access) -> Numbers | None:
    """The elements of each thread, one row per thread."""
    if access.index is None:
        return None
    axes = [loop for loop in access.loops if isinstance(loop, ast.For)]
    try:
        numbers = _Values(axes).of(access.frame, access.index)
    except UnknownError:
        return None
    if THREADS * numbers[:1].size > MAX_ELEMENTS:
        return None
    return np.broadcast_to(numbers, (THREADS, *numbers.shape[1:])).reshape(THREADS, -1)


class _Values:
    """Values of integer expressions: axis 0 for the threads, one more for each loop."""

    def __init__(self, loops: Sequence[ast.For]) -> None:
        self.loops = list(loops)
        self.rank = len(loops) + 1

    def of(self, frame: Frame, node: ast.expr) -> Numbers:
        """The values of an expression in a function on the walk."""
        return evaluated(node, lambda leaf: self.leaf(frame, leaf))

    def leaf(self, frame: Frame, node: ast.expr) -> Numbers:
        """The values of an expression that is no operation."""
        constant = frame.integer(node) if isinstance(node, ast.Constant | ast.Name | ast.Attribute) else None
        if constant is not None:
            return self.along(0, [constant])
        if isinstance(node, ast.Name):
            return self.variable(frame, node.id)
        if isinstance(node, ast.Attribute) and node.attr == "x" and frame.source.resolve(node.value) is cuda.threadIdx:
            return self.along(0, range(THREADS))
        raise UnknownError(ast.unparse(node))

    def along(self, axis: int, values: Sequence[int]) -> Numbers:
        """Values that differ along one axis."""
        if len(values) > MAX_TRIPS:
            raise UnknownError
        return np.array(values, np.int64).reshape([-1 if k == axis else 1 for k in range(self.rank)])

    def variable(self, frame: Frame, name: str) -> Numbers:
        """A loop's counter, a parameter, or a variable assigned once."""
        stores = frame.definitions(name)
        if name in frame.source.parameters:
            value = frame.argument(name)
            if stores or value is None or frame.caller is None:
                raise UnknownError
            return self.of(frame.caller, value)
        counted = [loop for loop in self.loops if isinstance(loop.target, ast.Name) and loop.target.id == name]
        if counted and name not in assigned_names(counted[-1].body):
            over = frame.constant_range(counted[-1])
            if over is None or frame.synchronised(counted[-1]) or stores != counted[-1:]:
                raise UnknownError
            return self.along(self.loops.index(counted[-1]) + 1, over)
        value = value_of(stores[0], name) if len(stores) == 1 else None
        if value is None:
            raise UnknownError
        return self.of(frame, value)
