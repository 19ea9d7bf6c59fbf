"""Powers, roots and lengths of float64."""

from __future__ import annotations

from math import sqrt

from smmux.compiler.library.machine_operations import from_words, high_word, nearest
from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    SMALLEST_NORMAL,
    copysign,
    multiply,
    negative,
    scale,
    two_product,
    two_sum,
)
from smmux.compiler.library.mathlib64.exponentials import exp_words
from smmux.compiler.library.mathlib64.logarithms import long_log_words
from smmux.language import kernel_names as cuda
from smmux.language.types import uint32


def power(x, y):
    """x ** y, with the special cases of C."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return x + y
    size = abs(x)
    whole = nearest(y) == y
    odd = whole and abs(y) < 2.0**53 and nearest(0.5 * y) != 0.5 * y
    if size == 0.0 or size == INFINITY or size == 1.0 or abs(y) == INFINITY:
        result = power_of_limit(size, y)
    else:
        result = positive_power(size, y)
    if x < 0.0 and not whole and size < INFINITY:
        return NAN
    return -result if odd and negative(x) else result


def power_of_limit(size, y):
    """0, 1 and infinity to a power, and any positive number to an infinite one."""
    if size == 1.0:
        return 1.0
    return INFINITY if (size > 1.0) == (y > 0.0) else 0.0


def positive_power(x, y):
    """exp(y * log(x)), the product in two words."""
    high, low = long_log_words(x)
    rough = high * y
    if not (abs(rough) < 800.0):
        return INFINITY if rough > 0.0 else 0.0
    if abs(rough) < 1.0e-18:
        return 1.0
    high, low = multiply(high, low, y, 0.0)
    value, _, n = exp_words(high, low)
    return scale(value, n)


def cbrt(x):
    """Cube root: a third of the exponent, two steps of Halley's, and one of Newton's with an exact remainder."""
    size = abs(x)
    if not (0.0 < size < INFINITY):
        return x
    factor, back = 1.0, 1.0
    if size < SMALLEST_NORMAL:
        factor, back = 2.0**54, 2.0**-18
    elif size > 2.0**1000:
        factor, back = 2.0**-54, 2.0**18
    a = size * factor
    t = from_words(high_word(a) // 3 + uint32(0x2A9F7893), uint32(0))
    for _ in range(2):
        cube = t * t * t
        t = t * ((cube + (a + a)) / (cube + cube + a))
    square, square_low = two_product(t, t)
    cube, cube_low = multiply(square, square_low, t, 0.0)
    t = t + ((a - cube) - cube_low) / (3.0 * square)
    return copysign(t * back, x)


def hypot(x, y):
    """sqrt(x * x + y * y) without overflow."""
    a, b = abs(x), abs(y)
    if a == INFINITY or b == INFINITY:
        return INFINITY
    large, small = (a, b) if a >= b else (b, a)
    if small == 0.0 or not (large > 0.0):
        return large + small
    if small < large * 1.0e-17:
        return large + small
    factor = 1.0
    if large > 2.0**500:
        factor = 2.0**600
    elif large < 2.0**-400:
        factor = 2.0**-600
    back = 1.0 / factor
    a, a_low = two_product(large * back, large * back)
    b, b_low = two_product(small * back, small * back)
    total, error = two_sum(a, b)
    error = error + (a_low + b_low)
    length = sqrt(total)
    rest = cuda.fma(-length, length, total) + error
    return (length + rest / (length + length)) * factor
