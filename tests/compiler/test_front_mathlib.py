"""`math.*` against NumPy and SciPy in float64: a few units in the last place, special values exactly."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special

from smmux import CompileError, cuda, float32
from smmux.kernel import from_source
from tests.compiler.front import outputs

RNG = np.random.default_rng(7)


def uniform(low, high, count=400):
    return np.concatenate([RNG.uniform(low, high, count), np.linspace(low, high, 41)]).astype(np.float32)


def spread(low, high, count=400):
    """Numbers of all magnitudes between two powers of ten."""
    return (10.0 ** RNG.uniform(low, high, count)).astype(np.float32)


EVERYWHERE = np.concatenate([uniform(-10, 10), spread(-20, 20), -spread(-20, 20)]).astype(np.float32)
FUNCTIONS = {
    "sin": (np.sin, uniform(-100, 100), 4),
    "cos": (np.cos, uniform(-100, 100), 4),
    "tan": (np.tan, uniform(-1.5, 1.5), 6),
    "exp": (np.exp, uniform(-86, 88), 3),
    "exp2": (np.exp2, uniform(-125, 127), 3),
    "expm1": (np.expm1, np.concatenate([uniform(-10, 80), spread(-8, 0)]), 6),
    "log": (np.log, np.concatenate([spread(-37, 37), uniform(0.5, 2)]), 3),
    "log2": (np.log2, np.concatenate([spread(-37, 37), uniform(0.5, 2), 2.0 ** np.arange(-100, 100)]), 4),
    "log10": (np.log10, np.concatenate([spread(-37, 37), uniform(0.5, 2)]), 5),
    "log1p": (np.log1p, np.concatenate([spread(-9, 9), -spread(-9, -0.1)]), 5),
    "asin": (np.arcsin, uniform(-1, 1), 5),
    "acos": (np.arccos, uniform(-1, 0.99), 5),
    "atan": (np.arctan, EVERYWHERE, 4),
    "sinh": (np.sinh, np.concatenate([uniform(-80, 80), spread(-9, 0)]), 6),
    "cosh": (np.cosh, uniform(-80, 80), 6),
    "tanh": (np.tanh, np.concatenate([uniform(-12, 12), spread(-9, 0)]), 6),
    "asinh": (np.arcsinh, EVERYWHERE, 6),
    "acosh": (np.arccosh, np.concatenate([1 + spread(-3, 3), spread(0.1, 30)]), 8),
    "atanh": (np.arctanh, np.concatenate([uniform(-0.99, 0.99), spread(-9, -1)]), 8),
    "erf": (special.erf, uniform(-4, 4), 5),
    "erfc": (special.erfc, uniform(-4, 8), 40),
    "sqrt": (np.sqrt, spread(-30, 30), 0.51),
    "fabs": (np.abs, EVERYWHERE, 0),
}


def kernel(expression, parameters, fastmath=False):
    loads = "".join(f"    {p} = {p}_[i]\n" for p in parameters)
    names = ", ".join(p + "_" for p in parameters)
    text = f"def kernel(out, {names}):\n    i = cuda.threadIdx.x\n{loads}    out[i] = {expression}\n"
    return from_source(text, {"cuda": cuda, "math": math, "np": np, "float32": float32}, fastmath=fastmath)


def error_in_ulps(got, expected):
    size = np.maximum(np.abs(expected), np.finfo(np.float32).tiny).astype(np.float32)
    return np.max(np.abs(got.astype(np.float64) - expected) / np.spacing(size))


def evaluate(k, *arrays, dtype=None):
    parts = [outputs(k, *(a[i : i + 512] for a in arrays), dtype=dtype) for i in range(0, len(arrays[0]), 512)]
    return np.concatenate(parts)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name):
    function, x, bound = FUNCTIONS[name]
    x = x.astype(np.float32)
    assert error_in_ulps(evaluate(kernel(f"math.{name}(x)", "x"), x), function(x.astype(np.float64))) <= bound


@pytest.mark.parametrize(
    ("name", "function", "x", "y", "bound"),
    [
        ("pow", np.power, spread(-5, 5), uniform(-7, 7, 359), 8),
        ("atan2", np.arctan2, EVERYWHERE, EVERYWHERE[::-1].copy(), 6),
        ("hypot", np.hypot, EVERYWHERE[:441], EVERYWHERE[500:941], 3),
        ("fmod", np.fmod, uniform(-1e6, 1e6), uniform(-9, 9) + np.float32(0.01), 0),
        ("copysign", np.copysign, EVERYWHERE, EVERYWHERE[::-1].copy(), 0),
    ],
)
def test_accuracy_of_two_arguments(name, function, x, y, bound):
    got = evaluate(kernel(f"math.{name}(x, y)", "xy"), x, y)
    assert error_in_ulps(got, function(x.astype(np.float64), y.astype(np.float64))) <= bound


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "exp2", "log", "log2", "log10", "sqrt"])
def test_fastmath_is_close(name):
    x = uniform(0.1, 3)
    got = evaluate(kernel(f"math.{name}(x)", "x", fastmath=True), x)
    np.testing.assert_allclose(got, getattr(np, name)(x.astype(np.float64)), rtol=1e-5, atol=1e-6)


SPECIALS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], np.float32)
EXTREMES = np.concatenate([SPECIALS, np.array([1e-45, -1e-45, 3e38, -3e38, 1e10, -1e10, 100, -100], np.float32)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    function = FUNCTIONS[name][0]
    with np.errstate(all="ignore"):
        expected = function(EXTREMES.astype(np.float64)).astype(np.float32)
    got = outputs(kernel(f"math.{name}(x)", "x"), EXTREMES)
    np.testing.assert_allclose(got, expected, rtol=2e-6, atol=0)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("name", ["atan2", "hypot"])
def test_special_pairs(name):
    x, y = (a.ravel().copy() for a in np.meshgrid(EXTREMES, EXTREMES))
    with np.errstate(all="ignore"):
        expected = {"atan2": np.arctan2, "hypot": np.hypot}[name](x.astype(np.float64), y).astype(np.float32)
    got = outputs(kernel(f"math.{name}(x, y)", "xy"), x, y)
    np.testing.assert_allclose(got, expected, rtol=4e-6, atol=0)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_angles(name):
    """Reduced with as many bits of pi as they need; the hardest float32 number is among them."""
    x = np.append(spread(4, 38), [16367173 * 2.0**72, 10**5, 100000.01, -27618762]).astype(np.float32)
    x = np.concatenate([x, -x])
    with mpmath.workprec(200):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
    got = evaluate(kernel(f"math.{name}(x)", "x"), x)
    assert error_in_ulps(got, np.array(exact, np.float64)) <= 3


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_reciprocals_are_rounded_once(dtype):
    """Those of integers are float64 where there is such data."""
    x = (uniform(-1000, 1000) + 2000).astype(dtype)
    expected = 1 / x
    out = np.zeros_like(expected)
    kernel("x ** -1", "x").simulate(1, len(x), (out, x), gpu="K20c")
    np.testing.assert_array_equal(out, expected)


def test_special_powers():
    x, y = (
        a.ravel().copy() for a in np.meshgrid(np.append(SPECIALS, [2, -2, 0.5]), np.append(SPECIALS, [2, 3, -3, 0.5]))
    )
    x, y = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_allclose(outputs(kernel("math.pow(x, y)", "xy"), x, y), expected, rtol=1e-6)


def test_whole_numbers_are_ints():
    x = np.array([1.5, -1.5, 2.0, -0.5, 7.999], np.float32)
    for name in ("floor", "ceil", "trunc"):
        k = kernel(f"math.{name}(x)", "x")
        np.testing.assert_array_equal(outputs(k, x, dtype=np.int32), getattr(np, name)(x))
        assert "cvt.rzi.s32" in k.ir(np.zeros(5, np.int32), x)


def test_predicates():
    for name in ("isnan", "isinf", "isfinite"):
        got = outputs(kernel(f"math.{name}(x)", "x"), SPECIALS, dtype=np.bool_)
        np.testing.assert_array_equal(got, getattr(np, name)(SPECIALS))


def test_scale_and_parts():
    x = np.array([1.5, -3.25, 1e-3, 0.0, 1e10], np.float32)
    e = np.array([3, -5, 100, 0, -40], np.int32)
    np.testing.assert_array_equal(outputs(kernel("math.ldexp(x, e)", "xe"), x, e), np.ldexp(x, e))
    fraction, whole = np.modf(x)
    np.testing.assert_array_equal(outputs(kernel("math.modf(x)[0]", "x"), x), fraction)
    np.testing.assert_array_equal(outputs(kernel("math.modf(x)[1]", "x"), x), whole)
    np.testing.assert_allclose(outputs(kernel("math.degrees(x)", "x"), x), np.degrees(x), rtol=1e-6)
    np.testing.assert_allclose(outputs(kernel("math.radians(x)", "x"), x), np.radians(x), rtol=1e-6)
    np.testing.assert_allclose(outputs(kernel("math.log(x * x + 2.0, 10)", "x"), x), np.log10(x * x + 2), rtol=1e-6)


def test_constants_fold():
    x = np.ones(3, np.float32)
    k = kernel("math.sin(0.5) * math.pi + x", "x")
    assert outputs(k, x)[0] == np.float32(np.float32(math.sin(0.5) * math.pi) + 1)
    assert "sin" not in k.ir(np.zeros(3, np.float32), x).split("\n", 3)[3].replace("math.sin", "")
    with pytest.raises(CompileError, match=r"math.log of a constant"):
        kernel("math.log(-1.0) + x", "x").ir(np.zeros(3, np.float32), x)
