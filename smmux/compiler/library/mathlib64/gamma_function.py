"""The gamma function of float64 and its logarithm: Stirling's series from 8 on, recurrence and reflection below.

The logarithm is computed to some 65 bits, and near its zeros by their power series.
"""

from __future__ import annotations

from smmux.compiler.library.machine_operations import lowered, nearest
from smmux.compiler.library.mathlib64.double_words import (
    INFINITY,
    NAN,
    add,
    divide,
    multiply,
    polynomial,
    quick_sum,
    scale,
    two_sum,
)
from smmux.compiler.library.mathlib64.exponentials import exp_words
from smmux.compiler.library.mathlib64.gamma_zeros import ZEROS
from smmux.compiler.library.mathlib64.logarithms import log, long_log_words
from smmux.compiler.library.mathlib64.trigonometric import PI, sin_pi_words
from smmux.language import kernel_names as cuda
from smmux.language.types import float64, int32

TWELFTH = (0.08333333333333333, 4.625929269271485e-18)
HALF_LOG_TWO_PI = (0.9189385332046728, -3.8782941580672414e-17)
LOG_PI = (1.1447298858494002, 1.0265951162707826e-17)
EULER = (0.5772156649015329, -4.942915152430645e-18)
ONE_LESS_EULER = (0.42278433509846713, 4.942915152430645e-18)
SIXTH = (0.16666666666666666, 9.25185853854297e-18)
STIRLING = (
    -0.021772907052395075,
    0.006256431695329515,
    -0.0019159564845135021,
    0.0008417424813794625,
    -0.0005952380738907727,
    0.0007936507936302856,
    -0.0027777777777777744,
)
"""((log gamma(y) - (y - 1/2) log(y) + y - log(2 pi) / 2) y - 1/12) / v in v = 1 / y**2 <= 1/64, to 2**-58."""
NEAR_1 = (
    0.10032364067643669,
    -0.11153437308525695,
    0.1255094554693761,
    -0.14404975013977875,
    0.16955717708250054,
    -0.20738555106845974,
    0.2705808084277724,
    -0.4006856343865285,
    0.8224670334241132,
)
"""(log gamma(1 + t) / t + Euler's constant) / t for |t| <= 1/32, to 2**-53."""
NEAR_2 = (
    0.0005098881265631203,
    -0.0011931353788019047,
    0.0028905101765477623,
    -0.007385550842393096,
    0.020580808427820747,
    -0.06735230105322083,
    0.3224670334241132,
)
"""(log gamma(2 + t) / t - 1 + Euler's constant) / t likewise, to 2**-52."""
SIN_TAIL = (
    -7.603934766900644e-13,
    1.6058810737269172e-10,
    -2.5052107872167984e-08,
    2.755731922359025e-06,
    -0.00019841269841269792,
)
"""(sin(r) - r + r**3 / 6 - r**5 / 120) / r**7 in z = r**2 <= 0.617, to 2**-60."""
COS_TAIL = (
    4.755453990034182e-14,
    -1.1470616045263965e-11,
    2.087675670258357e-09,
    -2.755731922376598e-07,
    2.4801587301587274e-05,
)
"""(cos(r) - 1 + r**2 / 2 - r**4 / 24 + r**6 / 720) / r**8 likewise, to 2**-64."""


def stirling(y, low):
    """log gamma(y + low) as a pair, for y from 8 to 10**20."""
    high, rest = long_log_words(y)
    a, a_low = multiply(high, rest, y - 0.5, 0.0)
    a, a_low = add(a, a_low, -y, low * (high - (0.5 + TWELFTH[0] / y) / y))
    a, a_low = add(a, a_low, HALF_LOG_TWO_PI[0], HALF_LOG_TWO_PI[1])
    v = 1.0 / (y * y)
    b, b_low = quick_sum(TWELFTH[0], cuda.fma(v, polynomial(v, STIRLING), TWELFTH[1]))
    b, b_low = divide(b, b_low, y, 0.0)
    return add(a, a_low, b, b_low)


def rising(x):
    """x (x + 1) ... up to below 8 as a pair, and the next factor as a pair, for 0 < x < 8."""
    product, rest = x, 0.0
    factor, low = two_sum(x, 1.0)
    n = 1
    while factor < 8.0:
        product, rest = multiply(product, rest, factor, low)
        n += 1
        factor, low = two_sum(x, float64(n))
    return product, rest, factor, low


def gamma_words(x):
    """gamma(x) as a pair and a power of two, for x between 10**-18 and 190."""
    if x >= 8.0:
        high, low = stirling(x, 0.0)
        return exp_words(high, low)
    product, rest, y, y_low = rising(x)
    high, low = stirling(y, y_low)
    high, low, n = exp_words(high, low)
    high, low = divide(high, low, product, rest)
    return high, low, n


def gamma(x):
    """Gamma function; NaN at the negative integers."""
    if abs(x) < 1.0e-18:
        return 1.0 / x
    if not (x < 171.7):
        return x * INFINITY
    if x > 0.0:
        high, _, n = gamma_words(x)
        return scale(high, n)
    size = -x
    whole = lowered(size)
    if whole == size:
        return NAN
    if size > 190.0:
        return -0.0 if nearest(0.5 * whole) == 0.5 * whole else 0.0
    high, low, n = gamma_words(size)
    sine, sine_low = sin_pi_words(size)
    high, low = multiply(high, low, sine, sine_low)
    high, low = multiply(high, low, size, 0.0)
    return scale(divide(-PI[0], -PI[1], high, low)[0], -n)


def lgamma(x):
    """Logarithm of the magnitude of the gamma function."""
    size = abs(x)
    if not (size < INFINITY):
        return size
    if size < 1.0e-20:
        return -log(size)
    if x > 2.0e305:
        return lgamma_large(x) if x < 2.6e305 else INFINITY
    if x > 0.0:
        return lgamma_words(x)[0]
    if lowered(x) == x:
        return INFINITY
    sine, sine_low = long_sin_pi(size)
    sine, sine_low = multiply(sine, sine_low, size, 0.0)
    high, low = long_log_words(abs(sine))
    high, low = add(LOG_PI[0], LOG_PI[1], -high, -low - sine_low / sine)
    other, other_low = lgamma_words(size)
    value = add(high, low, -other, -other_low)[0]
    return lgamma_near_zero(x) if abs(value) < 0.0009765625 and x < -2.0 else value


def lgamma_near_zero(x):
    """The same near one of its zeros, all of which lie between -17 and -2."""
    table = cuda.const.array_like(ZEROS)
    whole = lowered(-x)
    row = 2 * int32(whole) - 4 + (1 if -x - whole > 0.5 else 0)
    exact = x - table[row, 0]
    d, low = two_sum(exact, -table[row, 1])
    total = table[row, 9]
    for i in range(8, 4, -1):
        total = cuda.fma(total, d, table[row, i])
    slope, slope_low = quick_sum(table[row, 3], cuda.fma(total, d, table[row, 4]))
    return multiply(slope, slope_low, d, low - table[row, 2])[0]


def lgamma_large(x):
    """x (log(x) - 1), which is all of log gamma(x) from 10**20 on."""
    high, low = long_log_words(x)
    high, low = add(high, low, -1.0, 0.0)
    return multiply(high, low, x * 2.0**-16, 0.0)[0] * 2.0**16


def lgamma_words(x):
    """log gamma(x) as a pair, for positive finite x."""
    if abs(x - 1.0) < 0.03125:
        high, low = quick_sum(-EULER[0], cuda.fma(x - 1.0, polynomial(x - 1.0, NEAR_1), -EULER[1]))
        return multiply(high, low, x - 1.0, 0.0)
    if abs(x - 2.0) < 0.03125:
        high, low = quick_sum(ONE_LESS_EULER[0], cuda.fma(x - 2.0, polynomial(x - 2.0, NEAR_2), ONE_LESS_EULER[1]))
        return multiply(high, low, x - 2.0, 0.0)
    if x > 1.0e20:
        return lgamma_large(x), 0.0
    if x >= 8.0:
        return stirling(x, 0.0)
    product, rest, y, y_low = rising(x)
    high, low = stirling(y, y_low)
    other, other_low = long_log_words(product)
    return add(high, low, -other, -other_low - rest / product)


def long_sin_pi(x):
    """sin(pi x) as a pair but for its sign, to 2**-64, for finite x."""
    n = nearest(x + x)
    r, low = multiply(cuda.fma(-0.5, n, x), 0.0, PI[0], PI[1])
    z, z_low = multiply(r, low, r, low)
    if int32(n - 4.0 * nearest(0.25 * n)) & 1 == 0:
        p, p_low = quick_sum(1.0 / 120.0, z * polynomial(z, SIN_TAIL))
        p, p_low = multiply(p, p_low, z, z_low)
        p, p_low = add(-SIXTH[0], -SIXTH[1], p, p_low)
        p, p_low = multiply(p, p_low, z, z_low)
        p, p_low = multiply(p, p_low, r, low)
        return add(r, low, p, p_low)
    p, p_low = quick_sum(-1.0 / 720.0, z * polynomial(z, COS_TAIL))
    p, p_low = multiply(p, p_low, z, z_low)
    p, p_low = add(0.25 * SIXTH[0], 0.25 * SIXTH[1], p, p_low)
    p, p_low = multiply(p, p_low, z, z_low)
    p, p_low = add(-0.5, 0.0, p, p_low)
    p, p_low = multiply(p, p_low, z, z_low)
    return add(1.0, 0.0, p, p_low)
