"""Loops: the ranges that they run over, and the code of those that stay loops, with the test at the bottom."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from smmux.base.trees import walk
from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import Value, constant, weak
from smmux.compiler.python import (
    array_access,
    array_choices,
    assignment,
    environment,
    groups,
    iteration,
    loop_elements,
    ranges,
)
from smmux.compiler.python.context import Edge, Env, Frame, Key, LoopExits, Unknown
from smmux.compiler.python.convert import number, operand, truth
from smmux.compiler.python.infer import infer_statements
from smmux.compiler.python.iteration import Sequence
from smmux.compiler.python.ranges import Range
from smmux.compiler.python.rules import evaluate, execute, inference, statement
from smmux.compiler.python.statement_rules import bind
from smmux.compiler.python.typed_values import Anything, Static, Tuple, type_name
from smmux.compiler.python.unroll import edges_so_far, forget_edges, unroll, unroll_while, worth_unrolling
from smmux.compiler.python.versions import written
from smmux.errors import CompileError
from smmux.source.function_source import assigned_names

Item = Callable[[Value], Anything]
"""What a loop binds to its target, by the counter."""

# -- what is iterated over


def iterated(f: Frame, node: ast.For) -> Range | Tuple | Sequence:
    """The `range(...)`, the tuple or the other items of a for loop."""
    call = node.iter
    if isinstance(call, ast.Call) and _is_range(f, call.func):
        if call.keywords or not 1 <= len(call.args) <= 3:
            raise f.error(call, "range takes 1 to 3 positional arguments")
        return ranges.make(f, call, [number(f, a, evaluate(f, a)) for a in call.args])
    value = evaluate(f, call)
    items = None if isinstance(value, Tuple) else iteration.sequence(f, call, value)
    if items is not None:
        return items
    if not isinstance(value, Tuple):
        hint = f"; write range({ast.unparse(call)})" if isinstance(value, Value) and value.kind.integral else ""
        raise f.error(call, f"a for loop runs over range(...), an array or a tuple{hint}")
    return value


def _is_range(f: Frame, node: ast.expr) -> bool:
    try:
        value = evaluate(f, node)
    except CompileError:
        return False
    return isinstance(value, Static) and value.object is range


# -- type inference


@inference(ast.For, ast.While)
def infer_loop(f: Frame, node: ast.For | ast.While) -> None:
    """Visit a loop once for its types."""
    try:
        if isinstance(node, ast.For):
            _infer_target(f, node)
        else:
            evaluate(f, node.test)
    except (Unknown, CompileError):
        pass
    infer_statements(f, node.body)
    infer_statements(f, node.orelse)


def _infer_target(f: Frame, node: ast.For) -> None:
    over = iterated(f, node)
    if isinstance(over, Range):
        bind(f, node.target, Value(over.kind, None, None, *ranges.number_bounds(over)))
        return
    for item in over.items if isinstance(over, Tuple) else _sample(f, node, over):
        bind(f, node.target, item)


def _sample(f: Frame, node: ast.For, over: Sequence) -> list[Anything]:
    """Items of all types that there are."""
    if over.whole:
        return [over.item(node, weak(i)) for i in range(over.length.const)]
    counter = ranges.upto(f, node, over.length)
    return [over.item(node, Value(counter.kind, None, None, *ranges.counter_bounds(counter)))]


@inference(ast.Break, ast.Continue)
def infer_jump(f: Frame, node: ast.Break | ast.Continue) -> None:
    """Do nothing: the statements behind it are visited too."""


# -- lowering


@statement(ast.Break)
def leave_loop(f: Frame, node: ast.Break) -> None:
    """break."""
    _jump(f, f.loops[-1].breaks)


@statement(ast.Continue)
def next_iteration(f: Frame, node: ast.Continue) -> None:
    """continue."""
    _jump(f, f.loops[-1].continues)


def _jump(f: Frame, edges: list[Edge]) -> None:
    assert f.b.block is not None
    edges.append((f.b.block, f.ctx.env))
    f.b.block = None


@statement(ast.For)
def for_loop(f: Frame, node: ast.For) -> None:
    """for ... in range(...), an array or a tuple."""
    over = iterated(f, node)
    if isinstance(over, Tuple):
        unroll(f, node, list(over.items), limited=False)
    elif isinstance(over, Range):
        _over_range(f, node, over, lambda counter: counter)
    elif over.whole:
        unroll(f, node, [partial(over.item, node, weak(i)) for i in range(over.length.const)], limited=False)
    else:
        _over_range(f, node, ranges.upto(f, node, over.length), partial(over.item, node))


def _over_range(f: Frame, node: ast.For, over: Range, item: Item) -> None:
    """The items whose numbers are a range."""
    if over.start.known and over.stop.known and over.step.known:
        bounds = over.start.const, over.stop.const, over.step.const
        if worth_unrolling(f, node, ranges.trips(*bounds)):
            if unroll(f, node, [partial(item, constant(over.kind, i)) for i in range(*bounds)]):
                return
    _counted(f, node, over, item)


@statement(ast.While)
def while_loop(f: Frame, node: ast.While) -> None:
    """while, with unrolling if the condition is known each time it is tested."""
    changing = set(assigned_names(node.body))
    if any(isinstance(n, ast.Name) and n.id in changing for n in walk(node.test)) and unroll_while(f, node):
        return
    condition = truth(f, node.test, evaluate(f, node.test))
    if condition.known and not condition.const:
        execute(f, node.orelse)
        return

    def bottom() -> Value:
        f.at(node)
        return truth(f, node.test, evaluate(f, node.test))

    _rotated(f, node, condition, {}, lambda _: execute(f, node.body), lambda _: {}, lambda _: bottom())


# -- loops that stay loops


def _counted(f: Frame, node: ast.For, over: Range, item: Item, largest: int | None = None) -> None:
    """for over a range: a counter of its own, so that the body may assign the loop variable. largest: trips of a group
    at most."""
    f.at(node)
    condition = ranges.continues(f, node, over.start, over)
    if condition.known and not condition.const:
        execute(f, node.orelse)
    elif not any(_in_groups(f, node, over, item, size) for size in groups.sizes(f, node, over, largest)):
        _rolled(f, node, over, condition, lambda counter: _trip(f, node, over, item, counter))


def _trip(f: Frame, node: ast.For, over: Range, item: Item, counter: Value) -> None:
    """One iteration, at a counter."""
    bind(f, node.target, item(ranges.item(f, node, counter, over)))
    execute(f, node.body)


def _in_groups(f: Frame, node: ast.For, over: Range, item: Item, size: int) -> bool:
    """Several iterations at a time, and what is left over; False, and nothing done, if that is not worth it."""
    mark, env, saved = f.b.mark(), dict(f.ctx.env), edges_so_far(f)
    loops, around = f.ctx.rolled, len(f.loops)
    whole = groups.grouped(f, node, over, size)

    def body(counter: Value) -> None:
        for at in groups.numbers(f, node, counter, over, size):
            _trip(f, node, over, item, at)
            groups.check_length(f, mark)

    condition = ranges.continues(f, node, whole.start, whole)
    if not condition.known or condition.const:
        try:
            counter = _rolled(f, node, whole, condition, body)
        except groups.TooLongError:
            del f.loops[around:]
        else:
            if groups.worth(f, mark, loops):
                if over.start.known and over.stop.known and over.step.known:
                    rest = range(whole.stop.const, over.stop.const, over.step.const)
                    return unroll(f, node, [partial(item, constant(over.kind, i)) for i in rest], limited=False)
                _counted(f, node, groups.rest(over, counter), item, size - 1)
                return True
    f.b.rewind(mark)
    f.ctx.env, f.ctx.rolled = env, loops
    forget_edges(saved)
    groups.refuse(f, node, size)
    return False


def _rolled(f: Frame, node: ast.For, over: Range, condition: Value, trip: Callable[[Value], None]) -> Value:
    """The loop as such; returns its counter behind it. condition: whether it begins."""
    low, high = ranges.counter_bounds(over)
    key: Key = (f.id, f".counter.{node.lineno}.{node.col_offset}")
    initial = replace(over.start, lo=low, hi=high, small=False)
    if over.counted.wide and not words.fits(low, high) and not initial.known:
        initial = replace(initial, high=words.high_word(f.b, over.start))

    def body(header: Env) -> None:
        counter = header[key]
        assert isinstance(counter, Value)
        trip(counter)

    def advance(header: Env) -> Env:
        f.at(node)
        counter = header[key]
        assert isinstance(counter, Value)
        return {key: ranges.advanced(f, node, counter, over)}

    def bottom(latch: Env) -> Value:
        counter = latch[key]
        assert isinstance(counter, Value)
        return ranges.goes_on(f, node, counter, over)

    counter = _rotated(f, node, condition, {key: initial}, body, advance, bottom)[key]
    assert isinstance(counter, Value)
    return counter


def _rotated(
    f: Frame,
    node: ast.For | ast.While,
    condition: Value,
    extra: Env,
    body: Callable[[Env], None],
    advance: Callable[[Env], Env],
    bottom: Callable[[Env], Value],
) -> Env:
    """A loop, lowered once more if it turns out to store to elements of local arrays that were not its variables.
    Returns the extra variables behind it."""
    mark, env, saved = f.b.mark(), dict(f.ctx.env), edges_so_far(f)
    changed = _rotated_once(f, node, condition, extra, body, advance, bottom)
    if changed:
        f.ctx.stored.setdefault((node, f.source), set()).update(changed)
        f.b.rewind(mark)
        f.ctx.env = env
        forget_edges(saved)
        return _rotated(f, node, condition, extra, body, advance, bottom)
    f.ctx.rolled += 1
    return {key: f.ctx.env.pop(key, value) for key, value in extra.items()}


def _rotated_once(
    f: Frame,
    node: ast.For | ast.While,
    condition: Value,
    extra: Env,
    body: Callable[[Env], None],
    advance: Callable[[Env], Env],
    bottom: Callable[[Env], Value],
) -> set[tuple[object, int]]:
    """if condition: do { body } while (bottom): one branch per iteration. Returns the elements that change in it
    without being variables of the loop; the code is wrong if there are any.

    Everything that the loop assigns lives in a variable from before the loop to after it; all paths that leave the loop
    write the same variables, so that they need no others where they come together.
    """
    before = f.ctx.env
    header = _header(f, node, extra)
    f.b.move_all(_header_moves(f, node, header, {**before, **extra}))
    start, after = f.b.new_block(), f.b.new_block()
    if condition.known:
        f.b.branch(start)
    else:
        f.b.branch_if(operand(f, condition), start, after)
    f.b.start(start)
    f.ctx.env = {**before, **header}
    loop = LoopExits()
    f.loops.append(loop)
    body(header)
    f.loops.pop()
    edges = [*loop.continues, *([(f.b.block, f.ctx.env)] if f.b.block is not None else [])]
    environment.merge(f, node, edges)
    paths = [] if condition.known else [before]
    changed = loop_elements.unforeseen(f, before, header, loop.breaks)
    if f.b.block is not None:
        if _latch(f, node, before, header, advance, bottom, start, after):
            paths.append(f.ctx.env)
        changed |= loop_elements.unforeseen(f, before, header, [f.ctx.env])
    env = assignment.settled({**before, **header}, [*paths, *(at_break for _, at_break in loop.breaks)])
    _exit(f, node, env, header, loop.breaks, after, bool(paths))
    return changed


def _header_moves(f: Frame, node: ast.AST, header: Env, env: Env) -> list[tuple[ir.Reg, ir.Operand]]:
    """The moves from the variables of a path into those of the loop, and the flags of variables not assigned."""
    values = [(to, env[key]) for key, to in header.items() if key in env and not assignment.is_flag(key)]
    return [*(m for to, value in values for m in moves_of(f, node, to, value)), *assignment.moves(f, header, env)]


def moves_of(f: Frame, node: ast.AST, target: Anything, value: Anything) -> list[tuple[ir.Reg, ir.Operand]]:
    """Moves into a loop's variables, which have to keep their type."""
    if not environment.alike(target, value):
        raise f.error(
            node,
            f"a variable is {type_name(target)} before this loop and {type_name(value)} within",
        )
    return environment.moves(f, node, target, value)


def _header(f: Frame, node: ast.For | ast.While, extra: Env) -> Env:
    """New variables for all that the loop assigns."""
    header: Env = {key: environment.variable(f, value, "i") for key, value in extra.items()}
    for name in dict.fromkeys(_targets(node)):
        declared, current = f.types.get(name), f.ctx.env.get(f.key(name))
        if declared is None:
            continue
        template = current if current is not None and not isinstance(current, Value) else declared
        if current is None and not environment.of_numbers(declared):
            continue
        if environment.leaves(template):
            header[f.key(name)] = environment.variable(f, template, name)
    for storage, index in loop_elements.of_loop(f, node):
        header[(storage, index)] = array_access.element_variable(f, storage, index)
    return {**header, **assignment.at_header(f, f.ctx.env, dict.fromkeys(_targets(node)), header)}


def _targets(node: ast.For | ast.While) -> Iterator[str]:
    yield from assigned_names([node])


def _latch(
    f: Frame,
    node: ast.For | ast.While,
    before: Env,
    header: Env,
    advance: Callable[[Env], Env],
    bottom: Callable[[Env], Value],
    start: ir.Block,
    after: ir.Block,
) -> bool:
    """The end of an iteration: test, write the variables, go round. True if the loop can end here."""
    env = {**f.ctx.env, **advance(header)}
    f.ctx.env = env
    again = bottom(env)
    _keeps_arrays(f, node, before)
    f.b.move_all(_header_moves(f, node, header, f.ctx.env))
    if again.known:
        f.b.branch(start if again.const else after)
        return not again.const
    f.b.branch_if(operand(f, again), start, after)
    return True


def _keeps_arrays(f: Frame, node: ast.For | ast.While, before: Env) -> None:
    """Refuse a loop whose next iteration would find a name bound to another object than this one did; arrays make it a
    name of several."""
    chosen = []
    for name in _targets(node):
        old, new = before.get(f.key(name)), f.ctx.env.get(f.key(name))
        if new is not None and name not in f.types:
            raise f.failed.get(name) or f.error(node, f"the type of {written(name)!r} cannot be inferred")
        if old is not None and new is not None and not environment.alike(old, new):
            if array_choices.possible(old, new) and (f.source, name) not in f.ctx.choices.expected:
                chosen.append((f.source, name))
                continue
            raise f.forks.get(name) or f.error(
                node, f"{written(name)!r} is {type_name(old)} before this loop and {type_name(new)} in it"
            )
    environment.again(f, chosen)


def _exit(
    f: Frame, node: ast.For | ast.While, env: Env, header: Env, breaks: list[Edge], after: ir.Block, ends: bool
) -> None:
    """Continue in the block where all ways out of the loop come together."""
    if node.orelse and ends:
        f.b.start(after)
        f.ctx.env = env
        execute(f, node.orelse)
        edges = [*([(f.b.block, f.ctx.env)] if f.b.block is not None else []), *breaks]
        environment.merge(f, node, edges)
        return
    for block, at_break in breaks:
        f.b.block, f.ctx.env = block, at_break
        _keeps_arrays(f, node, env)
        f.b.move_all(_header_moves(f, node, header, at_break))
        f.b.branch(after)
    if ends or breaks:
        f.b.start(after)
        f.ctx.env = env
    else:
        f.b.block = None
