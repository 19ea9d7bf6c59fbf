"""Which values are the same in all threads of a block, and what each statement does to memory.

Facts of a variable cover all its assignments, so a walk is repeated until they no longer change. Device functions are
followed at each of their calls, with facts of their own there.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral

from smmux import cuda
from smmux.language import smm
from smmux.language.kernel_only import Attribute, Dim3
from smmux.multiplex.analysis.accesses import Alternatives, Barrier, Called, Event, Jump, Loop, Piece, barriers, touches
from smmux.multiplex.analysis.facts import (
    UNIFORM,
    VARYING,
    Array,
    Condition,
    Fact,
    Scope,
    join,
    known,
)
from smmux.multiplex.analysis.frames import LOAD, STORE, Analysis, Frame, rule
from smmux.multiplex.analysis.quiet import OF_BLOCKS, unquiet
from smmux.multiplex.analysis.redefines import mark_redefines
from smmux.multiplex.analysis.unmet import Cause, UnmetBarrierError
from smmux.multiplex.analysis.whole import iterated, method, root, whole_arguments
from smmux.rewriting.draft import Draft
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import ATOMICS, BARRIERS
from smmux.source import constants
from smmux.source.attributes import peek
from smmux.source.function_source import MISSING, FunctionSource

__all__ = ["Analysis", "analysed"]

VARYING_CALLS = (
    cuda.grid, cuda.shfl_sync, cuda.shfl_up_sync, cuda.shfl_down_sync, cuda.shfl_xor_sync, cuda.all_sync, cuda.any_sync,
    cuda.eq_sync, cuda.ballot_sync, cuda.activemask,
)  # fmt: skip
MANAGED = {id(f): f"smm.{f.__name__}" for f in (smm.alloc, smm.release, smm.isolate, smm.array)}
SPACES = {id(cuda.shared.array): "shared", id(cuda.local.array): "local", id(cuda.const.array_like): "const"}
MAX_DEPTH = 64
MAX_WALKS = 64
EXTENTS = ("shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides")
SHORTENED = {
    "continue": Cause.CONTINUE,
    "break": Cause.BREAK,
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
            for touch in unquiet(analysis.body):
                analysis.add(analysis.unquiet, (touch.site.scope, touch.node))
        if not analysis.changed:
            mark_redefines(analysis)
            return analysis
    raise AssertionError("facts keep changing")


# -- expressions


@rule(ast.Constant)
def literal(_: Frame, node: ast.Constant) -> Fact:
    """A number, a string, True, False or None."""
    return known(node.value)


@rule(ast.Name)
def name(frame: Frame, node: ast.Name) -> Fact:
    """A variable, or a captured object."""
    if frame.variable(node.id):
        return frame.scope.facts.get(node.id, UNIFORM)
    return captured(frame, node)


def captured(frame: Frame, node: ast.expr) -> Fact:
    """An object from outside the kernel."""
    value = frame.source.resolve(node)
    if isinstance(value, Dim3 | Attribute):
        return Fact(value.name not in ("threadIdx", "laneid"), const=value)
    return UNIFORM if value is MISSING else known(value)


@rule(ast.Attribute)
def attribute(frame: Frame, node: ast.Attribute) -> Fact:
    """A captured object, threadIdx.x and its like, or the shape of an array."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id not in frame.source.locals:
        if frame.source.resolve(node) is not MISSING:
            return captured(frame, node)
        return Fact(frame.eval(node.value).uniform)
    owner = frame.eval(node.value)
    if node.attr == "T":
        return owner
    if owner.arrays and node.attr in EXTENTS:
        return UNIFORM
    if isinstance(node.value, ast.Name) and owner.rank == 0:  # a record is no copy of its element
        frame.parts(owner, node, LOAD)
    return Fact(owner.uniform, owner.arrays, rank=owner.rank) if owner.array else Fact(owner.uniform)


@rule(ast.Subscript)
def element(frame: Frame, node: ast.Subscript) -> Fact:
    """An element that is loaded, a row or a view of an array, or an item of a tuple."""
    return frame.element(node, LOAD)


@rule(ast.Tuple, ast.List)
def group(frame: Frame, node: ast.Tuple | ast.List) -> Fact:
    """Several values in order."""
    items = tuple(frame.eval(item) for item in node.elts)
    return Fact(all(i.uniform for i in items), frozenset().union(*(i.arrays for i in items)), items=items)


@rule(ast.NamedExpr)
def named(frame: Frame, node: ast.NamedExpr) -> Fact:
    """(name := value)."""
    fact = frame.eval(node.value)
    frame.bind(node.target, fact)
    return fact


@rule(ast.expr)
def operation(frame: Frame, node: ast.expr) -> Fact:
    """Operators: constants are computed, all else is uniform if the operands are."""
    operands = [frame.eval(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    operators = node.ops if isinstance(node, ast.Compare) else [getattr(node, "op", None)]
    values = [constants.plain(o.const) for o in operands]
    if len(operators) == 1 and operators[0] is not None and all(map(constants.number, values)):
        try:
            return known(constants.compute(type(operators[0]).__name__, *values))
        except constants.TooLong as reason:
            raise refuse(frame.source, node, f"constant expression: {reason}") from None
        except (ArithmeticError, TypeError, ValueError):
            return UNIFORM
    return Fact(all(o.uniform for o in operands))


@rule(ast.BoolOp)
def both_or_either(frame: Frame, node: ast.BoolOp) -> Fact:
    """a and b, a or b: what comes later is evaluated under conditions."""
    facts = [frame.eval(node.values[0])]
    outer = len(frame.conditions)
    for before, value in itertools.pairwise(node.values):
        with frame.aside() as later:
            frame.conditions.append(Condition(frame.scope, before, isinstance(node.op, ast.And)))
            facts.append(frame.eval(value))
        if later:
            frame.out.append(Alternatives((later, [])))
    del frame.conditions[outer:]
    return Fact(all(f.uniform for f in facts))


@rule(ast.IfExp)
def choice(frame: Frame, node: ast.IfExp) -> Fact:
    """a if test else b."""
    test, ways, facts = frame.eval(node.test), [], []
    for side, value in ((True, node.body), (False, node.orelse)):
        with frame.aside() as way, frame.under(node.test, side):
            facts.append(frame.eval(value))
        ways.append(way)
    frame.out.append(Alternatives(tuple(ways)))
    fact = join(facts[0], facts[1])
    return fact if test.uniform else Fact(False, fact.arrays, items=fact.items, rank=fact.rank)


@rule(ast.Call)
def call_of(frame: Frame, node: ast.Call) -> Fact:
    """A function of the language, a device function, a cast, a method of an array."""
    if isinstance(node.func, ast.Attribute) and frame.variable(root(node.func)):
        owner = frame.eval(node.func.value)
        if owner.array:
            return method(frame, node, node.func.attr, owner)
    function = frame.eval(node.func).const
    if id(function) in MANAGED:
        raise refuse(
            frame.source, node, f"the kernel manages shared memory itself: {MANAGED[id(function)]} stands here"
        )
    definition = peek(function, "definition")
    if isinstance(definition, FunctionSource):
        return device_call(frame, node, definition)
    arguments = [frame.eval(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
    arguments += [frame.eval(k.value) for k in node.keywords]
    if id(function) in SPACES:
        return declaration(frame, SPACES[id(function)], node)
    if any(function is each for each in BARRIERS):
        return barrier(frame, node)
    if id(function) in ATOMICS and arguments:
        for array, write in itertools.product(arguments[0].arrays, (LOAD, STORE)):
            frame.touch(array, node, write)
        return VARYING
    uniform = all(a.uniform for a in arguments) and not any(function is varying for varying in VARYING_CALLS)
    return Fact(whole_arguments(frame, node, function, arguments) and uniform)


def declaration(frame: Frame, space: str, node: ast.Call) -> Fact:
    """The declaration of a shared, per-thread or constant array; it has the name of the variable."""
    name = frame.names.get(node, space)
    space = "private" if space == "shared" and name in frame.analysis.apart else space
    rank = None
    if space in OF_BLOCKS and node.args:
        shape = frame.eval(node.args[0])
        single = isinstance(shape.const, Integral) or isinstance(node.args[0], ast.BinOp)
        rank = len(shape.items) if shape.items is not None else 1 if single else None
    return Fact(True, frozenset({frame.analysis.array(space, name, node, node, frame.source)}), rank=rank)


def barrier(frame: Frame, node: ast.Call) -> Fact:
    """A barrier; all threads of the block have to get there together."""
    if frame.reasons:
        raise UnmetBarrierError.at(frame.source, node, frame.reasons[-1])
    frame.out.append(Barrier(node))
    return UNIFORM


def device_call(frame: Frame, node: ast.Call, source: FunctionSource) -> Fact:
    """Walk over a device function at its call, with facts of its own there."""
    if len(frame.path) > MAX_DEPTH:
        raise refuse(frame.source, node, f"{source.name!r} calls itself: recursion is not supported")
    path = (*frame.path, node)
    scope = frame.analysis.scopes.setdefault(path, Scope(source, source.node, frame.scope, node))
    callee = Frame(frame.analysis, scope, path, frame)
    values = list(_given(frame, node))
    given = dict(zip(source.parameters, values, strict=False))
    if (rest := source.node.args.vararg) is not None:
        over = tuple(values[len(source.node.args.posonlyargs) + len(source.node.args.args) :])
        arrays = frozenset[Array]().union(*(fact.arrays for fact in over))
        given[rest.arg] = Fact(all(fact.uniform for fact in over), arrays, items=over)
    given |= {k.arg: frame.eval(k.value) for k in node.keywords if k.arg is not None}
    for name in dict.fromkeys([*source.parameters, *given]):
        default = known(source.defaults[name]) if name in source.defaults else UNIFORM
        callee.widen(name, given.get(name, default))  # as uniform as it is in the caller
    frame.out.append(Called(callee.block(source.node.body).pieces))
    return callee.result or UNIFORM


def _given(frame: Frame, node: ast.Call) -> Iterator[Fact]:
    """What a call gives by position; a tuple behind a star gives its items."""
    for argument in node.args:
        fact = frame.eval(argument.value if isinstance(argument, ast.Starred) else argument)
        if not isinstance(argument, ast.Starred):
            yield fact
        elif fact.items is None:
            raise refuse(frame.source, argument, "what stands behind this star is not known; give arguments one by one")
        else:
            yield from fact.items


# -- statements


@rule(ast.Pass, ast.Assert, ast.Raise)
def nothing(_: Frame, _node: ast.stmt, _piece: Piece) -> None:
    """A statement without effect; behind a raise the launch has ended, so that nothing there matters."""


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
    if isinstance(node.target, ast.Subscript):
        frame.element(node.target, LOAD, STORE)
    else:
        frame.bind(node.target, Fact(frame.eval(node.target).uniform and value.uniform))


@rule(ast.If)
def branch(frame: Frame, node: ast.If, piece: Piece) -> None:
    """if: both ways, whatever the condition."""
    uniform = frame.eval(node.test).uniform
    piece.uniform = _enterable(frame, uniform)
    with frame.diverging(node, not uniform, Cause.CONDITION):
        for side, body in ((True, node.body), (False, node.orelse)):
            with frame.under(node.test, side):
                piece.blocks.append(frame.block(body))
    frame.out.append(Alternatives(tuple(block.pieces for block in piece.blocks), uniform))


@rule(ast.For, ast.While)
def loop(frame: Frame, node: ast.For | ast.While, piece: Piece) -> None:
    """Walk over for and while, which make the same number of trips in all threads, or not."""
    loaded: list[Fact] = []
    if isinstance(node, ast.For):
        uniform, item, always = iterated(frame, node.iter, loaded)
        why = Cause.TRIPS
    else:
        test, item = frame.eval(node.test), UNIFORM
        uniform, always = test.uniform, isinstance(test.const, int | float) and bool(test.const)
        why = Cause.TEST
    for kind, cause in SHORTENED.items():
        if (node, kind) in frame.analysis.shortened:
            uniform, why = False, cause
    enterable = _enterable(frame, uniform)
    frame.loops.append((frame.scope, node, len(frame.reasons)))
    with frame.diverging(node, not uniform, why), frame.aside() as around:
        if isinstance(node, ast.For):
            for array in loaded:
                frame.contents(array, node)
            frame.bind(node.target, replace(item, uniform=item.uniform and uniform))
        body = frame.block(node.body)
        with frame.aside() as again:
            if isinstance(node, ast.While):
                frame.eval(node.test)
    frame.loops.pop()
    with frame.under(None, False):
        orelse = frame.block(node.orelse)
    piece.blocks = [body, orelse] if node.orelse else [body]
    trip: Sequence[Event] = [*around, Alternatives((body.pieces,), True)] if around else body.pieces
    event = Loop(node, trip, again, orelse.pieces, always)
    # what a loop without barriers does, it does as a whole
    piece.uniform = enterable and not orelse.pieces and any(barriers([event]))
    frame.out.append(event)


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
    frame.out.append(Jump(kind, node, conditional, bool(frame.reasons)))


def _enterable(frame: Frame, uniform: bool) -> bool:
    """Whether borders of regions may be placed within a statement of the kernel whose head has been evaluated."""
    return uniform and not frame.reasons and frame.caller is None and not any(touches(frame.out))
