"""The division of a shared array by its leading index into a private and a public part.

Before the region of the public part go all accesses to the private part, and defines of the public part whose values
can wait in registers. The region begins with those values and the accesses to the public part; what accesses both parts
follows and asks the index each time. Under CO-HW the public part is allocated for its region, under CO-VTB virtual
blocks have it in turns.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from dataclasses import dataclass

import numpy as np

from smmux import cuda, smm
from smmux.kernel import Kernel
from smmux.multiplex.analysis.accesses import Block
from smmux.multiplex.analysis.facts import Array
from smmux.multiplex.analysis.scalars import names_in
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.forms.divided.layout import Layout, rows_first
from smmux.multiplex.forms.divided.parts import Parts
from smmux.multiplex.forms.divided.streams import Streams, streams
from smmux.multiplex.forms.divided.uses import elements_only, with_atomics
from smmux.multiplex.forms.divided.waiting import Waiting
from smmux.multiplex.forms.hw import declaration
from smmux.multiplex.regions.find import Span, find, is_barrier
from smmux.multiplex.regions.outline import outline
from smmux.multiplex.syntax.build import at, call, expression, statement
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.inline import inline_accesses, inline_barriers
from smmux.multiplex.syntax.refusals import refuse
from smmux.types import Scalar

__all__ = ["Split", "divided"]


@dataclass(frozen=True, slots=True)
class Split:
    """What is declared of a division: see `smmux.multiplex.co_hw`."""

    array: str
    private: int
    shape: int | tuple[int, ...] | None = None
    interleaved: tuple[int, int] | None = None
    threads: int | None = None


def divided(kernel: Kernel, split: Split, *, allocate: bool) -> tuple[Draft, frozenset[str]]:
    """Divide an array of a kernel. Returns the names of the private part and of its views, too.

    allocate: the public part is dynamic, with an allocating and a releasing barrier at the borders of its region;
    otherwise it is static, and its region has no more barriers than the source.
    """
    draft = outline(kernel)
    inline_barriers(draft)
    division = Division(draft, split.array, allocate)
    division.write_out(split.shape, split.interleaved)
    division.divide(split.private, split.threads)
    draft.changed()
    return draft, frozenset({split.array, *division.views()})


class Division:
    """The division of one array of a kernel's tree."""

    def __init__(self, draft: Draft, array: str, allocate: bool) -> None:
        self.draft, self.source, self.tree, self.names = draft, draft.source, draft.tree, draft.names
        self.name, self.allocate = array, allocate
        self.analyse()

    def analyse(self) -> None:
        """Analyse the tree as it is now."""
        self.draft.changed()
        self.analysis: Analysis = analysed(self.draft)
        found = [a for a in self.analysis.shared if a.name == self.name]
        if len(found) != 1:
            have = ", ".join(repr(a.name) for a in self.analysis.shared) or "none"
            raise refuse(self.source, None, f"no shared array {self.name!r} in {self.source.name!r}; it has {have}")
        if len(self.analysis.shared) > 1:
            others = [a for a in self.analysis.shared if a is not found[0]]
            raise refuse(self.source, others[0].node, "a kernel with several shared arrays cannot be divided")
        self.array: Array = found[0]
        self.declaration = declaration(self.analysis, self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        """The declared shape."""
        value = self.analysis.fact(self.declaration.args[0])
        found = tuple(i.const for i in value.items) if value.items is not None else (value.const,)
        if not all(isinstance(n, int) for n in found):
            raise refuse(self.source, self.declaration, "the shape has to be a compile-time constant")
        return found

    def views(self) -> dict[str, ast.Assign]:
        """Names of views of the array, with their definitions."""
        return {
            node.targets[0].id: node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr == "view"
            and ast.unparse(node.value.func.value) == self.name
        }

    def ratio(self, view: ast.Assign) -> tuple[int, int]:
        """Bytes of an element of the array, and of the view."""
        assert isinstance(view.value, ast.Call)
        return self.bytes_of(self.declaration.args[1]), self.bytes_of(view.value.args[0])

    def bytes_of(self, node: ast.expr) -> int:
        """Size of an element type."""
        value = self.analysis.fact(node).const
        return int(np.dtype(value.name if isinstance(value, Scalar) else value).itemsize)

    # -- preparation

    def write_out(self, shape: int | tuple[int, ...] | None, interleaved: tuple[int, int] | None) -> None:
        """Inline what accesses the array, declare the size that is used, put rows first."""
        self.region()
        inline_accesses(self.draft, {self.name, *self.views()})
        elements_only(self.source, self.tree, dict.fromkeys((self.name, *self.views()), len(self.shape)))
        self.analyse()
        if shape is not None:
            self.declaration.args[0] = at(expression(repr(shape)), self.declaration)
        if interleaved is None:
            return
        rows, stride = interleaved
        if len(self.shape) != 1 or self.shape[0] % (rows * stride):
            why = (
                f"a flat array of a multiple of {rows} x {stride} elements is needed, not {self.shape}; give its shape"
            )
            raise refuse(self.source, self.declaration, why)
        views = {self.name: 1}
        for name, view in self.views().items():
            own, other = self.ratio(view)
            views[name] = own // other
        slots = self.shape[0] // rows
        rows_first(Layout(self.source, self.names, self.analysis.integer, views, rows, stride), self.tree)
        self.declaration.args[0] = at(expression(f"({rows}, {slots})"), self.declaration)
        self.analyse()

    # -- division

    def divide(self, private: int, threads: int | None) -> None:
        """Rewrite the region and the declarations."""
        shape = self.shape
        if not 0 < private < shape[0]:
            raise refuse(
                self.source, self.declaration, f"private has to be 1 to {shape[0] - 1} of {shape[0]} leading indices"
            )
        for name, (own, other) in ((n, self.ratio(view)) for n, view in self.views().items()):
            if len(shape) == 1 and private * own % other:
                why = f"private has to be a multiple of {other // own}: {name!r} sees {other // own} elements as one"
                raise refuse(self.source, self.declaration, why)
        region = self.region()
        taken, added, extents = set(self.names.taken), dict(self.names.added), (shape[0] - private, *shape[1:])

        def fresh() -> tuple[Parts, Waiting]:
            self.names.taken = set(taken)
            for name in self.names.added.keys() - added.keys():
                del self.names.added[name]
            parts = self.parts(private, threads)
            return parts, Waiting(parts, self.name, extents, self.names.new("waiting", f"waiting_{self.name}"))

        made = streams(self, region.block, region.start, region.stop, fresh)
        self.place(made, region.block, region.start, region.stop)
        self.declare(private, made.parts, made.waiting)
        with_atomics(self.tree)

    def place(self, made: Streams, block: Block, start: int, stop: int) -> None:
        """Put the streams in the place of the region."""
        nodes = block.body[start:stop]
        values = made.waiting.stores(nodes[0]) if made.waiting.fixed is not None else []
        public = [*values, *made.after, *made.rest]
        if self.allocate:
            early = 0 if values else self.without(public, set(made.parts.public.values()))
            outside, public = public[:early], public[early:]
            public = self.allocated(public, (public or nodes)[0], nodes[-1])
            made.before += outside
            if stop < len(block.body) and is_barrier(block.pieces[stop]):
                stop += 1  # the releasing barrier takes its place, the allocating one that of the one before
            if start and not made.before and is_barrier(block.pieces[start - 1]):
                start -= 1
        block.body[start:stop] = [*made.before, *public]

    def without(self, nodes: list[ast.stmt], public: set[str]) -> int:
        """How many of the first statements do not access the public part, and need not wait for it."""
        return next((i for i, node in enumerate(nodes) if names_in(node) & public), 0)

    def allocated(self, public: list[ast.stmt], first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
        """Statements between allocating and releasing barriers, which get lines of the source."""
        module = self.names.module("smm", smm)
        alloc, release = statement(f"{module}.alloc()"), statement(f"{module}.release()")
        return [at(alloc, first), *public, at(release, last)]

    def local_size(self, name: str) -> int | None:
        """Elements of a per-thread array; None for a scalar."""
        fact = self.analysis.variable(name)
        arrays = [a for a in fact.arrays if a.space == "local"] if fact is not None else []
        if not arrays:
            return None
        node = arrays[0].node
        size = self.analysis.integer(node.args[0]) if isinstance(node, ast.Call) and node.args else None
        return -1 if size is None or len(arrays) > 1 else size

    def region(self) -> Span:
        """The one region of the kernel."""
        first, *more = find(self.analysis, in_turns=True).spans
        if more:
            line = first.pieces[0].node.lineno
            why = f"a second region begins here, behind the one from line {line}: one region is supported"
            raise refuse(self.source, more[0].pieces[0].node, why)
        return first

    def parts(self, private: int, threads: int | None) -> Parts:
        """Limits and names of the parts."""
        limit = {self.name: private}
        for name, view in self.views().items():
            own, other = self.ratio(view)
            limit[name] = private * own // other if len(self.shape) == 1 else private
        public = {name: self.names.new(f"{name}_public", f"public_{name}") for name in limit}
        bounds = {}
        for node in ast.walk(self.tree):
            if threads and isinstance(node, ast.Assign) and self.is_thread(node.value):
                bounds.update(dict.fromkeys(names_in(*node.targets), (0, threads - 1)))
        stores = Counter(n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        bounds = {name: ends for name, ends in bounds.items() if stores[name] == 1}
        return Parts(self.source, self.names, limit, public, self.analysis.integer, bounds)

    def is_thread(self, node: ast.expr) -> bool:
        """True for threadIdx.x."""
        return (
            isinstance(node, ast.Attribute) and node.attr == "x" and self.source.resolve(node.value) is cuda.threadIdx
        )

    def declare(self, private: int, parts: Parts, waiting: Waiting) -> None:
        """The declarations of both parts, of their views, and of the registers that hold waiting values."""
        language = self.names.module("cuda", cuda)
        shape, dtype = self.shape, self.declaration.args[1]
        extents = [shape[0] - private, *shape[1:]]
        rest = self.declaration.args[0]
        first = ast.Constant(private)
        self.declaration.args[0] = at(_with_first(rest, first), self.declaration)
        function = f"{self.names.module('smm', smm)}.array" if self.allocate else ast.unparse(self.declaration.func)
        public = call(function, _with_first(rest, ast.Constant(extents[0])), dtype)
        lines = {self.name: [(parts.public[self.name], public)]}
        if waiting.fixed is not None:
            size = expression(repr(waiting.extents if len(waiting.extents) > 1 else waiting.extents[0]))
            lines[self.name].append((waiting.name, call(f"{language}.local.array", size, dtype)))
        for name, view in self.views().items():
            assert isinstance(view.value, ast.Call)
            lines[name] = [(parts.public[name], call(f"{parts.public[self.name]}.view", view.value.args[0]))]
        used = names_in(self.tree)
        body: list[ast.stmt] = []
        for node in self.tree.body:
            body.append(node)
            targets = node.targets if isinstance(node, ast.Assign) else []
            for name in (t.id for t in targets if isinstance(t, ast.Name)):
                for new, value in lines.get(name, ()) if self.declares(node, name) else ():
                    if new in used or name == self.name:
                        body.append(at(ast.Assign([ast.Name(new, ast.Store())], value), node))
        self.tree.body[:] = body

    def declares(self, node: ast.stmt, name: str) -> bool:
        """True for the declaration of the array, or of a view."""
        return getattr(node, "value", None) is self.declaration or node is self.views().get(name)


def _with_first(shape: ast.expr, first: ast.expr) -> ast.expr:
    """A shape with another first extent."""
    if isinstance(shape, ast.Tuple):
        return ast.Tuple([first, *map(copy.deepcopy, shape.elts[1:])], ast.Load())
    return first
