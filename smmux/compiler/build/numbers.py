"""Numbers while IR is built: their types, and values that are known or that an operand of the machine holds."""

from __future__ import annotations

import ctypes
import enum
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smmux.compiler import ir

INT32_MIN, INT32_MAX, UINT32_MAX = -(2**31), 2**31 - 1, 2**32 - 1


INT64_MIN, INT64_MAX, UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class Kind(enum.Enum):
    """The type of a number. Weak kinds are Python literals and constants folded from them; they take the other
    operand's type.

    weak: a literal. floating: a float of any size, or a float literal. integral: an integer, but not a bool. wide: of
    two words, which are numbers of 64 bits, and Python's known only at run time. double: computed in float64.
    """

    BOOL = "bool"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    WEAK_INT = "int"
    WEAK_FLOAT = "float"

    _value_: str
    weak: bool
    floating: bool
    integral: bool
    wide: bool
    double: bool

    def __init__(self, name: str) -> None:
        self.weak = name in ("int", "float")
        self.floating = name.startswith("float")
        self.integral = "int" in name
        self.wide = self.weak or name.endswith("64")
        self.double = name in ("float", "float64")

    __hash__ = object.__hash__  # the members are looked up often


# A float16 is held as the float32 of its value; of types of two words, this is each word's.
MACHINE_TYPE = {
    Kind.BOOL: ir.Type.PRED,
    Kind.INT32: ir.Type.S32,
    Kind.UINT32: ir.Type.U32,
    Kind.INT64: ir.Type.U32,
    Kind.UINT64: ir.Type.U32,
    Kind.FLOAT16: ir.Type.F32,
    Kind.FLOAT32: ir.Type.F32,
    Kind.FLOAT64: ir.Type.U32,
    Kind.WEAK_INT: ir.Type.S32,
    Kind.WEAK_FLOAT: ir.Type.F32,
}


STRONG = {Kind.WEAK_INT: Kind.INT32, Kind.WEAK_FLOAT: Kind.FLOAT32}


RANGE = {
    Kind.INT32: (INT32_MIN, INT32_MAX),
    Kind.UINT32: (0, UINT32_MAX),
    Kind.BOOL: (0, 1),
    Kind.INT64: (INT64_MIN, INT64_MAX),
    Kind.UINT64: (0, UINT64_MAX),
    Kind.WEAK_INT: (INT64_MIN, INT64_MAX),
}


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A number.

    const: its value, if known at compile time; else operand holds it. (Both are None only while types are inferred.)
    high: the upper word of a number of two words, whose lower one is operand; None for an integer whose bounds fit 32
    bits, where it follows from the lower one. lo, hi: bounds of an integer. drift: Numba's int64 or float64 result,
    reduced to 32 bits, is this one, but Numba goes on computing with the wide one (see `portability`). small: an int32
    that an element or a cast of 8 or 16 bits gave, and that takes another type's side as such. whole: a float64 that is
    the sum, difference or product of integers, one of them a uint64, and that may be an index.
    """

    kind: Kind
    operand: ir.Operand | None = None
    const: Any = None
    lo: int = INT32_MIN
    hi: int = UINT32_MAX
    drift: bool = False
    high: ir.Operand | None = None
    small: bool = False
    whole: bool = False

    @property
    def known(self) -> bool:
        """True for a compile-time constant."""
        return self.const is not None

    @property
    def settled(self) -> Value:
        """The same number, on which Numba computes with as many bits."""
        return replace(self, drift=False) if self.drift else self


@dataclass(frozen=True, slots=True, eq=False)
class Complex:
    """A complex number: two floats of one type."""

    re: Value
    im: Value

    def map(self, function: Callable[[Value], Any]) -> Complex:
        """The number whose parts a function makes of these."""
        return Complex(function(self.re), function(self.im))

    def zip(self, function: Callable[[Value, Value], Any], other: Complex) -> Complex:
        """The number whose parts a function makes of these and another's."""
        return Complex(function(self.re, other.re), function(self.im, other.im))


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type: the kind of number that a load gives, with its size and bounds."""

    kind: Kind
    size: int
    signed: bool
    lo: int = field(default=INT32_MIN)
    hi: int = field(default=UINT32_MAX)
    complex: bool = False  # two numbers of that kind

    @property
    def small(self) -> bool:
        """True for integers of 8 and 16 bits."""
        return self.size < 4 and self.kind is Kind.INT32


# 8- and 16-bit integers widen to int32 at the load, as C's integer promotions have it.
DTYPES = {
    "int8": Dtype(Kind.INT32, 1, True, -128, 127),
    "uint8": Dtype(Kind.INT32, 1, False, 0, 255),
    "int16": Dtype(Kind.INT32, 2, True, -32768, 32767),
    "uint16": Dtype(Kind.INT32, 2, False, 0, 65535),
    "int32": Dtype(Kind.INT32, 4, True, INT32_MIN, INT32_MAX),
    "uint32": Dtype(Kind.UINT32, 4, False, 0, UINT32_MAX),
    "float32": Dtype(Kind.FLOAT32, 4, False),
    "bool": Dtype(Kind.BOOL, 1, False, 0, 1),
    "int64": Dtype(Kind.INT64, 8, True, INT64_MIN, INT64_MAX),
    "uint64": Dtype(Kind.UINT64, 8, False, 0, UINT64_MAX),
    "float64": Dtype(Kind.FLOAT64, 8, False),
    "float16": Dtype(Kind.FLOAT16, 2, False),
    "complex64": Dtype(Kind.FLOAT32, 8, False, complex=True),
    "complex128": Dtype(Kind.FLOAT64, 16, False, complex=True),
}


SUPPORTED = ", ".join(name for name in reversed(DTYPES) if name != "bool") + " and bool"


def round32(value: float) -> float:
    """The float32 nearest to a Python float."""
    return ctypes.c_float(value).value


def round16(value: float) -> float:
    """The float16 nearest to a Python float, infinite beyond the largest."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float64(value).astype(np.float16))


ROUND = {Kind.FLOAT32: round32, Kind.FLOAT16: round16}


def wrap(value: int, kind: Kind) -> int:
    """An integer reduced to the bits of its type."""
    low, high = RANGE[kind]
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


def unknown(kind: Kind, drift: bool = False) -> Value:
    """A number of which only the type is known."""
    if kind.wide and kind.integral:
        return Value(kind, None, None, *RANGE[kind], drift)
    return Value(kind, drift=drift)


def weak(value: int | float) -> Value:
    """A Python number as written."""
    if isinstance(value, bool):
        return Value(Kind.BOOL, const=value)
    if isinstance(value, int):
        return Value(Kind.WEAK_INT, const=value, lo=value, hi=value)
    return Value(Kind.WEAK_FLOAT, const=float(value))


def constant(kind: Kind, value: Any, drift: bool = False) -> Value:
    """A typed constant; the value is wrapped or rounded to its type."""
    if kind is Kind.BOOL:
        return Value(kind, const=bool(value))
    if kind.floating:
        return Value(kind, const=ROUND[kind](value) if kind in ROUND else float(value), drift=drift)
    if kind is not Kind.WEAK_INT:
        value = wrap(int(value), kind)
    return Value(kind, const=value, lo=value, hi=value, drift=drift)


def bits(kind: Kind, value: Any) -> int:
    """The 32 bits of a constant, as the machine holds them; the lower ones of a number of two words."""
    if kind is Kind.FLOAT64:
        return pattern(kind, value) & UINT32_MAX
    if kind.floating:
        return ctypes.c_uint32.from_buffer_copy(ctypes.c_float(value)).value
    return int(value) & UINT32_MAX


def pattern(kind: Kind, value: Any) -> int:
    """The 64 bits of a constant of two words."""
    if kind.double:
        return int.from_bytes(struct.pack("<d", value), "little")
    return int(value) & UINT64_MAX


def extent_value(operand: ir.Operand | None, most: int = INT32_MAX) -> Value:
    """An extent that is known only at run time: a Python number of one word."""
    return Value(Kind.WEAK_INT, operand, None, 0, most)
