"""Device functions: called from kernels and from each other, several results, defaults, early returns."""

from math import pi

import numpy as np
from numba import cuda, float32, int32

TOLERANCE = {"run_business_logic": 1e-6}  # NumPy divides integers in float64, the machine in float32


@cuda.jit(device=True)
def business_logic(x, y, z):
    return 4 * z * (2 * x - (4 * y) / 2 * pi)


@cuda.jit
def apply_logic(res, xarr, yarr, zarr):
    tid = cuda.grid(1)
    if tid < len(xarr):
        res[tid] = business_logic(xarr[tid], yarr[tid], zarr[tid])


@cuda.jit(device=True)
def clamp(x, low, high=7):
    if x < low:
        return low
    if x > high:
        return high
    return x


@cuda.jit(device=True)
def polar(i, n):
    return i % n, i // n


@cuda.jit(device=True)
def swap_if(condition, a, b):
    if condition:
        a, b = b, a
    return a, b


@cuda.jit(device=True)
def fill(array, start, value):
    for i in range(start, len(array), 4):
        array[i] = value


@cuda.jit
def combine(out):
    i = int32(cuda.grid(1))
    column, row = polar(i, 5)
    small, large = swap_if(column > row, column, row)
    out[i, 0] = clamp(i - 10, int32(-3))
    out[i, 1] = clamp(i, int32(2), int32(20))
    out[i, 2] = small
    out[i, 3] = large * 100 + clamp(clamp(i, int32(1)), int32(0), int32(4))


@cuda.jit
def fill_in_turns(out):
    fill(out, cuda.threadIdx.x, float32(cuda.threadIdx.x) / 4)


def run_business_logic():
    x, y, z = (np.array(v, np.int32) for v in ([1, 10, 234], [2, 2, 40], [3, 14, 22]))
    res = np.zeros(3, np.float32)
    apply_logic[1, 4](res, x, y, z)
    return res


def run_combine():
    out = np.zeros((32, 4), np.int32)
    combine[2, 16](out)
    return out


def run_array_argument():
    out = np.zeros(19, np.float32)
    fill_in_turns[1, 4](out)
    np.testing.assert_array_equal(out, np.arange(19) % 4 / 4)
    return out
