"""Sine, cosine and tangent of float64: x minus a multiple of pi / 2 in two words, and polynomials for |r| <= pi / 4.

Up to 10**6 the multiple of pi / 2 is taken off in three parts (Cody and Waite); beyond, only those 192 bits of 2 / pi
are multiplied that reach into the fraction of the quotient (Payne and Hanek).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smmux.compiler.library.machine_operations import high_word, low_word, nearest
from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    divide,
    exponent_of,
    multiply,
    negative,
    polynomial,
    quick_sum,
    two_product,
    two_sum,
)
from smmux.language import kernel_names as cuda
from smmux.language.types import float64, int32, uint32, uint64

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
PI = (3.141592653589793, 1.2246467991473532e-16)
TWO_OVER_PI = 0.6366197723675814
BITS_OF_TWO_OVER_PI = np.array(
    # fmt: off
    [
        0,
        0,
        0xA2F9836E,
        0x4E441529,
        0xFC2757D1,
        0xF534DDC0,
        0xDB629599,
        0x3C439041,
        0xFE5163AB,
        0xDEBBC561,
        0xB7246E3A,
        0x424DD2E0,
        0x06492EEA,
        0x09D1921C,
        0xFE1DEB1C,
        0xB129A73E,
        0xE88235F5,
        0x2EBB4484,
        0xE99C7026,
        0xB45F7E41,
        0x3991D639,
        0x835339F4,
        0x9C845F8B,
        0xBDF9283B,
        0x1FF897FF,
        0xDE05980F,
        0xEF2F118B,
        0x5A0A6D1F,
        0x6D367ECF,
        0x27CB09B7,
        0x4F463F66,
        0x9E5FEA2D,
        0x7527BAC7,
        0xEBE5F17B,
        0x3D0739F7,
        0x8A5292EA,
        0x6BFB5FB1,
        0x1F8D5D08,
        0x56033046,
        0xFC7B6BAB,
        0xF0CFBC20,
    ],
    # fmt: on
    np.uint32,
)
"""Two words of zeros, and the fraction of 2 / pi."""


def _windows() -> np.ndarray[Any, Any]:
    """Of the same bits, the 96 that count for a float32 with each exponent from 16 on, the upper word first."""
    bits = int.from_bytes(BITS_OF_TWO_OVER_PI.astype(">u4").tobytes())
    rest = 32 * len(BITS_OF_TWO_OVER_PI) - 39 - 96  # behind those of exponent 0: 64 zeros, less 25 that do not matter
    rows = [[bits >> rest - exponent + word & 0xFFFFFFFF for word in (64, 32, 0)] for exponent in range(16, 128)]
    return np.array(rows, np.uint32)


WINDOWS = _windows()
SIN = (
    -7.586696146943403e-13,
    1.6058531608510936e-10,
    -2.5052106232426862e-08,
    2.7557319219339265e-06,
    -0.00019841269841265065,
    0.008333333333333331,
    -0.16666666666666666,
)
"""(sin(r) - r) / r**3 in z = r**2 <= 0.617, to 2**-56."""
COS = (
    4.745871146003391e-14,
    -1.1470460877782592e-11,
    2.0876755791041122e-09,
    -2.755731922140279e-07,
    2.4801587301584645e-05,
    -0.0013888888888888887,
    0.041666666666666664,
)
"""(cos(r) - 1 + r**2 / 2) / r**4 likewise, to 2**-58."""


def reduce(x):
    """x minus the nearest multiple of pi / 2 as a pair, and that multiple (its low bits)."""
    if abs(x) > 1.0e6:
        return reduce_large(x)
    n = nearest(x * TWO_OVER_PI)
    high = cuda.fma(n, -HALF_PI[0], x)
    product, product_low = two_product(n, HALF_PI[1])
    total, error = two_sum(high, -product)
    high, low = quick_sum(total, error - cuda.fma(n, HALF_PI[2], product_low))
    return high, low, int32(n)


def reduce_large(x):
    """The same for any finite |x| above 2**16."""
    table = cuda.const.array_like(BITS_OF_TWO_OVER_PI)
    start = exponent_of(x) + 10  # the first bit that counts: 64 zeros, less 54 bits whose product is a multiple of 4
    word, shift = start >> 5, uint32(start & 31)
    m0, m1 = uint64(low_word(x)), uint64((high_word(x) & 0xFFFFF) | 0x100000)
    v0, v1, v2 = bits_at(table, word + 5, shift), bits_at(table, word + 4, shift), bits_at(table, word + 3, shift)
    v3, v4, v5 = bits_at(table, word + 2, shift), bits_at(table, word + 1, shift), bits_at(table, word, shift)
    _, carry = add_products((m0 * v0) >> 32, m0 * v1, m1 * v0)
    p2, carry = add_products(carry, m0 * v2, m1 * v1)
    p3, carry = add_products(carry, m0 * v3, m1 * v2)
    p4, carry = add_products(carry, m0 * v4, m1 * v3)
    p5 = uint32(carry + m0 * v5 + m1 * v4)
    high, low, n = quadrant_and_rest(p5, p4, p3, p2)
    return (-high, -low, -n) if negative(x) else (high, low, n)


def bits_at(table, word, shift):
    """32 bits of the table, from a bit of a word on."""
    high, low = table[word], table[word + 1]
    return uint64(high if shift == 0 else (high << shift) | (low >> (32 - shift)))


def add_products(carry, a, b):
    """The low word of a sum of 64-bit products of at most 64 and 53 bits, and what is carried."""
    t = carry + a
    u = (t & 0xFFFFFFFF) + b
    return uint32(u), (t >> 32) + (u >> 32)


def quadrant_and_rest(p3, p2, p1, p0):
    """Of a fixed-point number with two bits before its point, times pi / 2: the nearest integer, and the rest."""
    a, b, c, d = (p3 << 2) | (p2 >> 30), (p2 << 2) | (p1 >> 30), (p1 << 2) | (p0 >> 30), p0 << 2
    n = int32(p3 >> 30)
    above = a >= 0x80000000
    if above:
        a, b, c, d = ~a, ~b, ~c, ~d
        n += 1
    high, low = quick_sum(float64(a) * 2.0**-32, float64(b) * 2.0**-64)
    more, least = quick_sum(float64(c) * 2.0**-96, float64(d) * 2.0**-128)
    high, low = quick_sum(high, low + more)
    high, low = multiply(high, low + least, HALF_PI[0], HALF_PI[1])
    return (-high, -low, n) if above else (high, low, n)


def sin_reduced(r, low):
    """sin(r + low) as a pair, for |r| <= pi / 4."""
    z = r * r
    return quick_sum(r, cuda.fma(z * r, polynomial(z, SIN), cuda.fma(-0.5 * z, low, low)))


def cos_reduced(r, low):
    """cos(r + low) as a pair, for |r| <= pi / 4."""
    z, z_low = two_product(r, r)
    half = 0.5 * z
    total, error = quick_sum(1.0, -half)
    rest = cuda.fma(z * z, polynomial(z, COS), -cuda.fma(r, low, 0.5 * z_low))
    return quick_sum(total, error + rest)


def sin(x):
    """Sine."""
    if abs(x) < 1.0e-8:
        return x
    if not (abs(x) < INFINITY):
        return NAN
    r, low, n = reduce(x)
    value = cos_reduced(r, low)[0] if n & 1 == 1 else sin_reduced(r, low)[0]
    return -value if n & 2 == 2 else value


def cos(x):
    """Cosine."""
    if not (abs(x) < INFINITY):
        return NAN
    r, low, n = reduce(x)
    value = sin_reduced(r, low)[0] if n & 1 == 1 else cos_reduced(r, low)[0]
    return -value if (n + 1) & 2 == 2 else value


def tan(x):
    """Tangent."""
    if abs(x) < 1.0e-8:
        return x
    if not (abs(x) < INFINITY):
        return NAN
    r, low, n = reduce(x)
    s, s_low = sin_reduced(r, low)
    c, c_low = cos_reduced(r, low)
    if n & 1 == 1:
        return divide(-c, -c_low, s, s_low)[0]
    return divide(s, s_low, c, c_low)[0]


def sin_pi_words(x):
    """sin(pi x) as a pair, for finite x: the fraction of x is exact."""
    n = nearest(x + x)
    r, low = multiply(cuda.fma(-0.5, n, x), 0.0, PI[0], PI[1])
    quadrant = int32(n - 4.0 * nearest(0.25 * n))
    value, rest = sin_reduced(r, low)
    if quadrant & 1 == 1:
        value, rest = cos_reduced(r, low)
    return (-value, -rest) if quadrant & 2 == 2 else (value, rest)
