"""Loops and conditions with barriers that differ between virtual blocks: all go through them, some take part."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.analysis.accesses import Block, Piece, escaping
from smmux.multiplex.analysis.scalars import exposed, names_in
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.virtual.indices import Indices
from smmux.multiplex.forms.virtual.strides import Stride, counted, stride
from smmux.multiplex.syntax.build import expression, statement
from smmux.multiplex.syntax.draft import Names
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["Diverging", "at_place"]

Inside = Callable[[Piece, Block, str | None], list[ast.stmt]]
"""What writes a statement list of a statement, for virtual blocks for which a condition is true."""


class Diverging:
    """The part of `Turns` that deals with what only some virtual blocks of a thread block do."""

    source: FunctionSource
    analysis: Analysis
    names: Names
    indices: Indices
    varying: set[str]
    pending: bool
    following: list[ast.stmt]

    def clobbered(self, pieces: Sequence[Piece]) -> set[str]:
        """Variables that all threads assign."""
        raise NotImplementedError

    def diverging(self, piece: Piece, active: str | None, inside: Inside) -> list[ast.stmt]:
        """A statement with barriers whose condition or number of trips differs between virtual blocks."""
        node = piece.node
        self.keep_apart(piece, self.following)
        if isinstance(node, ast.If):
            return self.choice(piece, node, active, inside)
        for jump in escaping(piece.blocks[0].events):
            if jump.kind != "return":
                why = "a loop with barriers whose trips differ between blocks cannot be left or shortened"
                raise refuse(self.source, jump.node, why)
        if isinstance(node, ast.While):
            return self.repeated(piece, node, active, inside)
        assert isinstance(node, ast.For)
        found = stride(self.analysis, node, self.indices, self.varying)
        if found is not None and not self.used_later(node.target):
            return self.strided(piece, node, found, active, inside)
        return self.counted(piece, node, active, inside)

    def keep_apart(self, piece: Piece, later: list[ast.stmt]) -> None:
        """Refuse what would change variables of virtual blocks that take no part."""
        assigned = {name for side in piece.blocks for name in self.clobbered(side.pieces)}
        if lost := sorted(assigned & exposed(self.source, later)):
            raise refuse(
                self.source,
                piece.node,
                f"{', '.join(lost)} decides how often barriers are met, is used later, and is assigned under "
                f"`{self.source.line(piece.node.lineno).strip()}`, which differs between virtual blocks",
            )

    def choice(self, piece: Piece, node: ast.If, active: str | None, inside: Inside) -> list[ast.stmt]:
        """if: both sides are gone through, by those virtual blocks that they concern."""
        made: list[ast.stmt] = []
        test = copy.deepcopy(node.test)
        if piece.blocks[1].pieces and set(assigned_names([node.test, *node.body])) & names_in(node.test):
            raise refuse(self.source, node, "a condition around barriers is changed by it, or by what stands under it")
        for i, side in enumerate(piece.blocks):
            if not side.pieces:
                continue
            if i:
                test = ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))
                self.keep_apart(piece, [p.node for p in side.pieces])
            name, first = self.takes_part(test, active, node)
            made += [first, *inside(piece, side, name)]
        return made

    def takes_part(self, test: ast.expr, active: str | None, place: ast.stmt) -> tuple[str, ast.stmt]:
        """A new variable: whether the virtual block takes part."""
        name = self.names.new("active", "takes_part")
        parts = [*(expression(part) for part in active.split(" and ")), test] if active else [test]
        both = ast.BoolOp(ast.And(), parts) if active else test
        return name, at_place(ast.Assign([ast.Name(name, ast.Store())], both), place)

    def strided(self, piece: Piece, node: ast.For, found: Stride, active: str | None, inside: Inside) -> list[ast.stmt]:
        """A loop over work that virtual blocks share: virtual block 0 makes the most trips, all go along with it."""
        assert isinstance(node.target, ast.Name)
        first = self.names.new(f"first_{node.target.id}")
        own = statement(f"{node.target.id} = {first} + {found.offset}")
        name, test = self.takes_part(
            ast.Compare(ast.Name(node.target.id, ast.Load()), [ast.Lt()], [copy.deepcopy(found.stop)]), active, node
        )
        self.pending = True
        body = [at_place(own, node), test, *inside(piece, piece.blocks[0], name)]
        target = ast.Name(first, ast.Store())
        return [at_place(ast.For(target, found.over, body, []), node)]

    def used_later(self, counter: ast.expr) -> set[str]:
        """Of a loop's counter: virtual blocks that only go along see it run on behind their last trip."""
        return names_in(counter) & exposed(self.source, self.following)

    def counted(self, piece: Piece, node: ast.For, active: str | None, inside: Inside) -> list[ast.stmt]:
        """Any other loop over a range: as a while loop."""
        found = counted(self.analysis, node, self.indices)
        if self.used_later(node.target):
            why = "its counter is used behind it, and virtual blocks that go along count further than their own trips"
        elif found is None or names_in(node.target, *found[1:]) & set(assigned_names(node.body)):
            why = "its trips differ between the virtual blocks of a thread block in a way that cannot be followed"
        else:
            why = ""
        if found is None or why:
            line = self.source.line(node.lineno).strip()
            raise refuse(self.source, node, f"this loop with barriers (`{line}`) cannot be shared: {why}")
        start, stop, step = (copy.deepcopy(part) for part in found)
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [stop])
        loop = at_place(ast.While(test, [], []), node)
        assert isinstance(loop, ast.While)
        begin = at_place(ast.Assign([ast.Name(name, ast.Store())], start), node)
        advance = at_place(ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), step), node)
        return [begin, *self.repeated(piece, loop, active, inside, advance)]

    def repeated(
        self, piece: Piece, node: ast.While, active: str | None, inside: Inside, *advance: ast.stmt
    ) -> list[ast.stmt]:
        """A while loop goes on as long as any virtual block has to."""
        name, test = self.takes_part(copy.deepcopy(node.test), active, node)
        still = ast.BoolOp(ast.And(), [ast.Name(name, ast.Load()), copy.deepcopy(node.test)])
        again = at_place(ast.Assign([ast.Name(name, ast.Store())], still), node)
        anyone = expression(f"{self.indices.module}.syncthreads_or({name})")
        self.pending = False
        body = [*inside(piece, piece.blocks[0], name), *advance, again]
        self.pending = False
        return [test, at_place(ast.While(anyone, body, []), node)]


def at_place(node: ast.stmt, place: ast.stmt) -> ast.stmt:
    """A new statement around others, its own parts without a place put where another statement is."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node
