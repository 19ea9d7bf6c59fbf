"""The types of random kernels, each by the letter with which the names of its variables and arrays begin.

One row of each table serves a type wherever it occurs: as variable, argument, element, field, literal or cast. Which
types an operation may join is asked of NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.numba.python_numbers import KINDS

SMALL = {
    "y": np.dtype(np.int8),
    "x": np.dtype(np.uint8),
    "e": np.dtype(np.int16),
    "v": np.dtype(np.uint16),
    "b": np.dtype(np.bool_),
}
"""Types of elements that are numbers of another type once loaded: variables do not have them."""

DTYPES = {**KINDS, **SMALL}
NAMES = {kind: "boolean" if kind == "b" else str(dtype) for kind, dtype in DTYPES.items()}
CASTS = {**NAMES, "b": "bool"}
LETTERS = {dtype: kind for kind, dtype in DTYPES.items()}
PARTS = {"c": "f", "z": "d"}
"""The type of the parts of a complex number."""

VALUES = "iufqwdhcz"
NARROW = "iuf"
WIDE = "qwdhz"
"""Of variables: all, those of the 32-bit language, and those with which a kernel follows NumPy to the letter."""

ATOMIC = "iuqwfd"
VECTORS = "iufqwd"

TABLE_LENGTH = 8
INTEGERS = (0, 1, 2, 3, 5, 7, 8, 31, 100)
FLOATS = (0.0, 0.5, 1.0, -1.5, 2.0, 0.125, 3.75, -0.25, 100.0, 7, "r")
COMPLEX = (0.5, -1.5, 2, 1j, "(0.5 - 2j)", -0.25j, "r")
LITERALS: dict[str, tuple[Any, ...]] = {
    "i": (*INTEGERS, -1, -7, 65535, 2**31 - 1, -(2**31) + 1, "3 - 5", "2 * 6", "n"),
    "u": (*INTEGERS, 255, 1000, 2**31, 0x9E3779B9, 2**32 - 1, "n"),
    "q": (*INTEGERS, -1, -7, 2**31, -(2**31) - 1, 2**40 + 5, 2**63 - 1, -(2**63) + 1, "n"),
    "w": (*INTEGERS, 2**32, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15, "n"),
    "f": FLOATS,
    "h": FLOATS,
    "d": (*FLOATS, 0.1, 1e-10, 1 / 3),
    "c": COMPLEX,
    "z": (*COMPLEX, 0.1j),
}
# Which zero is the smaller one, Python and the hardware see differently: + 0 makes both positive.
CHOICES = ("($k if $c else $k)",)
ORDERED = (*CHOICES, "cuda.selp($c, $K, $K)", "(min($K, $K) + 0)", "(max($K, $K) + 0)")
WHOLE = (
    *("($l + $k)", "($k - $l)", "($l - $k)", "($l * $k)", "($k & $l)", "($k | $l)", "($l ^ $k)", "($k * $k + $k)"),
    *("(~$k)", "(-$k)", "($k // ($k | 1))", "($k % ($k | 1))", "($k // 3)", "($k // 16)", "($k % 10)", "($k % 32)"),
    *("($k << ($k & $m))", "($k >> ($k & $m))", "($k << $s)", "($k >> $s)", "($k >> $s << 3)"),
    *("(($k << $s) | ($k >> $s))", "($K ** 2)", "($K or $k)", "($K and $k)"),
)
SIGNED = ("abs($k)", "($k // -4)", "($k % -5)")
UNSIGNED = ("($k // 4096)", "($k % 64)")
REAL = (
    *("($l + $k)", "($l - $k)", "($k - $l)", "($k * $l)", "($k * $k + $k)", "($k * $l - $k)", "($k - $k * $k)"),
    *("($k / ($k + 0.5))", "($k / $K)", "($l / $K)", "($k / 3.0)", "($k / 0.125)", "(-$k)", "abs($k)", "tame_$t($k)"),
    *("($k // $K)", "($k % $K)", "($k // 0.75)", "($k % -2.5)", "(math.fabs($K) * $k)", "np.sqrt(abs($k))"),
    *("np.floor($k)", "np.trunc($k)", "np.rint($k)", "$n(math.sqrt(abs($K)))", "$n(math.floor($K))"),
    *("$n(math.ceil($K))", "$n(math.copysign($K, $K))", "$n(math.fmod($K, 2.5))"),
    *("$n(math.ldexp($K, 3))", "$n(math.modf($K)[0])", "$n(math.frexp($K)[0])", "$n(round($K))"),
)
PLANE = (
    *("($l + $k)", "($k - $l)", "($l - $k)", "($k * $l)", "($k * $K + $k)", "(-$k)", "$k.conjugate()"),
    *("($k / ($K + 20000))", "($k / 4)", "$n(complex($R, $R))", "$n($r)", "tame_$t($k)"),
)
COUNTS = {"i": ("$n(cuda.popc($u))", "$n(cuda.clz($u))", "$n(cuda.ffs($u))"), "u": ("$n(cuda.brev($u))",)}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def expressions(kind: str) -> tuple[str, ...]:
    """Operations on numbers of a type that give one of that type.

    k, l: an expression, l perhaps a literal; K: a leaf; n: the type's name; t: its letter; m: its number of bits less
    one; s: a shift count; c: a condition; r, R: a part of a complex number, as expression and leaf; u: a uint32.
    """
    if is_whole(kind):
        return WHOLE + (SIGNED if DTYPES[kind].kind == "i" else UNSIGNED)
    return PLANE if kind in PARTS else REAL


def is_whole(kind: str) -> bool:
    """Whether a type is one of integers."""
    return DTYPES[kind].kind in "iu"


def bits(kind: str) -> int:
    """Of a number."""
    return 8 * DTYPES[kind].itemsize


def joined(a: str, b: str) -> str:
    """The type of an operation on two."""
    return LETTERS[np.result_type(DTYPES[a], DTYPES[b])]


def pairs(kinds: str, wide: bool) -> list[tuple[str, str]]:
    """Different types of which a kernel may join numbers: in the 32-bit language, not integers with floats."""
    return [(a, b) for a in kinds for b in kinds if a != b and (wide or is_whole(a) == is_whole(b))]


def beside(small: str, kind: str) -> bool:
    """Whether an element of 8 or 16 bits beside a number gives the number's type, for NumPy and in kernels."""
    if DTYPES[small].kind in "ib" and DTYPES[kind].kind == "u" or kind == "h":
        return False
    return joined(small, kind) == kind


def header(kinds: str) -> str:
    """What precedes the functions of a kernel file: imports, a table and a `tame` of each type."""
    lines = ["import math\n\nimport numpy as np\nfrom numba import cuda"]
    lines.append(f"from numba.types import {', '.join(sorted({NAMES[kind] for kind in DTYPES}))}\n")
    data = np.random.default_rng(len(kinds))
    for kind in kinds:
        lines.append(f"TABLE_{kind} = np.array({numbers(data, kind, TABLE_LENGTH).tolist()}, np.{DTYPES[kind]})")
    for kind in kinds:
        if DTYPES[kind].kind in "fc":
            inside = "-8192.0 < {0} and {0} < 8192.0"
            test = " and ".join(inside.format(x) for x in (("x.real", "x.imag") if kind in PARTS else ("x",)))
            lines.append(f"\n\n@cuda.jit(device=True)\ndef tame_{kind}(x):\n    if {test}:\n        return x")
            lines.append(f"    return {NAMES[kind]}(1.5)")
    return "\n".join(lines) + "\n"


def numbers(data: np.random.Generator, kind: str, count: int) -> np.ndarray[Any, Any]:
    """Random numbers: integers of all sizes, floats that are not large, many of them short."""
    dtype = DTYPES[kind]
    if dtype.kind == "c":
        part = PARTS[kind]
        return (numbers(data, part, count) + 1j * numbers(data, part, count)).astype(dtype)
    if dtype.kind == "f":
        short = data.integers(-512, 512, count) / 8
        return np.where(data.integers(0, 2, count), short, data.normal(0, 9, count)).astype(dtype)
    if dtype.kind == "b":
        return data.integers(0, 2, count).astype(dtype)
    whole = data.integers(0, 2**64, count, dtype=np.uint64).astype(dtype)
    return whole >> data.integers(0, bits(kind) - 1, count).astype(dtype)
