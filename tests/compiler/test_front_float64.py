"""`math.*` of float64 on the machine against mpmath: within one unit in the last place everywhere, special values as in
NumPy and SciPy."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from smmux.compiler.library.mathlib64 import gamma_zeros
from tests.compiler.minimax import POLYNOMIALS, points, value
from tests.compiler.test_front_mathlib import kernel

RNG = np.random.default_rng(11)
COUNT = 150


def evaluate(k, *arrays):
    parts = []
    for first in range(0, len(arrays[0]), 256):
        part = [a[first : first + 256] for a in arrays]
        parts.append(np.zeros_like(part[0]))
        k.simulate(1, len(part[0]), (parts[-1], *part), gpu="K20c")
    return np.concatenate(parts)


def uniform(low, high):
    return RNG.uniform(low, high, COUNT)


def spread(low, high):
    """Numbers of all magnitudes between two powers of ten, of both signs."""
    return 10.0 ** uniform(low, high) * RNG.choice([-1.0, 1.0], COUNT)


def anything():
    """Any finite bits."""
    values = RNG.integers(0, 2**64, COUNT, dtype=np.uint64).view(np.float64)
    return values[np.isfinite(values)]


ANY = np.concatenate([anything(), spread(-20, 20), uniform(-10, 10), [5e-324, -1e-310]])
POSITIVE = np.concatenate([abs(ANY), 1 + spread(-16, -1), 2.0 ** np.arange(-1074, 1023, 61)])
UNIT = np.concatenate([uniform(-1, 1), spread(-20, 0), 1 - abs(spread(-16, -1))])
NEAR_0 = np.concatenate([spread(-20, 0), uniform(-2, 2)])
HUGE = np.concatenate(
    [ANY, spread(0, 308), uniform(-1e6, 1e6), np.pi / 2 * np.arange(1, 60), [6381956970095103 * 2.0**797]]
)
FUNCTIONS = {
    "exp": (mp.exp, np.concatenate([uniform(-746, 710), NEAR_0])),
    "exp2": (lambda x: mp.mpf(2) ** x, np.concatenate([uniform(-1080, 1025), NEAR_0])),
    "expm1": (mp.expm1, np.concatenate([uniform(-50, 710), NEAR_0])),
    "log": (mp.log, POSITIVE),
    "log2": (lambda x: mp.log(x) / mp.log(2), POSITIVE),
    "log10": (lambda x: mp.log(x) / mp.log(10), np.concatenate([POSITIVE, 10.0 ** np.arange(23)])),
    "log1p": (mp.log1p, np.concatenate([POSITIVE, uniform(-1, 1), spread(-20, -1)])),
    "sin": (mp.sin, HUGE),
    "cos": (mp.cos, HUGE),
    "tan": (mp.tan, HUGE),
    "asin": (mp.asin, UNIT),
    "acos": (mp.acos, UNIT),
    "atan": (mp.atan, ANY),
    "sinh": (mp.sinh, np.concatenate([uniform(-711, 711), NEAR_0])),
    "cosh": (mp.cosh, np.concatenate([uniform(-711, 711), NEAR_0])),
    "tanh": (mp.tanh, np.concatenate([uniform(-21, 21), NEAR_0])),
    "asinh": (mp.asinh, ANY),
    "acosh": (mp.acosh, np.concatenate([1 + abs(spread(-16, 17)), uniform(1, 3), abs(spread(0, 308))])),
    "atanh": (mp.atanh, UNIT),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), np.concatenate([ANY, np.arange(50.0) ** 3])),
    "erf": (mp.erf, np.concatenate([uniform(-6, 6), spread(-300, 0)])),
    "erfc": (mp.erfc, np.concatenate([uniform(-6, 28), uniform(0, 4), uniform(26, 27.5)])),
    "gamma": (mp.gamma, np.concatenate([uniform(-185, 172), uniform(-10, 10), spread(-18, 0), np.arange(1.0, 171)])),
    "lgamma": (
        lambda x: mp.loggamma(x).real if x > 1000 else mp.log(abs(mp.gamma(x))),
        np.concatenate([uniform(-9, 100), abs(spread(-30, 305)), 1 + spread(-15, -1), 2 + spread(-15, -1)]),
    ),
    "sqrt": (mp.sqrt, POSITIVE),
    "degrees": (mp.degrees, ANY[abs(ANY) < 1e306]),
    "radians": (mp.radians, ANY),
}
ZEROS = np.concatenate([z + spread(-16, -1)[:25] * abs(z - np.round(z)) for z in gamma_zeros.ZEROS[:, 0]])
FUNCTIONS["lgamma of negative numbers"] = (
    lambda x: mp.log(abs(mp.gamma(x))),
    np.concatenate([gamma_zeros.ZEROS[:, 0], ZEROS[np.round(ZEROS) != ZEROS], uniform(-30, 0)]),
)
LENGTHS = np.concatenate([anything()[:100], spread(-3, 3), uniform(-5, 5)])
PAIRS = {
    "pow": (
        mp.power,
        np.concatenate([abs(spread(-5, 5)), uniform(0.9, 1.1), abs(spread(-308, 308))]),
        np.concatenate([uniform(-60, 60), uniform(-7000, 7000), uniform(-1, 1)]),
    ),
    "atan2": (mp.atan2, LENGTHS, np.roll(LENGTHS, 1)),
    "hypot": (mp.hypot, LENGTHS, np.roll(LENGTHS, 1)),
}


def unit(exact):
    """The distance of float64 numbers around a number."""
    if exact == 0:
        return mp.mpf(2) ** -1074
    return mp.mpf(2) ** max(int(mp.floor(mp.log(abs(exact), 2))) - 52, -1074)


def error(got, exact):
    """Error in units in the last place; an infinity stands for anything beyond the largest number."""
    if math.isinf(got):
        return 0 if abs(exact) >= mp.mpf(2) ** 1024 - mp.mpf(2) ** 970 and (got > 0) == (exact > 0) else mp.inf
    return mp.inf if math.isnan(got) else abs(mp.mpf(got) - exact) / unit(exact)


def assert_within_one_unit(name, function, *arrays):
    arguments = ", ".join("xy"[: len(arrays)])
    name = name.split()[0]
    got = evaluate(kernel(f"math.{name}({arguments})", "xy"[: len(arrays)]), *arrays)
    huge = name in ("sin", "cos", "tan")
    for result, *x in zip(got.tolist(), *(a.tolist() for a in arrays), strict=True):
        with mp.workprec(1300 if huge and abs(x[0]) > 1e9 else 160):
            assert error(result, function(*map(mp.mpf, x))) < 1, (name, x, result)


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_argument(name):
    assert_within_one_unit(name, *FUNCTIONS[name])


@pytest.mark.parametrize("name", PAIRS)
def test_two_arguments(name):
    assert_within_one_unit(name, *PAIRS[name])


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.7e308, -1.7e308, 0.5, 2.0, -3.0])
NUMPY = {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "erf": special.erf,
    "erfc": special.erfc,
    "pow": np.power,
    "fabs": np.abs,
}
WITHOUT_NUMPY = ("gamma", "lgamma")


@pytest.mark.parametrize("name", [name for name in (*FUNCTIONS, "fabs") if name.split()[0] not in WITHOUT_NUMPY])
def test_special_values(name):
    got = evaluate(kernel(f"math.{name}(x)", "x"), SPECIAL)
    with np.errstate(all="ignore"):
        assert_alike(got, NUMPY.get(name, getattr(np, name, None))(SPECIAL))


def test_special_values_of_gamma():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, 5.0, 172.0, -200.5, -201.5])
    gamma = [np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan, np.nan, 24.0, np.inf, -0.0, 0.0]
    assert_alike(evaluate(kernel("math.gamma(x)", "x"), x), np.array(gamma))
    lgamma = [np.inf, np.inf, np.inf, np.inf, np.nan, np.inf, np.inf, math.lgamma(5)]
    assert_alike(evaluate(kernel("math.lgamma(x)", "x"), x[:8]), np.array(lgamma))


@pytest.mark.parametrize("name", ["atan2", "hypot", "pow"])
def test_special_pairs(name):
    x, y = (a.ravel().copy() for a in np.meshgrid(SPECIAL, SPECIAL))
    got = evaluate(kernel(f"math.{name}(x, y)", "xy"), x, y)
    with np.errstate(all="ignore"):
        function = NUMPY.get(name, getattr(np, name, None))
        expected = np.array([function(a, b) for a, b in zip(x, y, strict=True)])
    root = (y == 0.5) & (name == "pow")  # NumPy takes the square root, whose zeros and infinities have other signs
    assert_alike(got[~root], expected[~root])


def assert_alike(got, expected):
    """Equal but for rounding; signs of zeros count."""
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.long
def test_float32_functions_that_are_computed_in_float64():
    x = np.concatenate([uniform(-5, 35), spread(-10, 1)]).astype(np.float32)
    for name in ("gamma", "lgamma", "cbrt"):
        out = np.zeros_like(x)
        kernel(f"math.{name}(x)", "x").simulate(1, len(x), (out, x), gpu="K20c")
        expected = {"gamma": special.gamma, "lgamma": special.gammaln, "cbrt": np.cbrt}[name](x.astype(np.float64))
        np.testing.assert_array_max_ulp(out, expected.astype(np.float32), 1)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_as_good_as_they_say(name):
    coefficients, function, low, high, bits = POLYNOMIALS[name]
    with mp.workdps(60):
        terms = [mp.mpf(c) for c in coefficients]
        grid = points(mp.mpf(low), mp.mpf(high), 21)
        assert max(abs(value(terms, z) - function(z)) for z in grid) < mp.mpf(2) ** bits
