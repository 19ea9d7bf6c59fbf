"""Types that the signature of a device function declares: arguments and result are converted to them at each call."""

from __future__ import annotations

import ast

from smmux.compiler.build.numbers import Complex, Kind, Value
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast_to
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple, type_name
from smmux.language.conversions import best
from smmux.language.types import ArrayAnnotation, FunctionType, Scalar, TupleAnnotation
from smmux.source.function_source import FunctionSource


def signature_for(source: FunctionSource, bound: dict[str, Anything]) -> FunctionType | None:
    """The signature of a function that fits arguments best: by shapes, then by Numba's order of conversions."""
    if len(source.declared) < 2:
        return source.declared[0] if source.declared else None
    given = list(bound.values())
    fitting = [one for one in source.declared if all(map(_fits, given, one.arguments))] or list(source.declared)
    wanted = [[item.name if isinstance(item, Scalar) else None for item in one.arguments] for one in fitting]
    return fitting[(best(wanted, list(map(_own_type, given))) or [0])[0]]


def _fits(value: Anything, declared: object) -> bool:
    """Whether a value can be converted to a declared type."""
    number = isinstance(value, Value | Complex)
    return isinstance(declared, Scalar) == number and (number or _is_a(value, declared))


def _own_type(value: Anything) -> str:
    """The type that a number has in Numba, where literals and Python's numbers have 64 bits."""
    if isinstance(value, Complex):
        return "complex64" if value.re.kind is Kind.FLOAT32 and not value.re.drift else "complex128"
    if not isinstance(value, Value):
        return ""
    if value.kind.weak or value.drift:
        return "float64" if value.kind.floating else "int64"
    return str(value.kind.value)


def arguments(
    f: Frame, node: ast.AST, signature: FunctionType | None, bound: dict[str, Anything]
) -> dict[str, Anything]:
    """Arguments by name, as a signature declares them."""
    if signature is None:
        return bound
    declared = dict(zip(bound, signature.arguments, strict=False))
    return {name: _as(f, node, value, declared.get(name), f"argument {name!r}") for name, value in bound.items()}


def result(f: Frame, node: ast.AST, signature: FunctionType | None, value: Anything) -> Anything:
    """The result of a call, as a signature declares it."""
    return value if signature is None else _as(f, node, value, signature.returns, "the result")


def _is_a(value: Anything, declared: object) -> bool:
    if isinstance(value, Value) and isinstance(declared, Scalar):
        return bool(value.kind.value == declared.name)
    if isinstance(value, ArrayRef) and isinstance(declared, ArrayAnnotation):
        return (value.dtype, len(value.shape)) == (declared.element, declared.ndim)
    return isinstance(value, Tuple) and isinstance(declared, TupleAnnotation)


def _as(f: Frame, node: ast.AST, value: Anything, declared: object, what: str) -> Anything:
    """A value as a declared type."""
    if isinstance(declared, Scalar) and isinstance(value, Value | Complex):
        return cast_to(f, node, value, declared)
    if isinstance(declared, TupleAnnotation) and isinstance(value, Tuple) and len(value.items) == len(declared.items):
        return Tuple(tuple(_as(f, node, v, d, what) for v, d in zip(value.items, declared.items, strict=True)))
    if isinstance(declared, Scalar | ArrayAnnotation | TupleAnnotation) and not _is_a(value, declared):
        given = "None" if isinstance(value, Static) and value.object is None else type_name(value)
        raise f.error(node, f"{what} is {given}, but {declared} in the signature of the function")
    return value
