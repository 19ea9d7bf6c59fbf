"""Numbers of all types together, against NumPy's scalars bit for bit."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smmux import cuda, float32, float64, int32, int64, uint8, uint32, uint64
from smmux.kernel import from_source

TYPES = ("bool", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
GLOBALS = {
    "cuda": cuda, "float32": float32, "float64": float64, "int32": int32, "int64": int64, "uint32": uint32,
    "uint64": uint64, "np": np,
}  # fmt: skip
THREADS = 192
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1000.0, -7.25, np.inf, -np.inf, np.nan, 1 / 3, 65504.0, 1e-5)


def numbers(dtype: str, seed: int) -> np.ndarray:
    """Numbers of a type, its limits and small ones often among them."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        pool = np.concatenate([SPECIAL, rng.standard_normal(32) * 10.0 ** rng.integers(-3, 4, 32)])
    elif kind.kind == "b":
        pool = np.array([False, True])
    else:
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        limits = [low, low + 1, high, high - 1, high // 3, 0, 1, 2, 3, 7, 31, 33, -1 if low else 5, -7 if low else 6]
        pool = np.array([*limits, *map(int, rng.integers(low, high, 16, dtype=kind))], dtype=kind)
    with np.errstate(over="ignore"):
        return rng.choice(pool, THREADS).astype(kind)


def narrow(a: str, b: str) -> bool:
    """True for types of which kernels without 64-bit data compute with float32 where NumPy takes float64."""
    return not {a, b} & {"int64", "uint64", "float64"}


def expected(function: Callable[..., Any], *columns: np.ndarray) -> np.ndarray | None:
    """NumPy's scalars, one by one; None where NumPy refuses."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.array([function(*row) for row in zip(*columns, strict=True)])
        except TypeError:
            return None


def equal(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Demand the same numbers, signs of zeros included."""
    np.testing.assert_array_equal(found, wanted, what)
    if wanted.dtype.kind == "f":
        real = wanted == wanted
        np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(wanted[real]), what)


@pytest.mark.long
@pytest.mark.parametrize("first", TYPES)
def test_all_operators_on_all_pairs(first):
    for second in TYPES:
        lines, arrays, wanted = [], [], []
        for symbol, function in OPERATORS.items():
            a, b = numbers(first, 1), numbers(second, 2)
            if symbol in ("//", "%"):
                b = np.where(b == 0, np.ones_like(b), b)  # integers raise; floats divide by zero elsewhere
                if {a.dtype.kind, b.dtype.kind} & set("f"):  # infinities and NaN have tests of their own
                    a, b = (np.where(np.isfinite(v), v, np.ones_like(v)) for v in (a, b))
            if symbol in ("<<", ">>"):
                b = (b % 70).astype(second) if b.dtype.kind in "iu" else b
            values = expected(function, a, b)
            uses_float64 = narrow(first, second) and values is not None and values.dtype == np.float64
            boolean = first == second == "bool" and symbol in "+-*"
            if values is None or uses_float64 or boolean:
                continue
            n = len(wanted)
            lines.append(f"    o{n}[i] = a{n}[i] {symbol} b{n}[i]")
            arrays += [np.zeros_like(values), a, b]
            wanted.append((symbol, values))
        names = ", ".join(f"o{n}, a{n}, b{n}" for n in range(len(wanted)))
        text = f"def kernel({names}):\n    i = cuda.grid(1)\n" + "\n".join(lines) + "\n"
        from_source(text, GLOBALS).simulate(1, THREADS, arrays, gpu="GTX480-48K")
        for n, (symbol, values) in enumerate(wanted):
            equal(arrays[3 * n], values, f"{first} {symbol} {second}")


def test_a_small_integer_stays_one_in_loops_and_after_conditions():
    """NumPy's uint8 and uint64 make a uint64, also where a variable or an element of a local array has the uint8."""

    @cuda.jit
    def kernel(a, b, o, n):
        own = cuda.local.array(2, uint8)
        own[0] = uint8(n)
        x = uint8(n)
        for _ in range(n):
            own[1] = own[0]
            o[0] = own[0] + a[0]
            o[1] = x + a[0]
            x = uint8(x + 1)
        o[2] = x + a[0]
        y = uint8(n) if n > 5 else b[0]
        o[3] = y + a[0]
        for i in range(b[0], n):
            o[4] = i

    a, b, o = np.array([2**63 + 5], np.uint64), np.array([2], np.uint8), np.zeros(5, np.uint64)
    kernel[1, 1](a, b, o, 3)
    assert o.tolist() == [2**63 + 8, 2**63 + 10, 2**63 + 11, 2**63 + 7, 2]
