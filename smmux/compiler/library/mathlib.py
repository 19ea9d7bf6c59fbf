"""Functions that the machine has no operation for, in the kernel language itself.

Single-precision polynomials and argument reductions of the usual kind (Cody and Waite, Payne and Hanek; minimax
coefficients), within a few units in the last place. Under fastmath most are not used.
"""

from __future__ import annotations

from smmux.compiler.library.machine_operations import as_bits, as_float, ex2
from smmux.language import kernel_names as cuda
from smmux.language.types import float32, int32, uint32

INFINITY = float("inf")
NAN = float("nan")
SMALLEST_NORMAL = 1.175494351e-38


# -- integers


def integer_power(base, exponent):
    """base ** exponent by squaring; exponents below 0 give 0 (or the sign) as integer division would."""
    result = base * 0 + 1
    if exponent < 0:
        return result if base == 1 else result * 0
    while exponent != 0:
        if exponent & 1 != 0:
            result = result * base
        base = base * base
        exponent = exponent >> 1
    return result


def gcd(a, b):
    """Greatest common divisor of integers of any size."""
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


def lcm(a, b):
    """Least common multiple."""
    divisor = gcd(a, b)
    return a if divisor == 0 else abs(a // divisor * b)


def floor_divide_signed_unsigned(a, b):
    """int32 // uint32: the exact quotient always fits an int32."""
    if a >= 0:
        return int32(uint32(a) // b)
    return -1 - int32((uint32(-1) - uint32(a)) // b)


def modulo_signed_unsigned(a, b):
    """int32 % uint32."""
    if a >= 0:
        return uint32(a) % b
    return b - 1 - (uint32(-1) - uint32(a)) % b


def floor_divide_unsigned_signed(a, b):
    """uint32 // int32: for a negative divisor the low 32 bits of the exact quotient."""
    if b > 0:
        return a // uint32(b)
    divisor = uint32(-b)
    quotient = a // divisor
    return uint32(0) - quotient if quotient * divisor == a else uint32(-1) - quotient


def modulo_unsigned_signed(a, b):
    """uint32 % int32: has the sign of the divisor, and always fits an int32."""
    if b > 0:
        return int32(a % uint32(b))
    rest = int32(a % uint32(-b))
    return rest if rest == 0 else rest + b


# -- blocks


def block_count(flag):
    """Barrier of the block; the sum of the threads' flags."""
    counter = cuda.shared.array(1, int32)
    cuda.syncthreads()
    counter[0] = 0  # by all threads: any of them may have left before
    cuda.syncthreads()
    cuda.atomic.add(counter, 0, flag)
    cuda.syncthreads()
    return counter[0]


# -- floats: division with remainder


def fmod(x, y):
    """Remainder of the truncated quotient, exact."""
    rest, divisor = abs(x), abs(y)
    if not (rest < INFINITY) or not (divisor > 0.0):
        return float32(NAN)
    if rest < divisor or divisor == INFINITY:
        return x
    scaled = divisor
    while scaled <= rest * 0.5:
        scaled = scaled + scaled
    while scaled >= divisor:
        if rest >= scaled:
            rest = rest - scaled
        scaled = scaled * 0.5
    return copysign(rest, x)


def copysign(x, y):
    """Magnitude of x, sign of y."""
    return as_float((as_bits(x) & 0x7FFFFFFF) | (as_bits(y) & 0x80000000))


def scaled(x, e):
    """x * 2**e, in two steps so that neither overflows, for e between -252 and 252."""
    half = e >> 1
    return x * ex2(float32(half)) * ex2(float32(e - half))


def ldexp(x, e):
    """x * 2**e for any e, rounded once: what is multiplied before the last step stays exact or vanishes in it."""
    n = min(max(e, -300), 300)
    y = x
    if n < -126:
        y = y * 2.0**-102
        n += 102
    if n < -126:
        y = y * 2.0**-102
        n += 102
    if n > 127:
        y = y * 2.0**127
        n -= 127
    if n > 127:
        y = y * 2.0**127
        n -= 127
    return y * as_float(uint32(min(max(n, -126), 127) + 127) << 23)


def frexp(x):
    """x = m * 2**e with |m| from 1/2 up to 1: m, e; zeros, infinities and NaN with 0."""
    if x == 0.0 or not (abs(x) < INFINITY):
        return x, 0
    small = abs(x) < SMALLEST_NORMAL
    pattern = as_bits(x * 33554432.0 if small else x)
    e = int32((pattern >> 23) & 0xFF) - 126
    return as_float((pattern & 0x807FFFFF) | 0x3F000000), e - 25 if small else e


def nextafter(x, y):
    """The neighbour of x on the way to y."""
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0.0:
        return copysign(as_float(uint32(1)), y)
    pattern = as_bits(x)
    return as_float(pattern + 1 if (x < y) == (x > 0.0) else pattern - 1)


def ulp(x):
    """Distance of |x| from the next number above, or from the one below for the largest."""
    size = abs(x)
    if not (size < INFINITY):
        return size
    above = nextafter(size, INFINITY)
    return above - size if above < INFINITY else size - nextafter(size, 0.0)


# -- exponentials and logarithms


def exp(x):
    """e ** x."""
    if x > 104.0:
        return float32(INFINITY)
    if x < -104.0:
        return float32(0.0)
    n = cuda_round(x * 1.44269502)
    f = cuda.fma(n, -6.93145752e-1, x)
    f = cuda.fma(n, -1.42860677e-6, f)
    return scaled(_exp_polynomial(f), int32(n)) if x == x else x


def exp2(x):
    """2 ** x."""
    if x > 150.0:
        return float32(INFINITY)
    if x < -151.0:
        return float32(0.0)
    n = cuda_round(x)
    return scaled(_exp_polynomial((x - n) * 0.693147182), int32(n)) if x == x else x


def cuda_round(x):
    """The nearest integer as a float, for magnitudes that an int32 holds."""
    return float32(round(x))


def _exp_polynomial(f):
    """e ** f for |f| <= log(2) / 2."""
    r = cuda.fma(1.37805939e-3, f, 8.37312452e-3)
    r = cuda.fma(r, f, 4.16695364e-2)
    r = cuda.fma(r, f, 1.66664720e-1)
    r = cuda.fma(r, f, 4.99999851e-1)
    r = cuda.fma(r, f, 1.0)
    return cuda.fma(r, f, 1.0)


def expm1(x):
    """e ** x - 1, also for small x (Kahan)."""
    u = exp(x)
    if u == 1.0:
        return x
    if u - 1.0 == -1.0 or u == INFINITY:
        return u - 1.0
    return (u - 1.0) * x / log(u)


def _split(x):
    """x = m * 2**i with m between sqrt(1/2) and sqrt(2), for positive finite x: m, i."""
    i = float32(0.0)
    if x < SMALLEST_NORMAL:
        x = x * 8388608.0
        i = float32(-23.0)
    e = (as_bits(x) - 0x3F3504F3) & 0xFF800000
    return as_float(as_bits(x) - e), cuda.fma(float32(int32(e)), 1.19209290e-7, i)


def _log_of_special(x):
    """Logarithm of zero, negative numbers, infinity and NaN."""
    if x == 0.0:
        return float32(-INFINITY)
    return float32(NAN) if x < 0.0 else x + x


def _log_parts(x):
    """log(m) and i of x = m * 2**i."""
    m, i = _split(x)
    f = m - 1.0
    s = f * f
    r = cuda.fma(7.0376836292e-2, f, -1.1514610310e-1)
    r = cuda.fma(r, f, 1.1676998740e-1)
    r = cuda.fma(r, f, -1.2420140846e-1)
    r = cuda.fma(r, f, 1.4249322787e-1)
    r = cuda.fma(r, f, -1.6668057665e-1)
    r = cuda.fma(r, f, 2.0000714765e-1)
    r = cuda.fma(r, f, -2.4999993993e-1)
    r = cuda.fma(r, f, 3.3333331174e-1)
    return f, cuda.fma(r * f, s, -0.5 * s), i


def log(x):
    """Natural logarithm."""
    if not (x > 0.0) or x == INFINITY:
        return _log_of_special(x)
    f, r, i = _log_parts(x)
    return cuda.fma(i, 0.693359375, f + cuda.fma(i, -2.12194440e-4, r))


def log2(x):
    """Logarithm to base 2; exact for powers of two."""
    if not (x > 0.0) or x == INFINITY:
        return _log_of_special(x)
    f, r, i = _log_parts(x)
    return i + cuda.fma(f, 1.44269504, r * 1.44269504)


def log10(x):
    """Logarithm to base 10."""
    if not (x > 0.0) or x == INFINITY:
        return _log_of_special(x)
    f, r, i = _log_parts(x)
    low = cuda.fma(i, 2.48745664e-4, (f + r) * 0.434294482)
    return cuda.fma(i, 3.00781250e-1, low)


def log1p(x):
    """log(1 + x), also for small x (Kahan)."""
    u = 1.0 + x
    if u == 1.0 or u == INFINITY:
        return x
    return log(u) * (x / (u - 1.0))


def power(x, y):
    """x ** y for floats, with the special cases of C."""
    if y == 0.0 or x == 1.0:
        return float32(1.0)
    if x != x or y != y:
        return x + y
    whole = abs(y) >= 8388608.0 or y == float32(int32(y))
    odd = abs(y) < 16777216.0 and whole and int32(y) & 1 == 1
    size = abs(x)
    if size == 0.0 or size == INFINITY or size == 1.0 or abs(y) == INFINITY:
        result = _power_of_limit(size, y)
    else:
        result = _positive_power(size, y)
    if x < 0.0:
        if not whole and size < INFINITY:
            return float32(NAN)
        return -result if odd else result
    return -result if odd and as_bits(x) == 0x80000000 else result


def _power_of_limit(size, y):
    """0, 1 and infinity to a power, and any positive number to an infinite one."""
    if size == 1.0:
        return float32(1.0)
    return float32(INFINITY) if (size > 1.0) == (y > 0.0) else float32(0.0)


def _positive_power(x, y):
    """exp(y * log(x)) with the logarithm in two words, so that large exponents do not magnify its error."""
    m, i = _split(x)
    p = m + 1.0
    f = m - 1.0
    r = 1.0 / p
    q = r * f
    q_low = r * cuda.fma(q, -f, cuda.fma(q, -2.0, f))
    s = q * q
    r = cuda.fma(0.1293334961, s, 0.1419928074)
    r = cuda.fma(r, s, 0.2000148296)
    r = cuda.fma(r, s, 0.3333332539)
    t = cuda.fma(q, q_low + q_low, cuda.fma(q, q, -s))
    p = s * q
    t = cuda.fma(s, q_low, cuda.fma(t, q, cuda.fma(s, q, -p)))
    s = cuda.fma(r, p, cuda.fma(r, t, q_low))
    r = 2.0 * q
    t = cuda.fma(6.93147182e-1, i, r)
    p = cuda.fma(-6.93147182e-1, i, t)
    s = cuda.fma(-1.90465421e-9, i, cuda.fma(2.0, s, r - p))
    high = t + s
    low = (t - high) + s
    e = high * y
    e_low = cuda.fma(low, y, cuda.fma(high, y, -e))
    result = exp(e)
    return cuda.fma(result, e_low, result) if 0.0 < result < INFINITY else result
