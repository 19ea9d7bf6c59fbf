"""NumPy's functions of numbers inside kernels, against NumPy."""

import warnings

import numpy as np
import pytest

from smmux import CompileError
from tests.compiler.front import outputs
from tests.compiler.test_front_mathlib import kernel

RNG = np.random.default_rng(3)
FLOATS = np.concatenate([[0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, np.inf, -np.inf, np.nan], RNG.uniform(-3, 3, 20)])
INTEGERS = np.array([0, 1, 2, 3, 5, 7, 31, -1, -2, -5, -31, 100], np.int32)
CHOICES = ("minimum", "maximum", "fmin", "fmax")
EXACT = {
    "x": (
        *("absolute", "fabs", "floor", "ceil", "trunc", "rint", "sign", "square", "negative", "positive", "sqrt"),
        *("isnan", "isinf", "isfinite", "signbit", "reciprocal", "logical_not"),
    ),
    "xy": (
        *CHOICES,
        *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "copysign", "nextafter"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
        *("logical_and", "logical_or", "logical_xor"),
    ),
}
CLOSE = {
    "x": (
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "degrees", "radians", "deg2rad", "rad2deg"),
    ),
    "xy": ("arctan2", "hypot", "power"),
}
OF_INTEGERS = (
    *("minimum", "maximum", "add", "subtract", "multiply", "floor_divide", "remainder"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "right_shift", "less", "equal"),
)


def pairs(values):
    x, y = np.meshgrid(values, values)
    return x.ravel().copy(), y.ravel().copy()


def compute(name, *arrays):
    """The kernel's and NumPy's values."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.array([getattr(np, name)(*row) for row in zip(*arrays, strict=True)])
    names = "xy"[: len(arrays)]
    k = kernel(f"np.{name}({', '.join(names)})", names)
    parts = [outputs(k, *(a[i : i + 300] for a in arrays), dtype=expected.dtype) for i in range(0, len(arrays[0]), 300)]
    return np.concatenate(parts), expected


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*EXACT["x"], *EXACT["xy"]])
def test_exact_functions_of_floats(name, dtype):
    values = FLOATS.astype(dtype)
    got, expected = compute(name, *((values,) if name in EXACT["x"] else pairs(values[:16])))
    np.testing.assert_array_equal(got, expected)
    if expected.dtype.kind == "f" and name not in CHOICES:  # of two zeros NumPy takes either
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("name", [*CLOSE["x"], *CLOSE["xy"]])
def test_close_functions_of_floats(name):
    got, expected = compute(name, *((FLOATS,) if name in CLOSE["x"] else pairs(abs(FLOATS[:16]))))
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_functions_of_integers(name):
    x, y = pairs(INTEGERS)
    keep = (y != 0) if name != "right_shift" else (y >= 0)
    got, expected = compute(name, x[keep], y[keep])
    np.testing.assert_array_equal(got, expected)


def test_functions_of_one_integer():
    for name in ("sign", "negative", "invert", "square", "absolute"):
        got, expected = compute(name, INTEGERS)
        np.testing.assert_array_equal(got, expected)


def test_choices_by_a_condition_and_by_bounds():
    x = FLOATS.astype(np.float32)
    got = outputs(kernel("np.where(x > 1, x, -1.0) + np.clip(x, -1, 2)", "x"), x)
    np.testing.assert_array_equal(got, np.where(x > 1, x, np.float32(-1)) + np.clip(x, -1, 2))


def test_constants_fold():
    x = np.ones(4, np.float32)
    got = outputs(kernel("np.floor(2.5) + np.sqrt(4.0) + np.sign(-3) + np.maximum(1.0, 2.0) + x", "x"), x)
    np.testing.assert_array_equal(got, np.full(4, 6.0, np.float32))


def test_refusals_say_what_to_write():
    x = np.ones(4, np.int32)
    for name in ("reciprocal(x)", "fmod(x, x)"):
        with pytest.raises(CompileError, match=r"of (an integer|integers).* write"):
            kernel(f"np.{name}", "x").ir(x, x)
