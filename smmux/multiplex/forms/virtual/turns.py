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
from smmux.multiplex.analysis.accesses import Block, Piece
from smmux.multiplex.analysis.scalars import exposed, names_in
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.virtual.control import Control, heads
from smmux.multiplex.forms.virtual.indices import Indices
from smmux.multiplex.forms.virtual.uneven import Diverging, at_place
from smmux.multiplex.regions.find import Usage, is_barrier, synchronises
from smmux.multiplex.syntax.build import at, expression, shell, statement
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import COUNTING, calls

__all__ = ["Turns"]

DECLARATIONS = (cuda.shared.array, cuda.local.array, cuda.const.array_like)


class Turns(Diverging):
    """Writes a kernel's statements anew, with regions in turns.

    varying: variables that can differ between virtual blocks.
    """

    def __init__(self, draft: Draft, analysis: Analysis, found: Usage, indices: Indices, varying: set[str]) -> None:
        self.draft, self.analysis, self.found, self.names, self.indices = draft, analysis, found, draft.names, indices
        self.n = indices.merge.n
        self.source: FunctionSource = analysis.source
        self.varying = varying
        self.control = Control(self.source, analysis.body, found, varying)
        self.barrier = f"{indices.module}.syncthreads()"
        self.pending = False  # shared memory may still be in use by the virtual block that was last
        self.following: list[ast.stmt] = []  # statements that can be executed after the one at hand

    def kernel(self) -> None:
        """Rewrite the kernel's body, in place."""
        block = self.analysis.body
        block.body[:] = self.block(block, None)

    # -- outside regions

    def block(self, block: Block, active: str | None) -> list[ast.stmt]:
        """A statement list. active: the variable that says whether the virtual block takes part, None if all do."""
        made: list[ast.stmt] = []
        between: list[Piece] = []
        ranges = {span.start: span.stop for span in self.found.of(block)}
        i = 0
        while i < len(block.pieces):
            piece = block.pieces[i]
            if i in ranges:
                self.region(made, between, block.pieces[i : ranges[i]], active)
                between, i = [], ranges[i]
                continue
            i += 1
            if piece in self.found.superfluous:
                continue
            if not synchronises(piece) and not self.found.within(piece):
                between.append(piece)
                continue
            made += self.common(between, active)
            between = []
            if is_barrier(piece):
                made.append(piece.node)
                self.pending = False
                continue
            if (call := self.counts(piece.node)) is not None:
                for turn in range(self.n):
                    made += self.counted_by(piece.node, call, self.guard(str(turn), active))
                self.pending = False
                continue
            outer = self.following
            self.following = [p.node for p in block.pieces[i:]] + outer
            made += self.compound(piece, active)
            self.following = outer
        return made + self.common(between, active)

    def common(self, pieces: Sequence[Piece], active: str | None) -> list[ast.stmt]:
        """Statements between regions, done by all virtual blocks that take part."""
        return self.guarded(pieces, active)

    def guarded(self, pieces: Sequence[Piece], guard: str | None) -> list[ast.stmt]:
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

    def under(self, guard: str, run: list[ast.stmt]) -> list[ast.stmt]:
        """if guard: run"""
        return [at_place(ast.If(expression(guard), run, []), run[0])] if run else []

    def declares(self, node: ast.stmt) -> bool:
        """True for the declaration of an array, or of a view."""
        value = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(value, ast.Call):
            return False
        if isinstance(value.func, ast.Attribute) and value.func.attr == "view":
            return True
        return calls(self.source, value, DECLARATIONS)

    def compound(self, piece: Piece, active: str | None) -> list[ast.stmt]:
        """A statement with regions or barriers in it."""
        node = piece.node
        self.check(node)
        assert isinstance(node, ast.If | ast.For | ast.While)
        if names_in(*heads(node)) & self.varying:
            return self.diverging(piece, active, self.inside)
        if isinstance(node, ast.If):
            before = self.pending
            node.body[:] = self.block(piece.blocks[0], active)
            after, self.pending = self.pending, before
            node.orelse[:] = self.block(piece.blocks[1], active)
            self.pending |= after
            return [node]
        self.pending = self.pending or self.found.within(piece)
        node.body[:] = self.inside(piece, piece.blocks[0], active)
        return [node]

    def check(self, node: ast.stmt) -> None:
        """Refuse statements with barriers in them that are no loop or condition."""
        if not isinstance(node, ast.If | ast.For | ast.While):
            why = "a barrier that returns a value counts the threads of all virtual blocks"
            raise refuse(self.source, node, why)
        if any(calls(self.source, n, COUNTING) for head in heads(node) for n in ast.walk(head)):
            why = "a condition on threads of the block counts those of all virtual blocks; assign it to a variable"
            raise refuse(self.source, node, why)
        if isinstance(node, ast.For | ast.While) and node.orelse:
            raise refuse(self.source, node, "else after a loop with barriers is not supported")

    def inside(self, piece: Piece, block: Block, active: str | None) -> list[ast.stmt]:
        """A statement list of a statement with regions or barriers."""
        outer = self.following
        if piece.loops:
            self.following = [p.node for p in block.pieces] + outer
        made = self.block(block, active)
        self.following = outer
        return made

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

    def guard(self, turn: str, active: str | None) -> str:
        """Whether it is a thread's turn."""
        return f"{self.indices.block} == {turn}" + (f" and {active}" if active else "")

    def turn(self, pieces: Sequence[Piece], guard: str) -> list[ast.stmt]:
        """A region, by the virtual block for which the guard is true; all meet its barriers."""
        made: list[ast.stmt] = []
        done = 0
        outer = self.following
        for part in segments(pieces):
            done += len(part)
            self.following = [p.node for p in pieces[done:]] + outer
            made += self.segment(part, guard)
        self.following = outer
        return made

    def segment(self, part: Sequence[Piece], guard: str) -> list[ast.stmt]:
        """A barrier, a statement with barriers in it, or a run of others."""
        piece = part[0]
        node = piece.node
        if not synchronises(piece):
            return self.guarded(part, guard)
        if is_barrier(piece):
            return [copy.deepcopy(node)]
        if (call := self.counts(node)) is not None:
            return self.counted_by(node, call, guard)
        self.check(node)

        def inside(piece: Piece, block: Block, guard: str | None) -> list[ast.stmt]:
            assert guard is not None
            outer = self.following
            if piece.loops:
                self.following = [p.node for p in block.pieces] + outer
            made = self.turn(block.pieces, guard)
            self.following = outer
            return made

        if names_in(*heads(node)) & self.varying:
            return self.diverging(piece, guard, inside)
        assert isinstance(node, ast.If | ast.For | ast.While)
        made = shell(node)
        made.body = inside(piece, piece.blocks[0], guard) or [at(ast.Pass(), node)]
        made.orelse = inside(piece, piece.blocks[1], guard)
        return [made]

    def counts(self, node: ast.stmt) -> ast.Call | None:
        """The barrier of a statement `name = cuda.syncthreads_count(predicate)`, or of its like."""
        value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        simple = not isinstance(node, ast.Assign) or isinstance(node.targets[0], ast.Name) and len(node.targets) == 1
        if not isinstance(value, ast.Call) or not simple or not calls(self.source, value, COUNTING):
            return None
        return value if len(value.args) == 1 and not value.keywords else None

    def counted_by(self, node: ast.stmt, call: ast.Call, guard: str) -> list[ast.stmt]:
        """A barrier that counts threads of one virtual block only."""
        predicate = copy.deepcopy(call.args[0])
        if self.source.resolve(call.func) is cuda.syncthreads_and:
            own: ast.expr = ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), expression(guard)), predicate])
        else:
            own = ast.BoolOp(ast.And(), [expression(guard), predicate])
        counted = ast.Call(copy.deepcopy(call.func), [own], [])
        if isinstance(node, ast.Expr):
            return [at_place(ast.Expr(counted), node)]
        assert isinstance(node, ast.Assign)
        name = self.names.new("counted", "counted_threads")
        mine = at_place(ast.Assign(copy.deepcopy(node.targets), ast.Name(name, ast.Load())), node)
        return [at_place(ast.Assign([ast.Name(name, ast.Store())], counted), node), *self.under(guard, [mine])]

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
            if not names_in(*heads(piece.node)) & self.varying:
                found |= set(assigned_names(heads(piece.node)))
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
