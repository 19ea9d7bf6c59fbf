"""Loops and conditions with barriers that differ between virtual blocks: all go through them, some take part.

Where the blocks of a grid share work, as in `for item in range(cuda.blockIdx.x, items, cuda.gridDim.x)`, virtual block
0 makes the most trips. Any other loop goes on as long as any virtual block has to.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from smmux.compiler.frontend.source import assigned_names
from smmux.language import Dim3
from smmux.multiplex.analysis.accesses import Block, Piece, escaping
from smmux.multiplex.analysis.facts import Linear, linear, range_bounds, single_values
from smmux.multiplex.analysis.scalars import exposed, needed_after
from smmux.multiplex.forms.virtual.control import Control
from smmux.multiplex.forms.virtual.indices import Indices
from smmux.multiplex.syntax.build import expression, names_in, statement, surrounding
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.refusals import refuse

Conditions = tuple[str, ...]
"""What has to be true for a virtual block to take part."""


@dataclass(frozen=True, slots=True)
class Way:
    """A statement list that all virtual blocks go through, and some take part in.

    active: the variable that says whether one takes part. front: statements in front of the list. loop: what goes
    through it again and again, if anything. head, tail: statements around those of the list.
    """

    block: Block
    active: str
    front: list[ast.stmt] = field(default_factory=list)
    loop: ast.For | ast.While | None = None
    head: list[ast.stmt] = field(default_factory=list)
    tail: list[ast.stmt] = field(default_factory=list)

    @property
    def synchronised(self) -> bool:
        """Whether there is a barrier before each trip, and behind the last one: a while loop asks all threads there."""
        return isinstance(self.loop, ast.While)


class Uneven:
    """Finds how all virtual blocks can go through what differs between them."""

    def __init__(self, draft: Draft, indices: Indices, control: Control) -> None:
        self.source, self.names, self.indices, self.control = draft.source, draft.names, indices, control
        self.tree, self.values = draft.tree, single_values(draft.source, draft.tree)

    def ways(self, piece: Piece, conditions: Conditions) -> Iterator[Way]:
        """The ways through a statement with barriers whose condition or number of trips differs."""
        node, later = piece.node, self.needed_behind(piece)
        self.keep_apart(piece, later)
        if isinstance(node, ast.If):
            yield from self.sides(piece, node, conditions)
            return
        for jump in escaping(piece.blocks[0].pieces):
            if jump.kind != "return":
                why = "a loop with barriers whose trips differ between blocks cannot be left or shortened"
                raise refuse(self.source, jump.node, why)
        if isinstance(node, ast.While):
            yield self.repeated(piece, node, conditions)
            return
        assert isinstance(node, ast.For)
        used = bool(names_in(node.target) & later)
        strided = None if used else self.strided(piece, node, conditions)
        yield strided or self.counted(piece, node, conditions, used)

    def needed_behind(self, piece: Piece) -> set[str]:
        """Variables whose values are needed behind a statement."""
        block = next(block for block in self.control.analysis.body.walk() if piece in block.pieces)
        return needed_after(self.source, self.tree, block.body, block.pieces.index(piece) + 1)

    def keep_apart(self, piece: Piece, later: set[str]) -> None:
        """Refuse what would change variables of virtual blocks that take no part."""
        assigned = {name for side in piece.blocks for name in self.control.clobbered(side.pieces)}
        if lost := sorted(assigned & later):
            under = f"`{self.source.line(piece.node.lineno).strip()}`, which differs between virtual blocks"
            why = f"decides how often barriers are met, is used later, and is assigned under {under}"
            raise refuse(self.source, piece.node, f"{', '.join(lost)} {why}")

    def takes_part(self, test: ast.expr, conditions: Conditions, place: ast.stmt) -> tuple[str, ast.stmt]:
        """A new variable: whether the virtual block takes part."""
        name = self.names.new("active", "takes_part")
        both = ast.BoolOp(ast.And(), [*map(expression, conditions), test]) if conditions else test
        return name, surrounding(ast.Assign([ast.Name(name, ast.Store())], both), place)

    def sides(self, piece: Piece, node: ast.If, conditions: Conditions) -> Iterator[Way]:
        """if: both sides, each for those virtual blocks that it concerns."""
        test = copy.deepcopy(node.test)
        if piece.blocks[1].pieces and set(assigned_names([node.test, *node.body])) & names_in(node.test):
            raise refuse(self.source, node, "a condition around barriers is changed by it, or by what stands under it")
        for i, side in enumerate(piece.blocks):
            if not side.pieces:
                continue
            if i:
                test = ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))
                self.keep_apart(piece, exposed(self.source, side.body))
            active, assigned = self.takes_part(test, conditions, node)
            yield Way(side, active, [assigned])

    def repeated(self, piece: Piece, node: ast.While, conditions: Conditions, *advance: ast.stmt) -> Way:
        """A while loop goes on as long as any virtual block has to."""
        active, first = self.takes_part(copy.deepcopy(node.test), conditions, node)
        still = ast.BoolOp(ast.And(), [ast.Name(active, ast.Load()), copy.deepcopy(node.test)])
        again = surrounding(ast.Assign([ast.Name(active, ast.Store())], still), node)
        anyone = expression(f"{self.indices.module}.syncthreads_or({active})")
        loop = surrounding(ast.While(anyone, [], []), node)
        return Way(piece.blocks[0], active, [first], loop, [], [*advance, again])

    # -- loops over ranges

    def counted(self, piece: Piece, node: ast.For, conditions: Conditions, used: bool) -> Way:
        """Any loop over a range: as a while loop. used: its counter is needed behind it."""
        bounds = self.bounds(node)
        if used or bounds is None or names_in(node.target, *bounds[1:]) & set(assigned_names(node.body)):
            why = "its trips differ between the virtual blocks of a thread block in a way that cannot be followed"
            if used:
                further = "virtual blocks that go along count further than their own trips"
                why = f"its counter is used behind it, and {further}"
            line = self.source.line(node.lineno).strip()
            raise refuse(self.source, node, f"this loop with barriers (`{line}`) cannot be shared: {why}")
        start, stop, step = (copy.deepcopy(bound) for bound in bounds)
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [stop])
        begin = surrounding(ast.Assign([ast.Name(name, ast.Store())], start), node)
        advance = surrounding(ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), step), node)
        way = self.repeated(piece, surrounding(ast.While(test, [], []), node), conditions, advance)
        return replace(way, front=[begin, *way.front])

    def strided(self, piece: Piece, node: ast.For, conditions: Conditions) -> Way | None:
        """A loop whose start alone differs between virtual blocks, by a constant per block: as that of block 0."""
        bounds = self.bounds(node)
        if bounds is None or names_in(*bounds[1:]) & self.control.varying:
            return None
        stride = self.stride(bounds[0])
        if stride is None:
            return None
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        indices, counter, (sizes, others) = self.indices, node.target.id, stride
        start = expression(" * ".join([str(indices.merge.n), *sizes, f"{indices.module}.blockIdx.{indices.grid_axis}"]))
        if others.terms or others.constant:
            start = ast.BinOp(start, ast.Add(), others.node())
        over = ast.Call(copy.deepcopy(node.iter.func), [start, *map(copy.deepcopy, bounds[1:])], [])
        first = self.names.new(f"first_{counter}")
        own = surrounding(statement(f"{counter} = {first} + {' * '.join([*sizes, indices.virtual_block])}"), node)
        more = ast.Compare(ast.Name(counter, ast.Load()), [ast.Lt()], [copy.deepcopy(bounds[1])])
        active, assigned = self.takes_part(more, conditions, node)
        loop = surrounding(ast.For(ast.Name(first, ast.Store()), over, [], []), node)
        return Way(piece.blocks[0], active, [], loop, [own, assigned])

    def stride(self, start: ast.expr) -> tuple[list[str], Linear] | None:
        """The factors by which a value grows from block to block, and its part that is the same in all of them."""
        index = self.indices.block_index
        form = linear(start, self.control.analysis.integer, self.values)
        own = [text for text in form.terms if index in names_in(expression(text))]
        others = Linear({text: f for text, f in form.terms.items() if text not in own}, form.constant)
        if len(own) != 1 or form.terms[own[0]] <= 0 or names_in(others.node()) & self.control.varying:
            return None
        factors = _factors(expression(own[0]))
        sizes = [f for f in factors if not (isinstance(f, ast.Name) and f.id == index)]
        if len(sizes) != len(factors) - 1 or not all(map(self.positive, sizes)):
            return None
        return [str(form.terms[own[0]])] * (form.terms[own[0]] != 1) + [ast.unparse(size) for size in sizes], others

    def bounds(self, node: ast.For) -> tuple[ast.expr, ast.expr, ast.expr] | None:
        """Start, stop and positive step of a loop over a range, None for other loops."""
        bounds = range_bounds(self.source, node)
        return bounds if bounds is not None and self.positive(bounds[2]) else None

    def positive(self, node: ast.expr) -> bool:
        """Whether an expression is certainly positive: constants, sizes of grid and block, their products and sums."""
        value = self.control.analysis.integer(node)
        if value is not None:
            return value > 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
            return self.positive(node.left) and self.positive(node.right)
        if isinstance(node, ast.Attribute):
            whole = self.source.resolve(node.value)
            return isinstance(whole, Dim3) and whole.name in ("gridDim", "blockDim")
        if isinstance(node, ast.Name):
            known = self.values.get(node.id)
            return node.id == self.indices.virtual_size or known is not None and self.positive(known)
        return False


def _factors(node: ast.expr) -> list[ast.expr]:
    """The factors of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) + _factors(node.right)
    return [node]
