"""Functions of `cuda.libdevice` in the kernel language itself, of floats of either size and of integers."""

from __future__ import annotations

from math import cbrt, copysign, cos, erfc, fmod, pow, sin, sqrt

from smmux.compiler.library.machine_operations import truncated

PI = 3.141592653589793
HALF_SQRT = 0.7071067811865476


def rsqrt(x):
    """1 / sqrt(x)"""
    return 1.0 / sqrt(x)


def reciprocal(x):
    """1 / x"""
    return 1.0 / x


def exp10(x):
    """10 ** x"""
    return pow(10.0, x)


def away(x):
    """The nearest integer, halves away from zero."""
    whole = truncated(x)
    return whole + copysign(1.0, x) if abs(x - whole) >= 0.5 else copysign(whole, x)


def difference(x, y):
    """x - y, or 0 where that is negative; NaN if one of them is."""
    return x - y if x > y or x != x or y != y else 0.0 * y


def saturated(x):
    """x within 0 and 1; 0 for NaN."""
    return min(x, 1.0) if x > 0.0 else 0.0


def normcdf(x):
    """The distribution function of the normal distribution."""
    return 0.5 * erfc(-x * HALF_SQRT)


def sinpi(x):
    """sin(pi x)"""
    return sin(PI * _turn(x))


def cospi(x):
    """cos(pi x)"""
    return cos(PI * abs(_turn(x)))


def _turn(x):
    """x between -1 and 1, a number of whole turns away."""
    rest = fmod(x, 2.0)
    if rest > 1.0:
        return rest - 2.0
    return rest + 2.0 if rest < -1.0 else rest


def sincos(x):
    """Sine and cosine."""
    return sin(x), cos(x)


def sincospi(x):
    """Sine and cosine of pi x."""
    return sinpi(x), cospi(x)


def half_sum(x, y):
    """(x + y) >> 1 without overflow."""
    return (x & y) + ((x ^ y) >> 1)


def half_sum_up(x, y):
    """(x + y + 1) >> 1 without overflow."""
    return (x | y) - ((x ^ y) >> 1)


def low_product(x, y):
    """The product of the lower 24 bits."""
    return ((x << 8) >> 8) * ((y << 8) >> 8)


def rcbrt(x):
    """1 / cbrt(x)"""
    return 1.0 / cbrt(x)
