"""Trigonometric functions of float32 and their inverses, in the kernel language itself."""

from __future__ import annotations

from math import sqrt

from smmux.compiler.library.machine_operations import as_bits, as_float
from smmux.compiler.library.mathlib import INFINITY, copysign
from smmux.compiler.library.mathlib64.trigonometric import WINDOWS
from smmux.language import kernel_names as cuda
from smmux.language.types import float32, int32, uint32, uint64

PI = 3.14159265
HALF_PI = 1.57079633


def _reduce(x):
    """x minus the nearest multiple of pi / 2, and that multiple, for |x| up to 100,000."""
    n = round(x * 0.636619747)
    k = float32(n)
    r = cuda.fma(k, -1.57079601e00, x)
    r = cuda.fma(k, -3.13916473e-7, r)
    return cuda.fma(k, -5.39030253e-15, r), n


def _reduce_large(x):
    """The same for |x| from 2**16 on, of those 96 bits of 2 / pi that reach into the fraction (Payne and Hanek)."""
    if not (abs(x) < INFINITY):
        return x - x, 0
    table = cuda.const.array_like(WINDOWS)
    pattern = as_bits(x)
    row = ((pattern >> 23) & 0xFF) - 143
    m = uint64((pattern & 0x7FFFFF) | 0x800000)
    product = ((m * uint64(table[row, 2])) >> 32) + m * uint64(table[row, 1])
    top = uint32(product >> 32) + uint32(m) * table[row, 0]
    high, low = (top << 2) | (uint32(product) >> 30), uint32(product) << 2
    above = int32(high) >> 31  # all ones for a fraction above 1/2, which is taken off
    n = int32(top >> 30) - above
    high, low = high ^ uint32(above), low ^ uint32(above)
    size = float32((uint64(high) << 32) | uint64(low)) * 8.51530395e-20  # pi / 2 * 2**-64
    sign = int32(pattern) >> 31
    return as_float(as_bits(size) ^ ((uint32(above) ^ pattern) & 0x80000000)), (n ^ sign) - sign


def _sin_polynomial(r):
    s = r * r
    p = cuda.fma(2.86567956e-6, s, -1.98559923e-4)
    p = cuda.fma(p, s, 8.33338592e-3)
    p = cuda.fma(p, s, -1.66666672e-1)
    return cuda.fma(p, r * s, r)


def _cos_polynomial(r):
    s = r * r
    p = cuda.fma(2.44677067e-5, s, -1.38877297e-3)
    p = cuda.fma(p, s, 4.16666567e-2)
    p = cuda.fma(p, s, -5.00000000e-1)
    return cuda.fma(p, s, 1.0)


def sin(x):
    """Sine."""
    if 0.0 < abs(x) <= 100000.0:
        r, n = _reduce(x)
        return _sin_of_quadrant(r, n)
    if not (abs(x) > 0.0):
        return x
    r, n = _reduce_large(x)
    return _sin_of_quadrant(r, n)


def _sin_of_quadrant(r, n):
    """sin(r + n pi / 2)."""
    value = _cos_polynomial(r) if n & 1 == 1 else _sin_polynomial(r)
    return -value if n & 2 == 2 else value


def cos(x):
    """Cosine."""
    if abs(x) <= 100000.0:
        r, n = _reduce(x)
        return _cos_of_quadrant(r, n)
    r, n = _reduce_large(x)
    return _cos_of_quadrant(r, n)


def _cos_of_quadrant(r, n):
    """cos(r + n pi / 2)."""
    value = _sin_polynomial(r) if n & 1 == 1 else _cos_polynomial(r)
    return -value if (n + 1) & 2 == 2 else value


def tan(x):
    """Tangent."""
    if 0.0 < abs(x) <= 100000.0:
        r, n = _reduce(x)
        return _tan_of_quadrant(r, n)
    if not (abs(x) > 0.0):
        return x
    r, n = _reduce_large(x)
    return _tan_of_quadrant(r, n)


def _tan_of_quadrant(r, n):
    """tan(r + n pi / 2)."""
    s, c = _sin_polynomial(r), _cos_polynomial(r)
    return -c / s if n & 1 == 1 else s / c


def atan(x):
    """Arc tangent."""
    z = abs(x)
    t = 1.0 / z if z > 1.0 else z
    s = t * t
    p = cuda.fma(2.78569828e-3, s, -1.58660226e-2)
    p = cuda.fma(p, s, 4.24722321e-2)
    p = cuda.fma(p, s, -7.49753043e-2)
    p = cuda.fma(p, s, 1.06448799e-1)
    p = cuda.fma(p, s, -1.42070308e-1)
    p = cuda.fma(p, s, 1.99934542e-1)
    p = cuda.fma(p, s, -3.33331466e-1)
    p = cuda.fma(p * s, t, t)
    return copysign(HALF_PI - p if z > 1.0 else p, x)


def atan2(y, x):
    """Angle of the point (x, y)."""
    if x != x or y != y:
        return x + y
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    if large == 0.0:
        angle = float32(0.0)
    elif small == INFINITY:
        angle = float32(0.25 * PI)
    else:
        angle = atan(small / large)
    if abs(y) > abs(x):
        angle = HALF_PI - angle
    if as_bits(x) >= 0x80000000:
        angle = PI - angle
    return copysign(angle, y)


def _asin_polynomial(z):
    s = z * z
    p = cuda.fma(4.2163199048e-2, s, 2.4181311049e-2)
    p = cuda.fma(p, s, 4.5470025998e-2)
    p = cuda.fma(p, s, 7.4953002686e-2)
    p = cuda.fma(p, s, 1.6666752422e-1)
    return cuda.fma(p * s, z, z)


def asin(x):
    """Arc sine."""
    z = abs(x)
    if z > 0.5:
        value = HALF_PI - 2.0 * _asin_polynomial(sqrt(0.5 * (1.0 - z)))
    else:
        value = _asin_polynomial(z)
    return copysign(value, x)


def acos(x):
    """Arc cosine."""
    if abs(x) <= 0.5:
        return HALF_PI - _asin_polynomial(x)
    value = 2.0 * _asin_polynomial(sqrt(0.5 * (1.0 - abs(x))))
    return PI - value if x < 0.0 else value
