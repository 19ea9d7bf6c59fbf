"""Variables: reading them, writing them, and joining the values that they have on different paths of control."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import MACHINE_TYPE, Complex, Kind, Value, extent_value, weak
from smmux.compiler.python import array_choices, assignment
from smmux.compiler.python.context import Edge, Env, Frame, Key, Unknown
from smmux.compiler.python.convert import (
    Conflict,
    as_complex,
    cast,
    complex_of,
    differ,
    join,
    lasting_kind,
    operand,
    result,
)
from smmux.compiler.python.identity import describe, same, same_view
from smmux.compiler.python.typed_values import (
    Anything,
    ArrayRef,
    Choice,
    Packed,
    Static,
    Structure,
    Tuple,
    type_name,
)
from smmux.compiler.python.versions import written
from smmux.errors import CompileError


def read(f: Frame, node: ast.AST, name: str) -> Anything:
    """The value of a local variable."""
    if f.ctx.dry:
        f.used.add(name)
        value = f.types.get(name)
        if value is None:
            f.stale = True
            raise Unknown
        return value
    value = f.ctx.env.get(f.key(name))
    if value is not None:
        if f.loops and not f.source.transformed and _comes_and_goes(f, name, value):
            again(f, [(f.source, name)])  # or an iteration would not find what an earlier one has assigned
        assignment.check(f, node, name)
        return value
    if name in f.errors or name in f.failed:
        raise f.errors.get(name) or f.failed[name]
    if isinstance(f.types.get(name), ArrayRef):
        again(f, [(f.source, name)])  # one that is chosen while the kernel runs lives behind the loop that assigns it
    return assignment.missing(f, node, name)


def _comes_and_goes(f: Frame, name: str, value: Anything) -> bool:
    """Whether a name stands for one array, which some path has not assigned."""
    if not isinstance(value, ArrayRef) or isinstance(value.storage, Choice):
        return False
    return not isinstance(value.dtype, Structure | Packed) and not assignment.state(f.ctx.env, f.key(name)).const


def write(f: Frame, node: ast.AST, name: str, value: Anything) -> None:
    """Assign a local variable."""
    if f.ctx.dry:
        _widen(f, node, name, value)
        return
    if name in f.errors:
        raise f.errors[name]
    declared = f.types.get(name)
    assignment.assign(f, name)
    f.ctx.env[f.key(name)] = value if declared is None else conform(f, node, value, declared)


def _widen(f: Frame, node: ast.AST, name: str, value: Anything) -> None:
    """Join a definition's type to the variable's, while types are inferred."""
    value = array_choices.typed(f, name, abstract(value))
    before = f.types.get(name)
    if before is None and name in f.source.unread and isinstance(value, Value):
        parameter = f.types.get(written(name)) if written(name) in f.source.parameters else None
        if isinstance(parameter, ArrayRef):
            f.errors[name] = f.error(node, f"nothing reads this; write {written(name)}[...] = to store an element")
    if before is None:
        f.types[name] = value
        f.first[name] = node
        return
    if written(name) not in f.source.apart and differ(f, before, value):
        f.parted.add(name)
    try:
        f.types[name] = joined = join(before, value, f)
        f.stale |= joined is not before and name in f.used
        if isinstance(value, ArrayRef) and describe(value) != describe(before):
            f.forks[name] = _forked(f, node, name)
    except Conflict:
        line = getattr(f.first[name], "lineno", "?")
        arrays = isinstance(before, ArrayRef) and isinstance(value, ArrayRef)
        f.errors[name] = (
            _forked(f, node, name)
            if arrays
            else f.error(
                node,
                f"variable {written(name)!r} is {type_name(before)} (line {line}) and {type_name(value)} here, "
                "depending on the path; use two names",
            )
        )


def _forked(f: Frame, node: ast.AST, name: str) -> CompileError:
    line = getattr(f.first[name], "lineno", "?")
    return f.error(
        node,
        f"variable {written(name)!r} stands for one array (line {line}) and for one of another kind here; "
        "give both one element type, number of axes and strides, or use two names",
    )


def abstract(value: Anything) -> Anything:
    """A value without the register that holds it, as inference keeps it."""
    if isinstance(value, Value):
        return replace(value, operand=None, high=None) if value.operand is not None else value
    if isinstance(value, Complex):
        return value.map(abstract)
    if isinstance(value, Tuple):
        return replace(value, items=tuple(map(abstract, value.items)))
    if isinstance(value, ArrayRef) and leaves(value):
        shape = tuple(extent if isinstance(extent, int) else extent_value(None) for extent in value.shape)
        base, which = (number and Value(number.kind) for number in (value.base, value.which))
        return replace(value, base=base, which=which, shape=shape)
    return value


def conform(f: Frame, node: ast.AST, value: Anything, declared: Anything) -> Anything:
    """A value in the type that its variable has throughout the function."""
    if isinstance(value, Value) and isinstance(declared, Value):
        if value.kind is declared.kind or declared.kind.weak:
            wide = declared.drift and value.kind is Kind.FLOAT32 and not value.known  # a float64 variable of Numba's
            return replace(value, drift=True) if wide else value
        return replace(cast(f, node, value.settled, declared.kind), drift=value.drift or declared.drift)
    if isinstance(value, Value | Complex) and isinstance(declared, Complex):
        parts = complex_of(f, node, value, declared.re.kind) if not declared.re.kind.weak else as_complex(value)
        return parts.zip(lambda part, wanted: conform(f, node, part, wanted), declared)
    if isinstance(value, Tuple) and isinstance(declared, Tuple) and len(value.items) == len(declared.items):
        items = (conform(f, node, v, d) for v, d in zip(value.items, declared.items, strict=True))
        return replace(value, items=tuple(items))
    return array_choices.conform(f, value, declared)


def leaves(value: Anything) -> list[Value]:
    """The numbers within a value that can differ between paths."""
    if isinstance(value, Value):
        return [value]
    if isinstance(value, Complex):
        return [value.re, value.im]
    if isinstance(value, Tuple):
        return [leaf for item in value.items for leaf in leaves(item)]
    if isinstance(value, ArrayRef):
        extents = [extent for extent in value.shape if isinstance(extent, Value)]
        return [*(number for number in (value.which, value.base) if number is not None), *extents]
    return []


def of_numbers(value: Anything) -> bool:
    """Whether a value is a number or made of nothing else, so that it can begin as anything; so is an array if a number
    says which one it is."""
    if isinstance(value, ArrayRef):
        return isinstance(value.storage, Choice)
    return isinstance(value, Value | Complex) or isinstance(value, Tuple) and all(map(of_numbers, value.items))


def rebuild(value: Anything, numbers: Callable[[Value], Value]) -> Anything:
    """The value with its numbers replaced."""
    if isinstance(value, Value):
        return numbers(value)
    if isinstance(value, Complex):
        return value.map(numbers)
    if isinstance(value, Tuple):
        return replace(value, items=tuple(rebuild(item, numbers) for item in value.items))
    if isinstance(value, ArrayRef) and leaves(value):
        which, base = (number and numbers(number) for number in (value.which, value.base))
        shape = tuple(numbers(extent) if isinstance(extent, Value) else extent for extent in value.shape)
        return replace(value, which=which, base=base, shape=shape)
    return value


def alike(a: Anything, b: Anything) -> bool:
    """True if two values differ only in numbers."""
    if isinstance(a, Value) and isinstance(b, Value):
        return True
    if isinstance(a, Complex) and isinstance(b, Complex):
        return True
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.items) == len(b.items) and all(map(alike, a.items, b.items))
    if isinstance(a, ArrayRef) and isinstance(b, ArrayRef):
        return same_view(a, b) and (a.base is None) == (b.base is None)
    return isinstance(a, Static) and isinstance(b, Static) and a.object is b.object


def number_variable(f: Frame, template: Value, name: str) -> Value:
    """A new variable of a number's type; of one word where its bounds say that this is enough."""
    kind = lasting_kind(f, template.kind)
    if kind.wide:
        low, high = f.b.reg(ir.Type.U32, name, variable=True), f.b.reg(ir.Type.U32, name, variable=True)
        if kind.double:
            return words.double(kind, (low, high))
        limits = (template.lo, template.hi) if words.fits(template.lo, template.hi) else ()
        return words.integer(kind, (low, high), *limits)
    reg = f.b.reg(MACHINE_TYPE[kind], name, variable=True)
    if template.small:
        return replace(result(kind, reg, template.lo, template.hi, template.drift), small=True)
    return result(kind, reg, drift=template.drift)


def variable(f: Frame, template: Anything, name: str) -> Anything:
    """New variables for the numbers of a value."""
    return rebuild(template, lambda value: number_variable(f, value, name))


def moves(f: Frame, node: ast.AST, target: Anything, value: Anything) -> list[tuple[ir.Reg, ir.Operand]]:
    """The moves that write a value into variables; conversions of constants and bools are emitted here."""
    pairs = []
    for to, source in zip(leaves(target), leaves(value), strict=True):
        if source.kind is not to.kind:
            source = cast(f, node, source.settled, to.kind)
        assert isinstance(to.operand, ir.Reg)
        if to.kind.wide:
            pairs.append((to.operand, words.low_word(f.b, source)))
            if isinstance(to.high, ir.Reg):
                pairs.append((to.high, words.high_word(f.b, source)))
        else:
            pairs.append((to.operand, operand(f, source)))
    return pairs


def label(key: Key) -> str:
    """A name for the registers of a variable."""
    return f"{key[0].name}.{key[1]}" if not isinstance(key[0], int) else str(key[1])


def merge(f: Frame, node: ast.AST, edges: list[Edge], skip: tuple[ir.Operand, ir.Block] | None = None) -> None:
    """Continue in a new block where the edges come together; variables that differ get a register of their own.

    skip: the last edge is a condition, and the block that runs if it holds; else control goes on to the new block. Its
    moves come before the branch, which saves a jump around them.
    """
    if not edges:
        f.b.block = None
        return
    if len(edges) == 1:
        f.b.block, f.ctx.env = edges[0]
        return
    envs = [env for _, env in edges]
    differing, unsure = _differing(f, node, envs)
    flags = assignment.joined(f, unsure, envs)
    target = f.b.new_block()
    for block, env in edges:
        f.b.block = block
        pending = [m for key, to in differing.items() if key in env for m in moves(f, node, to, env[key])]
        f.b.move_all([*pending, *assignment.moves(f, flags, env)])
        if skip is not None and block is edges[-1][0]:
            f.b.branch_if(skip[0], skip[1], target)
        else:
            f.b.branch(target)
    f.ctx.env = {**_common(envs), **differing, **flags}
    f.b.start(target)


def merge_skipping(f: Frame, node: ast.AST, edges: list[Edge], condition: ir.Operand, body: ir.Block) -> None:
    """End an `if` without `else`, whose last edge is the block of the condition, still open."""
    if len(edges) == 2:
        merge(f, node, edges, (condition, body))
        return
    after = f.b.new_block()
    top, f.ctx.env = edges[0]
    f.b.block = top
    f.b.branch_if(condition, body, after)
    f.b.start(after)


def _common(envs: list[Env]) -> Env:
    return {key: value for env in reversed(envs) for key, value in env.items()}


def _differing(f: Frame, node: ast.AST, envs: list[Env]) -> tuple[Env, list[Key]]:
    """New variables for all keys whose value is not the same on every edge that has one, and the keys of variables that
    some edge may not have assigned."""
    variables: Env = {}
    unsure: dict[Key, None] = {}
    chosen: list[array_choices.Variable] = []
    first = envs[0]
    for key, template in _common(envs).items():
        if assignment.is_flag(key):
            unsure[key[:2]] = None
            continue
        values = [env[key] for env in envs if key in env]
        if len(values) < len(envs) and assignment.is_variable(key):
            unsure[key] = None
        # The usual case first: nothing was assigned since the paths parted.
        if all(v is template for v in values) and (len(values) == len(envs) or not leaves(template)):
            continue
        if len(values) == len(envs) and all(same(first[key], v) for v in values[1:]):
            continue
        if not all(alike(template, v) for v in values):
            if key[0] == f.id and all(array_choices.possible(template, v) for v in values):
                chosen.append((f.source, key[1]))
                continue
            if key[0] == f.id and key[1] in f.forks:
                raise f.forks[key[1]]
            raise _conflict(f, node, key, values)
        if (
            len(values) < len(envs)
            and all(v.known for v in leaves(template))
            and all(same(template, v) for v in values)
        ):
            continue
        variables[key] = variable(f, _template(values), label(key))
    again(f, chosen)
    return variables, list(unsure)


def _conflict(f: Frame, node: ast.AST, key: Key, values: Sequence[Anything]) -> CompileError:
    """The error of a variable, or of what the function returns, whose type depends on the path."""
    kinds = " or ".join(sorted({type_name(v) for v in values}))
    what = f"what {f.source.name!r} returns" if key[1] == ".return" else f"variable {written(label(key))!r}"
    if all(isinstance(v, ArrayRef) for v in values):
        kinds += " with other strides"
    return f.error(node, f"{what} is {kinds} here, depending on the path; give it one type on every path")


def either(f: Frame, name: str, a: Anything, b: Anything) -> Anything:
    """The type of a value that is one of two arrays."""
    f.ctx.choices.expected.setdefault((f.source, name), ())
    return join(array_choices.typed(f, name, abstract(a)), array_choices.typed(f, name, abstract(b)))


def again(f: Frame, chosen: list[array_choices.Variable]) -> None:
    """Begin anew if there are variables that stand for several arrays, and that was not known."""
    new = [variable for variable in chosen if variable not in f.ctx.choices.expected]
    if new:
        raise array_choices.Restart(new)


def _template(values: list[Anything]) -> Anything:
    """One of the values on the edges, with the types that the variables of the join get."""
    joined = values[0]
    for value in values[1:]:
        if isinstance(joined, Value) and isinstance(value, Value) and joined.kind is not value.kind:
            joined = _wider(joined, value)
        elif isinstance(joined, Value) and isinstance(value, Value):
            known = joined.const if joined.known and same(joined, value) else None
            limits = min(joined.lo, value.lo), max(joined.hi, value.hi)
            small = joined.small and value.small
            joined = Value(joined.kind, None, known, *limits, joined.drift or value.drift, small=small)
        elif isinstance(joined, Complex) and isinstance(value, Complex):
            joined = joined.zip(lambda x, y: _template([x, y]), value)
        elif isinstance(joined, Tuple) and isinstance(value, Tuple):
            items = (_template([x, y]) for x, y in zip(joined.items, value.items, strict=True))
            joined = replace(joined, items=tuple(items))
    return joined


def _wider(a: Value, b: Value) -> Value:
    try:
        joined = join(a, b)
        assert isinstance(joined, Value)
        return joined
    except Conflict:
        return a if a.kind in (Kind.FLOAT32, Kind.UINT32, Kind.FLOAT64) else b


def returned(values: Iterable[Anything]) -> Anything:
    """The joined type of a function's returns; raises Conflict."""
    result: Anything | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return weak(0) if result is None else result


def one_of(values: Iterable[Anything]) -> Anything | None:
    """The type of any of several values; None if they have none in common."""
    try:
        return abstract(returned(map(abstract, values)))
    except Conflict:
        return None
