"""Numbers of 64 bits, and of 8 and 16, as elements, arguments, literals and casts, in every memory."""

import math

import numpy as np
from numba import cuda, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

LARGE = np.array([0, 1, -1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 10**18, -7])
REALS = np.array([0.0, -0.0, 1.5, -2.25, 1e300, 1e-300, np.pi, np.inf, -np.inf, 123456789.987])
WEIGHTS = np.array([0.5, -1.25, 1e10, 3.0])


@cuda.jit
def arithmetic(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x // y if y != 0 else 0
        out[4, i] = x % y if y != 0 else 0
        out[5, i] = x & y
        out[6, i] = x | y
        out[7, i] = x ^ y
        out[8, i] = -x
        out[9, i] = ~x
        out[10, i] = min(x, y)
        out[11, i] = max(x, y)


def run_integers():
    b = np.roll(LARGE, 3)
    out = np.zeros((12, LARGE.size), dtype=np.int64)
    arithmetic[1, 16](LARGE, b, out)
    return out


@cuda.jit
def shifts(a, out):
    i = cuda.grid(1)
    if i < a.size:
        for n in range(0, 64, 7):
            out[n // 7, i] = a[i] << n
            out[n // 7 + 10, i] = a[i] >> n


def run_shifts():
    out = np.zeros((20, LARGE.size), dtype=np.int64)
    shifts[1, 16](LARGE, out)
    unsigned = np.zeros((20, LARGE.size), dtype=np.uint64)
    shifts[1, 16](LARGE.astype(np.uint64), unsigned)
    return out, unsigned


@cuda.jit
def real_arithmetic(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x / y if y != 0 else 0.0
        out[4, i] = abs(x)
        out[5, i] = math.sqrt(abs(y))
        out[6, i] = x * 0.1 + 3
        out[7, i] = 1 / (1 + y * y)


def run_reals():
    out = np.zeros((8, REALS.size))
    with np.errstate(all="ignore"):
        real_arithmetic[1, 16](REALS, np.roll(REALS, 4), out)
    return out


@cuda.jit
def comparisons(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = a[i] < b[i]
        out[i, 1] = a[i] <= b[i]
        out[i, 2] = a[i] == b[i]
        out[i, 3] = a[i] != b[i]
        out[i, 4] = a[i] > b[i] or a[i] > 5
        out[i, 5] = not a[i] >= b[i]


def run_comparisons():
    found = []
    for values in (LARGE, LARGE.astype(np.uint64), REALS):
        out = np.zeros((values.size, 6), dtype=np.bool_)
        comparisons[1, 16](values, np.roll(values, 1), out)
        found.append(out)
    return tuple(found)


@cuda.jit
def casts(reals, integers, out, wide):
    i = cuda.grid(1)
    if i < reals.size:
        out[i, 0] = float32(integers[i])
        out[i, 1] = float64(integers[i])
        out[i, 2] = float64(uint32(integers[i]))
        out[i, 3] = float64(float32(reals[i]))
        wide[i, 0] = int32(integers[i])
        wide[i, 1] = int8(integers[i])
        wide[i, 2] = uint16(integers[i])
        wide[i, 3] = int64(int16(integers[i]))
        wide[i, 4] = int(reals[i])
        wide[i, 5] = int64(uint8(reals[i]))


def run_casts():
    reals = np.array([0.0, 1.9, 200.25, 77.0, 3.5])
    integers = np.array([2**40 + 300, -1, 2**31 + 5, 77, -(2**62)])
    out, wide = np.zeros((5, 4)), np.zeros((5, 6), dtype=np.int64)
    casts[1, 8](reals, integers, out, wide)
    return out, wide


@cuda.jit
def memories(a, n, out):
    shared = cuda.shared.array(32, float64)
    ints = cuda.shared.array((2, 32), int64)
    own = cuda.local.array(4, float64)
    longs = cuda.local.array((2, 2), int64)
    weights = cuda.const.array_like(WEIGHTS)
    t = cuda.threadIdx.x
    shared[t] = a[t] * 2
    ints[0, t] = int64(t) << 33
    ints[1, 31 - t] = -t
    for k in range(4):
        own[k] = a[t] + k * weights[k]
        longs[k // 2, k % 2] = t * k
    cuda.syncthreads()
    total = 0.0
    for k in range(n):
        total += own[k] * weights[3 - k] + longs[k // 2, k % 2]
    out[t] = shared[31 - t] + total + ints[0, 31 - t] + ints[1, t]


def run_memories():
    a, out = np.linspace(-1, 1, 32), np.zeros(32)
    memories[1, 32](a, 4, out)
    return out


@cuda.jit
def arguments(i, f, u, wide, b, out):
    out[0] = i
    out[1] = f
    out[2] = u
    out[3] = wide
    out[4] = 1 if b else 0


def run_arguments():
    out = np.zeros(5)
    arguments[1, 1](np.int64(-5), np.float64(2.5), np.uint64(2**60), np.int64(2**40), np.bool_(True), out)
    return out


@cuda.jit
def mixed(i8, u8, i16, u32, i64, f32, f64, out):
    i = cuda.grid(1)
    out[0, i] = i8[i] + i64[i]
    out[1, i] = u8[i] * f32[i]
    out[2, i] = i16[i] + f64[i]
    out[3, i] = u32[i] - i64[i]
    out[4, i] = i64[i] * f32[i]
    out[5, i] = f32[i] + f64[i]
    out[6, i] = i64[i] / u32[i]
    out[7, i] = i64[i] // i16[i]


def run_mixed():
    n = np.arange(1, 9)
    types = (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.float32, np.float64)
    arrays = [(n * (k + 1) - (0 if np.dtype(t).kind == "u" else 20)).astype(t) for k, t in enumerate(types)]
    arrays[2] += arrays[2] == 0
    out = np.zeros((8, 8))
    mixed[1, 8](*arrays, out)
    return out


@cuda.jit
def small(a8, u8, a16, u16):
    """Elements of 8 and 16 bits wrap where they are stored."""
    i = cuda.grid(1)
    a8[i] = a8[i] * 3
    u8[i] += 200
    a16[i] -= 30000
    u16[i] ^= 0xFF00


def run_small():
    arrays = [np.arange(16).astype(t) for t in (np.int8, np.uint8, np.int16, np.uint16)]
    small[1, 16](*arrays)
    return tuple(arrays)


@cuda.jit
def half(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] * a[i] + a[i]


def run_half():
    a = np.linspace(-2, 2, 16).astype(np.float16)
    out = np.zeros(16, dtype=np.float16)
    half[1, 16](a, out)
    return out


@cuda.jit
def flags(mask, values, out):
    i = cuda.grid(1)
    if mask[i]:
        out[i] = values[i]
    mask[i] = not mask[i]


def run_flags():
    mask = np.arange(8) % 3 == 0
    out = np.zeros(8)
    flags[1, 8](mask, np.arange(8) / 7, out)
    return mask, out


@cuda.jit
def sums(values, total, largest, smallest):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(total, 0, values[i])
        cuda.atomic.max(largest, 0, values[i])
        cuda.atomic.min(smallest, 0, values[i])


def run_atomics():
    found = []
    for values in (LARGE[:6] // 8, (LARGE[:6] // 8).astype(np.uint64), np.arange(6) * 0.25):
        arrays = [np.zeros(1, values.dtype), values[:1].copy(), values[:1].copy()]
        sums[1, 8](values, *arrays)
        found += arrays
    return tuple(found)


@cuda.jit
def exchange(a, old, words):
    i = cuda.grid(1)
    if i == 0:
        old[0] = cuda.atomic.exch(a, 0, int64(-5))
        old[1] = cuda.atomic.cas(a, 1, int64(11), int64(99))
        old[2] = cuda.atomic.cas(a, 2, int64(-1), int64(7))
        old[3] = cuda.atomic.sub(a, 3, int64(2**40))
        old[4] = cuda.atomic.and_(words, 0, uint64(2**63 + 6))
        old[5] = cuda.atomic.or_(words, 1, uint64(2**62))
        old[6] = cuda.atomic.xor(words, 2, uint64(2**64 - 1))


def run_exchange():
    a, old = np.array([10, 11, 12, 13]), np.zeros(8, dtype=np.int64)
    words = np.array([7, 8, 9], dtype=np.uint64)
    exchange[1, 2](a, old, words)
    return a, old, words


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.floor(x[i])
        out[1, i] = math.ceil(x[i])
        out[2, i] = math.trunc(x[i])
        out[3, i] = math.fabs(x[i])
        out[4, i] = math.copysign(1.0, x[i])
        out[5, i] = math.fmod(x[i], 1.75)
        out[6, i] = math.sqrt(math.fabs(x[i]))
        out[7, i] = math.isnan(x[i])
        out[8, i] = math.isinf(x[i])
        out[9, i] = round(x[i])


def run_exact_functions():
    x = np.array([0.5, -1.5, 2.5, 3.7, -0.2, 1e15 + 0.5, -7.0])
    out = np.zeros((10, 7))
    functions[1, 8](x, out)
    return out


@cuda.jit
def transcendental(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.exp(x[i])
        out[1, i] = math.log(x[i])
        out[2, i] = math.sin(x[i])
        out[3, i] = math.cos(x[i])
        out[4, i] = math.tan(x[i])
        out[5, i] = math.atan2(x[i], 2.0)
        out[6, i] = math.pow(x[i], 1.7)
        out[7, i] = x[i] ** 3
        out[8, i] = math.tanh(x[i])
        out[9, i] = math.erf(x[i])
        out[10, i] = math.log1p(x[i])
        out[11, i] = math.expm1(x[i])
        out[12, i] = math.hypot(x[i], 3.0)
        out[13, i] = math.gamma(x[i])
        out[14, i] = math.log2(x[i])
        out[15, i] = math.cosh(x[i])


def run_functions():
    x = np.array([0.1, 0.5, 1.0, 2.5, 7.25, 12.0])
    out = np.zeros((16, 6))
    transcendental[1, 8](x, out)
    return out


TOLERANCE = {"run_functions": 5e-16}
