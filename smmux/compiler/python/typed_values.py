"""The values of a kernel's expressions while the front end walks over them.

A `Value` is a number: a compile-time constant or an operand of the machine. Containers hold other values and exist at
compile time only: a `Tuple`, an `ArrayRef` (storage seen through a shape), or a `Static` Python object such as a
module, a type or a function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build.numbers import DTYPES, Complex, Kind, Value, weak
from smmux.language.types import Record, Scalar
from smmux.source.attributes import peek, trusted


@dataclass(frozen=True, slots=True, eq=False)
class Tuple:
    """A tuple of values; each item has a type of its own. names: the items' names, of a named tuple or a vector."""

    items: tuple[Any, ...]
    names: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class LocalArray:
    """A per-thread array: a register per element, unless some index is known only at run time."""

    name: str
    elements: int
    dtype: Scalar
    memory: ir.Storage | None = None
    place: Any = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several arrays, chosen while the kernel runs. variable: that it was chosen for (`array_choices`)."""

    variable: tuple[Any, str]
    name: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Packed:
    """The type of a field of a record that does not lie at a multiple of its size: it is moved in pieces.

    element: the number in it. unit: bytes of a piece.
    """

    element: Scalar
    unit: int

    @property
    def name(self) -> str:
        """The type in words, for messages."""
        return self.element.name


@dataclass(frozen=True, slots=True)
class Structure:
    """The type of a record in an array. unit: bytes in which the array counts its strides, offset and base."""

    record: Record
    unit: int

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return self.record.dtype.names or ()

    @property
    def name(self) -> str:
        """The type in words, for messages."""
        return self.record.name

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRef:
    """An array, a view of one, or a row of one: element i, j is at base + offset + i * strides[0] + j * strides[1].

    Of the element of a structured array, a record, it is a reference without axes. An extent is a number of the kernel
    where a slice has bounds that are known only at run time. which: of one of several arrays, its number.
    """

    storage: ir.Storage | LocalArray | Choice
    dtype: Scalar | Structure | Packed
    shape: tuple[Any, ...]
    strides: tuple[int, ...]
    readonly: bool = False
    base: Value | None = None
    offset: int = 0
    which: Value | None = None

    @property
    def unit(self) -> int:
        """Bytes in which strides, offset and base count: those of an element, but for records and packed fields."""
        return self.dtype.unit if isinstance(self.dtype, Structure | Packed) else DTYPES[self.dtype.name].size

    @property
    def name(self) -> str:
        """The name in the user's source."""
        return self.storage.name

    @property
    def known_shape(self) -> tuple[int | None, ...]:
        """The extents, None where one is known only at run time."""
        return tuple(extent if isinstance(extent, int) else None for extent in self.shape)

    @property
    def extents(self) -> tuple[Value, ...]:
        """The extents as numbers."""
        return tuple(weak(extent) if isinstance(extent, int) else extent for extent in self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """Any other Python object: module, type, function, None, string."""

    object: Any


Anything = Value | Complex | Tuple | ArrayRef | Static


def type_name(value: Anything) -> str:
    """The type in words, for messages."""
    if isinstance(value, Value):
        return f"{value.kind.value} literal" if value.kind.weak else value.kind.value
    if isinstance(value, Complex):
        return {Kind.FLOAT32: "complex64", Kind.FLOAT64: "complex128"}.get(value.re.kind, "a complex number")
    if isinstance(value, Tuple):
        return f"a tuple of {len(value.items)}"
    if isinstance(value, ArrayRef) and isinstance(value.dtype, Structure) and not value.shape:
        return f"a {value.dtype.name}"
    if isinstance(value, ArrayRef):
        return f"a {len(value.shape)}-d array of {value.dtype}"
    return object_name(value.object)


def object_name(value: Any) -> str:
    """A Python object in words, for messages."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    name = peek(value, "__name__")
    kinds = {FunctionType: "function", BuiltinFunctionType: "function", ModuleType: "module", type: "type"}
    kind = next((word for of, word in kinds.items() if isinstance(value, of)), "object")
    return f"the {kind} {name or (value if trusted(type(value)) else f'of class {type(value).__name__}')}"
