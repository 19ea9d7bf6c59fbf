"""Device functions, and functions of the library, written out in place of their calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from smmux.compiler.build.numbers import Kind, Value
from smmux.compiler.library import mathlib, mathlib_angles, mathlib_floats, mathlib_growth, mathlib_wide
from smmux.compiler.python import declared, environment
from smmux.compiler.python.captured import lift
from smmux.compiler.python.context import Edge, Frame
from smmux.compiler.python.convert import cast, number
from smmux.compiler.python.infer import infer
from smmux.compiler.python.rules import execute
from smmux.compiler.python.typed_values import Anything, Static, Tuple
from smmux.source.function_source import FunctionSource, from_function

LIBRARY = (mathlib, mathlib_angles, mathlib_growth, mathlib_floats, mathlib_wide)
"""The modules of functions in the kernel language that go by name: of float32 and int32; of floats of either size; of
float32, computed in float64."""
MAX_DEPTH = 64
"""Calls within calls, beyond which functions that call each other with ever new arguments count as recursive [EST].

Every level takes several frames of Python's own stack, of which there are 1,000. A larger number would end in Python's
RecursionError instead of a message with the line; nested calls of hand-written kernels are a few levels deep."""


def inline(
    f: Frame, node: ast.AST, source: FunctionSource, arguments: list[Anything], keywords: dict[str, Anything]
) -> Anything:
    """The body of a device function in place of its call."""
    if f.active(source) or f.depth > MAX_DEPTH:
        raise f.error(
            node, f"{source.name!r} calls itself: recursion is not supported, since calls are inlined; use a loop"
        )
    bound = bind_arguments(f, node, source, arguments, keywords)
    signature = declared.signature_for(source, bound)
    bound = declared.arguments(f, node, signature, bound)
    frame = Frame(f.ctx, source, f, node)
    inference = infer(frame, bound)
    frame.adopt(inference)
    if f.ctx.dry:
        return declared.result(f, node, signature, _dry_result(frame, inference.result))
    frame.result = inference.result
    for name, value in bound.items():
        environment.write(frame, node, name, value)
    execute(frame, frame.source.node.body)
    value = _return(frame, node)
    for key in [k for k in f.ctx.env if k[0] == frame.id]:
        del f.ctx.env[key]
    f.at(node)
    return declared.result(f, node, signature, value)


def _dry_result(frame: Frame, result: Anything | None) -> Anything:
    if ".return" in frame.errors:
        raise frame.errors[".return"]
    return Static(None) if result is None else result


def _return(frame: Frame, node: ast.AST) -> Anything:
    """Join the returns of an inlined function; falling off its end returns None."""
    if ".return" in frame.errors:
        raise frame.errors[".return"]
    key = frame.key(".return")
    edges: list[Edge] = list(frame.returns)
    if frame.b.block is not None:
        returns_value = frame.result is not None and not (
            isinstance(frame.result, Static) and frame.result.object is None
        )
        if returns_value:
            last = frame.source.node.body[-1]
            raise frame.error(
                last, f"{frame.source.name!r} can end here without a return, but returns a value elsewhere"
            )
        frame.ctx.env[key] = Static(None)
        edges.append((frame.b.block, frame.ctx.env))
    if not edges:
        return Static(None)
    local = [k for k in edges[0][1] if k[0] == frame.id and k != key]
    for _, env in edges:  # only the result survives: nothing else needs to be joined
        for name in [*local, *(k for k in env if k[0] == frame.id and k != key)]:
            env.pop(name, None)
    environment.merge(frame, node, edges)
    return frame.ctx.env.pop(key)


def bind_arguments(
    f: Frame, node: ast.AST, source: FunctionSource, arguments: list[Anything], keywords: dict[str, Anything]
) -> dict[str, Anything]:
    """Arguments by parameter name, with defaults filled in."""
    if len(arguments) > len(source.parameters) and not source.rest:
        raise f.error(node, f"{source.name!r} takes {len(source.parameters)} arguments, {len(arguments)} given")
    bound = dict(zip(source.parameters, arguments, strict=False))
    names = (*source.parameters, *source.keywords)
    for name, value in keywords.items():
        if name not in names or name in bound:
            raise f.error(node, f"{source.name!r} has no parameter {name!r} left to give")
        bound[name] = value
    for name in names:
        if name not in bound:
            if name not in source.defaults:
                raise f.error(node, f"{source.name!r} needs an argument {name!r}")
            bound[name] = lift(f, node, source.defaults[name])
    others = Tuple(tuple(arguments[len(source.parameters) :]))
    return {name: bound[name] for name in names} | dict.fromkeys(source.rest, others)


@cache
def library_source(function: Callable[..., Any]) -> FunctionSource:
    """The source of a function of the library."""
    assert isinstance(function, FunctionType)
    return from_function(function, device=True, library=True)


def library(f: Frame, node: ast.AST, function: str | Callable[..., Any], *arguments: Anything) -> Anything:
    """Call a function of the library, or the one of that name."""
    if isinstance(function, str):
        function = next(vars(module)[function] for module in LIBRARY if function in vars(module))
    return inline(f, node, library_source(function), [_typed(f, node, value) for value in arguments], {})


def _typed(f: Frame, node: ast.AST, value: Anything) -> Anything:
    """The argument of a function of the library, which knows no weak floats that are computed at run time."""
    if isinstance(value, Value) and value.kind is Kind.WEAK_FLOAT and not value.known:
        return cast(f, node, value, Kind.FLOAT64)
    return value


def library_number(f: Frame, node: ast.AST, function: str | Callable[..., Any], *arguments: Anything) -> Value:
    """Call a function of the library that returns a number."""
    return number(f, node, library(f, node, function, *arguments))
