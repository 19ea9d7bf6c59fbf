"""NumPy's functions of whole arrays, with an array for the result: `np.add(a, b, out)`, as Numba has them in kernels.

Each thread computes all elements, in loops over the axes of the result; numbers, and axes of one element, stand for as
many as there are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smmux.compiler.build.numbers import Complex, Value
from smmux.compiler.library import machine_operations
from smmux.compiler.python import (
    array_access,
    array_choices,
    complex_functions,
    complex_ufuncs,
    fills,
    iteration,
    numpy_functions,
)
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import number
from smmux.compiler.python.inlining import inline, library_source
from smmux.compiler.python.rules import CALLS, call
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple

LOOPS = (fills.map1, fills.map2, fills.map3)


def _of_arrays(
    function: Any,
    rule: Callable[..., Anything],
    f: Frame,
    node: ast.AST,
    *values: Anything,
    out: Anything | None = None,
) -> Anything:
    """A function of numbers, or of arrays if there is one for the result."""
    given = [iteration.as_array(f, node, value) for value in (*values, *([] if out is None else [out]))]
    target = given[-1] if len(given) == function.nin + 1 else None
    if not (isinstance(target, ArrayRef) and target.shape):
        return rule(f, node, *values) if out is None else rule(f, node, *values, out)
    if len(target.shape) > len(LOOPS):
        raise f.error(node, f"numpy.{function.__name__} stores to arrays of at most {len(LOOPS)} axes; write loops")
    operands = Tuple(tuple(_broadcast(f, node, value, target) for value in given[:-1]))
    source = library_source(LOOPS[len(target.shape) - 1])
    inline(f, node, source, [Static(_Numbers(function, rule)), target, operands], {})
    return target


class _Numbers:
    """A function of numbers as an object that the loops can call."""

    def __init__(self, function: Any, rule: Callable[..., Anything]) -> None:
        self.__name__ = function.__name__
        self.rule = rule


def _broadcast(f: Frame, node: ast.AST, value: Anything, target: ArrayRef) -> Anything:
    """An operand with the axes of the result: one that it lacks, or that has one element, does not move it."""
    if not (isinstance(value, ArrayRef) and value.shape):
        return value if isinstance(value, Complex) else number(f, node, value)
    missing = len(target.shape) - len(value.shape)
    shape, strides = (1,) * missing + value.shape, (0,) * missing + value.strides
    pairs = list(zip(shape, target.shape, strict=False))
    if missing < 0 or any(isinstance(a, int) and isinstance(b, int) and a not in (1, b) for a, b in pairs):
        raise f.error(node, f"an array of shape {value.known_shape} does not fit one of shape {target.known_shape}")
    array_choices.refuse_choice(f, node, value, "compute with")
    moved = tuple(0 if a == 1 and b != 1 else stride for (a, b), stride in zip(pairs, strides, strict=True))
    return replace(value, shape=target.shape, strides=moved)


@call(machine_operations.elements)
def elements(f: Frame, node: ast.AST, operands: Anything, *index: Anything) -> Tuple:
    """The elements of operands at an index; numbers as they are."""
    assert isinstance(operands, Tuple)
    at = Tuple(tuple(index))
    return Tuple(tuple(_element(f, node, value, at) for value in operands.items))


def _element(f: Frame, node: ast.AST, value: Anything, at: Tuple) -> Anything:
    if isinstance(value, Value | Complex):
        return value
    assert isinstance(value, ArrayRef)
    return array_access.load(f, node, value, array_access.indices(f, node, at))


@call(machine_operations.applied)
def applied(f: Frame, node: ast.AST, function: Anything, values: Anything) -> Anything:
    """The function of these numbers."""
    assert isinstance(function, Static)
    assert isinstance(values, Tuple)
    assert f.caller is not None
    value: Anything = function.object.rule(f.caller, node, *values.items)  # by the rules of the kernel
    return value


NUMBERS = numpy_functions, complex_functions, complex_ufuncs
"""The modules whose rules these functions extend, and which therefore come first."""

for _function in {id(value): value for value in vars(np).values() if isinstance(value, np.ufunc)}.values():
    if id(_function) in CALLS and _function.nout == 1:
        call(_function)(partial(_of_arrays, _function, CALLS[id(_function)][1]))
