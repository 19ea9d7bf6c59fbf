"""The type of an operation on numbers of two types, under each set of rules.

* `NARROW`: NEP 50, but that integers of up to 32 bits count as float32 beside floats and in divisions. It holds for
  kernels without 64-bit data, and in the library.
* `WIDE`: NEP 50 to the letter, with Python's numbers as wide as Python has them; for kernels with 64-bit data.
* `NUMBA`: what Numba's compiler does: int64 and float64 for literals, indices and the results of integer arithmetic.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from smmux.compiler.build.numbers import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, Kind, Value

if TYPE_CHECKING:
    from smmux.compiler.python.context import Frame


class Typing(enum.Enum):
    """Rules of typing."""

    NARROW = "narrow"
    WIDE = "wide"
    NUMBA = "numba"


SIMPLE = (Kind.INT32, Kind.FLOAT32, Kind.WEAK_INT)
"""The types most often met in pairs, of which two of a kind give that one."""


def promoted(f: Frame, a: Kind, b: Kind) -> Kind:
    """Type of an arithmetic operation."""
    if a is b and a in SIMPLE and f.typing is not Typing.NUMBA:
        return a
    if a.weak and b.weak:
        return Kind.WEAK_FLOAT if Kind.WEAK_FLOAT in (a, b) else Kind.WEAK_INT
    typing = f.typing
    if typing is Typing.NUMBA:
        return _numba(a, b)
    if Kind.FLOAT64 in (a, b):
        return Kind.FLOAT64
    if a.floating or b.floating:
        return _with_float(a, b, typing)
    return _integers(a, b)


UINT8_MAX, INT8_MIN = 255, -128


def together(f: Frame, a: Value, b: Value) -> Kind:
    """Type of an arithmetic operation on two numbers; elements of 8 and 16 bits take the other's side if it holds
    them."""
    if a.small is not b.small:
        small, other = (a, b) if a.small else (b, a)
        if other.kind is Kind.FLOAT32:
            return other.kind
        if other.kind is Kind.FLOAT16 and f.typing is not Typing.NUMBA:
            return other.kind if small.hi <= UINT8_MAX and small.lo >= INT8_MIN else Kind.FLOAT32
        if other.kind in UNSIGNED and small.lo >= 0:
            return Kind.UINT64 if f.typing is Typing.NUMBA else other.kind
    if a.small and b.small and f.typing is Typing.NUMBA:
        return Kind.UINT64 if a.lo >= 0 and b.lo >= 0 else Kind.INT64
    kind = promoted(f, a.kind, b.kind)
    if kind is Kind.INT32 and a.kind is not b.kind and _beyond(a, b):
        return Kind.INT64
    return kind


def _beyond(a: Value, b: Value) -> bool:
    """Whether one of two is an integer literal that an int32 does not hold and an int64 does, such as 0xFFFFFFFF."""
    literal = a if a.kind is Kind.WEAK_INT else b
    if literal.kind is not Kind.WEAK_INT or not literal.known:
        return False
    return not INT32_MIN <= literal.const <= INT32_MAX and INT64_MIN <= literal.const <= INT64_MAX


def _with_float(a: Kind, b: Kind, typing: Typing) -> Kind:
    """One of the two is a float, none a float64."""
    other = b if a.floating else a
    if other in (Kind.INT64, Kind.UINT64):
        return Kind.FLOAT64
    if not other.floating:  # up to 32 bits
        exact = other is Kind.WEAK_INT or (other is Kind.BOOL and Kind.WEAK_FLOAT not in (a, b))
        if not exact:
            return Kind.FLOAT64 if typing is Typing.WIDE else Kind.FLOAT32
    return Kind.FLOAT16 if Kind.FLOAT16 in (a, b) and Kind.FLOAT32 not in (a, b) else Kind.FLOAT32


def _integers(a: Kind, b: Kind) -> Kind:
    pair = (a, b)
    if Kind.UINT64 in pair:
        return Kind.FLOAT64 if Kind.INT64 in pair or Kind.INT32 in pair else Kind.UINT64
    if Kind.INT64 in pair:
        return Kind.INT64
    if Kind.UINT32 in pair:
        return Kind.INT64 if Kind.INT32 in pair else Kind.UINT32
    return Kind.INT32


def _numba(a: Kind, b: Kind) -> Kind:
    pair = (a, b)
    if not (a.floating or b.floating):
        return Kind.UINT64 if a in UNSIGNED and b in UNSIGNED else Kind.INT64
    if a is b is Kind.FLOAT16:
        return Kind.FLOAT16
    single = (Kind.FLOAT16, Kind.FLOAT32, Kind.BOOL)
    return Kind.FLOAT32 if a in single and b in single and pair != (Kind.BOOL, Kind.BOOL) else Kind.FLOAT64


UNSIGNED = (Kind.UINT32, Kind.UINT64)


def divmod_kind(a: Value, b: Value) -> Kind | None:
    """The type in which Numba computes `divmod` of two numbers, where it is not that of // and %: its `divmod` is
    declared for two int64, two uint64 and two floats, and no others."""
    unsigned = [v.kind in UNSIGNED or (v.small and v.lo >= 0) for v in (a, b)]
    if a.kind.floating or b.kind.floating or any(unsigned) is all(unsigned):
        return None
    other, number = (b, a) if unsigned[0] else (a, b)
    if other.kind is Kind.BOOL:
        return Kind.UINT64
    return Kind.FLOAT64 if number.kind is Kind.UINT64 else None


def one_of_two(f: Frame, a: Value, b: Value) -> Kind:
    """Type of a value that is one of two numbers, as the rules have it for types alone."""
    if f.typing is not Typing.NUMBA:
        return a.kind if a.kind is b.kind else together(f, a, b)
    x, y = (LASTING.get(v.kind, v.kind) for v in (a, b))
    if x is y or Kind.BOOL in (x, y):
        return y if x is Kind.BOOL else x
    if a.small is not b.small and together(f, a, b) is Kind.FLOAT32:
        return Kind.FLOAT32
    if x.floating or y.floating:
        return _numba(x, y)
    if Kind.UINT64 in (x, y):
        other = y if x is Kind.UINT64 else x
        return Kind.UINT64 if other is Kind.UINT32 else Kind.FLOAT64
    return Kind.INT64


LASTING = {Kind.WEAK_INT: Kind.INT64, Kind.WEAK_FLOAT: Kind.FLOAT64}
"""Types of Python's numbers in Numba."""


def quotient_kind(f: Frame, kind: Kind) -> Kind:
    """Type of the quotient of numbers of a type: a float as it is, else as wide as the rules have it."""
    if kind.floating:
        return kind
    if kind is Kind.WEAK_INT:
        return Kind.WEAK_FLOAT
    return Kind.FLOAT32 if f.typing is Typing.NARROW and not kind.wide else Kind.FLOAT64
