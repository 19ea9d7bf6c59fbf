"""Handles loops and conditions with barriers: what decides how often these are met, and what differs between virtual
blocks.

All threads compute what decides how often barriers are met, whoever's turn it is. Where a loop or condition differs
between virtual blocks, all go through it so that all meet its barriers, but only some take part. A loop goes on as long
as any virtual block needs it; in `for item in range(cuda.blockIdx.x, items, cuda.gridDim.x)` that is virtual block 0,
which makes the most trips.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from smmux import cuda
from smmux.base.parsing import expression, statement
from smmux.base.trees import copied, walk
from smmux.language.kernel_only import Dim3
from smmux.multiplex.analysis.accesses import Block, Piece, escaping, touches
from smmux.multiplex.analysis.facts import Linear, linear, range_bounds, single_values
from smmux.multiplex.analysis.quiet import OF_BLOCKS
from smmux.multiplex.analysis.scalars import Flow, closure, exposed, needed_after
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.virtual.indices import Indices
from smmux.multiplex.regions.find import Usage, synchronises
from smmux.rewriting.build import names_in, surrounding
from smmux.rewriting.draft import Draft
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import BARRIERS, COUNTING, calls
from smmux.source.function_source import FunctionSource, assigned_names

ASSIGNMENTS = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr
DECLARATIONS = (cuda.shared.array, cuda.local.array, cuda.const.array_like)


class Control:
    """The variables that loops and conditions around barriers depend on, and the statements that assign them.

    varying: variables that can differ between virtual blocks. deciding: the others that decide how often barriers are
    met. What depends on varying ones is computed by those virtual blocks that take part.
    """

    def __init__(self, analysis: Analysis, usage: Usage, varying: set[str]) -> None:
        self.analysis, self.source, self.usage, self.varying = analysis, analysis.source, usage, varying
        around = list(_synchronising(analysis.body, usage))
        around += [p for piece in around for side in piece.blocks for p in side.pieces if any(escaping(p.events))]
        met = names_in(*(head for piece in around for head in heads(piece.node)))
        nodes = [node for statement in analysis.body.body for node in walk(statement)]
        self.deciding = closure(met, [(used, changed) for changed, used in _flows(nodes, elements=False)]) - varying

    def differs(self, node: ast.stmt) -> bool:
        """Whether virtual blocks can go different ways at a loop or condition."""
        return bool(names_in(*heads(node)) & self.varying)

    def common(self, piece: Piece) -> bool:
        """Whether a statement without barriers has to be executed by all threads; refused if it must not be."""
        text = isinstance(piece.node, ast.Expr) and isinstance(piece.node.value, ast.Constant)
        return text or self.declares(piece) or self.assigns(piece)

    def declares(self, piece: Piece) -> bool:
        """True for the declaration of an array, or of a view."""
        value = piece.node.value if isinstance(piece.node, ast.Assign) else None
        if not isinstance(value, ast.Call):
            return False
        view = isinstance(value.func, ast.Attribute) and value.func.attr == "view"
        return view or calls(self.source, value, DECLARATIONS)

    def assigns(self, piece: Piece) -> bool:
        """Whether a statement decides how often barriers are met; refused if it accesses arrays as well."""
        if any(escaping(piece.events)):
            what = "leaves or repeats a loop with barriers"
        elif names := set(assigned_names([piece.node])) & self.deciding:
            what = f"computes {', '.join(sorted(names))}, which decides how often barriers are met"
        else:
            return False
        if any(touches(piece.events)) or any(t.write for t in touches(piece.events, "global")):
            why = f"this statement accesses arrays and {what}"
            raise refuse(self.source, piece.node, f"{why}: virtual blocks can take turns only if these are separate")
        return True

    def clobbered(self, pieces: Sequence[Piece]) -> set[str]:
        """Return the variables that all threads assign in every turn, so that one virtual block overwrites the values
        of another.
        """
        names: set[str] = set()
        for piece in pieces:
            if not synchronises(piece):
                names |= set(assigned_names([piece.node])) if self.assigns(piece) else set()
                continue
            if isinstance(piece.node, ast.For):
                names |= names_in(piece.node.target)
            if not self.differs(piece.node):
                names |= set(assigned_names(heads(piece.node)))
            for side in piece.blocks:
                names |= self.clobbered(side.pieces)
        return names


def heads(node: ast.stmt) -> list[ast.expr]:
    """Condition or range of a compound statement."""
    if isinstance(node, ast.For):
        return [node.iter]
    return [node.test] if isinstance(node, ast.If | ast.While) else []


def segments(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Group pieces: each with a barrier alone, and runs without barriers together."""
    runs = itertools.groupby(pieces, lambda piece: piece if synchronises(piece) else None)
    return [list(run) for _, run in runs]


def _synchronising(block: Block, usage: Usage) -> Iterator[Piece]:
    for piece in block.pieces:
        if piece.blocks and (synchronises(piece) or usage.within(piece)):
            yield piece
            for side in piece.blocks:
                yield from _synchronising(side, usage)


def tainted(source: FunctionSource, tree: ast.FunctionDef, seeds: set[str]) -> set[str]:
    """Variables that can differ between virtual blocks: what is computed from their indices, or under such conditions.

    Conditions around barriers do not count: what depends on them is computed by all virtual blocks or not at all.
    """

    def called(node: ast.AST, functions: tuple[object, ...]) -> bool:
        return any(calls(source, inner, functions) for inner in walk(node))

    nodes = list(walk(tree))
    counts = [node for node in nodes if isinstance(node, ASSIGNMENTS) and called(node, COUNTING)]
    seeds = seeds.union(*(changed for changed, _ in _flows(counts)))  # each virtual block has a count of its own
    local = [n for n in nodes if isinstance(n, ast.Assign) and calls(source, n.value, (cuda.local.array,))]
    arrays = set().union(*(changed for changed, _ in _flows(local)))
    flows = list(_flows(nodes))
    for node in nodes:
        if isinstance(node, ast.If | ast.While) and not called(node, BARRIERS):
            flows.append((set(assigned_names([node])), names_in(node.test)))
        elif isinstance(node, ast.Call):
            flows.append((arrays & {a.id for a in node.args if isinstance(a, ast.Name)}, names_in(*node.args)))
    return closure(seeds, flows)


def _flows(nodes: Iterable[ast.AST], elements: bool = True) -> Iterator[Flow]:
    """What assignments do; elements: of an array change it."""
    for node in nodes:
        if isinstance(node, ast.For):
            yield _roots(node.target, elements), names_in(node.iter)
        elif isinstance(node, ASSIGNMENTS):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield set().union(*(_roots(target, elements) for target in targets)), names_in(node.value)


def _roots(target: ast.expr, elements: bool) -> set[str]:
    """Variables that an assignment to a target changes."""
    if isinstance(target, ast.Tuple | ast.List):
        return set().union(*(_roots(item, elements) for item in target.elts))
    if isinstance(target, ast.Subscript):
        return _roots(target.value, elements) if elements else set()
    return names_in(target)


Conditions = tuple[str, ...]
"""What has to be true for a virtual block to take part."""


def under(conditions: Conditions, run: list[ast.stmt]) -> list[ast.stmt]:
    """Statements under the condition that a virtual block takes part."""
    if not conditions or not run:
        return run
    return [surrounding(ast.If(expression(" and ".join(conditions)), run, []), run[0])]


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

    def ways(self, piece: Piece, conditions: Conditions) -> Iterable[Way]:
        """The ways through a statement with barriers whose condition or number of trips differs."""
        node, later = piece.node, self.needed_behind(piece)
        self.keep_apart(piece, later)
        if isinstance(node, ast.If):
            return self.sides(piece, node, conditions)
        for jump in escaping(piece.blocks[0].pieces):
            if jump.kind != "return":
                why = "a loop with barriers whose trips differ between blocks cannot be left or shortened"
                raise refuse(self.source, jump.node, why)
        if isinstance(node, ast.While):
            return [self.repeated(piece, node, conditions)]
        assert isinstance(node, ast.For)
        used = bool(names_in(node.target) & later)
        strided = None if used else self.strided(piece, node, conditions)
        return [strided or self.counted(piece, node, conditions, used)]

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
        test, active = copied(node.test), ""
        if piece.blocks[1].pieces and set(assigned_names([node.test, *node.body])) & names_in(node.test):
            raise refuse(self.source, node, "a condition around barriers is changed by it, or by what stands under it")
        for i, side in enumerate(piece.blocks):
            if not side.pieces:
                continue
            if i:
                known = active if active and self.loads_shared(node.test) else ""  # the other side may store there
                test = ast.UnaryOp(ast.Not(), ast.Name(known, ast.Load()) if known else copied(node.test))
                self.keep_apart(piece, exposed(self.source, side.body))
            active, assigned = self.takes_part(test, conditions, node)
            yield Way(side, active, [assigned])

    def loads_shared(self, test: ast.expr) -> bool:
        """Whether a condition depends on a shared array."""
        found = self.control.analysis.accesses(test)
        return any(any(touches(found, space)) for space in OF_BLOCKS)

    def repeated(self, piece: Piece, node: ast.While, conditions: Conditions, *advance: ast.stmt) -> Way:
        """A while loop goes on as long as any virtual block has to."""
        active, first = self.takes_part(copied(node.test), conditions, node)
        still = ast.BoolOp(ast.And(), [ast.Name(active, ast.Load()), copied(node.test)])
        again = surrounding(ast.Assign([ast.Name(active, ast.Store())], still), node)
        anyone = expression(f"{self.indices.module}.syncthreads_or({active})")
        loop = surrounding(ast.While(anyone, [], []), node)
        if conditions:  # those that do not take part may have nothing to count on
            advance = tuple(under((active,), list(advance)))
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
        start, stop, step = (copied(bound) for bound in bounds)
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [stop])
        begin = surrounding(ast.Assign([ast.Name(name, ast.Store())], start), node)
        advance = surrounding(ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), step), node)
        way = self.repeated(piece, surrounding(ast.While(test, [], []), node), conditions, advance)
        return replace(way, front=[*under(conditions, [begin]), *way.front])

    def strided(self, piece: Piece, node: ast.For, conditions: Conditions) -> Way | None:
        """Write a loop of which only the start differs between virtual blocks, by a constant per block, as the loop of
        block 0.
        """
        bounds = self.bounds(node)
        if bounds is None or names_in(*bounds[1:]) & self.control.varying:
            return None
        if (stride := self.stride(bounds[0])) is None:
            return None
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        indices, counter, (sizes, others) = self.indices, node.target.id, stride
        start = expression(" * ".join([str(indices.merge.n), *sizes, f"{indices.module}.blockIdx.{indices.grid_axis}"]))
        if others.terms or others.constant:
            start = ast.BinOp(start, ast.Add(), others.node())
        over = ast.Call(copied(node.iter.func), [start, *map(copied, bounds[1:])], [])
        first = self.names.new(f"first_{counter}")
        own = surrounding(statement(f"{counter} = {first} + {' * '.join([*sizes, indices.virtual_block])}"), node)
        more = ast.Compare(ast.Name(counter, ast.Load()), [ast.Lt()], [copied(bounds[1])])
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
        if (value := self.control.analysis.integer(node)) is not None:
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
