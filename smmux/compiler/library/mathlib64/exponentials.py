"""Exponentials of float64: x = n log(2) + r with |r| <= log(2) / 2, and a polynomial in r."""

from __future__ import annotations

from smmux.compiler.library.machine_operations import nearest
from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    multiply,
    polynomial,
    power_of_two,
    quick_sum,
    scale,
    two_sum,
)
from smmux.language import kernel_names as cuda
from smmux.language.types import int32

LOG2_E = 1.4426950408889634
LN_2 = (0.6931471805599453, 2.3190468138462996e-17)
EXP = (
    2.092182059148926e-09,
    2.5105492303202806e-08,
    2.755725222694834e-07,
    2.755725473661192e-06,
    2.4801587348050643e-05,
    0.00019841269875345578,
    0.0013888888888874097,
    0.008333333333325985,
    0.041666666666666685,
    0.1666666666666667,
    0.5,
)
"""(exp(r) - 1 - r) / r**2 for |r| <= 0.3475, to 2**-58."""


def exp_reduced(r, low):
    """exp(r + low) as a pair, for |r| <= 0.3475 and low within half a unit of r."""
    rest = cuda.fma(r * r, polynomial(r, EXP), cuda.fma(low, r, low))
    total, error = quick_sum(1.0, r)
    return quick_sum(total, error + rest)


def exp_words(x, low):
    """exp(x + low) as a pair, to be multiplied by 2**n: the pair and n, for |x| < 1000."""
    n = nearest(x * LOG2_E)
    exact = cuda.fma(n, -LN_2[0], x)
    r = cuda.fma(n, -LN_2[1], exact)
    r, rest = quick_sum(r, cuda.fma(n, -LN_2[1], exact - r) + low)
    high, error = exp_reduced(r, rest)
    return high, error, int32(n)


def exp(x):
    """e ** x."""
    if not (x <= 709.79):
        return x + INFINITY
    if x < -745.2:
        return 0.0
    high, _, n = exp_words(x, 0.0)
    return scale(high, n)


def exp2(x):
    """2 ** x."""
    if not (x < 1024.0):
        return x + INFINITY
    if x < -1076.0:
        return 0.0
    n = nearest(x)
    r, low = multiply(x - n, 0.0, LN_2[0], LN_2[1])
    high, _ = exp_reduced(r, low)
    return scale(high, int32(n))


def expm1(x):
    """e ** x - 1, also for small x."""
    if not (x <= 709.79):
        return x + INFINITY
    if abs(x) < 0.34:
        return cuda.fma(x * x, polynomial(x, EXP), x) if abs(x) > 1e-16 else x
    if x < -40.0:
        return -1.0
    high, low, n = exp_words(x, 0.0)
    if n > 60:
        return scale(high, n)
    factor = power_of_two(n)
    total, error = two_sum(high * factor, -1.0)
    return total + (error + low * factor)
