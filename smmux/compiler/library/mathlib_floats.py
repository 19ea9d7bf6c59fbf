"""Functions of floats of either size, in the kernel language itself: each calls those of its arguments' own type."""

from __future__ import annotations

from math import copysign, exp, fmod, log1p

from smmux.compiler.library.machine_operations import lowered, nearest, truncated

INFINITY = float("inf")
LOG_2 = 0.6931471805599453


def modulo(x, y):
    """x % y: has the sign of y."""
    rest = fmod(x, y)
    if rest == 0.0:
        return copysign(rest, y)
    return rest + y if (rest < 0.0) != (y < 0.0) else rest


def floor_divide(x, y):
    """x // y, from the exact remainder."""
    if y == 0.0:
        return x / y
    rest = fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0.0 and (rest < 0.0) != (y < 0.0):
        quotient = quotient - 1.0
    if quotient == 0.0:
        return copysign(quotient, x / y)
    whole = lowered(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


def remainder(x, y):
    """x minus the nearest multiple of y, the even one of two."""
    size, divisor = abs(x), abs(y)
    rest = fmod(size, divisor)
    if divisor == INFINITY or rest != rest:
        return x if divisor == INFINITY and size < INFINITY else rest
    other = divisor - rest
    if rest > other:
        rest = -other
    elif rest == other:
        rest = rest - 2.0 * fmod(0.5 * (size - rest), divisor)
    return rest * copysign(1.0, x)


def modf(x):
    """Fraction and whole part, both with the sign of x."""
    whole = truncated(x)
    fraction = 0.0 if abs(x) == INFINITY else x - whole
    return copysign(fraction, x), whole


def complex_quotient(a, b, c, d):
    """(a + b j) / (c + d j) as NumPy computes it, by the larger part of the divisor."""
    if abs(c) >= abs(d):
        if c == 0.0 and d == 0.0:
            return a / abs(c), b / abs(c)
        ratio = d / c
        scale = 1.0 / (c + d * ratio)
        return (a + b * ratio) * scale, (b - a * ratio) * scale
    ratio = c / d
    scale = 1.0 / (d + c * ratio)
    return (a * ratio + b) * scale, (b * ratio - a) * scale


def complex_quotient_of_numba(a, b, c, d):
    """(a + b j) / (c + d j) as Numba and Python compute it; by zero, which they refuse, as NumPy does."""
    if abs(c) >= abs(d):
        if c == 0.0 and d == 0.0:
            return a / abs(c), b / abs(c)
        ratio = d / c
        divisor = c + d * ratio
        return (a + b * ratio) / divisor, (b - a * ratio) / divisor
    ratio = c / d
    divisor = c * ratio + d
    return (a * ratio + b) / divisor, (b * ratio - a) / divisor


def round_to_digits(x, factor):
    """x rounded to a number of decimals, whose power of ten is the factor, as NumPy does it."""
    return nearest(x * factor) / factor


def round_to_tens(x, factor):
    """x rounded to a number of digits before the point."""
    return nearest(x / factor) * factor


def round_to(x, digits, factor):
    """x rounded to a number of decimals known only at run time, or of digits before the point; factor: 1."""
    for _ in range(min(abs(digits), 308)):
        factor = factor * 10.0
    if digits < 0:
        return nearest(x / factor) * factor
    scaled = x * factor
    return nearest(scaled) / factor if abs(scaled) < INFINITY else x


def isclose(x, y, relative, absolute):
    """Whether two numbers are equal or differ by a small part of the larger one, or by little."""
    if x == y:
        return True
    distance = abs(x - y)
    return distance < INFINITY and distance <= max(relative * max(abs(x), abs(y)), absolute)


# -- NumPy's choices


def minimum(x, y):
    """The smaller one; NaN if one of them is."""
    return x if x < y or x != x else y


def maximum(x, y):
    """The larger one; NaN if one of them is."""
    return x if x > y or x != x else y


def fmin(x, y):
    """The smaller one that is a number."""
    return x if x <= y or y != y else y


def fmax(x, y):
    """The larger one that is a number."""
    return x if x >= y or y != y else y


def heaviside(x, middle):
    """The step function; middle: its value at 0."""
    if x == 0.0:
        return middle
    return (1.0 if x > 0.0 else 0.0) if x == x else x


def logaddexp(x, y):
    """log(exp(x) + exp(y)) without overflow."""
    if x == y:
        return x + LOG_2
    rest = x - y
    if rest > 0.0:
        return x + log1p(exp(-rest))
    return y + log1p(exp(rest)) if rest <= 0.0 else rest


def sign(x):
    """-1, 0, 1 or NaN."""
    if x > 0.0:
        return 1.0
    if x < 0.0:
        return -1.0
    return 0.0 if x == 0.0 else x


def sign_of_integer(x):
    """-1, 0 or 1."""
    if x > 0:
        return 1
    return -1 if x < 0 else 0
