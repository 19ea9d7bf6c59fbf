"""Types of a function's variables: one flow-insensitive fixpoint over its statements, for given arguments."""

from __future__ import annotations

import ast
from contextlib import suppress

from smmux.base.trees import walk
from smmux.compiler.build.numbers import Value
from smmux.compiler.python import array_choices, environment
from smmux.compiler.python.context import Frame, Inference, Unknown
from smmux.compiler.python.convert import Conflict, join
from smmux.compiler.python.identity import describe
from smmux.compiler.python.rules import INFERENCES, execute
from smmux.compiler.python.typed_values import Anything
from smmux.compiler.python.versions import Mixed, apart
from smmux.errors import CompileError

MAX_PASSES = 40
"""Passes over a function's statements, after which inference goes on with the types that it has [EST].

A pass carries a type over any number of assignments in program order, but over one in the reverse order, so that only
chains of variables each assigned below its use take many; the random kernels of the tests take at most four. With fewer
than a kernel needs, some variable has too narrow a type, and the assignment that does not fit it is refused."""


def infer(f: Frame, arguments: dict[str, Anything]) -> Inference:
    """Infer the types of the frame's function, whose names are taken apart if their types change."""
    while (inference := _remembered(f, arguments)).parted:
        if f.source.remade is not None:
            raise Mixed(inference.parted)
        if f.source.separate is not None and (mixed := sorted(inference.parted - f.source.separate)):
            why = "changes its type in a device function that has barriers; use two names"
            raise f.error(None, f"variable {mixed[0]!r} {why}")
        f.source = apart(f.source, inference.parted)
    return inference


def _remembered(f: Frame, arguments: dict[str, Anything]) -> Inference:
    """The types of a function as it is, found once for the types of its arguments."""
    key = (f.source, f.fastmath, *((name, describe(value)) for name, value in arguments.items()))
    inference = f.ctx.inferred.get(key)
    if inference is None:
        with f.inferring():
            inference = _fixpoint(f, arguments)
        f.ctx.inferred[key] = inference
    return inference


def _fixpoint(f: Frame, arguments: dict[str, Anything]) -> Inference:
    walker = Frame(f.ctx, f.source, f.caller, f.call)
    for name, value in arguments.items():
        walker.types[name] = array_choices.typed(walker, name, environment.abstract(value))
        walker.first[name] = f.source.node
    for _ in range(MAX_PASSES):
        walker.failed.clear()
        walker.used.clear()
        walker.stale = False
        infer_statements(walker, f.source.node.body)
        _share(walker)
        if not walker.stale:
            break
    return Inference(walker.types, walker.result, walker.errors, walker.failed, walker.forks, frozenset(walker.parted))


def _share(f: Frame) -> None:
    """Give variables that were one in the user's source the type that it had."""
    for name, variable in f.source.webs.items():
        mine, other = f.types.get(name), f.types.get(variable)
        if isinstance(mine, Value) and isinstance(other, Value):
            with suppress(Conflict):
                f.types[name] = f.types[variable] = joined = join(other, mine, f)
                f.stale |= describe(joined) != describe(mine) or describe(joined) != describe(other)


def infer_statements(f: Frame, body: list[ast.stmt]) -> None:
    """Visit statements for their types only: each once, whatever the control flow."""
    for node in body:
        try:
            _visit(f, node)
        except Unknown:
            pass
        except CompileError as error:
            # Raised again when the statement is lowered, unless it turns out to be unreachable.
            for target in walk(node):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store) and target.id not in f.types:
                    f.failed.setdefault(target.id, error)


def _visit(f: Frame, node: ast.stmt) -> None:
    """One statement: a compound one by its rule for inference, any other by the rule that lowers it."""
    rule = INFERENCES.get(type(node))
    if rule is not None:
        rule(f, node)
    else:
        f.at(node)
        execute(f, [node])
