"""Sums of two float64 numbers that do not overlap, with some 106 bits: the arithmetic in which functions whose result
has to be within one unit in the last place take their few critical steps.

A pair (high, low) stands for high + low. Products get their second word from `cuda.fma`, sums from Knuth's six
additions (`two_sum`) or Dekker's three (`quick_sum`).
"""

from __future__ import annotations

from math import sqrt

from smmux.compiler.library.machine_operations import from_words, high_word, low_word
from smmux.language import kernel_names as cuda
from smmux.language.types import float64, int32, uint32

INFINITY = float("inf")
NAN = float("nan")
SMALLEST_NORMAL = 2.0**-1022


def two_sum(a, b):
    """a + b exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def quick_sum(a, b):
    """a + b exactly, where a is zero or the larger one."""
    total = a + b
    return total, b - (total - a)


def two_product(a, b):
    """a * b exactly, but for underflow."""
    product = a * b
    return product, cuda.fma(a, b, -product)


def add(a, a_low, b, b_low):
    """Sum of two pairs."""
    total, rest = two_sum(a, b)
    return quick_sum(total, rest + (a_low + b_low))


def multiply(a, a_low, b, b_low):
    """Product of two pairs."""
    product = a * b
    rest = cuda.fma(a, b, -product)
    rest = cuda.fma(a, b_low, cuda.fma(a_low, b, rest))
    return quick_sum(product, rest)


def divide(a, a_low, b, b_low):
    """Quotient of two pairs."""
    quotient = a / b
    rest = cuda.fma(-quotient, b, a)
    rest = cuda.fma(-quotient, b_low, rest + a_low)
    return quick_sum(quotient, rest / b)


def root(a, a_low):
    """Square root of a positive pair."""
    value = sqrt(a)
    rest = cuda.fma(-value, value, a) + a_low
    return quick_sum(value, rest / (value + value))


def polynomial(z, coefficients):
    """Horner's rule, highest power first."""
    total = float64(coefficients[0])
    for c in coefficients[1:]:
        total = cuda.fma(total, z, c)
    return total


# -- the bits of a number


def copysign(x, y):
    """Magnitude of x, sign of y."""
    return from_words((high_word(x) & 0x7FFFFFFF) | (high_word(y) & 0x80000000), low_word(x))


def negative(x):
    """True for a set sign bit."""
    return high_word(x) >= 0x80000000


def exponent_of(x):
    """The binary exponent of a normal number, its logarithm to base 2 rounded down."""
    return int32((high_word(x) >> 20) & 0x7FF) - 1023


def power_of_two(n):
    """2.0**n for n between -1022 and 1023."""
    return from_words(uint32(n + 1023) << 20, uint32(0))


def scale(x, n):
    """x * 2**n, rounded once, for n between -2044 and 2046."""
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)
