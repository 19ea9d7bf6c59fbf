"""Definition of the operations on 64 bits of `csrc/tables/ops.def`, lane by lane: Python's integers, fractions, NumPy.

`WIDE[name]` takes the words of the sources in the order of the table, as vectors, and gives a tuple of one or two
vectors of words; `SETP_WIDE[name]` gives booleans.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
NAN = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": (1 << 63) - 1}
"""The one NaN of results."""
TYPES: dict[str, Any] = {
    "s32": np.int32,
    "u32": np.uint32,
    "s64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}


def joined(kinds: str, words: tuple[Words, ...]) -> list[NDArray[Any]]:
    """Sources of these kinds, from their words."""
    given, found = iter(words), []
    for kind in kinds.split():
        if kind == "f16":
            found.append(next(given).astype(np.uint16).view(np.float16))
        elif kind.endswith("64"):
            low, high = (word.astype(np.uint64) for word in (next(given), next(given)))
            found.append((low | high << np.uint64(32)).view(TYPES[kind]))
        else:
            found.append(np.ascontiguousarray(next(given)).view(TYPES[kind]))
    return found


def bits_of(kind: str, value: Any) -> int:
    if kind[0] == "f":
        return NAN[kind] if np.isnan(value) else int(TYPES[kind](value).view(f"u{int(kind[1:]) // 8}"))
    return int(value) & ((1 << int(kind[1:])) - 1)


def operation(kinds: str, result: str, function: Callable[..., Any]) -> Callable[..., tuple[Words, ...]]:
    """A vector operation from one on scalars: Python integers and NumPy floats."""

    def run(*words: Words) -> tuple[Words, ...]:
        sources = [
            [int(x) for x in source] if kind[0] != "f" else list(source)
            for kind, source in zip(kinds.split(), joined(kinds, words), strict=True)
        ]
        with np.errstate(all="ignore"):
            bits = [bits_of(result, function(*operands)) for operands in zip(*sources, strict=True)]
        parts = [np.array([b & 0xFFFFFFFF for b in bits], np.uint32)]
        return tuple(parts + [np.array([b >> 32 for b in bits], np.uint32)] * result.endswith("64"))

    return run


def comparison(kind: str, relation: str) -> Callable[..., NDArray[np.bool_]]:
    compare = {
        "eq": np.equal,
        "ne": np.not_equal,
        "neu": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }[relation]
    return lambda *words: compare(*joined(f"{kind} {kind}", words))


def quotient(a: int, b: int) -> int:
    """Truncating division; 0 for a divisor of 0."""
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b) if b else 0


def exactly(value: Fraction) -> np.float64:
    """The nearest float64 of a number: Python's division of integers rounds correctly."""
    try:
        return np.float64(value.numerator / value.denominator)
    except OverflowError:
        return np.float64(np.inf if value > 0 else -np.inf)


def fma(a: np.float64, b: np.float64, c: np.float64) -> np.float64:
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):
        return c
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if total == 0:
        return a * b + c if (a == 0 or b == 0) else np.float64(0.0)
    rounded = exactly(total)
    return rounded if rounded != 0 else np.copysign(np.float64(0), -1.0 if total < 0 else 1.0)


def least(a: np.float64, b: np.float64) -> np.float64:
    """The number if one is NaN; -0 below +0."""
    if a == b:
        return a if np.signbit(a) else b
    return a if a < b or np.isnan(b) else b


def greatest(a: np.float64, b: np.float64) -> np.float64:
    if a == b:
        return b if np.signbit(a) else a
    return a if a > b or np.isnan(b) else b


def whole(kind: str) -> Callable[[Any], int]:
    """The nearest integer of the kind towards zero, 0 for NaN."""
    limits = np.iinfo(TYPES[kind])

    def convert(a: Any) -> int:
        if np.isnan(a):
            return 0
        return max(limits.min, min(limits.max, int(np.clip(float(a), -(2.0**80), 2.0**80))))

    return convert


def nearest_float(kind: str) -> Callable[[int], Any]:
    """The float nearest to an integer: of a fraction for float32, which NumPy would round twice."""

    def convert(a: int) -> Any:
        if kind == "f64":
            return np.float64(exactly(Fraction(a)))
        near = np.float32(a)
        around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
        key = {x: (abs(Fraction(float(x)) - a), int(x.view(np.uint32)) & 1) for x in around if np.isfinite(x)}
        return min(key, key=key.__getitem__)

    return convert


WIDE: dict[str, Callable[..., tuple[Words, ...]]] = {
    "addc.s32": operation("u64 u64", "u32", lambda a, b: a + b >> 32),
    "subc.s32": operation("u64 u64", "u32", lambda a, b: a - b >> 32),
    "shl.hi.b64": operation("u64 u32", "u32", lambda a, n: a << min(n, 64) >> 32),
    "shr.lo.u64": operation("u64 u32", "u32", lambda a, n: a >> n),
    "shr.lo.s64": operation("s64 u32", "u32", lambda a, n: a >> n),
    "div.s64": operation("s64 s64", "s64", quotient),
    "div.u64": operation("u64 u64", "u64", quotient),
    "rem.s64": operation("s64 s64", "s64", remainder),
    "rem.u64": operation("u64 u64", "u64", remainder),
    "add.f64": operation("f64 f64", "f64", lambda a, b: a + b),
    "sub.f64": operation("f64 f64", "f64", lambda a, b: a - b),
    "mul.f64": operation("f64 f64", "f64", lambda a, b: a * b),
    "fma.rn.f64": operation("f64 f64 f64", "f64", fma),
    "min.f64": operation("f64 f64", "f64", least),
    "max.f64": operation("f64 f64", "f64", greatest),
    "div.rn.f64": operation("f64 f64", "f64", lambda a, b: a / b),
    "sqrt.rn.f64": operation("f64", "f64", np.sqrt),
    "cvt.f64.f32": operation("f32", "f64", np.float64),
    "cvt.rn.f32.f64": operation("f64", "f32", np.float32),
    "cvt.rmi.f64.f64": operation("f64", "f64", np.floor),
    "cvt.rpi.f64.f64": operation("f64", "f64", np.ceil),
    "cvt.rzi.f64.f64": operation("f64", "f64", np.trunc),
    "cvt.rni.f64.f64": operation("f64", "f64", np.rint),
    "cvt.rn.f16.f32": operation("f32", "f16", np.float16),
    "cvt.rn.f16.f64": operation("f64", "f16", np.float16),
    "cvt.f32.f16": operation("f16", "f32", np.float32),
    **{f"cvt.rn.f64.{kind}": operation(kind, "f64", nearest_float("f64")) for kind in ("s32", "u32", "s64", "u64")},
    **{f"cvt.rn.f32.{kind}": operation(kind, "f32", nearest_float("f32")) for kind in ("s64", "u64")},
    **{f"cvt.rzi.{kind}.f64": operation("f64", kind, whole(kind)) for kind in ("s32", "u32", "s64", "u64")},
    **{f"cvt.rzi.{kind}.f32": operation("f32", kind, whole(kind)) for kind in ("s64", "u64")},
}

SETP_WIDE: dict[str, Callable[..., NDArray[np.bool_]]] = {
    f"setp.{relation}.{kind}": comparison(kind, relation)
    for kind, relations in {"s64": "eq ne lt le gt ge", "u64": "lt le gt ge", "f64": "eq neu lt le gt ge"}.items()
    for relation in relations.split()
}
