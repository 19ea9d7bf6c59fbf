"""What people write in kernels beside arithmetic: loops over things, tuples, closures, operators, odd statements."""

import math
import operator
from collections import namedtuple
from enum import Enum, IntEnum

import numpy as np
from numba import cuda, float64, int32, int64

Point = namedtuple("Point", ("x", "y"))
TABLE = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
SQUARE = np.arange(9).reshape(3, 3)


class Shape(IntEnum):
    ROUND = 3
    FLAT = 5


class Colour(Enum):
    RED = 1
    BLUE = 2


@cuda.jit
def for_in(a, out):
    i = cuda.grid(1)
    s = 0.0
    for x in a:
        s += x
    for x in (1, 2, i):
        s += x * 0.5
    out[i] = s


def run_for_in():
    out = np.zeros(4)
    for_in[1, 4](np.arange(5) / 2, out)
    return out


@cuda.jit
def zipped(a, b, out):
    i = cuda.grid(1)
    s = 0.0
    for x, y in zip(a, b):  # noqa: B905
        s += x * y
    for k, x in enumerate(a):
        s += k * x
    for k, x in enumerate((5, 6), 3):
        s += k * x
    out[i] = s


def run_zip_and_enumerate():
    out = np.zeros(2)
    zipped[1, 2](np.arange(5) / 2, np.arange(4) + 0.25, out)
    return out


@cuda.jit
def captured(out):
    i = cuda.grid(1)
    out[i] = TABLE[i] + SQUARE[i % 3, 2] + Shape.FLAT + (1 if i == Shape.ROUND else 0)


def run_captured():
    out = np.zeros(5)
    captured[1, 5](out)
    return out


def make(factor, names):
    scale = factor * 2

    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        a[i] = a[i] * scale + len(names) + factor

    return kernel


def run_closures():
    a, b = np.arange(4.0), np.arange(4)
    make(1.5, (1, 2, 3))[1, 4](a)
    make(3, ("x",))[1, 4](b)
    return a, b


@cuda.jit
def tuples(p, shape, out):
    i = cuda.grid(1)
    q = Point(p.y, p.x + i)
    a, (b, c) = 1, (q.x, shape[1])
    t = (a, b, c) + shape
    u = t[1:3]
    out[i] = t[0] + 10 * t[1] + 100 * t[-1] + 1000 * len(t) + 10000 * u[0] + (q[1] if q.y > 2 else 0)


def run_tuples():
    out = np.zeros(3)
    tuples[1, 3](Point(1.5, 2), (3, 4), out)
    return out


@cuda.jit(device=True)
def minmax(a, b, c=10):
    return min(a, b, c), max(a, b, c)


@cuda.jit(device=True)
def add_all(*values):
    s = 0
    for v in values:
        s += v
    return s


@cuda.jit
def calls(a, out):
    i = cuda.grid(1)
    low, high = minmax(a[i], 4)
    _, top = minmax(a[i], 2, 3)
    out[i] = low + 100 * high + 10000 * top + add_all(a[i], 1, 2) + add_all(*(low, high))


def run_calls():
    a, out = np.arange(6) * 3, np.zeros(6, dtype=np.int64)
    calls[1, 6](a, out)
    return out


@cuda.jit
def operators(a, b, out):
    i = cuda.grid(1)
    x, y = a[i], b[i]
    out[i, 0] = operator.add(x, y)
    out[i, 1] = operator.mul(x, y)
    out[i, 2] = operator.floordiv(x, y)
    out[i, 3] = operator.mod(x, y)
    out[i, 4] = operator.xor(x, y)
    out[i, 5] = operator.lt(x, y)
    out[i, 6] = pow(x, 2) + divmod(x, y)[0]
    out[i, 7] = x**2 + abs(-y) + (+x)


def run_operators():
    a, b, out = np.arange(-4, 4), np.array([3, -3, 2, 5, 1, -1, 7, 2]), np.zeros((8, 8), dtype=np.int64)
    operators[1, 8](a, b, out)
    return out


@cuda.jit
def statements(a, out):
    i = cuda.grid(1)
    x = y = 0
    while True:
        x += 1
        if x % 2:
            continue
        if x > a[i]:
            break
        y += x
    else:
        y = -1
    for k in range(10):
        if k == a[i]:
            y += 1000
            break
    else:
        y += 5000
    assert y >= 0
    if (n := y % 7) > 3:
        y += n
    out[i] = y if 0 <= n < 6 else -y


def run_statements():
    a, out = np.arange(12) * 2, np.zeros(12, dtype=np.int64)
    statements[1, 12](a, out)
    return out


@cuda.jit
def ranges(out):
    i = cuda.grid(1)
    s = 0
    for k in range(10, 0, -3):
        s += k
    for k in range(i):
        for m in range(k, 5):
            s += k * m
    for k in range(-2, 3):
        s = s * 3 + k
    out[i] = s


def run_ranges():
    out = np.zeros(5, dtype=np.int64)
    ranges[1, 5](out)
    return out


@cuda.jit
def constants(out):
    out[0] = math.pi + math.e
    out[1] = math.inf
    out[2] = -np.inf
    out[3] = np.pi
    out[4] = float("inf")
    out[5] = 1e-320
    out[6] = 0x7FFFFFFFFFFFFFFF
    out[7] = 1_000.5e3
    out[8] = True
    out[9] = int("12") if False else 12


def run_constants():
    out = np.zeros(10)
    constants[1, 1](out)
    return out


@cuda.jit
def casts(out):
    i = cuda.grid(1)
    out[i, 0] = int(2.9) + int(-2.9)
    out[i, 1] = float(i) / 3
    out[i, 2] = bool(i)
    out[i, 3] = np.float64(i) * 0.1
    out[i, 4] = np.int64(i) << 40
    out[i, 5] = int32(i) * int64(2**33)
    out[i, 6] = float64(1) / 3
    out[i, 7] = round(i / 4) + round(2.675, 2)


def run_casts():
    out = np.zeros((4, 8))
    casts[1, 4](out)
    return out


@cuda.jit
def lazily(a, out):
    i = cuda.grid(1)
    if i < a.size and a[i] > 1 and not a[i] == 3:
        out[i] = 1
    out[i] += (i < 2) + (i >= a.size or a[i] > 2)
    out[i] += 10 if i in (1, 3) else 0
    x = None
    if x is None:
        out[i] += 100


def run_lazily():
    out = np.zeros(8, dtype=np.int64)
    lazily[1, 8](np.arange(5), out)
    return out


@cuda.jit
def defaults(a, n, step=2):
    i = cuda.grid(1)
    if i < n:
        a[i * step] = i


@cuda.jit
def many(a, b, c, d, e, f, g, h, out):
    i = cuda.grid(1)
    out[i] = a[i] + b * c - d + e + f[0] * g + h


def run_many_arguments():
    out = np.zeros(3)
    many[1, 3](np.arange(3.0), 2, 3.5, 1, np.float32(0.5), np.ones(2), np.int8(3), True, out)
    return out


@cuda.jit
def unpacked(points, out):
    i = cuda.grid(1)
    own = cuda.local.array(2, float64)
    x, y = points[i]
    (a, _), (_, b) = points[:2]
    own[0], own[1] = y, x
    p, q = own
    out[i] = x + 10 * y + 100 * a + 1000 * b + 10000 * p + 100000 * q


def run_unpacked():
    out = np.zeros(4)
    unpacked[1, 4](np.arange(8.0).reshape(4, 2), out)
    return out
