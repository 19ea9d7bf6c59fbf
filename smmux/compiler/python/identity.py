"""When two values are the same, so that joining them needs no variable, and what of a value can influence types."""

from __future__ import annotations

from typing import Any

from smmux.compiler import ir
from smmux.compiler.build.numbers import Complex, Value, bits
from smmux.compiler.python.typed_values import Anything, ArrayRef, Choice, Static, Tuple


def same(a: Anything, b: Anything) -> bool:
    """True if two values are the same constant or operand, so that joining them needs no variable."""
    if a is b:
        return True
    if isinstance(a, Value) and isinstance(b, Value):
        if a.kind is not b.kind or a.known != b.known:
            return False
        if a.known:
            return bool(bits_of(a) == bits_of(b))
        # One word may stand for two numbers of 64 bits, by its sign or without.
        extended = not a.kind.wide or (a.lo < 0) == (b.lo < 0)
        return a.operand is not None and a.operand == b.operand and a.high == b.high and extended
    if isinstance(a, Complex) and isinstance(b, Complex):
        return same(a.re, b.re) and same(a.im, b.im)
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.items) == len(b.items) and all(map(same, a.items, b.items))
    if isinstance(a, ArrayRef) and isinstance(b, ArrayRef):
        if not same_view(a, b):
            return False
        if not all(same(x, y) for x, y in zip(a.extents, b.extents, strict=True)):
            return False
        return _same_number(a.base, b.base) and _same_number(a.which, b.which)
    return isinstance(a, Static) and isinstance(b, Static) and a.object is b.object


def _same_number(a: Value | None, b: Value | None) -> bool:
    return a is b or (a is not None and b is not None and same(a, b))


def same_view(a: ArrayRef, b: ArrayRef) -> bool:
    """True if two references differ at most in numbers: their base, and extents known only at run time."""
    places = ((v.storage, v.dtype, v.known_shape, v.strides, v.offset) for v in (a, b))
    return next(places) == next(places)


def bits_of(value: Value) -> Any:
    """A constant in a form in which -0.0 and 0.0 differ and NaN equals itself."""
    return (
        repr(value.const)
        if value.kind.double
        else bits(value.kind, value.const)
        if value.kind.floating
        else value.const
    )


def describe(value: Anything) -> Any:
    """A hashable key of everything about a value that can influence types."""
    if isinstance(value, Value):
        bounds = (value.lo, value.hi) if value.kind.integral else None
        known = bits_of(value) if value.known else None
        return (value.kind, known, value.drift, bounds, value.small, value.whole)
    if isinstance(value, Complex):
        return ("complex", describe(value.re), describe(value.im))
    if isinstance(value, Tuple):
        return ("tuple", value.names, *map(describe, value.items))
    if isinstance(value, ArrayRef):
        storage = value.storage
        place: Any = storage if isinstance(storage, Choice) else ("local", storage.name)
        if isinstance(storage, ir.Storage):
            place = (storage.space, storage.index)
        return ("array", place, value.dtype, value.known_shape, value.strides, value.offset, value.base is None)
    return ("static", id(value.object))
