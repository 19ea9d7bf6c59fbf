"""The scalar types of kernels, spelled as in Numba: `float32(x)` casts, `np.zeros(4, float32)` makes an array, and
`float32[:, :]` is an array type in a signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Array",
    "ArrayAnnotation",
    "FunctionType",
    "Record",
    "Scalar",
    "Tuple",
    "TupleAnnotation",
    "UniTuple",
    "Void",
    "boolean",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "from_dtype",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "void",
]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type of one value. Anything that takes a NumPy dtype takes it too."""

    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the same name."""
        return np.dtype(self.name)

    def __call__(self, *values: Any) -> Any:
        """The value as this type: rounded once, or wrapped, as a cast in a kernel does. Of types: a signature."""
        if len(values) != 1 or isinstance(values[0], TYPES):
            return FunctionType(self, values)
        return np.asarray(values[0]).astype(self.dtype)[()]

    def __getitem__(self, axes: Any) -> ArrayAnnotation:
        """Array type of this element: `float32[:]`, `float32[:, ::1]`."""
        return ArrayAnnotation(self, *_axes(axes if isinstance(axes, tuple) else (axes,)))

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Record:
    """The type of a record: an element of a structured array, with the fields of its NumPy dtype."""

    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        """The fields in words, for messages."""
        return f"record({', '.join(self.dtype.names or ())})"

    def __getitem__(self, axes: Any) -> ArrayAnnotation:
        """Array type of this element."""
        return ArrayAnnotation(self, *_axes(axes if isinstance(axes, tuple) else (axes,)))

    def __repr__(self) -> str:
        return self.name


def from_dtype(dtype: Any) -> Scalar | Record:
    """The type of the elements of arrays of a NumPy dtype, as Numba's function of this name gives it."""
    dtype = np.dtype(dtype)
    return Scalar(dtype.name) if dtype.names is None else Record(dtype)


def _axes(axes: tuple[Any, ...]) -> tuple[int, str]:
    """Number and layout of axes: `:` for any distance of neighbours, `::1` where they lie side by side."""
    if not all(isinstance(axis, slice) and axis.start is None and axis.stop is None for axis in axes):
        raise TypeError("an array type is written float32[:] or, by its number of axes, float32[:, :]")
    steps = [axis.step for axis in axes]
    rest = [None] * (len(axes) - 1)
    layouts = {(*rest, 1): "C", (1, *rest): "C" if len(axes) == 1 else "F", (*rest, None): "A"}
    if tuple(steps) not in layouts:
        raise TypeError("::1 says that neighbours lie side by side: it stands on the last axis, or on the first one")
    return len(axes), layouts[tuple(steps)]


@dataclass(frozen=True, slots=True)
class ArrayAnnotation:
    """The type of an array argument in a signature; layout: "C" or "F" if contiguous in that order, "A" for any."""

    element: Scalar | Record
    ndim: int
    layout: str = "A"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.element.dtype

    def __repr__(self) -> str:
        axes = [":"] * self.ndim
        if self.layout != "A":
            axes[-1 if self.layout == "C" else 0] = "::1"
        return f"{self.element}[{', '.join(axes)}]"


@dataclass(frozen=True, slots=True)
class TupleAnnotation:
    """The type of a tuple in a signature."""

    items: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"Tuple(({', '.join(map(repr, self.items))}{',' * (len(self.items) == 1)}))"


def Tuple(items: Any) -> TupleAnnotation:
    """The type of a tuple of these types, as Numba spells it."""
    return TupleAnnotation(tuple(items))


def UniTuple(item: Any, count: int) -> TupleAnnotation:
    """The type of a tuple of so many items of a type, as Numba spells it."""
    return TupleAnnotation((item,) * count)


def Array(dtype: Scalar, ndim: int, layout: str) -> ArrayAnnotation:
    """The type of an array, as Numba spells it: `Array(float32, 2, "C")`."""
    return ArrayAnnotation(dtype, ndim, layout)


@dataclass(frozen=True, slots=True)
class FunctionType:
    """A signature: `void(float32[:])` of a kernel, `float32(float32, float32)` of a device function.

    returns: the type of the result, None if the signature does not say.
    """

    returns: Any
    arguments: tuple[Any, ...]

    @property
    def args(self) -> tuple[Any, ...]:
        """The types of the arguments, under Numba's name."""
        return self.arguments

    @property
    def return_type(self) -> Any:
        """The type of the result, under Numba's name."""
        return self.returns

    def __repr__(self) -> str:
        arguments = ", ".join(map(repr, self.arguments))
        return f"{self.returns}({arguments})" if self.returns is not None else f"({arguments})"


@dataclass(frozen=True, slots=True)
class Void:
    """The type of a kernel's result, and of the argument None."""

    def __call__(self, *arguments: Any) -> FunctionType:
        """The signature of a kernel with arguments of these types."""
        return FunctionType(self, arguments)

    def __repr__(self) -> str:
        return "void"


TYPES = (Scalar, Record, ArrayAnnotation, TupleAnnotation, Void)
"""The classes of the types of arguments."""

int8 = Scalar("int8")
int16 = Scalar("int16")
int32 = Scalar("int32")
uint8 = Scalar("uint8")
uint16 = Scalar("uint16")
uint32 = Scalar("uint32")
int64 = Scalar("int64")
uint64 = Scalar("uint64")
float16 = Scalar("float16")
float32 = Scalar("float32")
float64 = Scalar("float64")
complex64 = Scalar("complex64")
complex128 = Scalar("complex128")
boolean = Scalar("bool")
void = none = Void()

# Other names of the same types in Numba.
bool_ = b1 = boolean
i1, i2, i4, i8 = int8, int16, int32, int64
u1, u2, u4, u8 = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
byte = uchar = uint8
char, short, intc, int_, intp, long_, longlong = int8, int16, int32, int64, int64, int64, int64
ushort, uintc, uint, uintp, ulong, ulonglong = uint16, uint32, uint64, uint64, uint64, uint64
float_, double = float32, float64
