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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smmux import cuda, smm
from smmux.compiler.frontend.source import FunctionSource
from smmux.kernel import Kernel
from smmux.multiplex.blocks import Block, Piece
from smmux.multiplex.borders import Border, borders, is_barrier
from smmux.multiplex.errors import refuse
from smmux.multiplex.events import barriers, touches
from smmux.multiplex.facts import Array
from smmux.multiplex.inline import inline_accesses
from smmux.multiplex.layout import Layout, rows_first
from smmux.multiplex.live import escaping
from smmux.multiplex.manage import declaration
from smmux.multiplex.names import assigned, exposed, names_in
from smmux.multiplex.parts import PRIVATE, PUBLIC, Parts
from smmux.multiplex.syntax import Names, at, call, expression, statement
from smmux.multiplex.waiting import NotDeferredError, Waiting
from smmux.multiplex.walk import Analysis, Frame, analyse
from smmux.types import Scalar

__all__ = ["Divided", "Split", "divided"]


@dataclass(frozen=True, slots=True)
class Split:
    """What is declared of a division: see `smmux.multiplex.co_hw`."""

    array: str
    private: int
    shape: int | tuple[int, ...] | None = None
    interleaved: tuple[int, int] | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Divided:
    """A kernel's tree with its array in two parts, new names in it, and the names of the private part and its views."""

    tree: ast.FunctionDef
    names: Names
    private: frozenset[str]


def divided(kernel: Kernel, split: Split, *, allocate: bool) -> Divided:
    """Divide an array of a kernel.

    allocate: the public part is dynamic, with an allocating and a releasing barrier at the borders of its region;
    otherwise it is static, and its region has no more barriers than the source.
    """
    source = kernel.definition
    if kernel.device:
        raise refuse(source, None, f"{kernel.__name__} is a device function; passes work on kernels")
    tree = copy.deepcopy(source.node)
    names = Names(source, tree)
    division = Division(source, tree, names, split.array, allocate)
    division.write_out(split.shape, split.interleaved)
    division.divide(split.private, split.threads)
    return Divided(tree, names, frozenset({split.array, *division.views()}))


class Division:
    """The division of one array of a kernel's tree."""

    def __init__(self, source: FunctionSource, tree: ast.FunctionDef, names: Names, array: str, allocate: bool) -> None:
        self.source, self.tree, self.names, self.name, self.allocate = source, tree, names, array, allocate
        self.analyse()

    def analyse(self) -> None:
        """Analyse the tree as it is now."""
        self.analysis: Analysis = analyse(self.source, self.tree)
        found = [a for a in self.analysis.shared if a.name == self.name]
        if len(found) != 1:
            have = ", ".join(repr(a.name) for a in self.analysis.shared) or "none"
            raise refuse(self.source, None, f"no shared array {self.name!r} in {self.source.name!r}; it has {have}")
        if len(self.analysis.shared) > 1:
            others = [a for a in self.analysis.shared if a is not found[0]]
            raise refuse(self.source, others[0].node, "a kernel with several shared arrays cannot be divided")
        self.array: Array = found[0]
        self.declaration = declaration(self.analysis, self.array)
        self.frame = Frame(self.analysis, self.source, ())

    def constant(self, node: ast.expr) -> int | None:
        """The value of a constant integer expression."""
        value = self.frame.eval(node).const
        return value if type(value) is int else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The declared shape."""
        value = self.frame.eval(self.declaration.args[0])
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
        value = self.frame.eval(node).const
        return int(np.dtype(value.name if isinstance(value, Scalar) else value).itemsize)

    # -- preparation

    def write_out(self, shape: int | tuple[int, ...] | None, interleaved: tuple[int, int] | None) -> None:
        """Inline what accesses the array, declare the size that is used, put rows first."""
        self.region()
        inline_accesses(self.source, self.tree, self.names, {self.name, *self.views()})
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
        rows_first(Layout(self.source, self.names, self.constant, views, rows, stride), self.tree)
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
        begin, end = self.region()
        parts = self.parts(private, threads)
        waiting = Waiting(
            parts, self.name, (shape[0] - private, *shape[1:]), self.names.new("waiting", f"waiting_{self.name}")
        )
        Region(self, parts, waiting, begin, end).rewrite()
        self.declare(private, parts, waiting)

    def region(self) -> tuple[Border, Border]:
        """The one region of the kernel."""
        found = borders(self.analysis)
        if len(found) != 2 or found[0].block is not found[1].block:
            raise refuse(
                self.source,
                None,
                "the private part is accessed before the region of the public one: one region is supported",
            )
        return found[0], found[1]

    def parts(self, private: int, threads: int | None) -> Parts:
        """Limits and names of the parts."""
        limit = {self.name: private}
        for name, view in self.views().items():
            own, other = self.ratio(view)
            limit[name] = private * own // other if len(self.shape) == 1 else private
        public = {name: self.names.new(f"{name}_public", f"public_{name}") for name in limit}
        bounds = {}
        for node in ast.walk(self.tree):
            if threads and isinstance(node, ast.Assign) and ast.unparse(node.value).endswith("threadIdx.x"):
                bounds.update(dict.fromkeys(names_in(*node.targets), (0, threads - 1)))
        return Parts(self.source, self.names, limit, public, self.constant, bounds)

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


class Region:
    """The rewriting of the region; its public part begins where `after` does."""

    def __init__(self, division: Division, parts: Parts, waiting: Waiting, begin: Border, end: Border) -> None:
        self.division, self.parts, self.waiting = division, parts, waiting
        self.source = division.source
        self.block: Block = begin.block
        self.first, self.last = begin.position, end.position
        self.before: list[ast.stmt] = []  # the region of the public part
        self.after: list[ast.stmt] = []
        self.plain: list[ast.stmt] = []  # of `after`: computations that may have to be done again there

    def rewrite(self) -> None:
        """Private accesses, allocation, public accesses, accesses to both, release."""
        pieces = self.block.pieces[self.first : self.last]
        divided = 0
        for i, piece in enumerate(pieces):
            if not self.divide(piece, [p.node for p in self.block.pieces[self.first + i + 1 :]]):
                break
            divided += 1
        rest = self.parts.mixed([p.node for p in pieces[divided:]], self.parts.bounds)
        place = pieces[0].node
        while self.before and _barrier(self.before[-1]):
            self.before.pop()  # the same one follows in the public part's region
        self.drop_plain()
        self.restore_inputs()
        values = self.waiting.stores(place) if self.waiting.fixed is not None else []
        public = [*values, *self.after, *rest]
        start, stop = self.first, self.last
        if self.division.allocate:
            start, stop = self.without_barriers(start, stop)
            public = self.allocated(public, (self.after or rest)[0], pieces[-1].node)
        self.block.body[start:stop] = [*self.before, *public]

    def allocated(self, public: list[ast.stmt], first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
        """Statements between allocating and releasing barriers, which get lines of the source."""
        module = self.division.names.module("smm", smm)
        alloc, release = statement(f"{module}.alloc()"), statement(f"{module}.release()")
        return [at(alloc, first), *public, at(release, last)]

    def without_barriers(self, start: int, stop: int) -> tuple[int, int]:
        """The range of statements with barriers of the source whose place an allocating or releasing one takes."""
        if stop < len(self.block.body) and is_barrier(self.block.pieces[stop]):
            stop += 1
        if start and not self.before and is_barrier(self.block.pieces[start - 1]):
            start -= 1
        return start, stop

    def divide(self, piece: Piece, later: Sequence[ast.stmt]) -> bool:
        """Put what a statement does to each part before and after the allocation; False if it cannot be divided."""
        node = piece.node
        if is_barrier(piece):
            self.before.append(node)
            self.after.append(copy.deepcopy(node))
            return True
        stores = any(t.write for t in touches(piece.events, "global"))
        if stores or any(barriers(piece.events)) or any(escaping(piece.events)):
            return False
        if not any(touches(piece.events)):
            again = copy.deepcopy(node)
            self.before.append(node)
            self.after.append(again)
            self.plain.append(again)
            return True
        ordered = any(any(self.parts.all_accesses(s)) for s in self.after)  # what has waited is stored before all these
        if not ordered and not any(not t.write for t in touches(piece.events)):
            try:
                deferred = self.waiting.deferred([node], {})
            except NotDeferredError:
                pass
            else:
                self.before += deferred
                return True
        if not self.divisible(node, later):
            return False
        private = self.parts.restricted([node], PRIVATE, self.parts.bounds)
        public = self.parts.restricted([node], PUBLIC, self.parts.bounds)
        self.before += private
        self.after += public
        return True

    def divisible(self, node: ast.stmt, later: Sequence[ast.stmt]) -> bool:
        """Whether a statement may be executed twice, each time for one part of the array."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.AugAssign) and any(self.parts.accesses(inner.value)):
                return False  # sums in another order
        local = {n for n in assigned(self.source, [node]) if self._is_local_array(n)}
        scalars = assigned(self.source, [node]) - local - set(self.parts.limit)
        return not scalars & (exposed(self.source, later) | exposed(self.source, [node]))

    def _is_local_array(self, name: str) -> bool:
        fact = self.division.frame.env.get(name)
        return fact is not None and any(a.space == "local" for a in fact.arrays)

    def drop_plain(self) -> None:
        """Leave out computations whose results are still there: no other statement has changed them."""
        counts = Counter(name for s in self.before for name in assigned(self.source, [s]))
        idle = [s for s in self.plain if all(counts[name] == 1 for name in assigned(self.source, [s]))]
        self.after = [s for s in self.after if s not in idle]

    def restore_inputs(self) -> None:
        """Compute again what the second execution of a statement needs and the first has changed."""
        changed = exposed(self.source, self.after) & assigned(self.source, self.before)
        earlier = self.block.pieces[: self.first]
        for name in sorted(changed - set(self.parts.limit) - set(self.parts.public.values())):
            candidates = [p for p in earlier if name in assigned(self.source, [p.node]) and not _declares_array(p.node)]
            if not candidates or not self.repeatable(candidates[-1], earlier, name):
                raise refuse(
                    self.source, self.block.pieces[self.first].node, f"{name!r} is needed again after the allocation"
                )
            self.before.append(copy.deepcopy(candidates[-1].node))

    def repeatable(self, piece: Piece, earlier: list[Piece], name: str) -> bool:
        """Whether a statement computes the same when it is executed again."""
        after = [p.node for p in earlier[earlier.index(piece) + 1 :]]
        inputs = exposed(self.source, [piece.node])
        later = [event for p in earlier[earlier.index(piece) :] for event in p.events]
        stores = any(t.write for t in touches(later, "global")) or any(touches(piece.events))
        return not stores and not inputs & (
            assigned(self.source, after) | assigned(self.source, self.before) - {name} | {name}
        )


def _barrier(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).endswith("syncthreads()")


def _declares_array(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ".array" in ast.unparse(node.value)
