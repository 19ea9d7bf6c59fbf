"""Moves global loads in front of a region; the values wait in registers.

`stage` takes those that feed the first defines: `tile[r, t] = a[row + r, t]` becomes a load to a register before the
region and a store within. Loops of constant length are split in two, with an array per thread between them. Nothing is
moved over a barrier of the source, over a store to global memory (arrays may alias) or over a change of what it needs;
what cannot be moved stays as it is.

`peel` moves the loads of a loop's first iterations (Section 4.2, Histogram): if a region begins with a loop that loads
values one by one, the other virtual block would have nothing to do meanwhile.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile

from smmux import cuda
from smmux.base.parsing import expression, statement
from smmux.base.trees import copied, walk
from smmux.compiler.python.call_graph import device_function
from smmux.multiplex.analysis.accesses import Block, Piece, barriers, escaping, touches
from smmux.multiplex.analysis.facts import Array
from smmux.multiplex.analysis.scalars import assigned, exposed
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.find import Span, Usage, find, synchronises
from smmux.rewriting.build import at, behind, call, element, has_docstring, names_in, shell
from smmux.rewriting.draft import Draft, Names
from smmux.source.function_source import FunctionSource, assigned_names

REGISTERS = 64
"""Words per thread that staging may use: as many as the registers of a thread in a block of 1,024 threads, the largest,
on an SM of compute capability 3.0 to 9.0, which has 65,536.
"""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where elements of a shared array wait: a per-thread array with these extents, or a variable if there are none."""

    name: str
    array: Array
    extents: tuple[ast.expr, ...]
    words: int


@dataclass(slots=True)
class Halves:
    """Defines in two halves: what loads, what stores, and the buffers between them.

    staged: there is a load that waits for its store in a register.
    """

    loads: list[ast.stmt] = field(default_factory=list)
    stores: list[ast.stmt] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    staged: bool = False


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
    taken: list[Halves] = []
    block = span.block
    for piece in takewhile(_define, block.pieces[span.start : span.stop]):
        halves = _halves(analysis, names, piece)
        words = sum(buffer.words for h in [*taken, halves] for buffer in h.buffers)
        if words > registers or _conflict(analysis.source, [s for h in taken for s in h.stores], halves.loads):
            break
        taken.append(halves)
    if not any(halves.staged for halves in taken):
        return False
    start = block.body.index(block.pieces[span.start].node)
    block.body[start : start + len(taken)] = [s for h in taken for s in h.loads] + [s for h in taken for s in h.stores]
    for buffer in reversed([b for h in taken for b in h.buffers if b.extents]):
        _declare(analysis, buffer)
    return True


def _halves(analysis: Analysis, names: Names, piece: Piece) -> Halves:
    """The two halves of a statement; one that is not split is a store if it accesses shared memory, else a load."""
    used, splitter = any(touches(piece.events)), Splitter(analysis, names)
    if used and any(touches(piece.events, "global")):
        with suppress(NotStagedError):
            loads, stores = splitter.one(piece.node)
            return Halves(loads, list(map(_simplified, stores)), splitter.buffers, any(map(splitter.staged, loads)))
    return Halves(stores=[piece.node]) if used else Halves(loads=[piece.node])


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
    """Splits one statement; raises `NotStagedError` where that is not safe."""

    def __init__(self, analysis: Analysis, names: Names) -> None:
        self.analysis, self.names = analysis, names
        self.loops: list[tuple[ast.expr, ast.expr, int]] = []  # extent, index, trips
        self.guarded = False
        self.buffers: list[Buffer] = []
        self.kinds: dict[str, tuple[Hashable, ...]] = {}  # of what waits: the array, extents, what it was loaded from
        self.unused: list[Buffer] = []  # by this side of a branch, but by the other one

    def staged(self, node: ast.stmt) -> bool:
        """Whether a statement mentions a register in which something waits."""
        return not names_in(node).isdisjoint(self.kinds)

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
        load = ast.copy_location(ast.Assign([at(put, node)], node.value), node)
        return [load], [ast.copy_location(ast.Assign([target], at(get, node)), node)]

    def wait(self, array: Array, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """A place in registers, to store a value to and to load it from."""
        extents = tuple(extent for extent, _, _ in self.loops)
        index = tuple(i for _, i, _ in self.loops)
        loaded = ast.dump(value.value) if isinstance(value, ast.Subscript) else ""
        kind = (array, *map(ast.dump, extents), "" if extents else loaded)  # a variable has the type of what it is
        same = [b for b in self.unused if self.kinds[b.name] == kind and (extents or loaded)]
        if same:
            name = same[0].name
            self.unused.remove(same[0])
        else:
            full = len(self.analysis.shared) > 1 or "staged" in self.analysis.source.locals
            name = self.names.new(f"staged_{array.name}" if full else "staged")
            self.kinds[name] = kind
            if self.loops or self.guarded:
                words = math.prod(trips for _, _, trips in self.loops)
                self.buffers.append(Buffer(name, array, extents, words))
        if not extents:
            return ast.Name(name, ast.Store()), ast.Name(name, ast.Load())
        return element(name, *index, store=True), element(name, *index)

    def loop(self, node: ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A loop of constant length, as two loops."""
        if node.orelse or not isinstance(node.target, ast.Name) or node.target.id in assigned_names(node.body):
            raise NotStagedError
        self.loops.append(self.counted(node, node.target.id))
        parts = [(loads, list(map(_simplified, stores))) for loads, stores in map(self.one, node.body)]
        self.loops.pop()
        stores = self.with_needs(node, parts)
        return [_with_body(node, [s for loads, _ in parts for s in loads], [])], [_with_body(node, stores, [])]

    def counted(self, node: ast.For, name: str) -> tuple[ast.expr, ast.expr, int]:
        """Extent of the array that holds a value per iteration, index into it, trips."""
        over = self.analysis.trips(node)
        if not over:
            raise NotStagedError
        if isinstance(node.iter, ast.Call) and len(node.iter.args) == 1:
            return node.iter.args[0], ast.Name(name, ast.Load()), len(over)
        index = name if not over.start else f"{name} - {over.start}" if over.start > 0 else f"{name} + {-over.start}"
        index = index if over.step == 1 else f"({index}) // {over.step}"
        return ast.Constant(len(over)), expression(index), len(over)

    def with_needs(self, loop: ast.For, parts: list[tuple[list[ast.stmt], list[ast.stmt]]]) -> list[ast.stmt]:
        """The stores of a loop's body with the computations that their indices need."""
        found: list[ast.stmt] = []
        needed = names_in(*(store for _, stores in parts for store in stores))
        for loads, stores in reversed(parts):
            found[:0] = stores
            for node in reversed(loads):
                if not needed & set(assigned_names([node])) or self.staged(node):
                    continue
                if not isinstance(node, ast.Assign) or self.loads(node.value):
                    raise NotStagedError
                found.insert(0, node)
                needed |= names_in(node.value)
        changing, first = set(assigned_names(loop.body)), set[str]()
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
        count, unused = len(self.buffers), self.unused
        self.unused = list(unused)
        sides = [[self.one(inner) for inner in node.body]]
        left, self.unused = self.unused, [*unused, *self.buffers[count:]]
        sides.append([self.one(inner) for inner in node.orelse])
        self.unused = [b for b in unused if b in left and b in self.unused]
        self.guarded = before
        loads, stores = ([[s for part in side for s in part[k]] for side in sides] for k in (0, 1))
        if not all(self.staged(s) for side in loads for s in side):
            raise NotStagedError
        return _branch(node, *loads), _branch(node, *stores)

    def shared(self, target: ast.expr) -> Array | None:
        """The shared array that a target is an element of."""
        arrays = self.analysis.fact(target.value).arrays if isinstance(target, ast.Subscript) else ()
        shared = [array for array in arrays if array.space == "shared"]
        return shared[0] if len(shared) == 1 else None

    def loads(self, node: ast.expr) -> bool:
        """Whether an expression loads from global memory."""
        return any(touches(self.analysis.accesses(node), "global"))


def _with_body(node: ast.For | ast.If, *lists: list[ast.stmt]) -> ast.stmt:
    """A loop or branch with copies of other statements in it."""
    made = shell(node)
    made.body, made.orelse = ([copied(s) for s in inner] for inner in lists)
    return made


def _branch(node: ast.If, body: list[ast.stmt], orelse: list[ast.stmt]) -> list[ast.stmt]:
    """A branch with other statements in it; nothing, if there are none."""
    if orelse and not body:
        opposite = ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), node.test), [], []), node)
        return [_with_body(opposite, orelse, [])]
    return [_with_body(node, body, orelse)] if body else []


def _simplified(node: ast.stmt) -> ast.stmt:
    """A branch both of whose sides do one and the same thing is what they do."""
    sides = [list(map(ast.dump, side)) for side in (node.body, node.orelse)] if isinstance(node, ast.If) else []
    return node.body[0] if isinstance(node, ast.If) and sides[0] == sides[1] and len(sides[0]) == 1 else node


def _declare(analysis: Analysis, buffer: Buffer) -> None:
    """`name = cuda.local.array(extents, type)` after the declaration of the shared array that a buffer serves."""
    node = buffer.array.node
    assert isinstance(node, ast.Call)
    module = next((n for n in names_in(node.func) if analysis.source.lookup(n) is cuda), "cuda")
    extents = buffer.extents
    shape = extents[0] if len(extents) == 1 else ast.Tuple(list(extents), ast.Load())
    made = ast.Assign([ast.Name(buffer.name, ast.Store())], call(f"{module}.local.array", shape, node.args[1]))
    declared = (n for n in walk(analysis.tree) if isinstance(n, ast.Assign) and n.value is node)
    behind(analysis.tree, next(declared), made)


# -- peeling


PEELED = 16
"""Registers per thread that peeled loads may use: as many as a thread has on a full SM of compute capability 1.3, with
its 16,384 registers and 1,024 threads.
"""


def works(source: FunctionSource, piece: Piece) -> bool:
    """Whether a statement is enough work to overlap with something: a loop, or the call of a device function."""
    return any(
        isinstance(n, ast.For | ast.While) or isinstance(n, ast.Call) and device_function(source, n) is not None
        for n in walk(piece.node)
    )


def peel(draft: Draft) -> None:
    """Peel the first loop with loads of each region that has no work in front of it, in place."""
    analysis = analysed(draft)
    usage = find(analysis, in_turns=True)
    for block in usage.places.walk(analysis.body):
        end = 0
        for span in usage.of(block):
            before = block.pieces[end : span.start]
            if not any(works(draft.source, p) or any(touches(p.events, "global")) for p in before):
                _peel(draft, analysis, span)
            end = span.stop


def _peel(draft: Draft, analysis: Analysis, span: Span) -> None:
    """Peel a loop of one region, if there is one that allows it."""
    for k, piece in enumerate(span.pieces):
        loop = _peelable(analysis, span.pieces[:k], piece)
        if loop is not None:
            loop.split(draft, span.block, span.pieces[0].node)
            draft.changed()
        if loop is not None or any(t.write for t in touches(piece.events, "global")):
            return


def _peelable(analysis: Analysis, before: list[Piece], piece: Piece) -> Peeling | None:
    """The loop of a statement, None unless its loads may be done in front of the statements before it."""
    node, source = piece.node, analysis.source
    trips = analysis.trips(node) if not synchronises(piece) else None
    if trips is None or len(trips) <= PEELED or not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return None
    if not isinstance(node.target, ast.Name) or len(node.iter.args) != 1 or node.orelse:
        return None
    loads = list(touches(piece.events, "global"))
    if len(loads) != 1 or loads[0].write or any(escaping(piece.events)):
        return None
    if any(isinstance(n, ast.Break | ast.Continue) for s in node.body for n in walk(s)):
        return None  # later iterations may not be for loading
    load, counter, earlier = loads[0].node, node.target.id, [p.node for p in before]
    if not isinstance(load, ast.Subscript) or not _every_time(node.body, load):
        return None
    changed = assigned(source, earlier) | set(assigned_names(node.body))
    if (names_in(load) - {counter}) & changed or counter in exposed(source, earlier):
        return None
    return Peeling(node, counter, loads[0].array.name, load, len(trips))


@dataclass(frozen=True, slots=True)
class Peeling:
    """A loop `for counter in range(trips)` with one load from global memory in each iteration."""

    loop: ast.For
    counter: str
    array: str
    load: ast.Subscript
    trips: int

    def split(self, draft: Draft, block: Block, front: ast.stmt) -> None:
        """Put the loads of the first iterations in front of a statement, and what uses them where the loop was."""
        name, loop = draft.names.new("peeled", f"peeled_{self.array}"), self.loop
        index, module = ast.Name(self.counter, ast.Load()), draft.names.module("cuda", cuda)
        put = ast.Assign([element(name, index, store=True)], copied(self.load))
        uses = [copied(s, {id(self.load): at(element(name, index), loop)}) for s in loop.body]
        place = block.body.index(loop)
        block.body[place : place + 1] = [self.over(f"{PEELED}", uses), self.over(f"{PEELED}, {self.trips}", loop.body)]
        place = block.body.index(front) if front is not loop else place
        block.body.insert(place, self.over(f"{PEELED}", [at(put, loop)]))
        declared = statement(f"{name} = {module}.local.array({PEELED}, {self.array}.dtype)")
        draft.tree.body.insert(int(has_docstring(draft.tree)), at(declared, draft.tree.body[0]))

    def over(self, bounds: str, body: list[ast.stmt]) -> ast.For:
        """The loop over other iterations, with another body."""
        made = ast.For(copied(self.loop.target), at(expression(f"range({bounds})"), self.loop), body, [])
        return ast.copy_location(made, self.loop)


def _every_time(body: list[ast.stmt], load: ast.AST) -> bool:
    """Whether an expression is evaluated in every iteration, and stands in the kernel itself."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and any(n is load for n in walk(node)):
            return not any(isinstance(n, ast.IfExp | ast.BoolOp) for n in walk(node))
    return False
