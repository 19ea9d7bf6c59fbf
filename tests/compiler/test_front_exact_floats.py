"""Functions of floats whose results are exact: NumPy's and Python's values bit for bit, for all special values."""

import math
import warnings

import numpy as np
import pytest

from smmux import CompileError
from tests.compiler.front import outputs
from tests.compiler.test_front_mathlib import kernel

TYPES = [np.float32, np.float64]
RNG = np.random.default_rng(5)


def values(dtype):
    limits = np.finfo(dtype)
    magnitudes = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        7.25,
        limits.tiny,
        limits.max,
        limits.smallest_subnormal,
        np.inf,
        1e-30,
        1e7,
    ]
    return np.array([*magnitudes, *(-m for m in magnitudes), np.nan], dtype)


def pairs(dtype):
    x, y = np.meshgrid(values(dtype), values(dtype))
    return x.ravel().copy(), y.ravel().copy()


def evaluate(k, *arrays, dtype=None):
    parts = [outputs(k, *(a[i : i + 256] for a in arrays), dtype=dtype) for i in range(0, len(arrays[0]), 256)]
    return np.concatenate(parts)


def assert_same_bits(got, expected):
    """Equal, with the sign of zero; any NaN equals any other."""
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


def python(function, dtype, *arrays):
    """The value that Python or NumPy gives for each element; NaN where Python raises."""

    def one(*arguments):
        try:
            return function(*arguments)
        except ValueError:
            return np.nan

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([one(*arguments) for arguments in zip(*arrays, strict=True)], dtype)


TWO_ARGUMENTS = {
    "x // y": lambda x, y: x // y,
    "x % y": lambda x, y: x % y,
    "math.fmod(x, y)": np.fmod,
    "math.remainder(x, y)": lambda x, y: math.remainder(float(x), float(y)),
    "math.nextafter(x, y)": np.nextafter,
    "math.copysign(x, y)": np.copysign,
}


@pytest.mark.long
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("expression", TWO_ARGUMENTS)
def test_all_pairs_of_special_values(expression, dtype):
    x, y = pairs(dtype)
    got = evaluate(kernel(expression, "xy"), x, y)
    assert_same_bits(got, python(TWO_ARGUMENTS[expression], dtype, x, y))


def ulp(size):
    """The distance to the next number; math.ulp for any float type."""
    if not size < np.inf:
        return size
    largest = size == np.finfo(size.dtype).max
    return size - np.nextafter(size, size.dtype.type(0)) if largest else np.spacing(size)


ONE_ARGUMENT = {
    "math.modf(x)[0]": lambda x: np.modf(x)[0],
    "math.modf(x)[1]": lambda x: np.modf(x)[1],
    "math.frexp(x)[0]": lambda x: np.frexp(x)[0],
    "math.frexp(x)[1]": lambda x: np.frexp(x)[1],
    "math.ulp(x)": lambda x: ulp(abs(x)),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("expression", ONE_ARGUMENT)
def test_special_values(expression, dtype):
    x = values(dtype)
    assert_same_bits(evaluate(kernel(expression, "x"), x), python(ONE_ARGUMENT[expression], dtype, x))


@pytest.mark.parametrize("dtype", TYPES)
def test_scaling_by_powers_of_two_rounds_once(dtype):
    x = np.concatenate([values(dtype), RNG.uniform(1, 2, 20)]).astype(dtype)
    bits = -np.finfo(dtype).minexp + np.finfo(dtype).nmant
    for factor in (-3.0, -2.1, -1.95, -1.0, -0.97, -0.3, 0.2, 0.87, 1.0, 1.9, 2.2, 9.0):
        x_, e = x, np.full(len(x), int(factor * bits), np.int32)
        with np.errstate(all="ignore"):
            assert_same_bits(evaluate(kernel("math.ldexp(x, e)", "xe"), x_, e), np.ldexp(x_, e))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("digits", [0, 1, 2, 5, 25, 38, -1, -3])
def test_round_to_digits_is_numpys(digits, dtype):
    x = np.concatenate([values(dtype), RNG.uniform(-1e4, 1e4, 200), [2.675, 0.125, 25.0, 35.0, 1250.0]]).astype(dtype)
    assert_same_bits(evaluate(kernel(f"round(x, {digits})", "x"), x), python(lambda v: round(v, digits), dtype, x))


def test_round_to_digits_of_integers_and_literals():
    x = np.arange(-5, 5, dtype=np.int32)
    k = kernel("round(x, 2) * 2 + round(2.567, 1)", "x")
    np.testing.assert_array_equal(outputs(k, x, dtype=np.float32), x.astype(np.float32) * 2 + np.float32(2.6))
    with pytest.raises(CompileError, match="has to be an integer"):
        kernel("round(1.5, x)", "x").ir(np.zeros(10, np.float32), x.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32])
def test_divisors_and_multiples(dtype):
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid([0, 1, 6, 12, 35, 1000], [0, 1, 8, 9, 49, 60]))
    signed = -y if dtype is not np.uint32 else y
    np.testing.assert_array_equal(outputs(kernel("math.gcd(x, y)", "xy"), x, signed), np.gcd(x, y))
    np.testing.assert_array_equal(outputs(kernel("np.lcm(x, y)", "xy"), x, signed), np.lcm(x, y))


def test_isclose():
    x = np.array([1.0, 1.0, 0.0, np.inf, np.inf, np.nan, 100.0, 1e-12])
    y = np.array([1.0 + 1e-10, 1.1, 1e-12, np.inf, -np.inf, np.nan, 101.0, 0.0])
    for options in ({}, {"rel_tol": 0.02}, {"abs_tol": 1e-9}, {"rel_tol": 0.5, "abs_tol": 2.0}):
        more = "".join(f", {name}={value}" for name, value in options.items())
        expected = [math.isclose(a, b, **options) for a, b in zip(x, y, strict=True)]
        got = outputs(kernel(f"math.isclose(x, y{more})", "xy"), x, y, dtype=np.bool_)
        np.testing.assert_array_equal(got, expected)


def test_a_constant_beyond_float16_is_infinite_without_a_warning() -> None:
    """Constants are computed while the kernel is compiled: warnings are errors here, and NumPy warns."""
    one = np.ones(1, np.float16)
    assert outputs(kernel("np.float16(1e6) + x", "x"), one)[0] == np.inf
    assert outputs(kernel("x * -70000.0", "x"), one)[0] == -np.inf
