"""Inverse trigonometric functions of float64."""

from __future__ import annotations

from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    add,
    copysign,
    divide,
    negative,
    polynomial,
    quick_sum,
    root,
    two_sum,
)
from smmux.language import kernel_names as cuda

PI = (3.141592653589793, 1.2246467991473532e-16)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)
ATAN_HALF = (0.4636476090008061, 2.2698777452961687e-17)
ATAN = (
    -0.03190844160995061,
    0.046001635602004036,
    -0.052499887769946164,
    0.05881679003319708,
    -0.06666644378250607,
    0.07692307217352558,
    -0.09090909084587115,
    0.11111111111061962,
    -0.1428571428571409,
    0.19999999999999998,
    -0.3333333333333333,
)
"""(atan(t) - t) / t**3 in z = t**2 <= 0.0626, to 2**-55."""
ASIN = (
    0.031009283583983808,
    -0.02452633239336462,
    0.02294660419482839,
    0.00020105616492686215,
    0.00884877314389674,
    0.008124792975366198,
    0.009794340275283184,
    0.011548925559441661,
    0.013965021300841735,
    0.01735275693346058,
    0.022372159296553968,
    0.030381944441050728,
    0.04464285714288643,
    0.0749999999999999,
    0.16666666666666666,
)
"""(asin(t) - t) / t**3 in z = t**2 <= 0.2501, to 2**-56."""


def angle(a, b):
    """atan(a / b) as a pair, for 0 <= a <= b, b positive and finite.

    The point is turned back by atan(1 / 2) or pi / 4 where that leaves a smaller angle.
    """
    quotient = a / b
    if quotient < 1.0e-18:
        return quotient, 0.0
    if b > 2.0**500:
        a, b = a * 2.0**-600, b * 2.0**-600
    elif b < 2.0**-400:
        a, b = a * 2.0**600, b * 2.0**600
    if quotient < 0.25:
        turn, base, base_low = 0.0, 0.0, 0.0
    elif quotient < 0.75:
        turn, base, base_low = 0.5, ATAN_HALF[0], ATAN_HALF[1]
    else:
        turn, base, base_low = 1.0, QUARTER_PI[0], QUARTER_PI[1]
    y, y_low = two_sum(a, -turn * b)
    x, x_low = two_sum(b, turn * a)
    t, low = divide(y, y_low, x, x_low)
    z = t * t
    low = cuda.fma(z * t, polynomial(z, ATAN), low)
    return add(base, base_low, t, low)


def atan(x):
    """Arc tangent."""
    size = abs(x)
    if not (size > 1.0e-18):
        return x
    if size <= 1.0:
        value = angle(size, 1.0)[0]
    elif size == INFINITY:
        value = HALF_PI[0]
    else:
        value, low = angle(1.0, size)
        value = add(HALF_PI[0], HALF_PI[1], -value, -low)[0]
    return copysign(value, x) if x == x else x


def atan2(y, x):
    """Angle of the point (x, y)."""
    if x != x or y != y:
        return x + y
    high, low = first_quadrant(abs(y), abs(x))
    if negative(x):
        high, low = add(PI[0], PI[1], -high, -low)
    return copysign(high + low, y)


def first_quadrant(y, x):
    """atan(y / x) as a pair, for any y and x that are not negative."""
    if y == 0.0:
        return 0.0, 0.0
    if x == y == INFINITY:
        return QUARTER_PI
    if y == INFINITY or x == 0.0:
        return HALF_PI
    if x == INFINITY:
        return 0.0, 0.0
    if y <= x:
        return angle(y, x)
    high, low = angle(x, y)
    return add(HALF_PI[0], HALF_PI[1], -high, -low)


def half_of_acos(size):
    """acos(size) / 2 as a pair, for 1/2 < size <= 1: asin of the root of (1 - size) / 2."""
    z = 0.5 - 0.5 * size
    if z == 0.0:
        return 0.0, 0.0
    s, low = root(z, 0.0)
    return quick_sum(s, cuda.fma(s * z, polynomial(z, ASIN), low))


def asin(x):
    """Arc sine."""
    size = abs(x)
    if not (size <= 1.0):
        return NAN
    if size <= 0.5:
        return x if size < 1.0e-9 else cuda.fma(x * x * x, polynomial(x * x, ASIN), x)
    high, low = half_of_acos(size)
    return copysign(add(HALF_PI[0], HALF_PI[1], -2.0 * high, -2.0 * low)[0], x)


def acos(x):
    """Arc cosine."""
    size = abs(x)
    if not (size <= 1.0):
        return NAN
    if size <= 0.5:
        return add(HALF_PI[0], HALF_PI[1], -x, -x * x * x * polynomial(x * x, ASIN))[0]
    high, low = half_of_acos(size)
    high, low = 2.0 * high, 2.0 * low
    return add(PI[0], PI[1], -high, -low)[0] if x < 0.0 else high
