"""Virtual thread blocks taking turns with shared memory (the paper's Section 4.1, Figure 3).

What lies between regions is done by all virtual blocks at once. A region is done by one after the other: its
statements stand under `if v_tb_id == k`, its barriers are met by all.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from smmux import cuda
from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.blocks import Block, Piece
from smmux.multiplex.borders import is_barrier
from smmux.multiplex.control import Control, heads
from smmux.multiplex.errors import refuse
from smmux.multiplex.names import exposed, names_in
from smmux.multiplex.spans import Spans, synchronises
from smmux.multiplex.strides import Stride, stride
from smmux.multiplex.syntax import Names, at, expression, statement
from smmux.multiplex.virtual import Indices
from smmux.multiplex.walk import Analysis

__all__ = ["Turns"]

DECLARATIONS = (cuda.shared.array, cuda.local.array, cuda.const.array_like)


class Turns:
    """Writes a kernel's statements anew, with regions in turns.

    varying: variables that can differ between virtual blocks.
    """

    def __init__(self, analysis: Analysis, found: Spans, names: Names, indices: Indices, varying: set[str]) -> None:
        self.analysis, self.found, self.names, self.indices = analysis, found, names, indices
        self.n = indices.merge.n
        self.source: FunctionSource = analysis.source
        self.varying = varying
        self.control = Control(self.source, analysis.body, found)
        self.barrier = f"{indices.module}.syncthreads()"
        self.pending = False  # shared memory may still be in use by the virtual block that was last

    def kernel(self) -> None:
        """Rewrite the kernel's body, in place."""
        block = self.analysis.body
        block.body[:] = self.block(block, None)

    # -- outside regions

    def block(self, block: Block, active: str | None) -> list[ast.stmt]:
        """A statement list. active: the variable that says whether the virtual block takes part, None if all do."""
        made: list[ast.stmt] = []
        between: list[Piece] = []
        ranges = dict(self.found.of(block))
        i = 0
        while i < len(block.pieces):
            piece = block.pieces[i]
            if i in ranges:
                self.region(made, between, block.pieces[i : ranges[i]], active)
                between, i = [], ranges[i]
                continue
            i += 1
            if id(piece) in self.found.dropped:
                continue
            if not synchronises(piece) and not self.found.within(piece):
                between.append(piece)
                continue
            made += self.common(between, active)
            between = []
            if is_barrier(piece):
                made.append(piece.node)
                self.pending = False
            else:
                made += self.compound(piece, active)
        return made + self.common(between, active)

    def common(self, pieces: Sequence[Piece], active: str | None) -> list[ast.stmt]:
        """Statements between regions, done by all virtual blocks that take part."""
        return self.guarded(pieces, ast.Name(active, ast.Load()) if active else None)

    def guarded(self, pieces: Sequence[Piece], guard: ast.expr | None) -> list[ast.stmt]:
        """Statements under a condition, but for those that all threads have to execute."""
        if guard is None:
            return [piece.node for piece in pieces]
        made: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for piece in pieces:
            if self.control.assigns(piece) or self.declares(piece.node):
                made += self.under(guard, run)
                run = []
                made.append(copy.deepcopy(piece.node))
            else:
                run.append(copy.deepcopy(piece.node))
        return made + self.under(guard, run)

    def under(self, guard: ast.expr, run: list[ast.stmt]) -> list[ast.stmt]:
        """if guard: run"""
        return [at_place(ast.If(copy.deepcopy(guard), run, []), run[0])] if run else []

    def declares(self, node: ast.stmt) -> bool:
        """True for the declaration of an array, or of a view."""
        value = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(value, ast.Call):
            return False
        if isinstance(value.func, ast.Attribute) and value.func.attr == "view":
            return True
        return any(self.source.resolve(value.func) is function for function in DECLARATIONS)

    def compound(self, piece: Piece, active: str | None) -> list[ast.stmt]:
        """A statement with regions or barriers in it."""
        node = piece.node
        if not isinstance(node, ast.If | ast.For | ast.While):
            raise refuse(self.source, node, "a barrier that returns a value counts the threads of all virtual blocks")
        if isinstance(node, ast.For | ast.While) and node.orelse:
            raise refuse(self.source, node, "else after a loop with barriers is not supported")
        if names_in(*heads(node)) & self.varying:
            return self.diverging(piece, active)
        if isinstance(node, ast.If):
            before = self.pending
            node.body[:] = self.block(piece.blocks[0], active)
            after, self.pending = self.pending, before
            node.orelse[:] = self.block(piece.blocks[1], active)
            self.pending |= after
            return [node]
        self.loop(piece, active)
        return [node]

    def loop(self, piece: Piece, active: str | None) -> None:
        """The body of a loop, in place."""
        self.pending = self.pending or self.found.within(piece)
        assert isinstance(piece.node, ast.For | ast.While)
        piece.node.body[:] = self.inside(piece, active)

    def inside(self, piece: Piece, active: str | None) -> list[ast.stmt]:
        """The body of a loop."""
        return self.block(piece.blocks[0], active)

    # -- what only some virtual blocks do

    def diverging(self, piece: Piece, active: str | None) -> list[ast.stmt]:
        """A statement with barriers whose condition or number of trips differs between virtual blocks."""
        node = piece.node
        if isinstance(node, ast.If):
            return self.choice(piece, node, active)
        for jump in (n for n in ast.walk(node) if isinstance(n, ast.Break | ast.Continue)):
            raise refuse(
                self.source, jump, "a loop with barriers whose trips differ between blocks cannot be left or shortened"
            )
        if isinstance(node, ast.For):
            found = stride(self.analysis, node, self.indices, self.varying)
            if found is not None:
                return self.strided(piece, node, found, active)
            raise refuse(
                self.source,
                node,
                f"the trips of this loop with barriers (`{ast.unparse(node).splitlines()[0]}`) differ between the "
                "virtual blocks of a thread block in a way that cannot be told in advance",
            )
        assert isinstance(node, ast.While)
        return self.repeated(piece, node, active)

    def choice(self, piece: Piece, node: ast.If, active: str | None) -> list[ast.stmt]:
        """if: both sides are gone through, by those virtual blocks that they concern."""
        made: list[ast.stmt] = []
        test = node.test
        for i, side in enumerate(piece.blocks):
            if not side.pieces:
                continue
            if i:
                test = ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))
                if set(assigned_names(node.body)) & names_in(node.test):
                    raise refuse(self.source, node, "a condition around barriers is changed by what stands under it")
            name, first = self.takes_part(test, active, node)
            made += [first, *self.block(side, name)]
        return made

    def takes_part(self, test: ast.expr, active: str | None, place: ast.stmt) -> tuple[str, ast.stmt]:
        """A new variable: whether the virtual block takes part."""
        name = self.names.new("active", "takes_part")
        both = ast.BoolOp(ast.And(), [ast.Name(active, ast.Load()), test]) if active else test
        return name, at_place(ast.Assign([ast.Name(name, ast.Store())], both), place)

    def strided(self, piece: Piece, node: ast.For, found: Stride, active: str | None) -> list[ast.stmt]:
        """A loop over work that virtual blocks share: virtual block 0 makes the most trips, all go along with it."""
        assert isinstance(node.target, ast.Name)
        first = self.names.new(f"first_{node.target.id}")
        own = statement(f"{node.target.id} = {first} + {found.offset}")
        name, test = self.takes_part(
            ast.Compare(ast.Name(node.target.id, ast.Load()), [ast.Lt()], [copy.deepcopy(found.stop)]), active, node
        )
        self.pending = True
        body = [at_place(own, node), test, *self.inside(piece, name)]
        target = ast.Name(first, ast.Store())
        return [at_place(ast.For(target, found.over, body, []), node)]

    def repeated(self, piece: Piece, node: ast.While, active: str | None) -> list[ast.stmt]:
        """A while loop goes on as long as any virtual block has to."""
        name, test = self.takes_part(node.test, active, node)
        still = ast.BoolOp(ast.And(), [ast.Name(name, ast.Load()), copy.deepcopy(node.test)])
        again = at_place(ast.Assign([ast.Name(name, ast.Store())], still), node)
        anyone = expression(f"{self.indices.module}.syncthreads_or({name})")
        self.pending = False
        body = [*self.inside(piece, name), again]
        self.pending = False
        return [test, at_place(ast.While(anyone, body, []), node)]

    # -- regions

    def region(self, made: list[ast.stmt], before: list[Piece], pieces: Sequence[Piece], active: str | None) -> None:
        """A region, by one virtual block after the other, and the statements between it and what has been made."""
        made += self.common(before, active)
        self.take_turns(made, pieces, active)

    def take_turns(self, made: list[ast.stmt], pieces: Sequence[Piece], active: str | None) -> None:
        """A region, behind what has been made."""
        made += [p.node for p in pieces if self.declares(p.node)]
        pieces = self.proper(pieces)
        place = pieces[0].node
        if self.pending:
            made.append(at(statement(self.barrier), place))
        clobbered = sorted(self.clobbered(pieces) & exposed(self.source, [p.node for p in pieces]))
        saved = {name: self.names.new(f"{name}_before") for name in clobbered}
        made += [at(statement(f"{saved[name]} = {name}"), place) for name in clobbered]
        restored = [at(statement(f"{name} = {saved[name]}"), place) for name in clobbered]
        made += self.turns(pieces, active, restored, place)

    def turns(
        self, pieces: Sequence[Piece], active: str | None, restored: list[ast.stmt], place: ast.stmt
    ) -> list[ast.stmt]:
        """All turns of a region: one after the other for two, as a loop for more."""
        last = pieces[-1].node
        if self.n == 2:
            self.pending = True
            return [
                *self.turn_of("0", pieces, active),
                at(statement(self.barrier), last),
                *copy.deepcopy(restored),
                *self.turn_of("1", pieces, active),
            ]
        name = self.names.new("turn", "v_turn")
        loop = statement(f"for {name} in range({self.n}):\n    pass")
        assert isinstance(loop, ast.For)
        at(loop, place)
        loop.body = [
            *copy.deepcopy(restored), *self.turn_of(name, pieces, active), at(statement(self.barrier), last)
        ]  # fmt: skip
        self.names.taken.discard(name)  # free for the next region
        self.pending = False
        return [loop]

    def proper(self, pieces: Sequence[Piece]) -> list[Piece]:
        """A region without declarations, which are no part of any turn."""
        return [p for p in pieces if not self.declares(p.node)]

    def turn_of(self, turn: str, pieces: Sequence[Piece], active: str | None) -> list[ast.stmt]:
        """A region, by one virtual block."""
        return self.turn(pieces, self.guard(turn, active))

    def guard(self, turn: str, active: str | None) -> ast.expr:
        """Whether it is a thread's turn."""
        return expression(f"{self.indices.block} == {turn}" + (f" and {active}" if active else ""))

    def turn(self, pieces: Sequence[Piece], guard: ast.expr) -> list[ast.stmt]:
        """A region, by the virtual block that the guard admits; all meet its barriers."""
        return [s for part in segments(pieces) for s in self.segment(part, guard)]

    def segment(self, part: Sequence[Piece], guard: ast.expr) -> list[ast.stmt]:
        """A barrier, a statement with barriers in it, or a run of others."""
        piece = part[0]
        if not synchronises(piece):
            return self.guarded(part, guard)
        node = piece.node
        if is_barrier(piece):
            return [copy.deepcopy(node)]
        if not isinstance(node, ast.If | ast.For | ast.While):
            raise refuse(self.source, node, "a barrier that returns a value counts the threads of all virtual blocks")
        if isinstance(node, ast.For | ast.While) and node.orelse:
            raise refuse(self.source, node, "else after a loop with barriers is not supported")
        if names_in(*heads(node)) & self.varying:
            raise refuse(
                self.source,
                node,
                f"`{ast.unparse(node).splitlines()[0]}` stands around a barrier of a region and differs between the "
                "virtual blocks of a thread block",
            )
        made = copy.copy(node)
        if isinstance(made, ast.For):
            made.target, made.iter = copy.deepcopy(made.target), copy.deepcopy(made.iter)
        else:
            made.test = copy.deepcopy(made.test)
        made.body = self.turn(piece.blocks[0].pieces, guard) or [at(ast.Pass(), node)]
        made.orelse = self.turn(piece.blocks[1].pieces, guard)
        return [made]

    def clobbered(self, pieces: Sequence[Piece]) -> set[str]:
        """Variables that all threads assign in a turn, whoever's it is."""
        found: set[str] = set()
        for piece in pieces:
            if not synchronises(piece):
                if self.control.assigns(piece):
                    found |= set(assigned_names([piece.node]))
                continue
            if isinstance(piece.node, ast.For):
                found |= names_in(piece.node.target)
            for side in piece.blocks:
                found |= self.clobbered(side.pieces)
        return found


def segments(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces by barriers: each that has one alone, runs of others together."""
    found: list[list[Piece]] = []
    for piece in pieces:
        if synchronises(piece) or not found or synchronises(found[-1][0]):
            found.append([])
        found[-1].append(piece)
    return found


def at_place(node: ast.stmt, place: ast.stmt) -> ast.stmt:
    """A new statement around others, its own parts without a place put where another statement is."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node
