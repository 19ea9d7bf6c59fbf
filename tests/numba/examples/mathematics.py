"""The math module, bit operations, selection; results of transcendental functions agree within the stated tolerance."""

import math

import numpy as np
from numba import cuda, float32, int32, uint32

TOLERANCE = {"run_functions": 3e-6, "run_black_scholes": 1e-5, "run_n_body": 1e-5}  # relative; float32 against float64


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i, 0] = math.exp(v)
        out[i, 1] = math.log(v)
        out[i, 2] = math.sin(v)
        out[i, 3] = math.cos(v) + 2
        out[i, 4] = math.sqrt(v)
        out[i, 5] = math.tanh(v)
        out[i, 6] = math.pow(v, 1.5)
        out[i, 7] = math.atan2(v, 2.0)
        out[i, 8] = math.log2(v) + 4
        out[i, 9] = v**3
        out[i, 10] = math.hypot(v, 3.0)
        out[i, 11] = math.erf(v)


@cuda.jit
def exact(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i, 0] = math.floor(v)
        out[i, 1] = math.ceil(v)
        out[i, 2] = math.fabs(v)
        out[i, 3] = float32(int32(v))
        out[i, 4] = math.copysign(2.5, v)
        out[i, 5] = min(v, 0.5)
        out[i, 6] = max(v, -0.25, 0.125)
        out[i, 7] = abs(v)
        out[i, 8] = round(v)
        out[i, 9] = v // 0.5
        out[i, 10] = v % 0.75
        out[i, 11] = math.fmod(v, 0.75)


@cuda.jit
def bits(words, out):
    i = cuda.grid(1)
    if i < words.size:
        w = words[i]
        out[i, 0] = cuda.popc(w)
        out[i, 1] = cuda.clz(w)
        out[i, 2] = cuda.ffs(w)
        out[i, 3] = cuda.brev(w) >> uint32(8)
        out[i, 4] = cuda.selp(w > uint32(1000), 1, 2)
        out[i, 5] = (w << uint32(3)) ^ (w >> uint32(5)) & ~w | uint32(1)


@cuda.jit
def integers(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[i, 0] = x // y
        out[i, 1] = x % y
        out[i, 2] = -x
        out[i, 3] = x >> 1
        out[i, 4] = x & y | 64
        out[i, 5] = int32(float32(x) / 4)
        out[i, 6] = x if x > y else y
        out[i, 7] = not x


@cuda.jit
def fused(a, b, c, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = cuda.fma(a[i], b[i], c[i])


@cuda.jit(device=True)
def cnd(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    value = 0.39894228 * math.exp(-0.5 * d * d) * poly
    return 1.0 - value if d > 0 else value


@cuda.jit
def black_scholes(call, put, stock, strike, years, riskless, volatility):
    i = cuda.grid(1)
    if i >= stock.shape[0]:
        return
    root = math.sqrt(years[i])
    d1 = (math.log(stock[i] / strike[i]) + (riskless + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
    d2 = d1 - volatility * root
    discount = math.exp(-riskless * years[i])
    call[i] = stock[i] * cnd(d1) - strike[i] * discount * cnd(d2)
    put[i] = strike[i] * discount * (1.0 - cnd(d2)) - stock[i] * (1.0 - cnd(d1))


@cuda.jit
def n_body(positions, forces):
    block = cuda.shared.array((32, 3), float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    fx, fy, fz = 0.0, 0.0, 0.0
    for first in range(0, positions.shape[0], 32):
        for axis in range(3):
            block[t, axis] = positions[first + t, axis]
        cuda.syncthreads()
        for j in range(32):
            dx = block[j, 0] - positions[i, 0]
            dy = block[j, 1] - positions[i, 1]
            dz = block[j, 2] - positions[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.5
            inverse = 1.0 / (r2 * math.sqrt(r2))
            fx += dx * inverse
            fy += dy * inverse
            fz += dz * inverse
        cuda.syncthreads()
    forces[i, 0] = fx
    forces[i, 1] = fy
    forces[i, 2] = fz


def run_functions():
    x = np.arange(1, 41, dtype=np.float32) / 8
    out = np.zeros((40, 12), np.float32)
    functions[2, 32](x, out)
    return out


def run_exact():
    x = np.arange(-24, 25, dtype=np.float32) / 8
    out = np.zeros((49, 12), np.float32)
    exact[2, 32](x, out)
    return out


def run_bits():
    words = np.array([0, 1, 2, 3, 255, 256, 65535, 2**31, 2**32 - 1, 123456789], np.uint32)
    out = np.zeros((10, 6), np.uint32)
    bits[1, 16](words, out)
    return out


def run_integers():
    a = np.array([7, -7, 7, -7, 0, 2**31 - 1, -(2**31), 100], np.int32)
    b = np.array([2, 2, -2, -2, 5, 10, 3, -7], np.int32)
    out = np.zeros((8, 8), np.int32)
    integers[1, 8](a, b, out)
    np.testing.assert_array_equal(out[:, :2], np.stack([a // b, a % b], 1))
    return out


def run_fused():
    a, b, c = (np.arange(16, dtype=np.float32) * k / 8 for k in (1, 3, -5))
    out = np.zeros(16, np.float32)
    fused[1, 16](a, b, c, out)
    np.testing.assert_array_equal(out, a * b + c)
    return out


def run_black_scholes():
    n = 40
    stock, strike, years = (np.linspace(*ends, n, dtype=np.float32) for ends in ((5, 30), (20, 18), (0.5, 3)))
    call, put = np.zeros(n, np.float32), np.zeros(n, np.float32)
    black_scholes[2, 32](call, put, stock, strike, years, 0.02, 0.3)
    return call + 10, put + 10


def run_n_body():
    i = np.arange(64, dtype=np.float32)
    positions = np.stack([i * 7 % 32, i * 5 % 64, i * 3 % 16], 1) / 8
    forces = np.zeros((64, 3), np.float32)
    n_body[2, 32](positions.astype(np.float32), forces)
    return forces + 64
