"""Functions of complex numbers x + iy, in the kernel language itself, for floats of either size: a pair each.

The inverse functions are Kahan's ("Branch cuts for complex elementary functions", 1987), which keep the sign of zeros.
"""

from __future__ import annotations

from math import asinh, atan2, copysign, cos, cosh, exp, hypot, log, log1p, sin, sinh, sqrt, tan, tanh

from smmux.compiler.library.machine_operations import truncated
from smmux.compiler.library.mathlib_floats import complex_quotient

INFINITY = float("inf")
LOG_10 = 2.302585092994046
EXP_3 = 20.085536923187668
HALF_PI = 1.5707963267948966


def complex_polar(x, y):
    """Magnitude and phase."""
    return hypot(x, y), atan2(y, x)


def complex_rect(r, phi):
    """The number with a magnitude and a phase."""
    if phi == 0.0:
        return r, r * phi
    if r == 0.0 and not (abs(phi) < INFINITY):
        return 0.0, 0.0
    return r * cos(phi), r * sin(phi)


def complex_exp(x, y):
    """e ** z; where e ** x overflows, the product may not."""
    if y == 0.0:
        return exp(x), y
    if x > 80.0:
        if x == INFINITY and not (abs(y) < INFINITY):
            return x, y - y
        size = exp(x - 3.0)
        return size * cos(y) * EXP_3, size * sin(y) * EXP_3
    if x == -INFINITY and not (abs(y) < INFINITY):
        return 0.0, 0.0
    return exp(x) * cos(y), exp(x) * sin(y)


def log_of_size(x, y):
    """log(|z|), by log1p where |z| is near 1, and scaled where it would overflow or underflow."""
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    if large == INFINITY or x != x or y != y:
        return large if large == INFINITY else x + y
    if 0.5 <= large < 2.0:
        return 0.5 * log1p((large - 1.0) * (large + 1.0) + small * small)
    if large > 1.0e18:
        return log(hypot(large * 0.25, small * 0.25)) + 1.3862943611198906
    return log(hypot(x, y))


def complex_log(x, y):
    """Natural logarithm."""
    return log_of_size(x, y), atan2(y, x)


def complex_power(x, y, u, v):
    """z ** w as NumPy has it: a product where w is a small integer."""
    if u == 0.0 and v == 0.0:
        return 1.0, 0.0
    if x == 0.0 and y == 0.0:
        zero = 0.0 if u > 0.0 and v == 0.0 else u * INFINITY - u * INFINITY
        return zero, zero
    if v == 0.0 and abs(u) < 100.0 and truncated(u) == u:
        return complex_product(x, y, u)
    size, angle = log_of_size(x, y), atan2(y, x)
    return complex_exp(u * size - v * angle, v * size + u * angle)


def complex_product(x, y, n):
    """z ** n of an integer n, by squaring."""
    re, im, rest = 1.0, 0.0, abs(n)
    while rest > 0.0:
        half = truncated(rest * 0.5)
        if rest != half * 2.0:
            re, im = re * x - im * y, re * y + im * x
        x, y, rest = x * x - y * y, 2.0 * x * y, half
    return complex_quotient(1.0, 0.0, re, im) if n < 0.0 else (re, im)


def complex_maximum(x, y, u, v):
    """The later one in the order of real parts, then imaginary ones; one that is no number before all others."""
    if x != x or y != y:
        return x, y
    return (x, y) if x > u and v == v or (x == u and y >= v) else (u, v)


def complex_minimum(x, y, u, v):
    """The earlier one."""
    if x != x or y != y:
        return x, y
    return (x, y) if x < u and v == v or (x == u and y <= v) else (u, v)


def complex_fmax(x, y, u, v):
    """The later one that is a number."""
    return complex_maximum(x, y, u, v) if u == u and v == v and x == x and y == y else _a_number(x, y, u, v)


def complex_fmin(x, y, u, v):
    """The earlier one that is a number."""
    return complex_minimum(x, y, u, v) if u == u and v == v and x == x and y == y else _a_number(x, y, u, v)


def _a_number(x, y, u, v):
    """The first, unless only the second is a number."""
    return (x, y) if u != u or v != v else (u, v)


def complex_log10(x, y):
    """Logarithm to base 10."""
    return log_of_size(x, y) / LOG_10, atan2(y, x) / LOG_10


def complex_sqrt(x, y):
    """Square root, in the right half plane."""
    if x == 0.0 and y == 0.0:
        return abs(x), y
    if abs(y) == INFINITY:
        return abs(y), y
    size = abs(x)
    if size == INFINITY:
        if x > 0.0:
            return x, copysign(0.0, y) if y == y else y
        return (0.0 if y == y else y), copysign(size, y)
    back = 1.0
    if size < 1.0e-30 and abs(y) < 1.0e-30:
        size, y, back = size * 2.0**90, y * 2.0**90, 2.0**-45
    large = 2.0 * sqrt(0.125 * size + hypot(0.125 * size, 0.125 * y)) * back
    rest = abs(y) / (2.0 * large) * (back * back)
    return (large, copysign(rest, y)) if x >= 0.0 else (rest, copysign(large, y))


def complex_sinh(x, y):
    """Hyperbolic sine."""
    if y == 0.0:
        return sinh(x), y
    if not (abs(y) < INFINITY) and (x == 0.0 or abs(x) == INFINITY):
        return x, y - y
    return sinh(x) * cos(y), cosh(x) * sin(y)


def complex_cosh(x, y):
    """Hyperbolic cosine."""
    if y == 0.0:
        return cosh(x), y * copysign(1.0, x)
    if x == 0.0:
        return cos(y), x * sin(y) if abs(y) < INFINITY else x
    if abs(x) == INFINITY and not (abs(y) < INFINITY):
        return abs(x), y - y
    return cosh(x) * cos(y), sinh(x) * sin(y)


def complex_tanh(x, y):
    """Hyperbolic tangent."""
    if y == 0.0:
        return tanh(x), y
    if not (abs(y) < INFINITY):
        return (copysign(1.0, x), copysign(0.0, y)) if abs(x) == INFINITY else (y - y, y - y)
    if abs(x) > 20.0:
        return copysign(1.0, x), 4.0 * sin(y) * cos(y) * exp(-2.0 * abs(x))
    t, u, c = tanh(x), tan(y), 1.0 / cosh(x)
    rest = 1.0 + (t * u) * (t * u)
    return t * (1.0 + u * u) / rest, u / rest * c * c


def complex_sin(x, y):
    """Sine."""
    im, re = complex_sinh(-y, x)
    return re, -im


def complex_cos(x, y):
    """Cosine."""
    return complex_cosh(-y, x)


def complex_tan(x, y):
    """Tangent."""
    im, re = complex_tanh(-y, x)
    return re, -im


def complex_asinh(x, y):
    """Inverse hyperbolic sine."""
    if y == 0.0 and x != x:
        return x, y
    if not (hypot(x, y) < 1.0e18):
        return copysign(log_of_size(0.5 * x, 0.5 * y) + 1.3862943611198906, x), atan2(y, abs(x))
    a, b = complex_sqrt(1.0 + y, -x)
    c, d = complex_sqrt(1.0 - y, x)
    return asinh(a * d - c * b), atan2(y, a * c - b * d)


def complex_acosh(x, y):
    """Inverse hyperbolic cosine."""
    if not (hypot(x, y) < 1.0e18):
        return log_of_size(0.5 * x, 0.5 * y) + 1.3862943611198906, atan2(y, x)
    a, b = complex_sqrt(x - 1.0, y)
    c, d = complex_sqrt(x + 1.0, y)
    return asinh(a * c + b * d), 2.0 * atan2(b, c)


def complex_atanh(x, y):
    """Inverse hyperbolic tangent."""
    size = abs(x)
    if size == INFINITY or abs(y) == INFINITY:
        return copysign(0.0, x), copysign(HALF_PI, y) if y == y else y
    if x == 0.0 and y != y:
        return x, y
    if size > 1.0e18 or abs(y) > 1.0e18:
        length = hypot(0.5 * size, 0.5 * y)
        return copysign(0.25 * size / length / length, x), copysign(HALF_PI, y)
    if size == 1.0 and abs(y) < 1.0e-30:
        if y == 0.0:
            return copysign(INFINITY, x), y
        root = sqrt(abs(y))
        return copysign(-log(root / sqrt(hypot(y, 2.0))), x), copysign(0.5 * atan2(2.0, -abs(y)), y)
    rest = 1.0 - size
    re = 0.25 * log1p(4.0 * size / (rest * rest + y * y))
    im = -0.5 * atan2(-2.0 * y, rest * (1.0 + size) - y * y)
    return copysign(re, x), im


def complex_asin(x, y):
    """Arc sine."""
    im, re = complex_asinh(-y, x)
    return re, -im


def complex_acos(x, y):
    """Arc cosine."""
    if x == 0.0 and y != y:
        return HALF_PI, y
    if not (hypot(x, y) < 1.0e18):
        return atan2(abs(y), x), copysign(log_of_size(0.5 * x, 0.5 * y) + 1.3862943611198906, -y)
    a, b = complex_sqrt(1.0 - x, -y)
    c, d = complex_sqrt(1.0 + x, y)
    return 2.0 * atan2(a, c), asinh(c * b - d * a)


def complex_atan(x, y):
    """Arc tangent."""
    im, re = complex_atanh(-y, x)
    return re, -im
