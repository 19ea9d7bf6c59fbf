"""Random kernels with one shared array that can be divided by its leading index, and their declarations.

`generate(rng)` writes a kernel of phases between barriers: threads define rows of their own column, change them, and
read those of other threads; rows are constants, loop variables or data. Arithmetic is exact in float32 and in int32.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

HEADER = """\
from numba import cuda, float32, int32, uint32


@cuda.jit(device=True)
def mix(x, y):
    return (x * int32(5) + y) & int32(0xFFFF)


@cuda.jit(device=True)
def put(array, row, t, x):
    array[row, t] = x


"""
INPUTS = 256
SHAPES: tuple[tuple[tuple[int, ...], tuple[str, str]], ...] = (
    ((32,), ("cuda.threadIdx.x", "cuda.grid(1)")),
    ((64,), ("cuda.threadIdx.x", "cuda.blockIdx.x * cuda.blockDim.x + t")),
    ((8, 4), ("cuda.threadIdx.x + 8 * cuda.threadIdx.y", "cuda.blockIdx.x * 32 + t")),
    (
        (16, 2),
        (
            "cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y",
            "(cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y) * 32 + t",
        ),
    ),
    ((4, 4, 2), ("cuda.threadIdx.x + 4 * (cuda.threadIdx.y + 4 * cuda.threadIdx.z)", "cuda.blockIdx.x * 32 + t")),
)  # fmt: skip
"""Blocks, and how a kernel computes a thread's number in its block and in the grid."""


@dataclass(frozen=True)
class Case:
    """A kernel, `kernel` in its text, its launch and the declaration of its parts."""

    text: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    declaration: dict[str, Any]
    seed: int

    def arguments(self) -> list[Any]:
        """New arguments, always the same."""
        data = np.random.default_rng(self.seed)
        threads = int(np.prod(self.grid)) * int(np.prod(self.block))
        return [data.integers(0, 1024, INPUTS).astype(np.int32), np.zeros((threads, 4), np.int32), 3]


@dataclass
class Writer:
    """Writes the statements of a kernel. rows: of the array; threads: of a block; nest: extent behind the row."""

    rng: Random
    rows: int
    threads: int
    nest: int
    lines: list[str] = field(default_factory=list)

    def add(self, depth: int, *lines: str) -> None:
        """Statements, indented."""
        self.lines += ["    " * depth + line for line in lines]

    def element(self, row: str, column: str, k: str = "0") -> str:
        """An element of the array."""
        return f"tile[{row}, {column}, {k}]" if self.nest else f"tile[{row}, {column}]"

    def value(self, *names: str) -> str:
        """A small integer expression."""
        leaf = self.rng.choice(
            [*names, "x", "y", f"a[(g + {self.rng.randrange(9)}) & 255]", str(self.rng.randrange(99))]
        )
        form = self.rng.randrange(4)
        if form == 0:
            return f"mix({leaf}, {self.rng.choice(['x', 'y', 't', 'g'])})"
        return f"({leaf} + {self.rng.choice([*names, 't', 'g', '7'])}) & 0xFFFF" if form == 1 else leaf

    def other(self) -> str:
        """The column of another thread."""
        n = self.threads
        return self.rng.choice([f"{n - 1} - t", f"(t + {self.rng.randrange(1, n)}) % {n}", "t", "0"])

    def any_row(self) -> str:
        """A row known when the kernel runs."""
        return f"int32(({self.value()}) % {self.rows})"

    def in_rows(self, depth: int, statement: str, some: bool) -> None:
        """A statement with {row} and {k} for all rows, or for some."""
        first, last = 0, self.rows
        if some and self.rng.randrange(2):
            first = self.rng.randrange(self.rows)
            last = self.rng.randrange(first + 1, self.rows + 1)
        if last - first <= 4 and self.rng.randrange(3) == 0:
            for row in range(first, last):
                for k in range(self.nest or 1):
                    self.add(depth, statement.format(row=row, k=k))
            return
        r = self.rng.choice(["r", "row"])
        self.add(depth, f"for {r} in range({f'{first}, {last}' if first else last}):")
        if self.nest:
            self.add(depth + 1, f"for k in range({self.nest}):")
        self.add(depth + 1 + bool(self.nest), statement.format(row=r, k="k" if self.nest else "0"))

    def define(self, depth: int) -> None:
        """Every thread writes its column."""
        if not self.nest and self.rng.randrange(4) == 0:
            for row in range(self.rows):
                self.add(depth, f"put(tile, {row}, t, {self.value()})")
            return
        offset = self.rng.choice(["", "", " + x"])
        self.in_rows(depth, self.element("{row}", "t", "{k}") + f" = a[({{row}} * 7 + {{k}} + g{offset}) & 255]", False)

    def change(self, depth: int) -> None:
        """Every thread changes its column."""
        form = self.rng.randrange(4)
        own = self.element("{row}", "t", "{k}")
        if form == 0:
            self.add(depth, f"place = {self.any_row()}", f"{self.element('place', 't')} += {self.value()}")
        elif form == 1:
            self.add(depth, f"if {self.rng.choice(['t & 1', 'x < y', 'g > 20'])}:")
            self.in_rows(depth + 1, own + f" {self.rng.choice(['=', '+=', '^='])} {self.value('{row}')}", True)
        elif form == 2:
            self.in_rows(depth, own + f" {self.rng.choice(['=', '+=', '-=', '|='])} {self.value('{row}')}", True)
        else:
            self.add(depth, f"x = {self.value()}")

    def read(self, depth: int) -> None:
        """Threads read columns of others."""
        form = self.rng.randrange(4)
        name = self.rng.choice(["x", "y"])
        if form == 0:
            self.add(depth, f"place = {self.any_row()}")
            self.add(depth, f"{name} = {self.element('place', self.other())} + {self.value()}")
        elif form == 1:
            row = self.rng.randrange(self.rows)
            self.add(depth, f"{name} = mix({self.element(str(row), self.other())}, {name})")
        elif form == 2:
            self.in_rows(depth, f"{name} = mix({name}, {self.element('{row}', self.other(), '{k}')})", True)
        else:
            self.add(depth, f"out[g, {self.rng.randrange(2)}] = {self.element(self.any_row(), self.other())}")

    def phases(self, depth: int) -> None:
        """Definition, changes, uses."""
        self.define(depth)
        for _ in range(self.rng.randrange(3)):
            self.change(depth)
        self.add(depth, "cuda.syncthreads()")
        for _ in range(self.rng.randrange(1, 3)):
            self.read(depth)
        for _ in range(self.rng.randrange(2)):
            self.add(depth, "cuda.syncthreads()")
            self.change(depth)
            self.add(depth, "cuda.syncthreads()")
            self.read(depth)


def generate(rng: Random) -> Case:
    """A random kernel with one region, perhaps repeated in a loop."""
    block, (thread, number) = rng.choice(SHAPES)
    threads = int(np.prod(block))
    rows, nest = rng.choice([3, 4, 8, 12]), rng.choice([0, 0, 0, 2])
    writer = Writer(rng, rows, threads, nest)
    shape = f"({rows}, {threads}, {nest})" if nest else f"({rows}, {threads})"
    writer.add(1, f"tile = cuda.shared.array({shape}, int32)", f"t = int32({thread})", f"g = int32({number})")
    writer.add(1, "x = a[g & 255]", f"y = int32(t * {rng.randrange(1, 9)})")
    if rng.randrange(3) == 0:
        writer.add(1, f"for i in range({rng.choice(['2', 'n'])}):")
        writer.phases(2)
        writer.add(2, "cuda.syncthreads()")
    else:
        writer.phases(1)
    writer.add(1, "out[g, 2] = x", "out[g, 3] += y")
    text = f"{HEADER}@cuda.jit\ndef kernel(a, out, n):\n" + "\n".join(writer.lines) + "\n"
    two = "blockIdx.y" in number
    grid = (rng.randrange(1, 4), rng.randrange(1, 3)) if two else (rng.randrange(1, 6),)
    declaration = {"array": "tile", "private": rng.randrange(1, rows)}
    return Case(text, grid, block, declaration, rng.randrange(2**31))
