"""What is known of expressions: arithmetic, accesses, calls."""

from __future__ import annotations

import ast
import itertools
from typing import Any

from smmux import cuda, smm
from smmux.compiler.frontend.source import MISSING as UNRESOLVED
from smmux.compiler.frontend.source import FunctionSource
from smmux.language import Attribute, Dim3
from smmux.multiplex.analysis.accesses import Alternatives, Barrier, Called
from smmux.multiplex.analysis.facts import MISSING, UNIFORM, VARYING, Condition, Fact, Scope, join, known
from smmux.multiplex.analysis.frames import Frame, rule
from smmux.multiplex.analysis.integers import CONSTANT_OPERATIONS
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import ATOMICS, BARRIERS

VARYING_CALLS = (
    cuda.grid, cuda.shfl_sync, cuda.shfl_up_sync, cuda.shfl_down_sync, cuda.shfl_xor_sync, cuda.all_sync, cuda.any_sync,
    cuda.eq_sync, cuda.ballot_sync, cuda.activemask,
)  # fmt: skip
MANAGED = {f: f"smm.{f.__name__}" for f in (smm.alloc, smm.release, smm.isolate, smm.array)}
SPACES = {cuda.shared.array: "shared", cuda.local.array: "local", cuda.const.array_like: "const"}
MAX_DEPTH = 64


@rule(ast.Constant)
def literal(_: Frame, node: ast.Constant) -> Fact:
    """A number, a string, True, False or None."""
    return known(node.value)


@rule(ast.Name)
def name(frame: Frame, node: ast.Name) -> Fact:
    """A variable, or a captured object."""
    if node.id in frame.source.locals or node.id in frame.scope.facts:
        return frame.scope.facts.get(node.id, UNIFORM)
    return captured(frame, node)


def captured(frame: Frame, node: ast.expr) -> Fact:
    """An object from outside the kernel."""
    value = frame.source.resolve(node)
    if isinstance(value, Dim3 | Attribute):
        return Fact(value.name not in ("threadIdx", "laneid"), const=value)
    return UNIFORM if value is UNRESOLVED else known(value)


@rule(ast.Attribute)
def attribute(frame: Frame, node: ast.Attribute) -> Fact:
    """A captured object, threadIdx.x and its like, or the shape of an array."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id not in frame.source.locals:
        if frame.source.resolve(node) is not UNRESOLVED:
            return captured(frame, node)
        return Fact(frame.eval(node.value).uniform)
    owner = frame.eval(node.value)
    if node.attr == "T":
        return owner
    return UNIFORM if owner.arrays else Fact(owner.uniform)


@rule(ast.Subscript)
def element(frame: Frame, node: ast.Subscript) -> Fact:
    """An element that is loaded, a row or a view of an array, or an item of a tuple."""
    return frame.element(node, write=False)


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
    single = isinstance(node, ast.Compare) and len(node.ops) == 1
    kind = node.ops[0] if isinstance(node, ast.Compare) and single else getattr(node, "op", None)
    compute = CONSTANT_OPERATIONS.get(type(kind))  # type: ignore[arg-type]
    values = [o.const for o in operands]
    if compute is not None and all(isinstance(v, int | float) for v in values):
        try:
            return known(compute(*values))
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
            frame.emit(Alternatives((later, [])))
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
    frame.emit(Alternatives(tuple(ways)))
    fact = join(facts[0], facts[1])
    return fact if test.uniform else Fact(False, fact.arrays, MISSING, fact.items)


# -- calls


@rule(ast.Call)
def call_of(frame: Frame, node: ast.Call) -> Fact:
    """A function of the language, a device function, a cast, a method of an array."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
        owner = frame.eval(node.func.value)
        if owner.arrays:
            return owner
    function = frame.eval(node.func).const
    if (space := _entry(SPACES, function)) is not None:
        return declaration(frame, space, node)
    if (managed := _entry(MANAGED, function)) is not None:
        raise refuse(frame.source, node, f"the kernel manages shared memory itself: {managed} stands here")
    if any(function is each for each in BARRIERS):
        return barrier(frame, node)
    definition = getattr(function, "definition", None)
    if isinstance(definition, FunctionSource):
        return device_call(frame, node, definition)
    arguments = [frame.eval(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
    arguments += [frame.eval(k.value) for k in node.keywords]
    if id(function) in ATOMICS and arguments:
        for array in arguments[0].arrays:
            frame.touch(array, node, write=False)
            frame.touch(array, node, write=True)
        return VARYING
    return Fact(all(a.uniform for a in arguments) and function not in VARYING_CALLS)


def _entry(table: dict[Any, str], function: Any) -> str | None:
    return next((value for key, value in table.items() if key is function), None)


def declaration(frame: Frame, space: str, node: ast.Call) -> Fact:
    """The declaration of a shared, per-thread or constant array; it has the name of the variable."""
    for argument in node.args:
        frame.eval(argument)
    name = frame.names.get(node, space)
    space = "private" if space == "shared" and name in frame.analysis.apart else space
    return Fact(True, frozenset({frame.analysis.array(space, name, node, node, frame.source)}))


def barrier(frame: Frame, node: ast.Call) -> Fact:
    """A barrier; all threads of the block have to get there together."""
    if frame.reasons:
        cause, source, why = frame.reasons[-1]
        head, line = ast.unparse(cause).splitlines()[0], getattr(cause, "lineno", "?")
        where = f"line {line}" if source.filename == frame.source.filename else f"{source.filename}:{line}"
        why = f"this barrier stands in {why} ({where}: `{head}`), so a region cannot include or meet it"
        raise refuse(frame.source, node, why)
    for argument in node.args:
        frame.eval(argument)
    frame.emit(Barrier(node))
    return UNIFORM


def device_call(frame: Frame, node: ast.Call, source: FunctionSource) -> Fact:
    """Walk over a device function at its call, with facts of its own there."""
    if len(frame.path) > MAX_DEPTH:
        raise refuse(frame.source, node, f"{source.name!r} calls itself: recursion is not supported")
    path = (*frame.path, node)
    scope = frame.analysis.scopes.setdefault(path, Scope(source, source.node, frame.scope, node))
    callee = Frame(frame.analysis, scope, path, frame)
    given = dict(zip(source.parameters, (frame.eval(a) for a in node.args), strict=False))
    given |= {k.arg: frame.eval(k.value) for k in node.keywords if k.arg is not None}
    for name in source.parameters:
        default = known(source.defaults[name]) if name in source.defaults else UNIFORM
        callee.widen(name, given.get(name, default))  # as uniform as it is in the caller
    frame.emit(Called(callee.block(source.node.body).pieces))
    return callee.result or UNIFORM
