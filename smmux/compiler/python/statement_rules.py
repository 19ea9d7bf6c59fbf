"""Statements other than loops."""

from __future__ import annotations

import ast

from smmux.base.trees import walk
from smmux.compiler import ir
from smmux.compiler.build.numbers import weak
from smmux.compiler.python import (
    array_access,
    array_choices,
    assignment,
    environment,
    iteration,
    records,
    slices,
    unsupported,
)
from smmux.compiler.python.choices import harmless
from smmux.compiler.python.context import Edge, Frame, Unknown
from smmux.compiler.python.convert import Conflict, join, operand, truth
from smmux.compiler.python.expression_rules import augmented
from smmux.compiler.python.infer import infer_statements
from smmux.compiler.python.rules import evaluate, execute, inference, statement
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple, type_name
from smmux.compiler.python.versions import Copy, Next
from smmux.errors import CompileError
from smmux.source.function_source import is_overlap

MAX_UNPACKED = 64
"""Elements of an array that can be unpacked [EST]: more than anyone writes targets for."""


@statement(ast.Pass)
def nothing(f: Frame, node: ast.Pass) -> None:
    """pass."""


@statement(ast.Assert)
def assertion(f: Frame, node: ast.Assert) -> None:
    """assert: no operation, as in Numba unless debugging; the ranges of indices are found as if it held.

    Under `check="bounds"` a condition that does not hold ends the launch.
    """
    checked = f.ctx.options.bounds and not any(isinstance(n, ast.Call | ast.NamedExpr) for n in walk(node.test))
    if f.ctx.dry or not (checked or harmless(f, node.test)):
        return
    mark = f.b.mark()
    try:
        condition = truth(f, node.test, evaluate(f, node.test))
    except CompileError:
        f.b.rewind(mark)
        return
    if f.ctx.options.bounds and not (condition.known and condition.const):
        holds = operand(f, condition)
        f.at(node)
        f.b.trap(f.b.op("not.pred", ir.Type.PRED, holds), ir.Trap("assert", ast.unparse(node.test)))
    elif not condition.known:
        f.b.annotate(ir.Instr("assume", (), (operand(f, condition),), f.b.loc))
    f.b.emitted = mark.emitted


@statement(ast.Raise)
def raised(f: Frame, node: ast.Raise) -> None:
    """raise: the launch ends with an error that has the exception's name and its constant arguments."""
    if not f.ctx.dry:
        f.b.trap(operand(f, weak(True)), ir.Trap("raise", _exception(f, node)))
        f.b.exit()


def _exception(f: Frame, node: ast.Raise) -> str:
    """The exception of a raise in words: `ValueError: text`."""
    made = node.exc
    kind = made.func if isinstance(made, ast.Call) else made
    if kind is None or not (isinstance(exception := f.source.resolve(kind), type) and issubclass(exception, Exception)):
        raise f.error(node, "raise needs an exception here, such as ValueError('text')")
    told = [_told(f, argument) for argument in made.args] if isinstance(made, ast.Call) else []
    return exception.__name__ + (": " + ", ".join(told) if told else "")


def _told(f: Frame, argument: ast.expr) -> str:
    """What an exception is given, if it is constant; else how it is written."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    local = any(isinstance(inner, ast.Name) and inner.id in f.source.locals for inner in walk(argument))
    captured = None if local else f.source.resolve(argument)
    return str(captured) if isinstance(captured, str | int | float) else ast.unparse(argument)


@statement(ast.Expr)
def expression_statement(f: Frame, node: ast.Expr) -> None:
    """A call for its effect, or a docstring."""
    if isinstance(node.value, ast.Constant):
        return
    if isinstance(node.value, ast.Call):
        f.unused.add(node.value)
    value = evaluate(f, node.value)
    if isinstance(value, Static) and (refusal := unsupported.of_statement(value.object)):
        raise f.error(node, refusal)


@statement(ast.Assign)
def assign(f: Frame, node: ast.Assign) -> None:
    """a = b = value; targets are names, elements and tuples of these."""
    value = _named(f, node.targets[0], node.value)
    for target in node.targets:
        bind(f, target, value)


@statement(ast.AnnAssign)
def annotated(f: Frame, node: ast.AnnAssign) -> None:
    """name: annotation = value; the annotation says nothing to the compiler."""
    if node.value is not None:
        bind(f, node.target, _named(f, node.target, node.value))


def _named(f: Frame, target: ast.expr, value: ast.expr) -> Anything:
    """Evaluate; an array declared on the right takes its name from the left."""
    if isinstance(value, ast.Call) and isinstance(target, ast.Name):
        f.targets[value] = target.id
    return evaluate(f, value)


def bind(f: Frame, target: ast.expr, value: Anything) -> None:
    """Assign a value to a target."""
    f.at(target)
    if isinstance(target, ast.Name):
        environment.write(f, target, target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(f, target, value)
    elif isinstance(target, ast.Subscript):
        array, between = _element(f, target)
        if _whole(array, between, value):
            slices.store(f, target, array, value)
            return
        if slices.is_view(between):
            slices.store(f, target, slices.view(f, target, array, between), value)
            return
        array_access.store(f, target, array, array_access.indices(f, target, between), value)
    elif isinstance(target, ast.Attribute):
        place = _field(f, target)
        if _whole(place, Tuple(()), value):
            slices.store(f, target, place, value)
        else:
            array_access.store(f, target, place, [], value)
    else:
        raise f.error(target, "only names, array elements and tuples of these can be assigned")


def _whole(place: ArrayRef, between: Anything, value: Anything) -> bool:
    """Whether a field of a record that is an array takes an array."""
    return bool(place.shape) and isinstance(between, Tuple) and not between.items and isinstance(value, ArrayRef)


def _unpack(f: Frame, target: ast.Tuple | ast.List, value: Anything) -> None:
    value = iteration.as_array(f, target, value)
    if isinstance(value, ArrayRef) and value.shape and (f.ctx.dry or isinstance(value.shape[0], int)):
        count = value.shape[0] if isinstance(value.shape[0], int) else len(target.elts)
        if count > MAX_UNPACKED:
            raise f.error(target, f"{len(target.elts)} targets for an array of {count}")
        value = Tuple(tuple(array_access.load(f, target, value, [weak(i)]) for i in range(count)))
    if isinstance(value, Static) and isinstance(value.object, iteration.Sequence):
        value = _items(f, target, value.object)
    if not isinstance(value, Tuple):
        raise f.error(target, f"only a tuple can be unpacked, not {type_name(value)}")
    items, count = list(value.items), len(target.elts)
    star = next((i for i, inner in enumerate(target.elts) if isinstance(inner, ast.Starred)), None)
    if len(items) != count if star is None else len(items) < count - 1:
        raise f.error(target, f"{count} targets for a tuple of {len(items)}")
    if star is not None:
        behind = len(items) - (count - 1 - star)
        items[star:behind] = [Tuple(tuple(items[star:behind]))]
    for inner, item in zip(target.elts, items, strict=True):
        bind(f, inner.value if isinstance(inner, ast.Starred) else inner, item)


def _items(f: Frame, target: ast.Tuple | ast.List, sequence: iteration.Sequence) -> Tuple:
    """The items of a range, zip or enumerate as a tuple."""
    count = sequence.length.const
    if count is None or count > MAX_UNPACKED:
        raise f.error(
            target, f"the number of items has to be known to unpack them, and at most {MAX_UNPACKED}; index them"
        )
    return Tuple(tuple(sequence.item(target, weak(i)) for i in range(count)))


def _element(f: Frame, target: ast.Subscript) -> tuple[ArrayRef, Anything]:
    """The array of a subscript that is stored to, and what stands between the brackets."""
    owner = iteration.as_array(f, target, evaluate(f, target.value))
    if not isinstance(owner, ArrayRef):
        raise f.error(target, f"only array elements can be stored to, not items of {type_name(owner)}")
    key = slices.between_brackets(f, target)
    name = records.name_of(f, target, owner, key)
    if name is not None:
        return records.field(f, target, owner, name), Tuple(())
    return owner, key


def _field(f: Frame, target: ast.Attribute) -> ArrayRef:
    """The field of a record that is stored to."""
    owner = evaluate(f, target.value)
    if not isinstance(owner, ArrayRef) or not records.is_record(owner):
        raise f.error(target, "only names, array elements, fields of records and tuples of these can be assigned")
    return records.field(f, target, owner, target.attr)


@statement(Copy)
def copy(f: Frame, node: Copy) -> None:
    """One version of a name becomes another one at the end of a path, unless it is not assigned there."""
    target, source = (n.id for n in (*node.targets, node.value) if isinstance(n, ast.Name))
    if f.ctx.dry:
        if source in f.failed:
            f.failed.setdefault(target, f.failed[source])
        environment.write(f, node, target, environment.read(f, node, source))
    elif (value := f.ctx.env.get(f.key(source))) is None:
        assignment.forget(f, target)
    else:
        environment.write(f, node, target, value)
        assignment.copy(f, target, source)


@statement(ast.AugAssign, Next)
def augment(f: Frame, node: ast.AugAssign) -> None:
    """target op= value; index expressions are computed once."""
    if isinstance(node.target, ast.Name):
        before = node.before if isinstance(node, Next) else node.target
        current = environment.read(f, before, before.id)
        environment.write(f, node, node.target.id, augmented(f, node, current))
        return
    array, between = (
        _element(f, node.target) if isinstance(node.target, ast.Subscript) else (_field(f, node.target), Tuple(()))
    )
    if slices.is_view(between):
        raise f.error(node, "operators work on elements, not on slices; write a loop")
    index = array_access.indices(f, node.target, between)
    current = array_access.load(f, node.target, array, index)
    value = augmented(f, node, current)
    array_access.store(f, node.target, array, index, value)


@statement(ast.If)
def branch(f: Frame, node: ast.If) -> None:
    """if/elif/else; a condition known at compile time leaves one side only."""
    condition = truth(f, node.test, evaluate(f, node.test))
    if condition.known:
        execute(f, node.body if condition.const else node.orelse)
        return
    before, top = f.ctx.env, f.b.block
    assert top is not None
    yes, no = f.b.new_block(), f.b.new_block()
    edges: list[Edge] = []
    if not node.orelse:
        with f.on_side(condition, True):
            _side(f, yes, before, node.body, edges)
        f.b.block = top
        edges.append((top, before))
        f.at(node)
        environment.merge_skipping(f, node, edges, operand(f, condition), yes)
        return
    f.b.branch_if(operand(f, condition), yes, no)
    with f.on_side(condition, True):
        _side(f, yes, before, node.body, edges)
    with f.on_side(condition, False):
        _side(f, no, before, node.orelse, edges)
    f.at(node)
    environment.merge(f, node, edges)


def _side(f: Frame, block: object, before: dict, body: list[ast.stmt], edges: list[Edge]) -> None:  # type: ignore[type-arg]
    f.b.start(block)  # type: ignore[arg-type]
    f.ctx.env = dict(before)
    execute(f, body)
    if f.b.block is not None:
        edges.append((f.b.block, f.ctx.env))


@statement(ast.With)
def annotated_block(f: Frame, node: ast.With) -> None:
    """with smmux.overlap(): the statements under it, lowered as if they stood there alone."""
    if not is_overlap(f.source, node):
        raise f.error(node, "with is not supported, except `with smmux.overlap():`")
    execute(f, node.body)


@statement(ast.Return)
def leave(f: Frame, node: ast.Return) -> None:
    """return: a kernel's thread ends; a device function goes on after the call."""
    value = evaluate(f, node.value) if node.value is not None else Static(None)
    if f.ctx.dry:
        _join_result(f, node, value)
        return
    if f.caller is None:
        if not (isinstance(value, Static) and value.object is None):
            raise f.error(node, "a kernel returns nothing; store results in an array (or add device=True)")
        f.b.exit()
        return
    if f.result is not None:
        value = environment.conform(f, node, value, f.result)
    f.ctx.env[f.key(".return")] = value
    assert f.b.block is not None
    f.returns.append((f.b.block, f.ctx.env))
    f.b.block = None


def _join_result(f: Frame, node: ast.AST, value: Anything) -> None:
    value = array_choices.typed(f, ".return", environment.abstract(value))
    if f.result is None:
        f.result = value
        return
    try:
        f.result = join(f.result, value, f)
    except Conflict:
        f.errors[".return"] = f.error(
            node, f"{f.source.name!r} returns {type_name(f.result)} elsewhere and {type_name(value)} here"
        )


@inference(ast.If)
def infer_if(f: Frame, node: ast.If) -> None:
    """Both arms, or the one that is executed where the condition is known."""
    try:
        condition = truth(f, node.test, evaluate(f, node.test))
        known = condition.const if condition.known else None
    except (Unknown, CompileError):
        known = None
    if known is not False:
        infer_statements(f, node.body)
    if known is not True:
        infer_statements(f, node.orelse)


@inference(ast.With)
def infer_with(f: Frame, node: ast.With) -> None:
    """The statements under it."""
    infer_statements(f, node.body)
