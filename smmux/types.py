"""The scalar types of kernels, spelled as in Numba: `float32(x)` casts, `np.zeros(4, float32)` makes an array, and
`float32[:, :]` is an array type in a signature.

>>> bool(float32(0.1) == np.float32(0.1))
True
>>> int32[:, :]
int32[:, :]
>>> np.zeros(2, uint8).dtype
dtype('uint8')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "ArrayAnnotation",
    "Scalar",
    "boolean",
    "float32",
    "float64",
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

    def __call__(self, value: Any) -> Any:
        """The value as this type: rounded once, or wrapped, as a cast in a kernel does."""
        return np.asarray(value).astype(self.dtype)[()]

    def __getitem__(self, axes: Any) -> ArrayAnnotation:
        """Array type of this element: `float32[:]`, `float32[:, ::1]`."""
        return ArrayAnnotation(self, len(axes) if isinstance(axes, tuple) else 1)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayAnnotation:
    """The type of an array argument in a signature."""

    element: Scalar
    ndim: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.element.dtype

    def __repr__(self) -> str:
        return f"{self.element}[{', '.join([':'] * self.ndim)}]"


@dataclass(frozen=True, slots=True)
class _Void:
    """The type of a kernel's result: `void(float32[:])` is the tuple of its argument types."""

    def __call__(self, *arguments: Scalar | ArrayAnnotation) -> tuple[Scalar | ArrayAnnotation, ...]:
        return arguments

    def __repr__(self) -> str:
        return "void"


int8 = Scalar("int8")
int16 = Scalar("int16")
int32 = Scalar("int32")
uint8 = Scalar("uint8")
uint16 = Scalar("uint16")
uint32 = Scalar("uint32")
float32 = Scalar("float32")
boolean = Scalar("bool")
void = _Void()

# The machines have no 64-bit registers. Files that name these types can be imported; kernels that use them are refused.
float64 = Scalar("float64")
int64 = Scalar("int64")
uint64 = Scalar("uint64")
