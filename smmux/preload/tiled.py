"""Rewrites a kernel as one would by hand: the threads of a block first load together what it reads into shared memory.

>>> import numpy as np
>>> from smmux import cuda, preload
>>> @cuda.jit
... def blur(a, out):
...     i = cuda.grid(1) + 1
...     if i < a.size - 1:
...         out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3
>>> a = np.arange(256, dtype=np.float32)
>>> print(preload.tile(blur, 2, 128, (a, np.zeros_like(a))).source)
from numba import cuda
<BLANKLINE>
<BLANKLINE>
@cuda.jit
def blur_tiled(a, out):
    \"\"\"blur, with what a block reads of a in shared memory.\"\"\"
    tx = cuda.threadIdx.x
    a_tile = cuda.shared.array(130, a.dtype)
    first = 128 * cuda.blockIdx.x
    a_tile[tx] = a[first + tx]
    if tx < 2 and first + tx + 128 < a.size:
        a_tile[tx + 128] = a[first + tx + 128]
    cuda.syncthreads()
    i = cuda.grid(1) + 1
    if i < a.size - 1:
        out[i] = (a_tile[tx] + a_tile[tx + 1] + a_tile[tx + 2]) / 3
<BLANKLINE>
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

from smmux import cuda
from smmux.base.parsing import expression, module, statement
from smmux.base.tracebacks import brief
from smmux.base.trees import copied, walk
from smmux.errors import CompileError, ConfigError
from smmux.kernels.kernel import Kernel
from smmux.preload.boxes import Box, Use
from smmux.preload.choice import chosen, strips
from smmux.preload.classes import table
from smmux.preload.counters import Counters, NoBox
from smmux.preload.loading import Loading, summed
from smmux.preload.strips import Strip
from smmux.preload.study import Study, study
from smmux.rewriting.build import at, has_docstring, substitute
from smmux.rewriting.draft import Draft
from smmux.rewriting.listing import listing
from smmux.source.function_source import FunctionSource

__all__ = ["SHARED_BYTES", "TileError", "TiledKernel", "tile"]

Placed = TypeVar("Placed", ast.Subscript, ast.For)

SHARED_BYTES: Final = 48 * 1024
"""Bytes of shared memory that a block may have on Fermi and Kepler ([PG55], Table 12)."""


class TileError(CompileError):
    """No array of a kernel can be tiled; file and line say where the reason is."""


class TiledKernel(Kernel):
    """A kernel whose blocks hold what they read in shared memory. `source` is a complete Python file for Numba."""

    @property
    def source(self) -> str:
        """The kernel with its imports, and the device functions and constants that it uses."""
        return listing(self.definition)


@brief
def tile(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    dynshared: int = 0,
    shared_bytes: int = SHARED_BYTES,
) -> TiledKernel:
    """Make the kernel that holds what a block reads in shared memory, for a launch with this grid, block and arguments.

    The threads of a block load the tiles together, with their halo, and wait for each other. They do so at the kernel's
    beginning, or before every few iterations of a loop that all of them go through. No tile takes more loads to fill
    than it replaces. If no such tile serves all reads of an array, one serves the reads that share most. Arrays that
    the kernel writes, or whose indices are not known before the launch, stay where they are; the docstring of the new
    kernel says why.

    The new kernel is right for launches of the same grid and block, with arrays of the same shapes and the same values
    of integer arguments. shared_bytes: how many bytes all tiles may take together; tiles whose elements are read most
    often come first.

    Raises TileError if no array can be tiled, with the reason, and what `analyze` raises.
    """
    if shared_bytes < 0:
        raise ConfigError(f"shared_bytes must not be negative, as {shared_bytes} is")
    studied = study(kernel, grid, block, args, dynshared)
    function = studied.tiles.values.function
    boxes, left = _boxes(studied, shared_bytes - function.shared_bytes - function.dynamic_bytes)
    if not boxes:
        raise _refused(studied.source, left)
    return _Writer(studied, boxes).kernel(left)


def _boxes(studied: Study, room: int) -> tuple[list[Box], dict[str, NoBox]]:
    """Return the boxes that have room, in the order of the arrays, and why the other arrays that are read have none."""
    written = {row.found.array for row in studied.rows if row.found.kind != "load"}
    shared = table("", studied.rows, studied.arrays, studied.names)[1]
    left: dict[str, NoBox] = {}
    numbers = []
    for number in dict.fromkeys(row.found.array for row in studied.rows if row.found.kind == "load"):
        name = studied.names[number]
        if number in written or shared.get(name, "").endswith("stores"):
            left[name] = NoBox(shared[name])
        else:
            numbers.append(number)
    found: list[tuple[int, Box]] = []
    common, others = strips(studied, numbers)
    for number in numbers:
        try:
            found.append((number, chosen(studied, number, common, room)))
        except NoBox as error:
            left[studied.names[number]] = _with_loops(studied, number, error, others)
    boxes = []
    for number, _ in sorted(found, key=lambda pair: -pair[1].replaced / pair[1].elements):
        try:
            one = chosen(studied, number, common, room)
        except NoBox as error:
            left[studied.names[number]] = error
            continue
        room -= one.nbytes
        boxes.append((number, one))
    return [one for _, one in sorted(boxes, key=lambda pair: pair[0])], left


def _with_loops(studied: Study, number: int, error: NoBox, others: dict[ast.For, str]) -> NoBox:
    """Say why an array has no tile for the whole block, and why the loops that read it load none either."""
    nodes = {row.found.node for row in studied.rows if row.found.array == number}
    around = [loop for loop in others if any(node in nodes for node in walk(loop))]
    texts = "".join(
        f"; the loop of line {loop.lineno}, which could load parts of it, {others[loop]}" for loop in around
    )
    return NoBox(error.reason + texts, error.line)


def _refused(source: FunctionSource, left: dict[str, NoBox]) -> TileError:
    """Make the error for a kernel without tiles."""
    line = next((error.line for error in left.values() if error.line), source.node.lineno)
    reasons = "; ".join(f"{name}, because of {error.reason}" for name, error in left.items())
    message = f"no array of {source.name!r} can be tiled: {reasons}" if left else f"{source.name!r} reads no array"
    return TileError(message, source.filename, line, 1, source.line(line))


class _Writer:
    """Writes the tiled form of one kernel."""

    def __init__(self, studied: Study, boxes: Sequence[Box]) -> None:
        self.studied, self.boxes = studied, boxes
        self.draft = Draft(studied.source)
        self.new = self.draft.names.new
        self.cuda = self.draft.names.module("cuda", cuda)
        self.counters = Counters(studied.source, studied.tiles)
        self.threads = {
            k: self.new(f"t{axis}", f"thread_{axis}") for k, axis in enumerate("xyz") if studied.block[k] > 1
        }
        self.tiles = {one.name: self.new(f"{one.name}_tile") for one in boxes}
        self.loops = {one.strip: self._copy(one.strip.node) for one in boxes if one.strip}

    def kernel(self, left: dict[str, NoBox]) -> TiledKernel:
        """Make the kernel with its tiles."""
        whole = [one for one in self.boxes if not one.strip]
        loading = Loading(self.studied, self.new, self.cuda, self.threads, self.tiles)
        lines = [*self._head(), *loading.lines(whole), *[f"{self.cuda}.syncthreads()"] * bool(whole)]
        self._substitute(whole, loading, "")
        for strip, loop in self.loops.items():
            lines += self._strip(strip, loop, [one for one in self.boxes if one.strip == strip])
        start = int(has_docstring(self.draft.tree))
        first = self.draft.tree.body[start]
        self.draft.tree.body[start:start] = _at_place(lines, first)
        arrays = ", ".join(one.name for one in self.boxes)
        text = f"{self.draft.source.name}, with what a block reads of {arrays} in shared memory."
        text += "".join(f" {name} stays in global memory, because of {error.reason}." for name, error in left.items())
        self.draft.rename("_tiled", text)
        return TiledKernel(self.draft.finished())

    def _strip(self, strip: Strip, loop: ast.For, boxes: Sequence[Box]) -> list[str]:
        """Make a loop load tiles before every few iterations, and wait before it loads the next ones.

        Returns the lines in front of the loop.
        """
        assert isinstance(loop.target, ast.Name)
        assert isinstance(loop.iter, ast.Call)
        if loop.target.id == "_" and strip.length == 1:
            loop.target.id = self.new("step", "k")
        name = loop.target.id
        first = name if strip.length == 1 else self.new(f"{name}_first")
        loading = Loading(self.studied, self.new, self.cuda, self.threads, self.tiles, strip, first)
        loads = _at_place([*loading.lines(boxes), f"{self.cuda}.syncthreads()"], loop)
        self._substitute(boxes, loading, first)
        after = _at_place([f"{self.cuda}.syncthreads()"], loop)
        if strip.length == 1:
            loop.body = [*loads, *loop.body, *after]
            return loading.before
        end = f"{first} + {strip.length}"
        if strip.trips % strip.length:
            end = f"min({end}, {ast.unparse(strip.stop)})"
        inner = at(statement(f"for {name} in range({first}, {end}): pass"), loop)
        assert isinstance(inner, ast.For)
        inner.body = loop.body
        loop.target = at(ast.Name(first, ast.Store()), loop)
        start = at(ast.Constant(strip.counter.start), loop)
        loop.iter.args = [start, copied(strip.stop), at(ast.Constant(strip.length), loop)]
        loop.body = [*loads, inner, *after]
        return loading.before

    def _substitute(self, boxes: Sequence[Box], loading: Loading, first: str) -> None:
        """Replace the reads by reads of the tiles. first: the counter of a strip's first iteration."""
        uses = [(one, use, self._at(one, use, loading, first)) for one in boxes for use in one.uses]
        for one, use, index in uses:
            old = self._copy(use.node)
            substitute(self.draft.tree, old, at(expression(f"{self.tiles[one.name]}[{index}]"), old))

    def _copy(self, node: Placed) -> Placed:
        """Find the copy of a node in the draft."""
        place = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        text = ast.unparse(node)
        for one in walk(self.draft.tree):
            if isinstance(one, type(node)) and ast.unparse(one) == text:
                if (one.lineno, one.col_offset, one.end_lineno, one.end_col_offset) == place:
                    return one
        raise AssertionError(f"{text} is not in the tree")

    # -- the beginning of the kernel

    def _head(self) -> Iterator[str]:
        axes = [f"{self.cuda}.threadIdx.{'xyz'[k]}" for k in self.threads]
        if axes:
            yield f"{', '.join(self.threads.values())} = {', '.join(axes)}"
        for one in self.boxes:
            shape = one.shape if len(one.shape) > 1 else one.shape[0]
            yield f"{self.tiles[one.name]} = {self.cuda}.shared.array({shape}, {one.name}.dtype)"

    # -- reads

    def _at(self, one: Box, use: Use, loading: Loading, first: str) -> str:
        """Write the index at which a read finds its element in the tile."""
        texts = []
        for form, side, written in zip(use.indices, one.sides, use.written, strict=True):
            if written is not None:
                texts.append(loading.behind(written, side))
                continue
            terms = [(c, self.threads[k]) for k, c in enumerate(form.thread) if k in self.threads]
            constant = form.constant
            for place, c in form.loops:
                found = self.counters.of(place, use.node)
                if one.strip is None or place != one.strip.place:
                    terms.append((c, found.name))
                    constant -= c * found.start
                elif one.strip.length > 1:
                    terms += [(c, found.name), (-c, first)]
            texts.append(summed(terms, constant))
        return ", ".join(texts)


def _at_place(lines: Sequence[str], place: ast.stmt) -> list[ast.stmt]:
    """Parse lines to statements, and place them where another one is."""
    return [at(statement, place) for statement in module("\n".join(lines)).body]
