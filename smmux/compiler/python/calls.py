"""Calls: casts, functions of the language, device functions."""

from __future__ import annotations

import ast
import math
from types import FunctionType
from typing import Any

import numpy as np

from smmux.compiler.build.numbers import Complex, Value, weak
from smmux.compiler.python import (
    array_access,
    array_attributes,
    array_declarations,
    complex_numbers,
    slices,
    unsupported,
    vectors,
)
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast_to
from smmux.compiler.python.inlining import inline, library_source
from smmux.compiler.python.rules import CALLS, evaluate, evaluate_all, expression
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple, type_name
from smmux.language.types import Scalar
from smmux.language.vector_types import VectorType
from smmux.source.attributes import peek, trusted
from smmux.source.function_source import FunctionSource


@expression(ast.Call)
def call(f: Frame, node: ast.Call) -> Anything:
    """function(arguments)."""
    if isinstance(node.func, ast.Attribute):
        owner = evaluate(f, node.func.value)
        if isinstance(owner, ArrayRef):
            return _method(f, node, node.func.attr, owner)
        if isinstance(owner, Value | Complex) and node.func.attr in ("conjugate", "conj") and not node.args:
            return complex_numbers.conjugate(f, node, owner)
    function = evaluate(f, node.func)
    if not isinstance(function, Static):
        raise f.error(node, f"{type_name(function)} cannot be called")
    arguments, keywords = _arguments(f, node)
    f.at(node)
    return apply(f, node, function.object, arguments, keywords)


def _arguments(f: Frame, node: ast.Call) -> tuple[list[Anything], dict[str, Anything]]:
    arguments, keywords = evaluate_all(f, node.args), {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise f.error(node, "** is not supported in a call")
        keywords[keyword.arg] = evaluate(f, keyword.value)
    return arguments, keywords


def apply(f: Frame, node: ast.AST, function: Any, arguments: list[Anything], keywords: dict[str, Anything]) -> Anything:
    """Call a captured Python object."""
    entry = CALLS.get(id(function))
    if entry is not None:
        try:
            return entry[1](f, node, *arguments, **keywords)
        except TypeError:
            if why := unsupported.wrong_arguments(entry[1], len(arguments), keywords):
                raise f.error(node, f"wrong arguments for {_name(function)}: {why}") from None
            raise
    definition = peek(function, "definition")
    if f.source.library and definition is None and isinstance(function, FunctionType):
        definition = library_source(function)
    if isinstance(definition, FunctionSource):
        return inline(f, node, definition, arguments, keywords)
    if isinstance(function, Scalar) or (isinstance(function, type) and issubclass(function, np.generic)):
        if len(arguments) != 1 or keywords:
            raise f.error(node, "a cast takes one argument")
        return cast_to(f, node, arguments[0], array_declarations.scalar_of(f, node, Static(function)))
    if isinstance(function, VectorType) and not keywords:
        return vectors.vector(f, node, function, arguments)
    if isinstance(function, type) and issubclass(function, tuple) and peek(function, "_fields"):
        return vectors.named_tuple(f, node, function, arguments, keywords)
    raise f.error(node, f"{_name(function)} is not supported in a kernel{unsupported.of_function(function)}")


def _name(function: Any) -> str:
    module = peek(function, "__module__")
    name = peek(function, "__qualname__") or peek(function, "__name__")
    if name is None:
        return repr(function) if trusted(type(function)) else f"a {type(function).__name__}"
    if not module or module in ("builtins", "__main__"):  # names of the kernel's own file
        return str(name)
    return f"{module if module.startswith('__') else module.removeprefix('_')}.{name}"


def _method(f: Frame, node: ast.Call, name: str, array: ArrayRef) -> Anything:
    arguments, keywords = _arguments(f, node)
    if name == "view" and len(arguments) == 1 and not keywords:
        return array_attributes.view(f, node, array, arguments[0])
    if name in ("ravel", "flatten") and not arguments and not keywords:
        return slices.reshaped(f, node, array, None)
    if name == "reshape" and arguments and not keywords:
        shape = arguments[0] if len(arguments) == 1 else Tuple(tuple(arguments))
        return slices.reshaped(f, node, array, shape)
    if name == "item" and not arguments and not keywords:
        if math.prod(extent or 0 for extent in array.known_shape) != 1:
            raise f.error(node, "item() is of an array that has one element; write a[i]")
        return array_access.load(f, node, array, [weak(0)] * len(array.shape))
    raise f.error(node, unsupported.of_array(name, ("view()", "reshape()", "ravel()")))
