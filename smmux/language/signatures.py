"""Signatures of kernels and device functions: `cuda.jit("void(int32[:], float64)")` and its other spellings.

As in Numba a signature says what arguments are: numbers are converted to the declared types, and arrays that have other
elements, axes or layouts are refused.

>>> [declared] = signatures_of("void(f4[:, ::1], i8)")
>>> declared
void(float32[:, ::1], int64)
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from smmux.base.parsing import expression
from smmux.errors import ConfigError, did_you_mean
from smmux.language import types
from smmux.language.conversions import best
from smmux.language.numba_types import of_smmux
from smmux.language.types import TYPES, ArrayAnnotation, FunctionType, Record, Scalar, TupleAnnotation, Void

__all__ = ["Mismatch", "Signatures", "as_declared", "is_signature", "signatures_of"]

Signatures: TypeAlias = str | tuple[Any, ...] | FunctionType | list[Any]
"""What `jit` takes for a signature, or for several."""

NAMES = {name: value for name, value in vars(types).items() if isinstance(value, TYPES)}
"""Types by the names that a signature in a string may use."""

MAKERS: dict[str, Callable[..., Any]] = {"Tuple": types.Tuple, "UniTuple": types.UniTuple, "Array": types.Array}


class Mismatch(Exception):
    """An argument that its declared type cannot take."""


def is_signature(given: Any) -> bool:
    """Whether the first argument of `jit` is a signature, or a list of signatures."""
    return isinstance(of_smmux(given), str | tuple | list | FunctionType)


def signatures_of(given: Any) -> tuple[FunctionType, ...]:
    """Signatures from what `jit` takes: a string, a tuple of types, `void(...)`, or a list. Raises ConfigError."""
    return tuple(_signature(one) for one in (given if isinstance(given, list) else [given]))


def _signature(given: Any) -> FunctionType:
    value = _Reader(given).signature() if isinstance(given, str) else of_smmux(given)
    if isinstance(value, tuple):
        value = FunctionType(None, tuple(map(of_smmux, value)))
    if not isinstance(value, FunctionType):
        raise ConfigError(f"{given!r} is no signature; write 'void(float32[:], int32)' or (float32[:], int32)")
    for item in (*value.arguments, *([] if value.returns is None else [value.returns])):
        if not isinstance(item, TYPES):
            raise ConfigError(f"{item!r} in a signature is no type of smmux.types{_hint(item)}")
    return value


def _hint(item: Any) -> str:
    name = {int: "int32", float: "float32", bool: "boolean"}.get(item) or getattr(item, "__name__", "")
    return f"; write {name}" if name in NAMES else ""


class _Reader:
    """Reads the text of a signature, which is never executed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def signature(self) -> Any:
        """The value of the whole text."""
        try:
            tree = expression(self.text.strip())
        except (SyntaxError, ValueError):
            raise self.error("is not written like 'void(float32[:], int32)'") from None
        return self.read(tree)

    def read(self, node: ast.AST) -> Any:
        """The value of a part of the text."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | str | None):
            return node.value if node.value is not None else types.none
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Attribute):  # types.int32
            return self.name(node.attr)
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(map(self.read, node.elts))
        if isinstance(node, ast.Subscript):
            return self.array(node)
        if isinstance(node, ast.Call) and not node.keywords:
            return self.call(node)
        raise self.error(f"has {ast.unparse(node)!r}, which is no type")

    def error(self, reason: str) -> ConfigError:
        """The refusal of the text."""
        return ConfigError(f"signature {self.text!r} {reason}")

    def name(self, name: str) -> Any:
        """The type of a name."""
        if name in NAMES:
            return NAMES[name]
        raise self.error(f"has {name!r}, which is no type{did_you_mean(name, NAMES)}")

    def array(self, node: ast.Subscript) -> ArrayAnnotation:
        """`float32[:, ::1]`."""
        element = self.read(node.value)
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        try:
            if not isinstance(element, Scalar):
                raise TypeError(f"an array of {element} is no type of an argument")
            return element[tuple(self.axis(axis) for axis in axes)]
        except TypeError as reason:
            raise self.error(f"has {ast.unparse(node)!r}: {reason}") from None

    def axis(self, node: ast.AST) -> Any:
        """`:` or `::1`."""
        if not isinstance(node, ast.Slice):
            return None
        return slice(*(part and self.read(part) for part in (node.lower, node.upper, node.step)))

    def call(self, node: ast.Call) -> Any:
        """`void(...)`, `UniTuple(int32, 2)`."""
        arguments = [self.read(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            try:
                return MAKERS[node.func.id](*arguments)
            except TypeError:
                raise self.error(f"has {ast.unparse(node)!r}, which is no type") from None
        returns = self.read(node.func)
        if isinstance(returns, FunctionType):
            raise self.error("calls a signature")
        return FunctionType(returns, tuple(arguments))


def as_declared(signatures: Sequence[FunctionType], args: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Arguments converted to the one of some signatures that fits them best, by Numba's order of conversions.

    Arguments beyond those that a signature has stay as they are. Raises Mismatch if no signature can take them, or if
    several fit equally well.
    """
    reasons, fitting = [], []
    for signature in signatures:
        pairs = zip(args, signature.arguments, names, strict=False)
        try:
            values = [_converted(value, declared, name) for value, declared, name in pairs]
        except Mismatch as reason:
            reasons.append(reason)
        else:
            fitting.append((signature, values))
    if not fitting and len(signatures) == 1:
        raise reasons[0]
    if not fitting:
        known = ", ".join(map(repr, signatures))
        raise Mismatch(f"none of the signatures {known} takes these arguments: {reasons[-1]}")
    wanted = [[item.name if isinstance(item, Scalar) else None for item in one.arguments] for one, _ in fitting]
    winners = best(wanted, [_own_type(value) for value in args]) or [0]
    if len(winners) > 1:
        known = " and ".join(repr(fitting[i][0]) for i in winners)
        raise Mismatch(f"the signatures {known} fit these arguments equally well; convert them before the launch")
    values = fitting[winners[0]][1]
    return [*values, *args[len(values) :]]


def _own_type(value: Any) -> str:
    """The type that a number has in Numba."""
    own = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}.get(type(value))
    return own or str(getattr(value, "dtype", ""))


def _converted(value: Any, declared: Any, name: str) -> Any:
    """An argument as its declared type."""
    if isinstance(declared, TupleAnnotation):
        if not isinstance(value, tuple) or len(value) != len(declared.items):
            raise Mismatch(f"argument {name!r} is declared as {declared}, not {_described(value)}")
        items = zip(value, declared.items, strict=True)
        return tuple(_converted(item, type, f"{name}[{i}]") for i, (item, type) in enumerate(items))
    if isinstance(declared, Void):
        if value is not None:
            raise Mismatch(f"argument {name!r} is declared as None, not {_described(value)}")
        return None
    if isinstance(declared, ArrayAnnotation):
        return _array(value, declared, name)
    if isinstance(declared, Record):
        if not isinstance(value, np.void) or value.dtype != declared.dtype:
            raise Mismatch(f"argument {name!r} is declared as {declared}, but is {_described(value)}")
        return value
    return _number(value, declared, name)


def _array(value: Any, declared: ArrayAnnotation, name: str) -> Any:
    """An array argument, which has to be what is declared."""
    array = np.asarray(value) if hasattr(value, "__array_interface__") and not isinstance(value, np.generic) else None
    if array is None or array.dtype != declared.dtype or array.ndim != declared.ndim:
        raise Mismatch(
            f"argument {name!r} is declared as {declared}, but is {_described(value)}"
            + (f"; use .astype(np.{declared.dtype.name})" if array is not None and array.ndim == declared.ndim else "")
        )
    if (
        declared.layout == "C"
        and not array.flags.c_contiguous
        or declared.layout == "F"
        and not array.flags.f_contiguous
    ):
        cure = "np.ascontiguousarray" if declared.layout == "C" else "np.asfortranarray"
        raise Mismatch(f"argument {name!r} is declared as {declared}, but its rows do not lie so; use {cure}")
    return value


def _number(value: Any, declared: Scalar, name: str) -> Any:
    """A number as its declared type, which may lose digits of a float but not of an integer."""
    dtype = declared.dtype
    if not isinstance(value, int | float | complex | np.number | np.bool_) or dtype.kind not in "biufc":
        raise Mismatch(f"argument {name!r} is declared as {declared}, but is {_described(value)}")
    if dtype.kind in "iu":
        return _integer(value, declared, name)
    if dtype.kind != "c" and isinstance(value, complex | np.complexfloating):
        raise Mismatch(f"argument {name!r} is declared as {declared}, but is {_described(value)}")
    with np.errstate(over="ignore"):
        return dtype.type(value)


def _integer(value: Any, declared: Scalar, name: str) -> Any:
    try:
        number = int(value) if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        raise Mismatch(
            f"argument {name!r} is declared as {declared}, but is {_described(value)}; write int({name})"
        ) from None
    limits = np.iinfo(declared.dtype)
    if not limits.min <= number <= limits.max:
        raise Mismatch(f"argument {name!r} = {number} does not fit {declared}, as which it is declared")
    return declared.dtype.type(number)


def _described(value: Any) -> str:
    """An argument in the words of a message."""
    if hasattr(value, "__array_interface__") and not isinstance(value, np.generic):
        array = np.asarray(value)
        return f"an array of {array.dtype} with {array.ndim} {'axis' if array.ndim == 1 else 'axes'}"
    return f"the {type(value).__name__} {value!r}"[:80]
