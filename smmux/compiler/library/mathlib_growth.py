"""Hyperbolic functions of float32, lengths and error functions, in the kernel language itself."""

from __future__ import annotations

from math import sqrt

from smmux.compiler.library.mathlib import INFINITY, copysign, exp, log, log1p
from smmux.language import kernel_names as cuda
from smmux.language.types import float32

# -- hyperbolic functions


def sinh(x):
    """Hyperbolic sine."""
    z = abs(x)
    if z < 1.0:
        s = x * x
        p = cuda.fma(2.81590e-6, s, 1.98411e-4)
        p = cuda.fma(p, s, 8.33333e-3)
        p = cuda.fma(p, s, 1.66666667e-1)
        return cuda.fma(p * s, x, x)
    e = _half_exp(z)
    return copysign(e - 0.25 / e, x)


def cosh(x):
    """Hyperbolic cosine."""
    e = _half_exp(abs(x))
    return e + 0.25 / e


def _half_exp(z):
    """exp(z) / 2, also where exp(z) overflows."""
    half = exp(0.5 * z)
    return 0.5 * exp(z) if z < 88.0 else 0.5 * half * half


def tanh(x):
    """Hyperbolic tangent."""
    z = abs(x)
    if z < 0.55:
        s = x * x
        p = cuda.fma(-5.70498872745e-3, s, 2.06390887954e-2)
        p = cuda.fma(p, s, -5.37397155531e-2)
        p = cuda.fma(p, s, 1.33314422036e-1)
        p = cuda.fma(p, s, -3.33332819422e-1)
        return cuda.fma(p * s, x, x) if x != 0.0 else x
    return copysign(1.0 - 2.0 / (exp(z + z) + 1.0), x)


def asinh(x):
    """Inverse hyperbolic sine."""
    z = abs(x)
    if z > 1.0e9:
        return copysign(log(z) + 0.693147182, x)
    return copysign(log1p(z + z * z / (1.0 + sqrt(z * z + 1.0))), x)


def acosh(x):
    """Inverse hyperbolic cosine."""
    if not (abs(x) < 1.0e9):
        return log(x) + 0.693147182
    t = x - 1.0
    return log1p(t + sqrt(2.0 * t + t * t))


def atanh(x):
    """Inverse hyperbolic tangent."""
    z = abs(x)
    return copysign(0.5 * log1p(2.0 * z / (1.0 - z)), x)


def hypot(x, y):
    """sqrt(x * x + y * y) without overflow."""
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    if large == INFINITY or x != x or y != y:
        return large if large == INFINITY else x + y
    if large == 0.0:
        return large
    t = small / large
    return large * sqrt(cuda.fma(t, t, 1.0))


def erf(x):
    """Error function."""
    t, s = abs(x), x * x
    if t > 0.927734375:
        r = cuda.fma(-1.72853470e-5, t, 3.83197126e-4)
        u = cuda.fma(-3.88396438e-3, t, 2.42546219e-2)
        r = cuda.fma(r, s, u)
        r = cuda.fma(r, t, -1.06777877e-1)
        r = cuda.fma(r, t, -6.34846687e-1)
        r = cuda.fma(r, t, -1.28717512e-1)
        r = cuda.fma(r, t, -t)
        return copysign(1.0 - exp(r), x)
    r = cuda.fma(-5.96761703e-4, s, 4.99119423e-3)
    r = cuda.fma(r, s, -2.67681349e-2)
    r = cuda.fma(r, s, 1.12819925e-1)
    r = cuda.fma(r, s, -3.76125336e-1)
    r = cuda.fma(r, s, 1.28379166e-1)
    return cuda.fma(r, x, x)


def erfc(x):
    """1 - erf(x), also where that is small."""
    z = abs(x)
    if z > 11.0:
        return float32(0.0) if x > 0.0 else float32(2.0)
    t = 1.0 / cuda.fma(0.5, z, 1.0)
    p = cuda.fma(0.17087277, t, -0.82215223)
    p = cuda.fma(p, t, 1.48851587)
    p = cuda.fma(p, t, -1.13520398)
    p = cuda.fma(p, t, 0.27886807)
    p = cuda.fma(p, t, -0.18628806)
    p = cuda.fma(p, t, 0.09678418)
    p = cuda.fma(p, t, 0.37409196)
    p = cuda.fma(p, t, 1.00002368)
    p = cuda.fma(p, t, -1.26551223)
    square = z * z
    low = cuda.fma(z, z, -square)
    value = t * (exp(p - square) * (1.0 - low))
    return 2.0 - value if x < 0.0 else value
