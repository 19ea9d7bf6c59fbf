"""The analyzer: finds the global accesses whose place is known before the launch, and makes the preload table of them.

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
from dataclasses import dataclass
from typing import Any

from smmux.base.dimensions import Dim3
from smmux.base.tracebacks import brief
from smmux.kernels.kernel import Kernel
from smmux.preload.classes import CLASSES, Row, table
from smmux.preload.study import study
from smmux.preload.table import Table

__all__ = ["CLASSES", "Access", "Analysis", "analyze"]


@dataclass(frozen=True, slots=True)
class Access:
    """A global access of the source.

    text: the subscript as written. array: the parameter's name. mode: "load", "store" or "atomic". index: in elements
    from the array's first one, as a sum of block (bx), thread (tx) and iteration (#i) numbers; empty if there is none.
    kind: one of CLASSES. reason: what the range of a static or quasi-static index depends on; else why there is none.
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
    """What `analyze` has found out about a launch of a kernel.

    accesses: all global ones, in the order of the source. table: of the launch. left: for each array that is read but
    not preloaded, why not.
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
    """Classify the global accesses of a launch of a kernel, and make its preload table.

    Nothing runs, and no array is changed. Conditions around an access are ignored: its range is that of all threads,
    clamped to the array. dynshared: bytes of shared memory for arrays of shape 0.

    Raises TypeError for what is no kernel, LaunchError for a launch or arguments that do not fit it, CompileError for a
    kernel outside the language.
    """
    studied = study(kernel, grid, block, args, dynshared)
    entries, left = table(kernel.__name__, studied.rows, studied.arrays, studied.names)
    preloaded = {entry.array for entry in entries.entries}
    accesses = tuple(_access(row, preloaded) for row in studied.rows)
    return Analysis(kernel.__name__, studied.grid, studied.block, accesses, entries, left)


def _access(row: Row, preloaded: set[int]) -> Access:
    found = row.found
    known = found.kind == "load" and bool(row.tiles) and found.array in preloaded
    return Access(found.line, found.column, found.text, found.name, found.kind, row.index, row.kind, row.reason, known)
