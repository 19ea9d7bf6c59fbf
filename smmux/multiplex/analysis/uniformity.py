"""One walk over a kernel: which values are the same in all threads of a block, and what each statement does to memory.

Facts of a variable cover all its assignments, so a walk is repeated until they no longer change. Device functions are
followed at each of their calls, with facts of their own there.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.analysis.accesses import Alternatives, Event, Jump, Loop, touches
from smmux.multiplex.analysis.blocks import Block, Piece
from smmux.multiplex.analysis.expressions import Expressions
from smmux.multiplex.analysis.facts import MISSING, UNIFORM, VARYING, Array, Fact, join
from smmux.multiplex.analysis.integers import assignments, trips
from smmux.multiplex.analysis.redefines import Defines, Held, Open, merged
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["Analysis", "Frame", "analyse", "analysed"]

MAX_WALKS = 64
SHORTENED = {
    "continue": "with trips of which some threads skip the rest",
    "break": "that some threads leave before others",
}


@dataclass
class Analysis:
    """What is known of a kernel: its statement lists, arrays, and what the walks so far have found out.

    apart: names of shared arrays that no region is about, since every virtual block has its own.
    """

    source: FunctionSource
    apart: frozenset[str] = frozenset()
    body: Block = field(default_factory=lambda: Block([]))
    arrays: dict[tuple[str, int | str], Array] = field(default_factory=dict)
    declared_in: dict[Array, FunctionSource] = field(default_factory=dict)
    envs: dict[tuple[int, ...], dict[str, Fact]] = field(default_factory=dict)
    tree: ast.FunctionDef | None = None
    defines: Defines = field(default_factory=Defines)
    flags: set[tuple[str, object]] = field(default_factory=set)
    carried: dict[object, Held] = field(default_factory=dict)
    assignments: dict[int, dict[str, list[ast.AST]]] = field(default_factory=dict)
    changed: bool = False

    @property
    def shared(self) -> list[Array]:
        """Shared arrays in the order of their declaration."""
        return [array for array in self.arrays.values() if array.space == "shared"]

    def flag(self, kind: str, key: object) -> None:
        """Remember something that holds from now on, in all further walks too."""
        if (kind, key) not in self.flags:
            self.flags.add((kind, key))
            self.changed = True

    def assignments_of(self, tree: ast.FunctionDef) -> dict[str, list[ast.AST]]:
        """The nodes that assign each variable of a function."""
        found = self.assignments.get(id(tree))
        if found is None:
            found = self.assignments[id(tree)] = assignments(tree)
        return found

    def carry(self, loop: object, held: Held) -> None:
        """What a loop hands from one trip to the next, in all further walks too."""
        before = self.carried.get(loop, {})
        after = _joined(before, held)
        if after != before:
            self.carried[loop] = after
            self.changed = True

    # -- questions about expressions of the kernel, once it has been analysed

    def fact(self, node: ast.expr) -> Fact:
        """What is known of an expression."""
        return Frame(self, self.source, ()).eval(node)

    def integer(self, node: ast.expr) -> int | None:
        """The value of a constant integer expression, None for all others."""
        return Frame(self, self.source, ()).integer(node)

    def trips(self, loop: ast.AST) -> range | None:
        """The values that the counter of a loop over a constant range takes; None where they are not known."""
        return trips(self.source, loop, self.integer)

    def accesses(self, node: ast.expr) -> list[Event]:
        """What an expression does to memory."""
        frame = Frame(self, self.source, ())
        frame.eval(node)
        return frame.out

    def array(self, space: str, name: str, node: ast.AST, key: int | str) -> Array:
        """The array of a declaration or parameter."""
        return self.arrays.setdefault((space, key), Array(space, name, node))


def analyse(
    source: FunctionSource, node: ast.FunctionDef | None = None, apart: frozenset[str] = frozenset()
) -> Analysis:
    """Walk a kernel until nothing new is found; node: a copy of its tree in its place; apart: see `Analysis`."""
    tree = copy.deepcopy(source.node) if node is None else node
    analysis = Analysis(source, apart, tree=tree)
    for _ in range(MAX_WALKS):
        analysis.changed = False
        analysis.defines = Defines()
        frame = Frame(analysis, source, ())
        for name in source.parameters:
            frame.assign(name, Fact(True, frozenset({analysis.array("global", name, tree, name)})))
        analysis.body = frame.block(tree.body)
        if not analysis.changed:
            for define in analysis.defines.partial():
                analysis.flag("partial", define)
        if not analysis.changed:
            return analysis
    raise AssertionError("facts keep changing")


def analysed(draft: Draft, apart: frozenset[str] = frozenset()) -> Analysis:
    """What is known of a draft as it is now; apart: see `Analysis`."""
    return draft.ask(_walked, apart)


def _walked(draft: Draft, apart: frozenset[str]) -> Analysis:
    return analyse(draft.source, draft.tree, apart)


class Frame(Expressions):
    """A function on a walk: the kernel, or a device function at one call."""

    def __init__(
        self, analysis: Analysis, source: FunctionSource, path: tuple[int, ...], caller: Frame | None = None
    ) -> None:
        self.analysis, self.source, self.path, self.caller = analysis, source, path, caller
        self.env = analysis.envs.setdefault(path, {})
        self.targets: dict[ast.AST, str] = {}  # calls and the variable that each is assigned to
        self.out: list[Event] = []
        self.loops: list[tuple[ast.stmt, int]] = list(caller.loops) if caller else []
        self.reasons: list[tuple[ast.AST, FunctionSource, str]] = list(caller.reasons) if caller else []
        self.read: set[Array] = caller.read if caller else set()  # since the last barrier
        self.unread: set[Array] = caller.unread if caller else set()  # since they were stored to
        self.defining: Open = caller.defining if caller else {}
        self.held: Held = caller.held if caller else {}
        self.conditions: list[tuple[ast.expr, bool]] = list(caller.conditions) if caller else []  # and which side
        self.call_node: ast.Call | None = None
        self.result: Fact | None = None
        self.at: ast.stmt | None = None  # the statement that is looked at

    def integer(self, node: ast.expr) -> int | None:
        """The value of a constant integer expression, None for all others."""
        value = self.eval(node).const
        return value if type(value) is int else None

    # -- what an index depends on

    def open_loops(self) -> list[ast.stmt]:
        """The loops around, those of callers first."""
        return [loop for loop, _ in self.loops]

    def synchronised(self, loop: ast.stmt) -> bool:
        """Whether there is a barrier in a loop."""
        return ("barrier within", id(loop)) in self.analysis.flags

    def jumps(self) -> bool:
        """Whether something in the kernel may be left out by a jump."""
        return ("jumps", None) in self.analysis.flags

    def definitions(self, name: str) -> list[ast.AST]:
        """The nodes that assign a variable of this function."""
        tree = self.source.node if self.caller is not None or self.analysis.tree is None else self.analysis.tree
        return self.analysis.assignments_of(tree).get(name, [])

    def own_loops(self) -> list[ast.stmt]:
        """The loops around, of this function."""
        return self.open_loops()[len(self.caller.loops) if self.caller else 0 :]

    def own_conditions(self) -> list[tuple[ast.expr, bool]]:
        """The conditions around, of this function."""
        return self.conditions[len(self.caller.conditions) if self.caller else 0 :]

    def argument(self, name: str) -> ast.expr | None:
        """What a parameter is in the call."""
        if self.call_node is None:
            return None
        given = dict(zip(self.source.parameters, self.call_node.args, strict=False))
        given |= {k.arg: k.value for k in self.call_node.keywords if k.arg is not None}
        return given.get(name)

    def constant_range(self, loop: ast.stmt) -> range | None:
        """What a loop runs over, if that is known without an access to memory."""

        def constant(node: ast.expr) -> int | None:
            silent = not any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(node))
            return self.integer(node) if silent else None

        return trips(self.source, loop, constant)

    # -- variables

    def assign(self, name: str, fact: Fact) -> None:
        """A definition of a variable."""
        if self.reasons and fact.uniform:
            fact = Fact(False, fact.arrays, MISSING, fact.items)
        before = self.env.get(name)
        after = join(before, fact)
        if after != before:
            self.env[name] = after
            self.analysis.changed = True

    def bind(self, target: ast.expr, fact: Fact) -> None:
        """Assignment to a name, an element or a tuple of these."""
        if isinstance(target, ast.Name):
            self.assign(target.id, fact)
        elif isinstance(target, ast.Subscript):
            self.access(target, write=True)
        elif isinstance(target, ast.Tuple | ast.List):
            for i, item in enumerate(target.elts):
                fits = fact.items is not None and len(fact.items) == len(target.elts)
                self.bind(item, fact.items[i] if fits and fact.items is not None else Fact(fact.uniform))
        else:
            raise refuse(self.source, target, "only names, array elements and tuples of these can be assigned")

    # -- statements

    def block(self, body: list[ast.stmt]) -> Block:
        """A statement list."""
        block = Block(body)
        depth = len(self.reasons)
        for node in body:
            outer, self.out = self.out, []
            piece = Piece(node)
            self.statement(node, piece)
            piece.events = self.out
            self.out = outer + piece.events
            block.pieces.append(piece)
            if (
                self.caller is not None
                and ("left early", self.path) in self.analysis.flags
                and len(self.reasons) == depth
            ):
                self.reasons.append((node, self.source, "some threads have returned from this function"))
        del self.reasons[depth:]
        return block

    def statement(self, node: ast.stmt, piece: Piece) -> None:
        """One statement: facts and events."""
        self.at = node
        if isinstance(node, ast.Assign):
            fact = self.named(node.targets[0], node.value)
            for target in node.targets:
                self.bind(target, fact)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, self.named(node.target, node.value))
        elif isinstance(node, ast.AugAssign):
            self.augment(node)
        elif isinstance(node, ast.Expr):
            self.eval(node.value)
        elif isinstance(node, ast.If):
            self.branch(node, piece)
        elif isinstance(node, ast.For | ast.While):
            self.loop(node, piece)
        elif isinstance(node, ast.Return | ast.Break | ast.Continue):
            self.jump(node)
        elif not isinstance(node, ast.Pass | ast.Assert | ast.AnnAssign):
            raise refuse(self.source, node, f"{type(node).__name__} is not supported in a kernel")

    def augment(self, node: ast.AugAssign) -> None:
        """target op= value."""
        value = self.eval(node.value)
        if isinstance(node.target, ast.Name):
            self.assign(node.target.id, Fact(self.name(node.target).uniform and value.uniform))
            return
        assert isinstance(node.target, ast.Subscript)
        self.access(node.target, write=False)
        self.access(node.target, write=True, silent=True)

    def branch(self, node: ast.If, piece: Piece) -> None:
        """if: both ways, or the one that a constant condition leaves."""
        test = self.eval(node.test)
        piece.head = list(self.out)
        piece.uniform = self.enterable(test, piece.head)
        sides = []
        before, after = (set(self.read), set(self.unread)), []
        defining, going_on = dict(self.defining), Open()
        held, held_after = dict(self.held), Held()
        with self.diverging(node, not test.uniform, "a condition that can differ between threads of a block"):
            for side_taken, body in ((True, node.body), (False, node.orelse)):
                outer, self.out = self.out, []
                self.conditions.append((node.test, side_taken))
                _set_table(self.held, held)
                _set(self.read, before[0])
                _set(self.unread, before[1])
                _set_table(self.defining, defining)
                side = self.block(body)
                self.conditions.pop()
                held_after = _joined(held_after, self.held)
                after.append((set(self.read), set(self.unread)))
                going_on = merged(going_on, self.defining)
                self.out = outer
                sides.append(side)
        _set_table(self.defining, going_on)
        _set_table(self.held, held_after)
        (read, unread), (other_read, other_unread) = after
        _set(self.read, read | other_read)
        # a use by some threads is a use by the block
        _set(
            self.unread,
            unread | other_unread
            if test.uniform
            else unread & other_unread | (unread - before[1]) | (other_unread - before[1]),
        )
        piece.blocks = sides
        self.out = [*self.out, Alternatives(tuple(side.events for side in sides))]

    def loop(self, node: ast.For | ast.While, piece: Piece) -> None:
        """for and while; the same number of times in all threads, or not."""
        if isinstance(node, ast.For):
            uniform, item, piece.always = self.iterated(node.iter)
            why = "a loop whose trip count can differ between threads of a block"
        else:
            test = self.eval(node.test)
            uniform, item = test.uniform, UNIFORM
            piece.always = isinstance(test.const, int | float) and bool(test.const)
            why = "a loop whose condition can differ between threads of a block"
        piece.head = list(self.out)
        for kind, what in SHORTENED.items():
            if (f"{kind} by some", id(node)) in self.analysis.flags:
                uniform, why = False, f"a loop {what}"
        piece.uniform = self.enterable(Fact(uniform), piece.head)
        before = set(self.read)
        synchronised = ("barrier within", id(node)) in self.analysis.flags
        if synchronised:
            self.read.clear()
            self.unread |= {
                array
                for array in self.analysis.shared
                if ("unread", (self.path, id(node), array)) in self.analysis.flags
            }
        outer, self.out = self.out, []
        self.loops.append((node, len(self.reasons)))
        entry, back = dict(self.held), ("held", (self.path, id(node)))
        _set_table(self.held, _joined(entry, self.analysis.carried.get(back, {})))
        with self.diverging(node, not uniform, why):
            if isinstance(node, ast.For):
                self.bind(node.target, Fact(item.uniform and uniform, item.arrays, items=item.items))
            body = self.block(node.body)
            if isinstance(node, ast.While):
                self.eval(node.test)
        self.loops.pop()
        self.analysis.carry(back, self.held)
        if not piece.always:
            _set_table(self.held, _joined(entry, self.held))
        if synchronised:
            for array in self.unread:
                self.analysis.flag("unread", (self.path, id(node), array))
        events, self.out = self.out, outer
        self.conditions.append((ast.Yield(), False))  # whether a loop is left by break is anybody's guess
        orelse = self.block(node.orelse)
        self.conditions.pop()
        self.out = outer
        self.read |= before
        piece.blocks = [body, orelse]
        if orelse.pieces or not synchronised:
            piece.uniform = False  # what a loop without barriers does, it does as a whole
        self.out = [*self.out, Loop(events, piece.always, orelse.events)]

    def jump(self, node: ast.Return | ast.Break | ast.Continue) -> None:
        """return, break, continue; what they do to the uniformity of loops and of what follows."""
        kind = type(node).__name__.lower()
        if isinstance(node, ast.Return):
            fact = self.eval(node.value) if node.value is not None else UNIFORM
            self.result = join(
                self.result, VARYING if self.reasons and not fact.arrays and fact.items is None else fact
            )
            if self.caller is not None and len(self.reasons) > len(self.caller.reasons):
                self.analysis.flag("left early", self.path)
            elif self.caller is None and self.reasons:
                self.analysis.flag("ends some threads", id(node))
        elif self.loops and len(self.reasons) > self.loops[-1][1]:
            self.analysis.flag(f"{kind} by some", id(self.loops[-1][0]))
        if not isinstance(node, ast.Return) or self.conditions or self.loops:
            self.analysis.flag("jumps", None)
        self.out = [*self.out, Jump(kind, node)]

    # -- control flow that differs between threads

    def enterable(self, fact: Fact, head: list[Event]) -> bool:
        """Whether borders of regions may be placed within a statement of the kernel."""
        return fact.uniform and not self.reasons and self.caller is None and not any(touches(head))

    @contextmanager
    def diverging(self, node: ast.AST, differs: bool, why: str) -> Iterator[None]:
        """Within: only some threads of a block execute, if `differs`."""
        if differs:
            self.reasons.append((node, self.source, why))
        yield
        if differs:
            self.reasons.pop()

    def refuse_divergent(self, node: ast.AST, what: str) -> None:
        """Refuse a barrier that not all threads of a block reach together."""
        if self.reasons:
            cause, source, why = self.reasons[-1]
            head = ast.unparse(cause).splitlines()[0]
            where = f"line {getattr(cause, 'lineno', '?')}"
            if source.filename != self.source.filename:
                where = f"{source.filename}:{getattr(cause, 'lineno', '?')}"
            raise refuse(
                self.source,
                node,
                f"this {what} stands in {why} ({where}: `{head}`), so a region cannot include or meet it",
            )

    def barrier_in_loops(self) -> None:
        """A barrier has been met: all loops around it have one."""
        self.read.clear()
        for node, _ in self.loops:
            self.analysis.flag("barrier within", id(node))


def _set_table(kept: dict[Any, Any], content: Mapping[Any, Any]) -> None:
    """Replace the content of a table that callers share."""
    content = dict(content)
    kept.clear()
    kept |= content


def _joined(one: Held, other: Held) -> Held:
    """What an array can hold behind two ways."""
    return {array: one.get(array, frozenset()) | other.get(array, frozenset()) for array in one.keys() | other.keys()}


def _set(kept: set[Array], content: set[Array]) -> None:
    """Replace the content of a set that callers share."""
    kept.clear()
    kept |= content
