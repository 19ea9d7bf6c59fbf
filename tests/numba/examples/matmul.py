"""Matrix multiplication: naive, and tiled through shared memory, square and nonsquare."""

import math

import numpy as np
from numba import cuda, float32

TPB = 8


@cuda.jit
def matmul(A, B, C):
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        tmp = 0.0
        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]
        C[i, j] = tmp


@cuda.jit
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)

    x, y = cuda.grid(2)

    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x

    tmp = float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]

        cuda.syncthreads()

        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]

        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


def _matrices(m, k, n):
    a = (np.arange(m * k, dtype=np.float32).reshape(m, k) - 5) / 8
    b = (np.arange(k * n, dtype=np.float32).reshape(k, n) % 13 - 6) / 4
    return cuda.to_device(a), cuda.to_device(b), cuda.to_device(np.zeros((m, n), np.float32)), a @ b


def _tiled(m, k, n):
    a, b, c, expected = _matrices(m, k, n)
    grid = math.ceil(max(k, n) / TPB), math.ceil(max(m, k) / TPB)
    fast_matmul[grid, (TPB, TPB)](a, b, c)
    np.testing.assert_array_equal(c.copy_to_host(), expected)
    return c.copy_to_host()


def run_naive():
    a, b, c, expected = _matrices(10, 7, 12)
    matmul[(2, 2), (8, 8)](a, b, c)
    np.testing.assert_array_equal(c.copy_to_host(), expected)
    return c.copy_to_host()


def run_tiled_square():
    return _tiled(16, 16, 16)


def run_tiled_nonsquare():
    return _tiled(5, 23, 7)
