"""Global loads that feed the first defines of a region, moved in front of it: they wait in registers.

A define `tile[r, t] = a[row + r, t]` becomes a load to a register before the region and a store within. Loops of
constant length are split in two, with an array per thread between them. Nothing is moved over a barrier of the source,
over a store to global memory (arrays may alias) or over a change of what it needs; what cannot be moved stays as it is.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Hashable
from dataclasses import dataclass, field

from smmux import cuda
from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.analysis.accesses import Piece, barriers, escaping, touches
from smmux.multiplex.analysis.facts import Array
from smmux.multiplex.analysis.scalars import assigned, exposed, names_in
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.find import Span, Usage
from smmux.multiplex.syntax.build import at, call, element, expression
from smmux.multiplex.syntax.draft import Draft, Names

__all__ = ["REGISTERS", "stage"]

REGISTERS = 64  # words per thread that staging may use: the largest tile of the benchmarks twice


Waiting = tuple[str, Array, tuple[ast.expr, ...], int]
"""Where elements of a shared array wait: name, that array, extents of a per-thread array (none: a variable), words."""


@dataclass(slots=True)
class Split:
    """A define in two parts, and the per-thread arrays between them."""

    loads: list[ast.stmt] = field(default_factory=list)
    stores: list[ast.stmt] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)


class NotStagedError(Exception):
    """A define that stays as it is."""


def stage(draft: Draft, usage: Usage, registers: int = REGISTERS) -> None:
    """Move the global loads of a kernel's first defines in front of its regions, in place."""
    analysis = analysed(draft)
    for span in usage.spans:
        if _staged(analysis, draft.names, span, registers):
            draft.changed()


def _staged(analysis: Analysis, names: Names, span: Span, registers: int) -> bool:
    """Split the defines at the beginning of a region; whether there is anything to stage."""
    before: list[ast.stmt] = []
    within: list[ast.stmt] = []
    waiting: list[Waiting] = []
    used = 0
    count = 0
    block, first = span.block, span.block.pieces[span.start]
    for piece in block.pieces[span.start : span.stop]:
        if not _define(piece):
            break
        try:
            split = Splitter(analysis, names).split(piece)
        except NotStagedError:
            split = Split([], [piece.node]) if any(touches(piece.events)) else Split([piece.node], [])
        words = sum(size for _, _, _, size in split.waiting)
        if used + words > registers or _conflict(analysis.source, within, split.loads):
            break
        used += words
        before += split.loads
        within += split.stores
        waiting += split.waiting
        count += 1
    if not waiting and not any(_is_staged(s) for s in before):
        return False
    start = block.body.index(first.node)
    block.body[start : start + count] = [*before, *within]
    for name, array, extents, _ in reversed([w for w in waiting if w[2]]):
        _declare_waiting(analysis, name, array, extents)
    return True


def _is_staged(node: ast.stmt) -> bool:
    return any(getattr(n, "staged", False) for n in ast.walk(node))


def _define(piece: Piece) -> bool:
    """True for statements that at most load global and store shared memory."""
    return not (
        any(not t.write for t in touches(piece.events))
        or any(t.write for t in touches(piece.events, "global"))
        or any(barriers(piece.events))
        or any(escaping(piece.events))
    )


def _conflict(source: FunctionSource, stores: list[ast.stmt], loads: list[ast.stmt]) -> bool:
    """Whether loads moved in front of stores would change what either uses."""
    changed, needed = assigned(source, loads) & names_in(*stores), assigned(source, stores) & exposed(source, loads)
    return bool(changed or needed)


class Splitter:
    """Splits one statement."""

    def __init__(self, analysis: Analysis, names: Names) -> None:
        self.analysis, self.names = analysis, names
        self.loops: list[tuple[ast.For, ast.expr, ast.expr, int]] = []  # extent, index, trips
        self.guarded = False
        self.waiting: list[Waiting] = []
        self.kinds: dict[str, tuple[Hashable, ...]] = {}  # of what waits: the array, extents, what it was loaded from
        self.unused: list[Waiting] = []  # by this side of a branch, but by the other one

    def split(self, piece: Piece) -> Split:
        """The two parts; raises `NotStagedError` if there is nothing to stage, or if it is not safe."""
        if not any(touches(piece.events, "global")) or not any(touches(piece.events)):
            raise NotStagedError
        loads, stores = self.one(piece.node)
        stores = [s for s in map(_simplified, stores) if s is not None]
        return Split(loads, stores, self.waiting)

    def one(self, node: ast.stmt) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Loads and stores of a statement."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self.assign(node)
        if isinstance(node, ast.For):
            return self.loop(node)
        if isinstance(node, ast.If):
            return self.branch(node)
        raise NotStagedError

    def assign(self, node: ast.Assign) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A define, or a computation in registers."""
        target = node.targets[0]
        array = self.shared(target)
        if array is None:
            if isinstance(target, ast.Subscript):
                raise NotStagedError
            return [node], []
        if not self.loads(node.value):
            return [], [node]
        assert isinstance(target, ast.Subscript)
        if self.loads(target):
            raise NotStagedError
        put, get = self.wait(array, node.value)
        load = ast.copy_location(ast.Assign([put], node.value), node)
        at(put, node)
        put.staged = True  # type: ignore[attr-defined]
        return [load], [ast.copy_location(ast.Assign([target], at(get, node)), node)]

    def wait(self, array: Array, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """A place in registers, to store a value to and to load it from."""
        extents = tuple(extent for _, extent, _, _ in self.loops)
        index = tuple(i for _, _, i, _ in self.loops)
        loaded = ast.dump(value.value) if isinstance(value, ast.Subscript) else ""
        kind = (array, *map(ast.dump, extents), "" if extents else loaded)  # a variable has the type of what it is
        same = [w for w in self.unused if self.kinds[w[0]] == kind and (extents or loaded)]
        if same:
            name = same[0][0]
            self.unused.remove(same[0])
        else:
            name = self.new_name(array)
            self.kinds[name] = kind
            if self.loops or self.guarded:
                self.waiting.append((name, array, extents, math.prod(trips for _, _, _, trips in self.loops)))
        if not extents:
            return ast.Name(name, ast.Store()), ast.Name(name, ast.Load())
        return element(name, *index, store=True), element(name, *index)

    def new_name(self, array: Array) -> str:
        """`staged`, or with several arrays, or if the kernel has a variable of that name, `staged_tile`."""
        full = len(self.analysis.shared) > 1 or "staged" in self.analysis.source.locals
        return self.names.new(f"staged_{array.name}" if full else "staged")

    def loop(self, node: ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A loop of constant length, as two loops."""
        if node.orelse or not isinstance(node.target, ast.Name) or node.target.id in assigned_names(node.body):
            raise NotStagedError
        self.loops.append((node, *self.counted(node, node.target.id)))
        parts = [self.one(inner) for inner in node.body]
        self.loops.pop()
        stores = self.with_needs(node, parts)
        loads = [s for load, _ in parts for s in load]
        return [_with_body(node, loads)], [_with_body(node, stores)]

    def counted(self, node: ast.For, name: str) -> tuple[ast.expr, ast.expr, int]:
        """Extent of the array that holds a value per iteration, index into it, trips."""
        over = node.iter
        if not (isinstance(over, ast.Call) and self.analysis.fact(over.func).const is range):
            raise NotStagedError
        bounds = [self.analysis.fact(a).const for a in over.args]
        if not all(isinstance(b, int) for b in bounds) or not (trips := len(range(*bounds))):
            raise NotStagedError
        if len(bounds) == 1:
            return over.args[0], ast.Name(name, ast.Load()), trips
        start, step = bounds[0], bounds[2] if len(bounds) == 3 else 1
        index = name if not start else f"{name} - {start}" if start > 0 else f"{name} + {-start}"
        return ast.Constant(trips), expression(index if step == 1 else f"({index}) // {step}"), trips

    def with_needs(self, loop: ast.For, parts: list[tuple[list[ast.stmt], list[ast.stmt]]]) -> list[ast.stmt]:
        """The stores of a loop's body with the computations that their indices need."""
        found: list[ast.stmt] = []
        stores = [s for s in (_simplified(s) for _, store in parts for s in store) if s is not None]
        needed = names_in(*stores)
        changing = set(assigned_names(loop.body))
        for load, store in reversed(parts):
            for node in reversed(store):
                if (kept := _simplified(node)) is not None:
                    found.insert(0, kept)
            for node in reversed(load):
                if not needed & set(assigned_names([node])) or _is_staged(node):
                    continue
                if not isinstance(node, ast.Assign) or self.loads(node.value):
                    raise NotStagedError
                found.insert(0, node)
                needed |= names_in(node.value)
        first: set[str] = set()
        for node in found:  # what an iteration needs of those names, it has computed itself
            reads = names_in(node.value if isinstance(node, ast.Assign) else node)
            if (reads & changing) - first:
                raise NotStagedError
            first |= set(assigned_names([node]))
        return found

    def branch(self, node: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A guarded define: the same guard around both parts."""
        if self.loads(node.test) or set(assigned_names([node])) & names_in(node.test):
            raise NotStagedError
        before, self.guarded = self.guarded, True
        count, unused = len(self.waiting), self.unused
        self.unused = list(unused)
        sides = [[self.one(inner) for inner in node.body]]
        left, self.unused = self.unused, [*unused, *self.waiting[count:]]
        sides.append([self.one(inner) for inner in node.orelse])
        self.unused = [w for w in unused if w in left and w in self.unused]
        self.guarded = before
        loads, stores = ([[s for part in side for s in part[k]] for side in sides] for k in (0, 1))
        if any(not _is_staged(s) for side in loads for s in side):
            raise NotStagedError
        return [_with_body(node, *loads)], [_with_body(node, *stores)]

    def shared(self, target: ast.expr) -> Array | None:
        """The shared array that a target is an element of."""
        if not isinstance(target, ast.Subscript):
            return None
        arrays = [a for a in self.analysis.fact(target.value).arrays if a.space == "shared"]
        return arrays[0] if len(arrays) == 1 else None

    def loads(self, node: ast.expr) -> bool:
        """Whether an expression loads from global memory."""
        return any(touches(self.analysis.accesses(node), "global"))


def _with_body(node: ast.For | ast.If, body: list[ast.stmt], orelse: list[ast.stmt] | None = None) -> ast.stmt:
    """A loop or branch with other statements in it."""
    head = {k: copy.deepcopy(v) for k, v in ast.iter_fields(node) if k not in ("body", "orelse")}
    made = type(node)(**head, body=[copy.deepcopy(s) for s in body], orelse=[copy.deepcopy(s) for s in orelse or []])
    return ast.copy_location(made, node)


def _simplified(node: ast.stmt) -> ast.stmt | None:
    """A branch whose sides do the same is what they do."""
    if not isinstance(node, ast.If):
        return node
    if not node.body and not node.orelse:
        return None
    if [ast.dump(s) for s in node.body] == [ast.dump(s) for s in node.orelse] and len(node.body) == 1:
        return node.body[0]
    if not node.body:
        return ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, []), node)
    return node


def _declare_waiting(analysis: Analysis, name: str, array: Array, extents: tuple[ast.expr, ...]) -> None:
    """`name = cuda.local.array(extents, type)` after the declaration of the shared array that it serves."""
    node = array.node
    assert isinstance(node, ast.Call)
    module = next((n for n in names_in(node.func) if analysis.source.lookup(n) is cuda), "cuda")
    shape = (
        copy.deepcopy(extents[0]) if len(extents) == 1 else ast.Tuple([copy.deepcopy(e) for e in extents], ast.Load())
    )
    made = ast.Assign([ast.Name(name, ast.Store())], call(f"{module}.local.array", shape, node.args[1]))
    for block in analysis.body.walk():
        for i, inner in enumerate(block.body):
            if getattr(inner, "value", None) is node:
                block.body.insert(i + 1, at(made, inner))
                return
    raise AssertionError("a shared array without a declaration")
