"""Vector addition (Numba's first CUDA example): device arrays, `forall`, an explicit launch, a grid-stride loop."""

import numpy as np
from numba import cuda

N = 300
A = (np.arange(N, dtype=np.float32) - 150) / 8
B = np.arange(N, 0, -1, dtype=np.float32) / 4


@cuda.jit
def add(a, b, c):
    tid = cuda.grid(1)
    size = len(c)

    if tid < size:
        c[tid] = a[tid] + b[tid]


@cuda.jit
def add_strided(a, b, c):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, c.shape[0], stride):
        c[i] = a[i] + b[i]


@cuda.jit
def saxpy(factor, x, y):
    i = cuda.grid(1)
    if i >= y.size:
        return
    y[i] += factor * x[i]


def run_forall():
    a, b = cuda.to_device(A), cuda.to_device(B)
    c = cuda.device_array_like(a)
    add.forall(len(a))(a, b, c)
    np.testing.assert_array_equal(c.copy_to_host(), A + B)
    return c.copy_to_host()


def run_launch():
    c = np.zeros(N, np.float32)
    threads = 64
    blocks = (N // threads) + 1
    add[blocks, threads](A.copy(), B.copy(), c)
    return c


def run_grid_stride():
    c = np.zeros(N, np.float32)
    add_strided[2, 32](A.copy(), B.copy(), c)
    np.testing.assert_array_equal(c, A + B)
    return c


def run_saxpy():
    y = B.copy()
    saxpy[5, 64](2.5, A.copy(), y)
    np.testing.assert_array_equal(y, np.float32(2.5) * A + B)
    return y
