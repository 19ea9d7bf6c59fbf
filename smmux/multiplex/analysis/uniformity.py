"""Which values are the same in all threads of a block, and what each statement does to memory.

Facts of a variable cover all its assignments, so a walk is repeated until they no longer change. Device functions are
followed at each of their calls, with facts of their own there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from smmux.multiplex.analysis import evaluation
from smmux.multiplex.analysis.accesses import Alternatives, Event, Jump, Loop, Piece, barriers, touches
from smmux.multiplex.analysis.facts import UNIFORM, VARYING, Fact, Scope, join
from smmux.multiplex.analysis.frames import Analysis, Frame, rule
from smmux.multiplex.analysis.redefines import mark_redefines
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["Analysis", "analysed"]

_RULES = (evaluation,)  # importing it registers the rules for expressions

MAX_WALKS = 64
SHORTENED = {
    "continue": "a loop with trips of which some threads skip the rest",
    "break": "a loop that some threads leave before others",
}


def analysed(draft: Draft, apart: frozenset[str] = frozenset()) -> Analysis:
    """What is known of a draft as it is now; apart: see `Analysis`."""
    return draft.ask(_walked, apart)


def _walked(draft: Draft, apart: frozenset[str]) -> Analysis:
    """Walk a kernel until nothing new is found."""
    source, tree = draft.source, draft.tree
    analysis = Analysis(source, tree, apart)
    analysis.scopes[()] = Scope(source, tree)
    for _ in range(MAX_WALKS):
        analysis.changed = False
        frame = Frame(analysis, analysis.scopes[()])
        for name in source.parameters:
            frame.assign(name, Fact(True, frozenset({analysis.array("global", name, tree, name, source)})))
        analysis.body = frame.block(tree.body)
        if not analysis.changed:
            mark_redefines(analysis)
            return analysis
    raise AssertionError("facts keep changing")


# -- simple statements


@rule(ast.Pass, ast.Assert)
def nothing(_: Frame, _node: ast.stmt, _piece: Piece) -> None:
    """A statement without effect."""


@rule(ast.stmt)
def unknown(frame: Frame, node: ast.stmt, _: Piece) -> None:
    """Any other statement."""
    raise refuse(frame.source, node, f"{type(node).__name__} is not supported in a kernel")


@rule(ast.Expr)
def expression(frame: Frame, node: ast.Expr, _: Piece) -> None:
    """An expression for what it does."""
    frame.eval(node.value)


@rule(ast.Assign, ast.AnnAssign)
def assignment(frame: Frame, node: ast.Assign | ast.AnnAssign, _: Piece) -> None:
    """target = value; an array takes its name from the first target."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is None:
        return
    if isinstance(node.value, ast.Call) and isinstance(targets[0], ast.Name):
        frame.names[node.value] = targets[0].id
    fact = frame.eval(node.value)
    for target in targets:
        frame.bind(target, fact)


@rule(ast.AugAssign)
def augmented(frame: Frame, node: ast.AugAssign, _: Piece) -> None:
    """target op= value."""
    value = frame.eval(node.value)
    if isinstance(node.target, ast.Name):
        frame.assign(node.target.id, Fact(frame.eval(node.target).uniform and value.uniform))
        return
    assert isinstance(node.target, ast.Subscript)
    frame.element(node.target, write=False)
    frame.element(node.target, write=True, silent=True)


# -- control


@rule(ast.If)
def branch(frame: Frame, node: ast.If, piece: Piece) -> None:
    """if: both ways, whatever the condition."""
    uniform = frame.eval(node.test).uniform
    piece.uniform = _enterable(frame, uniform, frame.out)
    with frame.diverging(node, not uniform, "a condition that can differ between threads of a block"):
        for side, body in ((True, node.body), (False, node.orelse)):
            with frame.under(node.test, side):
                piece.blocks.append(frame.block(body))
    frame.emit(Alternatives(tuple(block.pieces for block in piece.blocks), uniform))


@rule(ast.For, ast.While)
def loop(frame: Frame, node: ast.For | ast.While, piece: Piece) -> None:
    """for and while; the same number of times in all threads, or not."""
    if isinstance(node, ast.For):
        uniform, item, always = _iterated(frame, node.iter)
        why = "a loop whose trip count can differ between threads of a block"
    else:
        test, item = frame.eval(node.test), UNIFORM
        uniform, always = test.uniform, isinstance(test.const, int | float) and bool(test.const)
        why = "a loop whose condition can differ between threads of a block"
    for kind, what in SHORTENED.items():
        if (node, kind) in frame.analysis.shortened:
            uniform, why = False, what
    enterable = _enterable(frame, uniform, frame.out)
    frame.loops.append((frame.scope, node, len(frame.reasons)))
    with frame.diverging(node, not uniform, why), frame.aside() as around:
        if isinstance(node, ast.For):
            frame.bind(node.target, Fact(item.uniform and uniform, item.arrays, items=item.items))
        body = frame.block(node.body)
        with frame.aside() as again:
            if isinstance(node, ast.While):
                frame.eval(node.test)
    frame.loops.pop()
    with frame.under(None, False):
        orelse = frame.block(node.orelse)
    piece.blocks = [body, orelse] if node.orelse else [body]
    trip: list[Event] = [*around, Alternatives((body.pieces,), True)] if around else list[Event]()
    event = Loop(node, trip or body.pieces, again, orelse.pieces, always)
    # what a loop without barriers does, it does as a whole
    piece.uniform = enterable and not orelse.pieces and any(barriers([event]))
    frame.emit(event)


@rule(ast.Return, ast.Break, ast.Continue)
def jump(frame: Frame, node: ast.Return | ast.Break | ast.Continue, _: Piece) -> None:
    """return, break, continue; what they do to the uniformity of loops and of what follows."""
    kind = type(node).__name__.lower()
    if isinstance(node, ast.Return):
        fact = frame.eval(node.value) if node.value is not None else UNIFORM
        differs = frame.reasons and not fact.arrays and fact.items is None
        frame.result = join(frame.result, VARYING if differs else fact)
        if frame.caller is not None and len(frame.reasons) > len(frame.caller.reasons):
            frame.analysis.changed |= not frame.scope.left_early
            frame.scope.left_early = True
    elif frame.loops and len(frame.reasons) > frame.loops[-1][2]:
        frame.analysis.add(frame.analysis.shortened, (frame.loops[-1][1], kind))
    conditional = not isinstance(node, ast.Return) or bool(frame.conditions or frame.loops)
    frame.emit(Jump(kind, node, conditional, bool(frame.reasons)))


def _enterable(frame: Frame, uniform: bool, head: Sequence[Event]) -> bool:
    """Whether borders of regions may be placed within a statement of the kernel; head: its condition or range."""
    return uniform and not frame.reasons and frame.caller is None and not any(touches(head))


def _iterated(frame: Frame, node: ast.expr) -> tuple[bool, Fact, bool]:
    """What a for loop runs over: is the number of trips uniform, what is an item, does every block make a trip."""
    if isinstance(node, ast.Call) and frame.eval(node.func).const is range:
        bounds = [frame.eval(a) for a in node.args]
        values = [b.const for b in bounds]
        if all(isinstance(v, int) for v in values):
            return True, UNIFORM, len(range(*values)) > 0
        uniform = all(b.uniform for b in bounds)
        # range(thread, constant, constant): the threads of a block share the work
        shared_out = len(bounds) == 3 and not bounds[0].uniform and all(isinstance(v, int) for v in values[1:])
        return uniform, Fact(uniform), shared_out
    over = frame.eval(node)
    if over.items:
        item: Fact | None = None
        for one in over.items:
            item = join(item, one)
        assert item is not None
        return True, item, True
    return over.uniform, Fact(over.uniform, over.arrays), False
