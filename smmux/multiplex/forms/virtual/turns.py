"""Virtual thread blocks taking turns with shared memory (the paper's Section 4.1, Figure 3).

What lies between regions is done by all virtual blocks at once. A region is done by one after the other: its
statements stand under `if v_tb_id == k`, its barriers are met by all. Beside a region of one of two virtual blocks the
other can do what stands in front of it (Section 4.2, Figure 5).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from smmux import cuda
from smmux.base.parsing import expression, statement
from smmux.base.trees import copied, walk
from smmux.multiplex.analysis.accesses import Block, Loop, Piece, escaping, touches
from smmux.multiplex.analysis.scalars import exposed
from smmux.multiplex.forms.virtual.control import Conditions, Control, Uneven, heads, segments, under
from smmux.multiplex.forms.virtual.in_use import InUse
from smmux.multiplex.forms.virtual.indices import Indices
from smmux.multiplex.regions.find import is_barrier, synchronises
from smmux.multiplex.regions.loads import works
from smmux.rewriting.build import at, names_in, shell, surrounding
from smmux.rewriting.draft import Draft
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import COUNTING, calls
from smmux.source.function_source import assigned_names

Write = Callable[[Block, Conditions], list[ast.stmt]]
"""What writes a statement list anew for the virtual blocks that take part: outside regions or in one."""


class Turns:
    """Writes a kernel's statements anew, with regions in turns.

    overlap: what finds work for one virtual block in the turn of the other, if there is to be any.
    """

    def __init__(self, draft: Draft, indices: Indices, control: Control, overlap: Overlap | None) -> None:
        self.source, self.names, self.usage = draft.source, draft.names, control.usage
        self.indices, self.control, self.overlap = indices, control, overlap
        self.uneven = Uneven(draft, indices, control)
        self.n = indices.merge.n
        self.barrier = f"{indices.module}.syncthreads()"
        self.in_use = InUse()

    # -- outside regions

    def outside(self, block: Block, conditions: Conditions) -> list[ast.stmt]:
        """A statement list outside regions."""
        made: list[ast.stmt] = []
        between: list[Piece] = []
        stops = {span.start: span.stop for span in self.usage.of(block)}
        stop = 0  # of the last region
        for i, piece in enumerate(block.pieces):
            if i in stops:
                stop = stops[i]
                self.region(made, between, block.pieces[i:stop], conditions)
                between = []
            elif i >= stop and (synchronises(piece) or self.usage.within(piece)):
                if piece not in self.usage.superfluous:
                    made += [*self.guarded(between, conditions), *self.meeting(piece, conditions)]
                    between = []
            elif i >= stop:
                between.append(piece)
        return made + self.guarded(between, conditions)

    def meeting(self, piece: Piece, conditions: Conditions) -> list[ast.stmt]:
        """A statement with a barrier or a region in it."""
        call = self.counts(piece.node)
        if not is_barrier(piece) and call is None:
            return self.compound(piece, conditions, self.outside)
        self.in_use.barrier()
        if call is None:
            return [piece.node]
        turns = (self.in_turn(str(turn), conditions) for turn in range(self.n))
        return [node for turn in turns for node in self.counted_by(piece.node, call, turn)]

    def guarded(self, pieces: Sequence[Piece], conditions: Conditions) -> list[ast.stmt]:
        """Statements for the virtual blocks that take part, but for those that all threads have to execute."""
        if any(escaping(pieces)):
            self.in_use.jump()
        if not conditions:
            return [piece.node for piece in pieces]
        for piece in pieces:
            self.refuse_exchange(piece)
        made: list[ast.stmt] = []
        for common, run in itertools.groupby(pieces, lambda piece: self.for_all(piece, conditions)):
            nodes = [copied(piece.node) for piece in run]
            made += nodes if common else under(conditions, nodes)
        return made

    def for_all(self, piece: Piece, conditions: Conditions) -> bool:
        """Whether all threads execute a statement, also those of virtual blocks that the grid lacks.

        These do not come to a `return` that depends on the virtual block: what it asks for is not known of them.
        """
        jumps = {jump.kind for jump in escaping(piece.events)}
        if conditions == self.indices.in_grid and jumps == {"return"} and names_in(piece.node) & self.control.varying:
            return False
        return self.control.common(piece)

    def refuse_exchange(self, piece: Piece) -> None:
        """A name that is now one array and then another cannot be so for one virtual block alone."""
        analysis = self.control.analysis
        stores = analysis.scopes[()].stores
        for name in sorted(set(assigned_names([piece.node]))):
            fact = analysis.variable(name)
            if fact is not None and fact.rank and fact.shared and len(stores.get(name, [])) > 1:
                why = f"{name!r} is one array now and then another, and would be so for one virtual block alone"
                raise refuse(self.source, piece.node, f"{why}; use one array with an axis more")

    def compound(self, piece: Piece, conditions: Conditions, write: Write) -> list[ast.stmt]:
        """A loop or condition with regions or barriers in it; write: for what is in it."""
        node = piece.node
        if not isinstance(node, ast.If | ast.For | ast.While):
            raise refuse(self.source, node, "a barrier that returns a value counts the threads of all virtual blocks")
        if any(calls(self.source, n, COUNTING) for head in heads(node) for n in walk(head)):
            why = "a condition on threads of the block counts those of all virtual blocks; assign it to a variable"
            raise refuse(self.source, node, why)
        regions = self.usage.within(piece)
        if isinstance(node, ast.For | ast.While):
            if node.orelse:
                raise refuse(self.source, node, "else after a loop with barriers is not supported")
            if regions:
                self.in_use.region()  # of the trip before
        if self.control.differs(node):
            return self.shared(piece, conditions, write)
        made = shell(node)
        if isinstance(node, ast.If):
            with self.in_use.branch() as other_side:
                made.body = write(piece.blocks[0], conditions) or [at(ast.Pass(), node)]
                other_side()
                made.orelse = write(piece.blocks[1], conditions)
            return [made]
        always = any(isinstance(event, Loop) and event.always for event in piece.events)
        with self.in_use.loop(regions, always):
            made.body = write(piece.blocks[0], conditions) or [at(ast.Pass(), node)]
        return [made]

    def shared(self, piece: Piece, conditions: Conditions, write: Write) -> list[ast.stmt]:
        """A loop or condition that differs between virtual blocks: all go through it."""
        made: list[ast.stmt] = []
        for way in self.uneven.ways(piece, conditions):
            with self.in_use.shared(way.loop is not None, way.synchronised):
                body = [*way.head, *write(way.block, (way.active,)), *way.tail]
            made += way.front
            if way.loop is None:
                made += body
            else:
                way.loop.body = body
                made.append(way.loop)
        return made

    # -- regions

    def region(
        self, made: list[ast.stmt], before: list[Piece], pieces: Sequence[Piece], conditions: Conditions
    ) -> None:
        """A region behind what has been made, by one virtual block after the other, and the statements before it."""
        declarations = [p.node for p in pieces if self.control.declares(p)]
        pieces = [p for p in pieces if not self.control.declares(p)]
        first = self.in_use.region()
        task = self.overlap.task(before, pieces, first) if self.overlap else None
        made += self.guarded(before[: task.start] if task else before, conditions)
        if task is not None:
            self.alone(made, "0", copied(task.run), conditions)
        front = pieces[0].node
        made += declarations
        if self.in_use.now:
            made.append(at(statement(self.barrier), front))
        clobbered = sorted(self.control.clobbered(pieces) & exposed(self.source, [p.node for p in pieces]))
        saved = {name: self.names.new(f"{name}_before") for name in clobbered}
        made += [at(statement(f"{saved[name]} = {name}"), front) for name in clobbered]
        restored = [at(statement(f"{name} = {saved[name]}"), front) for name in clobbered]
        made += self.turns(pieces, conditions, restored, task)

    def turns(
        self, pieces: Sequence[Piece], conditions: Conditions, restored: list[ast.stmt], task: Task | None
    ) -> list[ast.stmt]:
        """All turns of a region: one after the other for two, as a loop for more."""
        barrier = at(statement(self.barrier), pieces[-1].node)
        if self.n == 2:
            with self.in_use.two_turns(self.met(pieces)):
                first, second = self.turn_of("0", pieces, conditions, task), self.turn_of("1", pieces, conditions, None)
            return [*first, barrier, *restored, *second]
        name = self.names.new("turn", "v_turn")
        loop = at(statement(f"for {name} in range({self.n}):\n    pass"), pieces[0].node)
        assert isinstance(loop, ast.For)
        loop.body = [*restored, *self.turn_of(name, pieces, conditions, None), barrier]
        self.names.taken.discard(name)  # free for the next region
        self.in_use.barrier()
        return [loop]

    def met(self, pieces: Sequence[Piece]) -> bool:
        """Whether a barrier is the last thing in a turn, or a loop that differs, which has said what is in use."""
        last = pieces[-1]
        if not synchronises(last) or self.control.differs(last.node):
            return synchronises(last)
        return all(self.met(block.pieces) for block in last.blocks if block.pieces)

    def in_turn(self, turn: str, conditions: Conditions) -> Conditions:
        """The conditions in the turn of one of the virtual blocks."""
        others = (condition for condition in conditions if condition not in self.indices.in_grid)
        return (f"{self.indices.turn} == {turn}", *others)

    def turn_of(self, turn: str, pieces: Sequence[Piece], conditions: Conditions, task: Task | None) -> list[ast.stmt]:
        """A region, by one virtual block, beside a task of the other."""
        made: list[ast.stmt] = []
        for i, part in enumerate(segments(pieces)):
            written = self.segment(part, self.in_turn(turn, conditions))
            made += written
            if task is not None and i == task.segment:
                beside = written[-1].body if task.in_loop else made  # type: ignore[attr-defined]
                self.alone(beside, "1", task.share, conditions)
        return made

    def alone(self, made: list[ast.stmt], turn: str, run: list[ast.stmt], conditions: Conditions) -> None:
        """Statements of one virtual block, beside those that the other has done last, if nothing stands between."""
        last = made[-1] if made and not conditions else None
        (other,) = self.in_turn("1" if turn == "0" else "0", ())
        if isinstance(last, ast.If) and not last.orelse and ast.unparse(last.test) == other:
            last.orelse = run
        else:
            made += under(self.in_turn(turn, conditions), run)

    def segment(self, part: Sequence[Piece], conditions: Conditions) -> list[ast.stmt]:
        """A barrier, a statement with barriers in it, or a run of others."""
        piece = part[0]
        if not synchronises(piece):
            return self.guarded(part, conditions)
        if is_barrier(piece):
            return [copied(piece.node)]
        if (call := self.counts(piece.node)) is not None:
            return self.counted_by(piece.node, call, conditions)
        return self.compound(piece, conditions, self.within)

    def within(self, block: Block, conditions: Conditions) -> list[ast.stmt]:
        """A statement list in a region."""
        return [node for part in segments(block.pieces) for node in self.segment(part, conditions)]

    # -- barriers that count

    def counts(self, node: ast.stmt) -> ast.Call | None:
        """The barrier of a statement `name = cuda.syncthreads_count(predicate)`, or of its like."""
        value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        simple = not isinstance(node, ast.Assign) or isinstance(node.targets[0], ast.Name) and len(node.targets) == 1
        if not isinstance(value, ast.Call) or not simple or not calls(self.source, value, COUNTING):
            return None
        return value if len(value.args) == 1 and not value.keywords else None

    def counted_by(self, node: ast.stmt, call: ast.Call, conditions: Conditions) -> list[ast.stmt]:
        """A barrier that counts threads of one virtual block only."""
        predicate, mine = copied(call.args[0]), expression(" and ".join(conditions))
        if self.source.resolve(call.func) is cuda.syncthreads_and:
            own: ast.expr = ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), mine), predicate])
        else:
            own = ast.BoolOp(ast.And(), [mine, predicate])
        counted = ast.Call(copied(call.func), [own], [])
        if isinstance(node, ast.Expr):
            return [surrounding(ast.Expr(counted), node)]
        assert isinstance(node, ast.Assign)
        name = self.names.new("counted", "counted_threads")
        kept = surrounding(ast.Assign(copied(node.targets), ast.Name(name, ast.Load())), node)
        return [surrounding(ast.Assign([ast.Name(name, ast.Store())], counted), node), *under(conditions, [kept])]


# -- work beside a region


@dataclass(frozen=True, slots=True)
class Task:
    """Work in front of a region that virtual block 1 does in the turn of virtual block 0.

    start: where it begins among the statements in front. run: its statements. segment: of the region, beside which it
    is done. share: its part there: all of it, or in_loop what each trip of the segment's loop takes.
    """

    start: int
    run: list[ast.stmt]
    segment: int
    share: list[ast.stmt]
    in_loop: bool = False


class Overlap:
    """Finds tasks: what stands under `with smmux.overlap():`, or all work between regions where nothing does."""

    def __init__(self, draft: Draft, control: Control) -> None:
        self.draft, self.source, self.analysis, self.control = draft, draft.source, control.analysis, control
        pieces = (piece for block in self.analysis.body.walk() for piece in block.pieces)
        annotated = [piece for piece in pieces if piece.node in draft.overlapping]
        self.annotated = bool(annotated)
        for piece in annotated:  # a use of shared memory cannot overlap with another's
            if any(touches(piece.events)) or synchronises(piece):
                what = "has a barrier in it" if synchronises(piece) else "accesses a shared array"
                raise refuse(self.source, piece.node, f"smmux.overlap() stands around a statement that {what}")

    def task(self, before: Sequence[Piece], region: Sequence[Piece], first: bool) -> Task | None:
        """The work in front of a region that can be done beside it; first: no region has been met before."""
        start = self.start(before, first)
        run = [piece.node for piece in before[start:]]
        if not run or exposed(self.source, run) & self.control.clobbered(region):
            return None
        parts = segments(region)
        compound = next((i for i, p in enumerate(parts) if synchronises(p[0]) and not is_barrier(p[0])), len(parts))
        uses = (i for i, p in enumerate(parts[:compound]) if not synchronises(p[0]) and (i > 0 or len(parts) == 1))
        use = next(uses, None)
        if use is not None:
            return Task(start, run, use, run)
        if not self.annotated or compound == len(parts):
            return None
        share = self.spread(parts[compound][0].node, run)
        return None if share is None else Task(start, run, compound, [share], in_loop=True)

    def start(self, before: Sequence[Piece], first: bool) -> int:
        """Where the task begins among the statements in front of a region: what all threads execute stays outside."""
        common = [i for i, piece in enumerate(before) if self.control.common(piece)]
        rest = range(common[-1] + 1 if common else 0, len(before))
        if self.annotated:
            return next((i for i in rest if before[i].node in self.draft.overlapping), len(before))
        loads = [i for i in rest if any(touches(before[i].events, "global"))]
        if first and loads and any(works(self.source, p) for p in before[loads[-1] + 1 :]):
            rest = range(loads[-1] + 1, len(before))
        return next((i for i in rest if i in loads or works(self.source, before[i])), len(before))

    def spread(self, node: ast.stmt, task: Sequence[ast.stmt]) -> ast.For | None:
        """The share of a task that each trip of a loop with barriers takes; None if it cannot be spread over it.

        All threads meet the barriers of a loop such as that of a reduction tree. Between two of them there is time for
        a part of the task only: where both loops have a constant number of trips, each trip takes its share.
        """
        work = task[0] if len(task) == 1 else None
        over, trips = self.analysis.trips(node), self.analysis.trips(work) if work is not None else None
        if not (isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(work, ast.For)):
            return None
        if not (over and trips) or trips.start or trips.step != 1:
            return None
        left = any(isinstance(n, ast.Break | ast.Return) for n in walk(work))
        if work.orelse or left or node.target.id in names_in(work):
            return None
        each = -(-len(trips) // len(over))
        first = _times(each, _trip(node.target.id, over))
        last = f"{first} + {each}" if each * len(over) == len(trips) else f"min({first} + {each}, {len(trips)})"
        share = copied(work)
        share.iter = at(expression(f"range({first}, {last})"), work.iter)
        return share


def _trip(counter: str, over: range) -> str:
    """The number of a trip, from zero."""
    start = f" - {over.start}" if over.start > 0 else f" + {-over.start}" if over.start else ""
    return counter + start if over.step == 1 else f"({counter}{start}) // {over.step}"


def _times(factor: int, text: str) -> str:
    if factor == 1:
        return text
    return f"{factor} * {text}" if text.isidentifier() else f"{factor} * ({text})"
