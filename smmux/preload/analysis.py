"""The analyzer: which global accesses of a kernel are known before its launch, and the table of what blocks read.

>>> import numpy as np
>>> from smmux import cuda, preload
>>> @cuda.jit
... def add(a, b, c, n):
...     x, y = cuda.grid(2)
...     if x < n and y < n:
...         c[y * n + x] = a[y * n + x] + b[y * n + x]
>>> a = np.ones(64 * 64, np.float32)
>>> found = preload.analyze(add, (4, 4), (16, 16), (a, a.copy(), a.copy(), 64))
>>> print([(access.text, access.kind) for access in found.reads], len(found.table.entries))
[('a[y * n + x]', 'quasi-static'), ('b[y * n + x]', 'quasi-static')] 32
>>> found.reads[0].index
'n*blockDim.y*by + blockDim.x*bx + n*ty + tx'
>>> found.table.entries[1]
Entry(array=0, element_bytes=4, low=(16, 1024, 0, 64), high=(16, 1024, 0, 79))
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smmux.compiler.backend.polynomials import Polynomials
from smmux.compiler.frontend.source import FunctionSource
from smmux.compiler.launch_facts import Facts
from smmux.compiler.signature import Signature
from smmux.dimensions import Dim3, dim3
from smmux.errors import CompileError, LaunchError
from smmux.kernel import Kernel, definition_of
from smmux.placement import flatten
from smmux.preload.classes import CLASSES, Row, Rows, table
from smmux.preload.names import Names
from smmux.preload.occurrences import found, lowered, meaning, shapes, stretched
from smmux.preload.table import Table
from smmux.preload.tiles import Tiles
from smmux.tracebacks import brief

__all__ = ["CLASSES", "Access", "Analysis", "analyze"]


@dataclass(frozen=True, slots=True)
class Access:
    """A global access of the source.

    text: the subscript as written. array: the parameter's name. mode: "load", "store" or "atomic". index: in elements
    from the array's first one, as a sum of block (bx), thread (tx) and iteration (#i) numbers; empty if there is none.
    kind: one of CLASSES. reason: of a static or quasi-static index what its range depends on, else why there is none.
    preloaded: whether the table has entries of it.
    """

    line: int
    column: int
    text: str
    array: str
    mode: str
    index: str
    kind: str
    reason: str
    preloaded: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """What `analyze` found out about a launch of a kernel.

    accesses: all global ones, in the order of the source. table: of the launch. left: by array that is read but not
    preloaded, why not.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    accesses: tuple[Access, ...]
    table: Table
    left: dict[str, str]

    @property
    def reads(self) -> tuple[Access, ...]:
        """The loads among the accesses."""
        return tuple(access for access in self.accesses if access.mode == "load")

    @property
    def coverage(self) -> float:
        """The share of the loads whose range is known before the launch; 1.0 if there are none."""
        known = sum(access.kind != CLASSES[2] for access in self.reads)
        return known / len(self.reads) if self.reads else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python."""
        return dataclasses.asdict(self) | {"coverage": self.coverage}

    def to_json(self, indent: int | None = None) -> str:
        """Everything as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        from smmux.preload.page import page

        return "\n".join(page(self))


@brief
def analyze(
    kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence[Any], *, dynshared: int = 0
) -> Analysis:
    """The global accesses of a launch of a kernel, with their classes, and its preload table.

    Nothing runs, and no array is changed. Conditions under which an access stands are not looked at: its range is that
    of all threads, clamped to the array. dynshared: bytes of shared memory for arrays of shape 0.

    Raises TypeError for what is no kernel, LaunchError for a launch or arguments that do not fit it, CompileError for a
    kernel outside the language.
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
    rows = Rows(Tiles(polynomials), Names(polynomials, source), [len(shape) for shape in shapes(signature)])
    classified = [rows.row(one) for one in accesses]
    if any(row.kind == CLASSES[0] for row in classified):
        classified = _with_shapes(classified, polynomials, source, stretched(signature), facts)
    arrays = [value for value in flat if isinstance(value, np.ndarray)]
    names = [array.name for array in polynomials.function.arrays if array.param >= 0]
    entries, left = table(kernel.__name__, classified, arrays, names)
    preloaded = {entry.array for entry in entries.entries}
    return Analysis(kernel.__name__, grid3, block3, tuple(_access(row, preloaded) for row in classified), entries, left)


def _with_shapes(
    rows: list[Row], values: Polynomials, source: FunctionSource, longer: Signature, facts: Facts
) -> list[Row]:
    """The rows, of which those are no longer static that are others for arrays of other shapes."""
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


def _access(row: Row, preloaded: set[int]) -> Access:
    found = row.found
    known = found.kind == "load" and bool(row.tiles) and found.array in preloaded
    return Access(found.line, found.column, found.text, found.name, found.kind, row.index, row.kind, row.reason, known)
