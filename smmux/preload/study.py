"""Studies a launch of a kernel: its accesses with their polynomials and classes, and its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.base.dimensions import Dim3, dim3
from smmux.compiler.launch_facts import Facts
from smmux.compiler.signature import Signature
from smmux.errors import CompileError, LaunchError
from smmux.kernels.kernel import Kernel, definition_of
from smmux.language.placement import flatten
from smmux.preload.classes import CLASSES, Row, Rows
from smmux.preload.names import Names
from smmux.preload.occurrences import found, lowered, meaning, shapes, stretched
from smmux.preload.polynomials import Polynomials
from smmux.preload.tiles import Tiles
from smmux.source.function_source import FunctionSource

__all__ = ["Study", "study"]


@dataclass(frozen=True, slots=True)
class Study:
    """What is known of a launch. arrays, names: the array arguments, flattened, and what they are called."""

    source: FunctionSource
    grid: Dim3
    block: Dim3
    tiles: Tiles
    texts: Names
    rows: tuple[Row, ...]
    arrays: tuple[NDArray[Any], ...]
    names: tuple[str, ...]


def study(
    kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence[Any], dynshared: int = 0
) -> Study:
    """Lower a kernel for a launch, and classify its accesses.

    Raises TypeError for what is no kernel, LaunchError for a launch that no machine has, CompileError for a kernel
    outside the language.
    """
    source = definition_of(kernel)
    if kernel.device:
        raise LaunchError(f"{kernel.__name__} is a device function, which kernels call: analyze the kernel")
    grid3, block3 = dim3("grid", grid), dim3("block", block)
    if block3[0] * block3[1] * block3[2] > 1024 or block3[2] > 64:
        raise LaunchError(f"block {block3}: no machine has blocks of more than 1024 threads, 64 of them along z")
    values, signature = kernel.typed(args, dynshared)
    flat = list(flatten(values))
    facts = Facts.of_launch(flat, grid3, block3)
    polynomials, accesses = found(source, lowered(source, signature, facts), facts)
    tiles, texts = Tiles(polynomials), Names(polynomials, source)
    classes = Rows(tiles, texts, [len(shape) for shape in shapes(signature)])
    rows = [classes.row(one) for one in accesses]
    if any(row.kind == CLASSES[0] for row in rows):
        rows = _with_shapes(rows, polynomials, source, stretched(signature), facts)
    arrays = tuple(value for value in flat if isinstance(value, np.ndarray))
    names = tuple(array.name for array in polynomials.function.arrays if array.param >= 0)
    return Study(source, grid3, block3, tiles, texts, tuple(rows), arrays, names)


def _with_shapes(
    rows: list[Row], values: Polynomials, source: FunctionSource, longer: Signature, facts: Facts
) -> list[Row]:
    """Return the rows, of which static ones become quasi-static if their range depends on the shapes of arrays."""
    try:
        others, accesses = found(source, lowered(source, longer, facts), facts)
    except CompileError:
        others, accesses = values, []
    same = {one.place: meaning(others, one) for one in accesses}
    return [
        replace(row, kind=CLASSES[1], reason="shapes of arrays")
        if row.kind == CLASSES[0] and same.get(row.found.place) != meaning(values, row.found)
        else row
        for row in rows
    ]
