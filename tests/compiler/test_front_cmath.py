"""`cmath.*` in kernels against Python's: a few units in the last place of the number, special values as there."""

import cmath
import math
import warnings

import numpy as np
import pytest

from smmux import CompileError, cuda
from smmux.kernel import from_source

RNG = np.random.default_rng(4)
NAMES = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "sin", "sinh", "sqrt"),
    *("tan", "tanh"),
)
NUMPY = {"a" + name: "arc" + name for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}
AXES = np.array([complex(a, b) for a in (0.0, -0.0, 1, -1, 2, -2, 0.5) for b in (0.0, -0.0, 1, -1, 3)])
NUMBERS = np.concatenate(
    [
        RNG.normal(size=40) + 1j * RNG.normal(size=40),
        10.0 ** RNG.uniform(-8, 2, 40) * np.exp(1j * RNG.uniform(-3.2, 3.2, 40)),
        AXES,
    ]
)
PARTS = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)
SPECIAL = np.array([complex(a, b) for a in PARTS for b in PARTS])


def evaluate(expression, z, dtype=None):
    text = f"def kernel(out, z_):\n    i = cuda.grid(1)\n    z = z_[i]\n    out[i] = {expression}\n"
    out = np.zeros(len(z), dtype or z.dtype)
    k = from_source(text, {"cuda": cuda, "cmath": cmath, "math": math, "np": np})
    k.simulate(1, len(z), (out, z), gpu="K20c")
    return out


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", NAMES)
def test_numbers(name, dtype):
    z = NUMBERS.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY.get(name, name))(z.astype(np.complex128))
    got = evaluate(f"cmath.{name}(z)", z)
    assert got.dtype == dtype
    finite = np.isfinite(expected)
    distance = np.abs(got[finite] - expected[finite])
    assert (distance <= 8 * np.finfo(dtype).eps * np.abs(expected[finite])).all()
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got[~finite], part), getattr(expected[~finite], part), rtol=1e-6)


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name):
    for z, got in zip(SPECIAL.tolist(), evaluate(f"cmath.{name}(z)", SPECIAL).tolist(), strict=True):
        try:
            expected = getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            continue
        unsigned = cmath.isnan(expected)  # the sign of an infinity beside NaN is not specified
        for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
            same = math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-14)
            assert same or unsigned and math.isinf(b) and abs(a) == abs(b), (z, got, expected)


def test_the_number_of_no_magnitude_has_no_phase():
    phases = np.array([complex(p) for p in (np.inf, -np.inf, np.nan, 1.0)])
    expected = [cmath.rect(0.0, p) for p in phases.real]
    np.testing.assert_array_equal(evaluate("cmath.rect(0.0, z.real)", phases), expected)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_binary_logarithms_also_of_zero(dtype):
    z = np.array([0j, 1, 4, 2j, -8, 0.5 - 0.5j], dtype)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(evaluate("np.log2(z)", z), np.log2(z), rtol=1e-6, atol=1e-7)


def test_polar_and_rectangular():
    z = NUMBERS
    np.testing.assert_allclose(evaluate("cmath.phase(z)", z, np.float64), np.angle(z), rtol=1e-15)
    np.testing.assert_allclose(evaluate("cmath.polar(z)[0] - abs(z)", z, np.float64), 0, atol=1e-15)
    np.testing.assert_allclose(evaluate("cmath.rect(abs(z), np.angle(z))", z), z, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(evaluate("cmath.rect(2.0, z.real)", z), 2 * np.exp(1j * z.real), rtol=1e-14)


def test_predicates_and_parts():
    for name in ("isnan", "isinf", "isfinite"):
        got = evaluate(f"cmath.{name}(z) and np.{name}(z)", SPECIAL, np.bool_)
        np.testing.assert_array_equal(got, getattr(np, name)(SPECIAL))
    np.testing.assert_array_equal(evaluate("np.real(z) + 2 * np.imag(z)", AXES, np.float64), AXES.real + 2 * AXES.imag)


def test_numpys_functions_of_complex_and_of_real_numbers():
    z = NUMBERS[:64]
    got = evaluate("np.sqrt(z) + np.exp(z) + np.sin(z.real) + np.arcsin(z)", z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(got, np.sqrt(z) + np.exp(z) + np.sin(z.real) + np.arcsin(z), rtol=1e-13)


def test_literals_fold_and_real_numbers_count_as_complex():
    x = np.array([-4.0, 4.0])
    np.testing.assert_array_equal(evaluate("cmath.sqrt(-4) + cmath.sqrt(z)", x, np.complex128), [4j, 2 + 2j])
    with pytest.raises(CompileError, match=r"cmath.log of a constant"):
        evaluate("cmath.log(0)", x, np.complex128)
