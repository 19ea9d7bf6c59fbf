"""Remainders, parts and neighbours of float64; all results are exact."""

from __future__ import annotations

from smmux.compiler.library.machine_operations import from_words, high_word, low_word, truncated
from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    SMALLEST_NORMAL,
    copysign,
    exponent_of,
    power_of_two,
    scale,
)
from smmux.language import kernel_names as cuda
from smmux.language.types import uint32, uint64


def full_exponent(x):
    """The binary exponent of a positive finite number, also of a subnormal one."""
    return exponent_of(x) if x >= SMALLEST_NORMAL else exponent_of(x * 2.0**54) - 54


def fmod(x, y):
    """Remainder of the truncated quotient: some 52 bits of the quotient at a time, each difference exact."""
    rest, divisor = abs(x), abs(y)
    if not (rest < INFINITY) or not (divisor > 0.0):
        return NAN
    if rest < divisor or divisor == INFINITY:
        return x
    exponent = full_exponent(divisor)
    while rest >= divisor:
        distance = full_exponent(rest) - exponent
        step = scale(divisor, distance - 52) if distance > 52 else divisor
        rest = cuda.fma(-truncated(rest / step), step, rest)
        if rest < 0.0:
            rest = rest + step
    return copysign(rest, x)


def modf(x):
    """Fraction and whole part, both with the sign of x."""
    whole = truncated(x)
    return copysign(0.0 if abs(x) == INFINITY else x - whole, x), copysign(whole, x)


def frexp(x):
    """x = m * 2**e with |m| from 1/2 up to 1: m, e; zeros, infinities and NaN with 0."""
    if x == 0.0 or not (abs(x) < INFINITY):
        return x, 0
    small = abs(x) < SMALLEST_NORMAL
    y = x * 2.0**54 if small else x
    e = exponent_of(y) + 1
    m = from_words((high_word(y) & 0x800FFFFF) | 0x3FE00000, low_word(y))
    return m, e - 54 if small else e


def ldexp(x, e):
    """x * 2**e, rounded once: what is multiplied before the last step stays exact or vanishes in it."""
    n = min(max(e, -2200), 2200)
    y = x
    if n < 0:
        for _ in range(2):
            if n < -1022:
                y = y * 2.0**-969
                n += 969
        return y * power_of_two(max(n, -1022))
    for _ in range(2):
        if n > 1023:
            y = y * 2.0**1023
            n -= 1023
    return y * power_of_two(min(n, 1023))


def nextafter(x, y):
    """The neighbour of x on the way to y."""
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0.0:
        return copysign(from_words(uint32(0), uint32(1)), y)
    bits = (uint64(high_word(x)) << 32) | uint64(low_word(x))
    bits = bits + uint64(1) if (x < y) == (x > 0.0) else bits - uint64(1)
    return from_words(uint32(bits >> 32), uint32(bits))


def ulp(x):
    """Distance of |x| from the next number above, or from the one below for the largest."""
    size = abs(x)
    if not (size < INFINITY):
        return size
    above = nextafter(size, INFINITY)
    return above - size if above < INFINITY else size - nextafter(size, 0.0)
