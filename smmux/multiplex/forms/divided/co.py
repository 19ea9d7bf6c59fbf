"""Divides a shared array: a block keeps one part to its end, and has the other part only while it uses it (Sections 4.3
and 5).

CO-HW allocates the public part for its region. CO-VTB puts thread blocks together: each has a private part of its own,
and they take turns with one public part. Both divide the array in the same way, by its leading index.

All accesses to the private part move in front of the region of the public part, and so do defines of the public part
whose values can wait in registers. The region begins by storing those values, then come the accesses to the public
part. Statements that access both parts come last, and test the index each time. Other shared arrays of a kernel are
public as a whole.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from smmux import cuda
from smmux.base.parsing import expression, statement
from smmux.base.tracebacks import brief
from smmux.base.trees import copied, walk
from smmux.errors import ConfigError
from smmux.kernels.kernel import Kernel
from smmux.language import smm
from smmux.language.types import Scalar
from smmux.multiplex.analysis.facts import single_values
from smmux.multiplex.analysis.renaming import or_renamed
from smmux.multiplex.analysis.uniformity import analysed
from smmux.multiplex.forms.divided.parts import Parts
from smmux.multiplex.forms.divided.signs import from_the_beginning
from smmux.multiplex.forms.divided.streams import Streams, streams
from smmux.multiplex.forms.divided.uses import Layout, Uses, acting_first, elements_only, without_extents, without_row
from smmux.multiplex.forms.divided.waiting import Waiting
from smmux.multiplex.forms.hw import declaration, unknown
from smmux.multiplex.forms.virtual.geometry import Size, VirtualKernel, within
from smmux.multiplex.forms.virtual.vtb import finished, in_turns, merged
from smmux.multiplex.regions.find import Span, find, is_barrier
from smmux.multiplex.regions.outline import outline
from smmux.rewriting.build import at, behind, call, names_in
from smmux.rewriting.draft import Draft
from smmux.rewriting.inline import inline_accesses, inline_barriers
from smmux.rewriting.refusals import MultiplexError, refuse
from smmux.source.constants import refused_shape
from smmux.source.function_source import FunctionSource

if TYPE_CHECKING:
    from smmux.gpus import Gpu
    from smmux.results.result import Result


class DividedKernel(Kernel):
    """A kernel made by `co_hw`. threads: of a block along x at most, None where its index tests rely on no number."""

    def __init__(self, definition: FunctionSource, threads: int | None) -> None:
        super().__init__(definition)
        self.threads = threads

    def simulate(
        self, grid: Size, block: Size, args: Sequence[Any], gpu: str | Gpu | None = None, **options: Any
    ) -> Result:
        """As `Kernel.simulate`; LaunchError for a block that is longer than the kernel was made for."""
        within(self.__name__, self.threads, block)
        return super().simulate(grid, block, args, gpu, **options)


@brief
@or_renamed
def co_hw(
    kernel: Kernel,
    array: str,
    private: int,
    *,
    shape: int | tuple[int, ...] | None = None,
    interleaved: tuple[int, int] | None = None,
    threads: int | None = None,
) -> Kernel:
    """The kernel with a shared array in two parts: leading indices below `private` static, the others dynamic.

    Further shared arrays of the kernel are dynamic as a whole, and held as long as the public part is.

    shape: another shape of the array, where a kernel uses less than it declares; `check="bounds"` finds an index beyond
    it. interleaved: (rows, stride) of a flat array in which each thread has `rows` elements, `stride` apart; `private`
    counts these. threads: of a block along x at most, if index tests may rely on it; a launch with more is refused.

    Raises `MultiplexError`, with file and line, where the code cannot be generated, and ConfigError for an argument of
    another type.
    """
    draft, _ = divided(kernel, Split(array, private, shape, interleaved, threads), allocate=True)
    text = f"with a private and a public part of {array}; the public part is held while in use."
    draft.rename("_co_hw", f"{draft.source.name}, {text}")
    return DividedKernel(draft.finished(), threads)


@brief
@or_renamed
def co_vtb(
    kernel: Kernel,
    array: str,
    private: int,
    *,
    shape: int | tuple[int, ...] | None = None,
    interleaved: tuple[int, int] | None = None,
    threads: int | None = None,
    n: int = 2,
    grid: Size | None = None,
    block: Size | None = None,
) -> VirtualKernel:
    """The kernel with n of its thread blocks put together into one, and a shared array in two parts.

    Each virtual block has rows of its own below `private`, and all use them at once. The other rows exist once; virtual
    blocks take turns with them, while values for them wait in registers. A block so needs n private parts and one
    public part; further shared arrays exist once, and are used in turns too. The result is launched with its
    `geometry(grid, block)`, and its `source` runs under Numba.

    array, private, shape, interleaved, threads: as for `co_hw`; threads are those of the baseline's block. n, grid,
    block: as for `vtb`.

    Raises as `co_hw` does.
    """
    again = partial(co_vtb, kernel, array, private, shape=shape, interleaved=interleaved, threads=threads, n=n)
    merge = merged(kernel, n, grid, block)
    draft, own = divided(kernel, Split(array, private, shape, interleaved, threads), allocate=False)
    indices = in_turns(draft, replace(merge, threads=threads), own)
    for_each(draft.source, draft.tree, own, indices.virtual_block, n)
    text = f"{n} virtual thread blocks, each with a private part of {array}, have the public part in turns."
    draft.rename("_co_vtb", f"{draft.source.name}: {text}")
    return finished(draft, indices, again)


def for_each(source: FunctionSource, tree: ast.FunctionDef, arrays: frozenset[str], index: str, n: int) -> None:
    """Give arrays one more leading index, a variable below n; arrays: their names and those of views."""
    for use in list(Uses(source, arrays).of(tree)):
        use.put(ast.Name(index, ast.Load()), *use.index)
    declared = (node for node in walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    for node in declared:
        call, target = node.value, node.targets[0]
        assert isinstance(call, ast.Call)
        is_view = isinstance(call.func, ast.Attribute) and call.func.attr == "view"
        if isinstance(target, ast.Name) and target.id in arrays and not is_view:
            shape = call.args[0]
            extents = shape.elts if isinstance(shape, ast.Tuple) else [shape]
            call.args[0] = at(ast.Tuple([ast.Constant(n), *extents], ast.Load()), shape)


# -- the division


@dataclass(frozen=True, slots=True)
class Split:
    """What is declared of a division: see `smmux.multiplex.co_hw`."""

    array: str
    private: int
    shape: int | tuple[int, ...] | None = None
    interleaved: tuple[int, int] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:  # of another `array` the refusal says which there are
            wanted, fits = DIVISION[field.name]
            if not fits(getattr(self, field.name)):
                raise ConfigError(f"{field.name} must be {wanted}, not {getattr(self, field.name)!r}")


def _integers(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(item, SupportsIndex) for item in value)


DIVISION: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "array": ("the name of a shared array", lambda v: isinstance(v, str)),
    "private": ("an integer", lambda v: isinstance(v, SupportsIndex)),
    "shape": ("an integer or a tuple of them", lambda v: v is None or isinstance(v, SupportsIndex) or _integers(v)),
    "interleaved": ("two integers", lambda v: v is None or (_integers(v) and len(v) == 2)),
    "threads": ("an integer from 1 on", lambda v: v is None or (isinstance(v, SupportsIndex) and v.__index__() > 0)),
}
"""Fields of `Split`: what each has to be in words, and the test of a value."""


def divided(kernel: Kernel, split: Split, *, allocate: bool) -> tuple[Draft, frozenset[str]]:
    """Divide an array of a kernel. Returns the names of the private part and of its views, too.

    allocate: the public part is dynamic, with an allocating and a releasing barrier at the borders of its region;
    otherwise it is static, and its region has no more barriers than the source.
    """
    draft = outline(kernel)
    inline_barriers(draft)
    division = Division(draft, split, allocate)
    division.sizes()
    division.region()
    inline_accesses(draft, division.names())
    division.analyse()
    while without_row(division.analysis, draft.tree, division.names()):
        division.analyse()
    without_extents(draft.source, draft.tree, split.array, division.shape)
    elements_only(draft.source, draft.tree, dict.fromkeys(division.names(), len(division.shape)))
    division.analyse()
    acting_first(division.analysis, draft.names, draft.tree, division.names())
    division.analyse()
    division.lay_out()
    division.number_rows()
    division.divide()
    draft.changed()
    return draft, frozenset(division.names())


class Division:
    """The division of one array of a kernel's tree."""

    def __init__(self, draft: Draft, split: Split, allocate: bool) -> None:
        self.draft, self.source, self.tree = draft, draft.source, draft.tree
        self.split, self.name, self.allocate = split, split.array, allocate
        self.analyse()

    def analyse(self) -> None:
        """Analyse the tree as it is now."""
        self.draft.changed()
        self.analysis = analysed(self.draft)
        shared = self.analysis.shared
        found = [a for a in shared if a.name == self.name]
        if len(found) != 1:
            raise unknown(self.analysis, self.name)
        self.declaration = declaration(self.analysis, found[0])
        self.others = [declaration(self.analysis, array) for array in shared if array is not found[0]]

    def refused(self, why: str) -> MultiplexError:
        """The error for a division that the array's declaration does not allow."""
        return refuse(self.source, self.declaration, why)

    @property
    def shape(self) -> tuple[int, ...]:
        """The declared shape."""
        value = self.analysis.fact(self.declaration.args[0])
        found = tuple(i.const for i in value.items) if value.items is not None else (value.const,)
        if not all(isinstance(n, int) for n in found):
            raise self.refused("the shape has to be a compile-time constant")
        if reason := refused_shape(found):
            raise self.refused(reason)
        return found

    def written_shape(self) -> ast.expr:
        """The declared shape, with all its extents where it has several."""
        written = self.declaration.args[0]
        if isinstance(written, ast.Tuple) or len(self.shape) == 1:
            return written
        return at(expression(repr(tuple(map(int, self.shape)))), written)

    def views(self) -> dict[str, ast.Call]:
        """Names of views of the array, with the calls that make them."""
        return {
            node.targets[0].id: node.value
            for node in walk(self.tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr == "view"
            and ast.unparse(node.value.func.value) == self.name
        }

    def names(self) -> set[str]:
        """Names of the array and of its views."""
        return {self.name, *self.views()}

    def sizes(self) -> dict[str, int]:
        """Bytes of an element, by name of the array and its views."""
        values = {name: self.analysis.fact(node).const for name, node in self.types().items()}
        try:
            types = {n: np.dtype(v.name if isinstance(v, Scalar) else v) for n, v in values.items()}
        except TypeError:
            raise self.refused("the type of a divided array has to be a constant, such as float32") from None
        if any(type_.fields for type_ in types.values()):
            raise self.refused("an array of records is not divided; use one array for each field")
        return {n: type_.itemsize for n, type_ in types.items()}

    def types(self) -> dict[str, ast.expr]:
        """Types of elements, by name of the array and its views."""
        return {self.name: self.declaration.args[1]} | {name: view.args[0] for name, view in self.views().items()}

    def lay_out(self) -> None:
        """Declare the size that is used, and put rows first."""
        if self.split.shape is not None:
            self.declaration.args[0] = at(expression(repr(self.used_shape())), self.declaration)
        if self.split.interleaved is None:
            return
        rows, stride = self.split.interleaved
        if len(self.shape) != 1 or self.shape[0] % (rows * stride):
            need = f"a flat array of a multiple of {rows} x {stride} elements is needed"
            raise self.refused(f"{need}, not {self.shape}; give its shape")
        slots = self.shape[0] // rows
        sizes = self.sizes()
        views = {name: sizes[self.name] // size for name, size in sizes.items()}
        Layout(self.analysis, self.draft.names, views, rows, stride).put_rows_first(self.tree)
        self.declaration.args[0] = at(expression(f"({rows}, {slots})"), self.declaration)
        self.analyse()

    def used_shape(self) -> int | tuple[int, ...]:
        """The shape that is used of the array, as it is given."""
        given = self.split.shape
        extents = tuple(map(int, given)) if isinstance(given, tuple | list) else (int(given or 0),)
        if len(extents) != len(self.shape) or any(n > most for n, most in zip(extents, self.shape, strict=True)):
            raise self.refused(f"shape={given} is no part of the declared {self.shape}")
        return extents if isinstance(given, tuple | list) else extents[0]

    def number_rows(self) -> None:
        """Write leading indices that count from the end of the array so that they count from its beginning."""
        if self.split.interleaved is None:
            rows, sizes = self.shape[0], self.sizes()
            several = len(self.shape) > 1
            extents = {name: rows if several else rows * sizes[self.name] // size for name, size in sizes.items()}
            from_the_beginning(self.analysis, self.tree, extents, self.thread_bounds())
            self.analyse()

    def thread_bounds(self) -> dict[str, tuple[int, int]]:
        """Bounds of variables that are threadIdx.x, where the block's size is given."""
        values = {n: v for n, v in single_values(self.source, self.tree).items() if isinstance(v, ast.Attribute)}
        threads = [n for n, v in values.items() if v.attr == "x" and self.source.resolve(v.value) is cuda.threadIdx]
        return dict.fromkeys(threads, (0, self.split.threads - 1)) if self.split.threads else {}

    def region(self) -> Span:
        """The one region of the kernel."""
        first, *more = find(self.analysis, in_turns=True).spans
        if more:
            line = first.pieces[0].node.lineno
            why = f"a second region begins here, behind the one from line {line}: one region is supported"
            raise refuse(self.source, more[0].pieces[0].node, why)
        return first

    def divide(self) -> None:
        """Rewrite the region and the declarations."""
        shape, private, names = self.shape, self.split.private, self.draft.names
        if not 0 < private < shape[0]:
            raise self.refused(f"private has to be 1 to {shape[0] - 1} of {shape[0]} leading indices")
        sizes = self.sizes()
        for name, size in sizes.items():
            if len(shape) == 1 and private * sizes[self.name] % size:
                many = size // sizes[self.name]
                raise self.refused(f"private has to be a multiple of {many}: {name!r} sees {many} elements as one")
        region = self.region()
        taken, added, extents = set(names.taken), set(names.added), (shape[0] - private, *shape[1:])

        def fresh() -> tuple[Parts, Waiting]:
            names.taken = set(taken)
            for name in names.added.keys() - added:
                del names.added[name]
            parts = self.parts()
            return parts, Waiting(parts, self.name, extents, names.new("waiting", f"waiting_{self.name}"))

        made = streams(self.analysis, region, fresh)
        self.place(made, region)
        self.declare(made.parts, made.waiting)

    def parts(self) -> Parts:
        """Limits and names of the parts."""
        private, names = self.split.private, self.draft.names
        sizes, flat = self.sizes(), len(self.shape) == 1
        limit = {name: private * sizes[self.name] // size if flat else private for name, size in sizes.items()}
        public = {name: names.new(f"{name}_public", f"public_{name}") for name in limit}
        return Parts(self.analysis, names, limit, public, self.types(), self.thread_bounds())

    def place(self, made: Streams, region: Span) -> None:
        """Put the streams in the place of the region."""
        block, start, stop = region.block, region.start, region.stop
        nodes = block.body[start:stop]
        values = made.waiting.stores(nodes[0]) if made.waiting.fixed is not None else []
        public = [*values, *(node for _, node in made.after), *made.rest]
        if self.allocate:
            held = {*made.parts.public.values(), *made.others}
            waits = (i for i, node in enumerate(public) if names_in(node) & held)
            early = 0 if values else next(waits, 0)  # what goes in front does not access the public part
            made.before += public[:early]
            first, module = (public[early:] or nodes)[0], self.draft.names.module("smm", smm)
            alloc, release = at(statement(f"{module}.alloc()"), first), at(statement(f"{module}.release()"), nodes[-1])
            public = [alloc, *public[early:], release]
            if stop < len(block.body) and is_barrier(block.pieces[stop]):
                stop += 1  # the releasing barrier takes its place, the allocating one that of the one before
            if start and not made.before and is_barrier(block.pieces[start - 1]):
                start -= 1
        block.body[start:stop] = [*made.before, *public]

    def declare(self, parts: Parts, waiting: Waiting) -> None:
        """The declarations of both parts, of their views, and of the registers that hold waiting values."""
        names, public, used = self.draft.names, parts.public, names_in(self.tree)
        language = names.module("cuda", cuda)
        shape, dtype = self.written_shape(), self.declaration.args[1]
        function = f"{names.module('smm', smm)}.array" if self.allocate else ast.unparse(self.declaration.func)
        rest = ast.Constant(self.shape[0] - self.split.private)
        if self.allocate:
            for other in self.others:
                other.func = at(expression(function), other)
        new: dict[ast.expr, list[tuple[str, ast.expr]]] = {
            view: [(public[n], call(f"{public[self.name]}.view", view.args[0]))]
            for n, view in self.views().items()
            if public[n] in used
        }
        new[self.declaration] = [(public[self.name], call(function, _with_first(shape, rest), dtype))]
        if waiting.fixed is not None:
            size = expression(repr(waiting.extents if len(waiting.extents) > 1 else waiting.extents[0]))
            new[self.declaration].append((waiting.name, call(f"{language}.local.array", size, dtype)))
        self.declaration.args[0] = at(_with_first(shape, ast.Constant(self.split.private)), self.declaration)
        for node in list(walk(self.tree)):
            if isinstance(node, ast.Assign) and node.value in new:
                made = (ast.Assign([ast.Name(name, ast.Store())], value) for name, value in new[node.value])
                behind(self.tree, node, *made)


def _with_first(shape: ast.expr, first: ast.expr) -> ast.expr:
    """A shape with another first extent."""
    if isinstance(shape, ast.Tuple):
        return ast.Tuple([first, *map(copied, shape.elts[1:])], ast.Load())
    return first
