"""Hyperbolic functions of float64 and their inverses."""

from __future__ import annotations

from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    add,
    copysign,
    divide,
    multiply,
    polynomial,
    power_of_two,
    root,
    scale,
    two_product,
    two_sum,
)
from smmux.compiler.library.mathlib64.exponentials import exp_words
from smmux.compiler.library.mathlib64.logarithms import (
    ARTANH,
    log1p_words,
    log_near_one,
    log_words,
    split,
    with_exponent,
)
from smmux.language import kernel_names as cuda

SINH = (
    7.682668782799253e-13,
    1.605886795077791e-10,
    2.5052108817335757e-08,
    2.7557319223441564e-06,
    0.0001984126984127017,
    0.008333333333333333,
    0.16666666666666666,
)
"""(sinh(x) - x) / x**3 in z = x**2 <= 0.36, to 2**-56."""
TANH = (
    -2.7734484355682114e-05,
    9.281881497186894e-05,
    -0.00023827933105719372,
    0.0005899164794457525,
    -0.0014558250167148088,
    0.0035921275264999926,
    -0.008863235512554461,
    0.021869488535810555,
    -0.05396825396825045,
    0.13333333333333333,
    -0.3333333333333333,
)
"""(tanh(x) - x) / x**3 in z = x**2 <= 0.1601, to 2**-55."""
ASINH = (
    -0.0015056897016216542,
    0.004148711478867856,
    -0.006481444458193517,
    0.008184966836608588,
    -0.00972634231176154,
    0.011547575588734956,
    -0.013964493908358029,
    0.017352744896013208,
    -0.02237215838857526,
    0.030381944429373624,
    -0.04464285714268887,
    0.07499999999999926,
    -0.16666666666666666,
)
"""(asinh(x) - x) / x**3 in z = x**2 <= 0.2501, to 2**-56."""


def odd(x, coefficients):
    """x + x**3 times a polynomial in x**2; x itself where x is small."""
    z = x * x
    return x if abs(x) < 1.0e-9 else cuda.fma(z * x, polynomial(z, coefficients), x)


def exponential_and_reciprocal(x):
    """exp(x) and exp(-x) as pairs, both to be multiplied by 2**n, and n; for 0 <= x < 1000."""
    high, low, n = exp_words(x, 0.0)
    small, small_low = divide(1.0, 0.0, high, low)
    factor = power_of_two(-2 * n) if n < 200 else 0.0
    return high, low, small * factor, small_low * factor, n


def sinh(x):
    """Hyperbolic sine."""
    size = abs(x)
    if not (size < 711.0):
        return x * INFINITY
    if size < 0.6:
        return odd(x, SINH)
    high, low, small, small_low, n = exponential_and_reciprocal(size)
    return copysign(scale(add(high, low, -small, -small_low)[0], n - 1), x)


def cosh(x):
    """Hyperbolic cosine."""
    size = abs(x)
    if not (size < 711.0):
        return size * INFINITY
    high, low, small, small_low, n = exponential_and_reciprocal(size)
    return scale(add(high, low, small, small_low)[0], n - 1)


def tanh(x):
    """Hyperbolic tangent."""
    size = abs(x)
    if size < 0.4:
        return odd(x, TANH)
    if not (size < 20.0):
        return copysign(1.0, x) if x == x else x
    high, low, n = exp_words(size + size, 0.0)
    factor = power_of_two(n)
    total, error = two_sum(1.0, high * factor)
    high, low = divide(2.0, 0.0, total, error + low * factor)
    return copysign(add(1.0, 0.0, -high, -low)[0], x)


def log_of_double(x):
    """log(2 x) for large finite x."""
    m, k = split(x)
    high, low = log_near_one(m - 1.0, 0.0)
    return with_exponent(k + 1, high, low)[0]


def asinh(x):
    """Inverse hyperbolic sine."""
    size = abs(x)
    if not (size < INFINITY):
        return x
    if size < 0.5:
        return odd(x, ASINH)
    if size > 2.0**30:
        return copysign(log_of_double(size), x)
    square, square_low = two_product(x, x)
    high, low = add(square, square_low, 1.0, 0.0)
    high, low = root(high, low)
    high, low = add(high, low, size, 0.0)
    return copysign(log_words(high, low)[0], x)


def acosh(x):
    """Inverse hyperbolic cosine."""
    if not (x >= 1.0):
        return NAN
    if x > 2.0**30:
        return log_of_double(x) if x < INFINITY else x
    if x == 1.0:
        return 0.0
    above = x - 1.0
    total, error = two_sum(x, 1.0)
    high, low = multiply(above, 0.0, total, error)
    high, low = root(high, low)
    high, low = add(high, low, above, 0.0)
    return log1p_words(high, low)[0]


def atanh(x):
    """Inverse hyperbolic tangent."""
    size = abs(x)
    if not (size < 1.0):
        return copysign(INFINITY, x) if size == 1.0 else NAN
    if size < 0.17:
        z = x * x
        return x if size < 1.0e-9 else cuda.fma(z * x, 0.5 * polynomial(z, ARTANH), x)
    above, above_low = two_sum(1.0, size)
    below, below_low = two_sum(1.0, -size)
    high, low = divide(above, above_low, below, below_low)
    high, low = log_words(high, low)
    return copysign(0.5 * (high + low), x)
