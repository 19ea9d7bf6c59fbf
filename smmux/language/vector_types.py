"""The vector types of kernels: `float32x2`, ..., `uint64x4`, and their names in CUDA C, `float2` and so on.

In a kernel `v = float32x4(1.0, 2.0, float32x2(3.0, 4.0))` makes one of numbers and shorter vectors, and `v.x`, `v.y`,
`v.z` and `v.w` are its components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from smmux.language import types
from smmux.language.kernel_only import kernel_only
from smmux.language.types import Scalar

__all__ = [
    "char1",
    "char2",
    "char3",
    "char4",
    "double1",
    "double2",
    "double3",
    "double4",
    "float1",
    "float2",
    "float3",
    "float4",
    "float32x1",
    "float32x2",
    "float32x3",
    "float32x4",
    "float64x1",
    "float64x2",
    "float64x3",
    "float64x4",
    "int1",
    "int2",
    "int3",
    "int4",
    "int8x1",
    "int8x2",
    "int8x3",
    "int8x4",
    "int16x1",
    "int16x2",
    "int16x3",
    "int16x4",
    "int32x1",
    "int32x2",
    "int32x3",
    "int32x4",
    "int64x1",
    "int64x2",
    "int64x3",
    "int64x4",
    "long1",
    "long2",
    "long3",
    "long4",
    "short1",
    "short2",
    "short3",
    "short4",
    "uchar1",
    "uchar2",
    "uchar3",
    "uchar4",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint8x1",
    "uint8x2",
    "uint8x3",
    "uint8x4",
    "uint16x1",
    "uint16x2",
    "uint16x3",
    "uint16x4",
    "uint32x1",
    "uint32x2",
    "uint32x3",
    "uint32x4",
    "uint64x1",
    "uint64x2",
    "uint64x3",
    "uint64x4",
    "ulong1",
    "ulong2",
    "ulong3",
    "ulong4",
    "ushort1",
    "ushort2",
    "ushort3",
    "ushort4",
]


@dataclass(frozen=True, slots=True)
class VectorType:
    """The type of a vector of one to four components."""

    base: Scalar
    count: int

    @property
    def name(self) -> str:
        """The type as `smmux.cuda` names it."""
        return f"{self.base.name}x{self.count}"

    @property
    def components(self) -> tuple[str, ...]:
        """The names of the components."""
        return ("x", "y", "z", "w")[: self.count]

    def __call__(self, *components: Any) -> NoReturn:
        """A vector; only kernels have them."""
        kernel_only(f"cuda.{self.name}")

    def __repr__(self) -> str:
        return self.name


Four: TypeAlias = tuple[VectorType, VectorType, VectorType, VectorType]


def _of(base: Scalar) -> Four:
    """The vectors of one to four components of a type."""
    return VectorType(base, 1), VectorType(base, 2), VectorType(base, 3), VectorType(base, 4)


char1, char2, char3, char4 = int8x1, int8x2, int8x3, int8x4 = _of(types.int8)
short1, short2, short3, short4 = int16x1, int16x2, int16x3, int16x4 = _of(types.int16)
int1, int2, int3, int4 = int32x1, int32x2, int32x3, int32x4 = _of(types.int32)
long1, long2, long3, long4 = int64x1, int64x2, int64x3, int64x4 = _of(types.int64)
uchar1, uchar2, uchar3, uchar4 = uint8x1, uint8x2, uint8x3, uint8x4 = _of(types.uint8)
ushort1, ushort2, ushort3, ushort4 = uint16x1, uint16x2, uint16x3, uint16x4 = _of(types.uint16)
uint1, uint2, uint3, uint4 = uint32x1, uint32x2, uint32x3, uint32x4 = _of(types.uint32)
ulong1, ulong2, ulong3, ulong4 = uint64x1, uint64x2, uint64x3, uint64x4 = _of(types.uint64)
float1, float2, float3, float4 = float32x1, float32x2, float32x3, float32x4 = _of(types.float32)
double1, double2, double3, double4 = float64x1, float64x2, float64x3, float64x4 = _of(types.float64)
