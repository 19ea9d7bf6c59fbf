"""The polynomials of `mathlib64`: what each approximates and where, and how its coefficients were found.

`remez` is the exchange algorithm in 60 digits: a polynomial whose error has equal extremes of alternating sign is the
best of its degree. `python -m tests.compiler.minimax NAME` prints the coefficients, highest power first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import mpmath as mp

from smmux.compiler.library.mathlib64 import (
    arcs,
    error_function,
    exponentials,
    gamma_function,
    hyperbolic,
    logarithms,
    trigonometric,
)

DIGITS = 60
TINY = mp.mpf(10) ** -12


def series(coefficient: Callable[[int], object]) -> Callable[[object], object]:
    """The sum of coefficient(k) z**k."""
    return lambda z: mp.fsum(coefficient(k) * z**k for k in range(120))


def odd(sign: int) -> Callable[[object], object]:
    """(asin(t) - t) / t**3 in t**2, or the same of asinh."""
    return series(lambda k: sign ** (k + 1) * mp.binomial(2 * k + 2, k + 1) / mp.mpf(4) ** (k + 1) / (2 * k + 3))


def tangent(k: int) -> object:
    """Coefficient of t**(2 k + 3) in tanh(t)."""
    power = mp.mpf(4) ** (k + 2)
    return mp.bernoulli(2 * k + 4) * power * (power - 1) / mp.factorial(2 * k + 4)


def inverse(k: int) -> object:
    """1 / k! for exponentials and circular functions."""
    return 1 / mp.factorial(k)


def erf(z: object) -> object:
    root = mp.sqrt(z)
    return (mp.erf(root) / root - 2 / mp.sqrt(mp.pi)) / z


def tail(v: object) -> object:
    x = 1 / mp.sqrt(v)
    return (x * mp.exp(1 / v) * mp.erfc(x) - 1 / mp.sqrt(mp.pi)) / v


def stirling(v: object) -> object:
    y = 1 / mp.sqrt(v)
    return ((mp.loggamma(y) - (y - 0.5) * mp.log(y) + y - mp.log(2 * mp.pi) / 2) * y - mp.mpf(1) / 12) / v


def near(centre: int, slope: Callable[[], object]) -> Callable[[object], object]:
    return lambda t: (mp.loggamma(centre + t) / t - slope()) / t


EDGE = mp.mpf(1) / 32
POLYNOMIALS = {
    "EXP": (exponentials.EXP, series(lambda k: inverse(k + 2)), -0.3475, 0.3475, -58),
    "ARTANH": (logarithms.ARTANH, series(lambda k: mp.mpf(2) / (2 * k + 3)), 0, 0.02945, -51),
    "ARTANH_TAIL": (logarithms.ARTANH_TAIL, series(lambda k: mp.mpf(2) / (2 * k + 7)), 0, 0.02945, -55),
    "SIN": (trigonometric.SIN, series(lambda k: (-1) ** (k + 1) * inverse(2 * k + 3)), 0, 0.617, -56),
    "COS": (trigonometric.COS, series(lambda k: (-1) ** k * inverse(2 * k + 4)), 0, 0.617, -58),
    "ATAN": (arcs.ATAN, series(lambda k: mp.mpf(-1) ** (k + 1) / (2 * k + 3)), 0, 0.0626, -55),
    "ASIN": (arcs.ASIN, odd(1), 0, 0.2501, -56),
    "SINH": (hyperbolic.SINH, series(lambda k: inverse(2 * k + 3)), 0, 0.36, -56),
    "TANH": (hyperbolic.TANH, series(tangent), 0, 0.1601, -55),
    "ASINH": (hyperbolic.ASINH, odd(-1), 0, 0.2501, -56),
    "ERF": (error_function.ERF, erf, TINY, 0.2501, -55),
    "TAIL": (error_function.TAIL, tail, mp.mpf(1) / 784, mp.mpf(1) / 16, -53),
    "STIRLING": (gamma_function.STIRLING, stirling, TINY, mp.mpf(1) / 64, -58),
    "NEAR_1": (gamma_function.NEAR_1, near(1, lambda: -mp.euler), -EDGE, EDGE, -53),
    "NEAR_2": (gamma_function.NEAR_2, near(2, lambda: 1 - mp.euler), -EDGE, EDGE, -52),
    "SIN_TAIL": (gamma_function.SIN_TAIL, series(lambda k: (-1) ** (k + 1) * inverse(2 * k + 7)), 0, 0.617, -60),
    "COS_TAIL": (gamma_function.COS_TAIL, series(lambda k: (-1) ** k * inverse(2 * k + 8)), 0, 0.617, -64),
}
"""By name: the coefficients, the function, the ends of its interval, and a bound of the error as a power of two."""


def points(low: object, high: object, count: int) -> list[object]:
    """Points of an interval, denser towards its ends."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / count) for k in range(count + 1)]


def value(coefficients: Iterable[object], z: object) -> object:
    """The polynomial with these coefficients, highest power first."""
    total = mp.mpf(0)
    for c in coefficients:
        total = total * z + c
    return total


def remez(function: Callable[[object], object], low: object, high: object, terms: int) -> list[object]:
    """Coefficients of the best polynomial with so many, lowest power first."""
    nodes = points(low, high, terms)
    for _ in range(4):
        rows = mp.matrix([[*(z**k for k in range(terms)), (-1) ** i] for i, z in enumerate(nodes)])
        coefficients = list(mp.lu_solve(rows, mp.matrix([function(z) for z in nodes])))[:terms]
        grid = points(low, high, 12 * terms)
        errors = [value(coefficients[::-1], z) - function(z) for z in grid]
        starts = [0, *(i for i in range(1, len(grid)) if (errors[i] > 0) != (errors[i - 1] > 0)), len(grid)]
        runs = [range(a, b) for a, b in zip(starts, starts[1:], strict=False)]
        if len(runs) != terms + 1:
            break
        nodes = [grid[max(run, key=lambda i: abs(errors[i]))] for run in runs]
    return coefficients


if __name__ == "__main__":
    mp.mp.dps = DIGITS
    given, function, low, high, _ = POLYNOMIALS[sys.argv[1]]
    sys.stdout.write("".join(f"{float(c)!r},\n" for c in remez(function, low, high, len(given))[::-1]))
