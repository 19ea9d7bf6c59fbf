"""Logarithms of float64: x = m * 2**k, and log(m) = 2 artanh(s) with s = (m - 1) / (m + 1) in two words."""

from __future__ import annotations

from smmux.compiler.library.machine_operations import from_words, high_word, low_word
from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    SMALLEST_NORMAL,
    add,
    divide,
    multiply,
    polynomial,
    quick_sum,
    scale,
    two_sum,
)
from smmux.language import kernel_names as cuda
from smmux.language.types import float64, int32, uint32

LN_2 = (0.6931471805598903, 5.497923018708371e-14)  # 42 bits, so that the product with an exponent is exact
LOG10_2 = (0.30102999566395283, 2.8363394551044964e-14)  # likewise
LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E = (0.4342944819032518, 1.098319650216765e-17)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
TWO_FIFTHS = (0.4, -2.2204460492503132e-17)
ROOT_HALF = 0x3FE6A09E  # high word of sqrt(1/2)
ARTANH = (
    0.14618325837258095,
    0.15331560274000533,
    0.18182894322986437,
    0.22222211057680924,
    0.28571428626492085,
    0.3999999999989824,
    0.666666666666667,
)
"""(2 artanh(s) - 2 s) / s**3 in z = s**2 <= 0.02945, to 2**-51."""
ARTANH_TAIL = (
    0.10618528275638632,
    0.10472755701623734,
    0.11766055823181316,
    0.13333314563771317,
    0.15384615526044965,
    0.1818181818129541,
    0.2222222222222296,
    0.2857142857142857,
)
"""(2 artanh(s) - 2 s - 2/3 s**3 - 2/5 s**5) / s**7 likewise, to 2**-55."""


def split(x):
    """x = m * 2**k with m between sqrt(1/2) and sqrt(2), for positive finite x: m, k."""
    small = x < SMALLEST_NORMAL
    y = x * 2.0**54 if small else x
    word = int32(high_word(y))
    k = (word - ROOT_HALF) >> 20
    return from_words(uint32(word - (k << 20)), low_word(y)), k - 54 if small else k


def log_near_one(f, low):
    """log(1 + f + low) as a pair, to 2**-58, for 1 + f between sqrt(1/2) and sqrt(2)."""
    total, error = two_sum(2.0, f)
    s, rest = divide(f, low, total, error + low)
    z = s * s
    return quick_sum(s + s, cuda.fma(s * z, polynomial(z, ARTANH), rest + rest))


def long_log_near_one(f):
    """log(1 + f) as a pair, to 2**-68."""
    total, error = two_sum(2.0, f)
    s, s_low = divide(f, 0.0, total, error)
    z, z_low = multiply(s, s_low, s, s_low)
    p, p_low = quick_sum(TWO_FIFTHS[0], cuda.fma(z, polynomial(z, ARTANH_TAIL), TWO_FIFTHS[1]))
    p, p_low = multiply(p, p_low, z, z_low)
    p, p_low = add(TWO_THIRDS[0], TWO_THIRDS[1], p, p_low)
    p, p_low = multiply(p, p_low, z, z_low)
    p, p_low = multiply(p, p_low, s, s_low)
    return add(s + s, s_low + s_low, p, p_low)


def with_exponent(k, high, low):
    """k log(2) + (high + low) as a pair."""
    n = float64(k)
    total, error = two_sum(n * LN_2[0], high)
    return quick_sum(total, error + cuda.fma(n, LN_2[1], low))


def log_words(x, low):
    """log(x + low) as a pair, to 2**-58, for positive finite x."""
    m, k = split(x)
    high, rest = log_near_one(m - 1.0, scale(low, -k))
    return with_exponent(k, high, rest)


def long_log_words(x):
    """log(x) as a pair, to 2**-65."""
    m, k = split(x)
    high, rest = long_log_near_one(m - 1.0)
    n = float64(k)
    product, product_low = n * LN_2[0], n * LN_2[1]
    return add(product, product_low, high, rest)


def log1p_words(u, low):
    """log(1 + u + low) as a pair, for finite u + low above -1."""
    if -0.29 < u < 0.41:
        return log_near_one(u, low)
    total, rest = two_sum(1.0, u)
    return log_words(total, rest + low)


def log_of_special(x):
    """Logarithm of zero, negative numbers, infinity and NaN."""
    if x == 0.0:
        return -INFINITY
    return NAN if x < 0.0 else x + x


def log(x):
    """Natural logarithm."""
    if not (x > 0.0) or x == INFINITY:
        return log_of_special(x)
    return log_words(x, 0.0)[0]


def log2(x):
    """Logarithm to base 2; exact for powers of two."""
    if not (x > 0.0) or x == INFINITY:
        return log_of_special(x)
    m, k = split(x)
    high, low = log_near_one(m - 1.0, 0.0)
    high, low = multiply(high, low, LOG2_E[0], LOG2_E[1])
    total, error = two_sum(float64(k), high)
    return total + (error + low)


def log10(x):
    """Logarithm to base 10; exact for powers of ten."""
    if not (x > 0.0) or x == INFINITY:
        return log_of_special(x)
    m, k = split(x)
    high, low = log_near_one(m - 1.0, 0.0)
    high, low = multiply(high, low, LOG10_E[0], LOG10_E[1])
    n = float64(k)
    total, error = two_sum(n * LOG10_2[0], high)
    return total + (error + cuda.fma(n, LOG10_2[1], low))


def log1p(x):
    """log(1 + x), also for small x."""
    if abs(x) < 1e-16 or x == INFINITY:
        return x
    if not (x > -1.0):
        return log_of_special(1.0 + x)
    return log1p_words(x, 0.0)[0]
