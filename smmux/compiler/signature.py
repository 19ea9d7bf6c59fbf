"""Types of a kernel's arguments, as far as the compiled program depends on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smmux.errors import CompileError
from smmux.language.placement import WIDEST, alignments, as_array
from smmux.language.textures import Texture
from smmux.language.types import ArrayAnnotation, Record, Scalar, from_dtype

__all__ = ["ArrayType", "ScalarType", "Signature", "TupleType", "Type", "classify"]

INT32_MIN, INT32_MAX, UINT32_MAX = -(2**31), 2**31 - 1, 2**32 - 1
INT64_MIN, INT64_MAX, UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1
LARGE = 2**30  # a program may count on smaller integers never to pass the ends of their type in loops
ARRAY_DTYPES = (
    "float64", "float32", "float16", "int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool",
    "complex64", "complex128",
)  # fmt: skip
WIDE = ("float64", "int64", "uint64", "complex128", "float16")


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number: "int32", "float64", "bool", ... or "none". python: a Python number, 64 bits wide in Numba. large: an
    integer of magnitude 2**30 or more in this launch."""

    name: str
    python: bool = False
    large: bool = False


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array: the program is specialised to its shape and strides (in elements), and to the alignment in bytes of its
    first element, which decides whether neighbouring accesses can be joined. record: one record, held as an array."""

    dtype: Scalar | Record
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    readonly: bool = False
    texture: bool = False
    align: int = WIDEST
    record: bool = False

    @property
    def span(self) -> int:
        """Elements from the first to the last, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def before(self) -> int:
        """Elements before the first one, gaps included: those of axes that run backwards."""
        return sum((n - 1) * -s for n, s in zip(self.shape, self.strides, strict=True) if s < 0) if self.span else 0


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple; its items are arguments of their own. names: the items' names, of a named tuple."""

    items: tuple[Type, ...]
    names: tuple[str, ...] = ()


Type = ScalarType | ArrayType | TupleType


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of all arguments, and the bytes of shared memory given at launch."""

    arguments: tuple[Type, ...]
    dynshared: int = 0

    @property
    def wide(self) -> bool:
        """True if an argument has 64 bits, or floats of 16."""
        return any(_is_wide(t.dtype if isinstance(t, ArrayType) else t) for t in _flatten(self.arguments))

    def flat(self) -> tuple[ScalarType | ArrayType, ...]:
        """Arguments with tuples expanded: the order of parameter words and buffers (None takes none)."""
        return tuple(t for t in _flatten(self.arguments) if not (isinstance(t, ScalarType) and t.name == "none"))


def _is_wide(type: Scalar | Record | ScalarType) -> bool:
    """Whether a number, or a field of a record, has 64 bits."""
    if isinstance(type, Record):
        return any(_is_wide(from_dtype(field[0].base)) for field in (type.dtype.fields or {}).values())
    return type.name in WIDE


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
    if isinstance(value, tuple):
        items = tuple(_classify(item, f"{name}[{i}]", aligned) for i, item in enumerate(value))
        return TupleType(items, tuple(getattr(value, "_fields", ())))
    if isinstance(value, np.void) and value.dtype.names is not None:
        return replace(_array(as_array(value), name, next(aligned)), record=True)
    if value is None:
        return ScalarType("none")
    if isinstance(value, bool | np.bool_):
        return ScalarType("bool")
    if isinstance(value, int | np.integer):
        return _integer(value, name)
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return ScalarType("complex64", python=True)
    if isinstance(value, np.floating | np.complexfloating) and _has_type(value.dtype):
        return ScalarType(value.dtype.name)
    if isinstance(value, float):
        return ScalarType("float32", python=True)
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
    if hasattr(value, "__array_interface__") and not isinstance(value, np.generic):
        return _array(np.asarray(value), name, next(aligned))
    raise CompileError(f"argument {name} is a {type(value).__name__}; {_instead(value)}")


def _instead(value: Any) -> str:
    """What to pass in place of an argument that kernels do not take."""
    if isinstance(value, list | set | frozenset | range):
        return "pass a NumPy array, np.array(list(...), dtype=np.float32) or another dtype, or a tuple of a few numbers"
    if isinstance(value, dict):
        return "pass one NumPy array for the keys and one for the values"
    if isinstance(value, np.number):
        return f"supported are {', '.join(ARRAY_DTYPES)}"
    if hasattr(value, "to_numpy"):
        return "pass its to_numpy()"
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return "pass np.asarray(...) of it"
    return "supported are NumPy arrays, numbers, bools, None and tuples of these"


def _integer(value: int | np.integer[Any], name: str) -> ScalarType:
    if isinstance(value, np.generic):
        kind = value.dtype.name
        if value.dtype.itemsize == 8:
            return ScalarType(kind)
        return ScalarType("uint32" if kind == "uint32" else "int32", large=bool(not -LARGE < value < LARGE))
    if not INT64_MIN <= value <= UINT64_MAX:
        raise CompileError(f"argument {name}: {value} does not fit 64 bits")
    if not INT32_MIN <= value <= INT32_MAX:
        return ScalarType("int64" if value <= INT64_MAX else "uint64", python=value <= INT64_MAX)
    return ScalarType("int32", python=True, large=not -LARGE < value < LARGE)


def _has_type(dtype: np.dtype[Any]) -> bool:
    """Whether kernels have the type of an array's elements, or of all their fields."""
    if dtype.names is None or dtype.fields is None:
        return dtype.name in ARRAY_DTYPES
    return dtype.itemsize > 0 and all(_has_type(field[0].base) for field in dtype.fields.values())


def _array(value: np.ndarray[Any, Any], name: str, align: int) -> ArrayType:
    dtype = value.dtype
    if not _has_type(dtype) or not dtype.isnative:
        order = "" if dtype.isnative else " in the byte order of other computers: use .astype(...) of it"
        supported = "" if order else f"; supported are records and {', '.join(ARRAY_DTYPES)}"
        raise CompileError(f"argument {name} is an array of {dtype.name}{order}{supported}")
    strides = tuple(s // dtype.itemsize if n > 1 else 0 for n, s in zip(value.shape, value.strides, strict=True))
    if value.size and any(s % dtype.itemsize for n, s in zip(value.shape, value.strides, strict=True) if n > 1):
        raise CompileError(
            f"argument {name} has strides {value.strides} bytes, which are not whole elements: use np.ascontiguousarray"
        )
    if value.flags.c_contiguous:
        strides = tuple(math.prod(value.shape[i + 1 :]) for i in range(value.ndim))
    return ArrayType(
        from_dtype(dtype),
        value.shape,
        strides,
        readonly=not value.flags.writeable,
        texture=isinstance(value, Texture),
        align=align,
    )
