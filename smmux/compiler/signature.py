"""Types of a kernel's arguments, as far as the compiled program depends on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smmux.errors import CompileError
from smmux.placement import WIDEST, alignments
from smmux.textures import Texture
from smmux.types import ArrayAnnotation, Scalar

__all__ = ["ArrayType", "ScalarType", "Signature", "TupleType", "Type", "classify"]

INT32_MIN, INT32_MAX, UINT32_MAX = -(2**31), 2**31 - 1, 2**32 - 1
LARGE = 2**30  # a program may count on smaller integers never to pass the ends of their type in loops
ARRAY_DTYPES = ("float32", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool")
NARROWER = {"float64": "float32", "float16": "float32", "int64": "int32", "uint64": "uint32"}


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number: "int32", "uint32", "float32", "bool" or "none". python: a Python number, 64 bits wide in Numba. large:
    an integer of magnitude 2**30 or more in this launch."""

    name: str
    python: bool = False
    large: bool = False


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array: the program is specialised to its shape and strides (in elements), and to the alignment in bytes of its
    first element, which decides whether neighbouring accesses can be joined."""

    dtype: Scalar
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    readonly: bool = False
    texture: bool = False
    align: int = WIDEST

    @property
    def span(self) -> int:
        """Elements from the first to the last, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple; its items are arguments of their own."""

    items: tuple[Type, ...]


Type = ScalarType | ArrayType | TupleType


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of all arguments, and the bytes of shared memory given at launch."""

    arguments: tuple[Type, ...]
    dynshared: int = 0

    def flat(self) -> tuple[ScalarType | ArrayType, ...]:
        """Arguments with tuples expanded: the order of parameter words and buffers (None takes none)."""
        return tuple(t for t in _flatten(self.arguments) if not (isinstance(t, ScalarType) and t.name == "none"))


def _flatten(types: Iterable[Type]) -> Iterable[ScalarType | ArrayType]:
    for type in types:
        if isinstance(type, TupleType):
            yield from _flatten(type.items)
        else:
            yield type


def classify(args: Iterable[Any], dynshared: int = 0, names: tuple[str, ...] = ()) -> Signature:
    """The types of arguments; names are those of the parameters, for messages."""
    args = tuple(args)
    aligned = iter(alignments(args))
    types = []
    for i, argument in enumerate(args):
        name = repr(names[i]) if i < len(names) else str(i + 1)
        types.append(_classify(argument, name, aligned))
    return Signature(tuple(types), int(dynshared))


def _classify(value: Any, name: str, aligned: Iterator[int]) -> Type:
    if isinstance(value, np.ndarray):
        return _array(value, name, next(aligned))
    if isinstance(value, tuple | list):
        return TupleType(tuple(_classify(item, f"{name}[{i}]", aligned) for i, item in enumerate(value)))
    if value is None:
        return ScalarType("none")
    if isinstance(value, bool | np.bool_):
        return ScalarType("bool")
    if isinstance(value, int | np.integer):
        return _integer(value, name)
    if isinstance(value, float | np.float32 | np.float16):
        return ScalarType("float32", python=isinstance(value, float))
    if isinstance(value, ArrayType | ScalarType | TupleType):
        return value
    if isinstance(value, Scalar):
        return ScalarType(
            {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32"}.get(value.name, value.name)
        )
    if isinstance(value, ArrayAnnotation):
        raise CompileError(
            f"argument {name}: programs are specialised to shapes; give an array instead of the type {value}"
        )
    if hasattr(value, "__array_interface__"):
        return _array(np.asarray(value), name, next(aligned))
    raise CompileError(
        f"argument {name} is a {type(value).__name__}; "
        "supported are NumPy arrays, numbers, bools, None and tuples of these"
    )


def _integer(value: int | np.integer[Any], name: str) -> ScalarType:
    python = not isinstance(value, np.generic) or value.dtype.itemsize == 8
    if isinstance(value, np.uint32):
        return ScalarType("uint32", large=bool(value >= LARGE))
    if not INT32_MIN <= value <= INT32_MAX:
        hint = f"; use np.uint32({value})" if 0 < value <= UINT32_MAX else ""
        raise CompileError(f"argument {name}: {value} does not fit int32, the type of integer arguments{hint}")
    return ScalarType("int32", python=python, large=bool(not -LARGE < value < LARGE))


def _array(value: np.ndarray[Any, Any], name: str, align: int) -> ArrayType:
    dtype = value.dtype
    if dtype.name not in ARRAY_DTYPES or not dtype.isnative:
        narrower = NARROWER.get(dtype.name)
        hint = (
            f"; NumPy makes {dtype.name} by default or from Python numbers: "
            f"use dtype=np.{narrower} or .astype(np.{narrower})"
            if narrower
            else ""
        )
        raise CompileError(
            f"argument {name} is an array of {dtype.name}; supported are {', '.join(ARRAY_DTYPES)}{hint}"
        )
    if value.ndim == 0:
        raise CompileError(f"argument {name} is a 0-d array; use shape (1,), or pass a number")
    strides = tuple(s // dtype.itemsize if n > 1 else 0 for n, s in zip(value.shape, value.strides, strict=True))
    if value.size and any(
        s % dtype.itemsize or s < 0 for n, s in zip(value.shape, value.strides, strict=True) if n > 1
    ):
        raise CompileError(
            f"argument {name} has strides {value.strides} bytes, negative or not whole elements: "
            "use np.ascontiguousarray"
        )
    if value.flags.c_contiguous:
        strides = tuple(math.prod(value.shape[i + 1 :]) for i in range(value.ndim))
    return ArrayType(
        Scalar(dtype.name),
        value.shape,
        strides,
        readonly=not value.flags.writeable,
        texture=isinstance(value, Texture),
        align=align,
    )
