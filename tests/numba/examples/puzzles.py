"""Small exercises in the manner of GPU puzzles: map, zip, guard, broadcast, blocks, pooling, dot product, axis sums."""

import numpy as np
from numba import cuda, float32

TPB = 8


@cuda.jit
def map_ten(out, a):
    i = cuda.threadIdx.x
    out[i] = a[i] + 10


@cuda.jit
def zip_sum(out, a, b):
    i = cuda.threadIdx.x
    out[i] = a[i] + b[i]


@cuda.jit
def guard(out, a, size):
    i = cuda.threadIdx.x
    if i < size:
        out[i] = a[i] + 10


@cuda.jit
def map_2d(out, a, size):
    i = cuda.threadIdx.x
    j = cuda.threadIdx.y
    if i < size and j < size:
        out[i, j] = a[i, j] + 10


@cuda.jit
def broadcast(out, a, b, size):
    i = cuda.threadIdx.x
    j = cuda.threadIdx.y
    if i < size and j < size:
        out[i, j] = a[i, 0] + b[0, j]


@cuda.jit
def blocks_2d(out, a, size):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if i < size and j < size:
        out[i, j] = a[i, j] + 10


@cuda.jit
def pooling(out, a, size):
    shared = cuda.shared.array(TPB, float32)
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    local_i = cuda.threadIdx.x
    if i < size:
        shared[local_i] = a[i]
    cuda.syncthreads()
    if i < size:
        total = shared[local_i]
        if local_i > 0:
            total += shared[local_i - 1]
        elif i > 0:
            total += a[i - 1]
        if local_i > 1:
            total += shared[local_i - 2]
        elif i > 1:
            total += a[i - 2]
        out[i] = total


@cuda.jit
def dot(out, a, b, size):
    shared = cuda.shared.array(TPB, float32)
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    local_i = cuda.threadIdx.x
    shared[local_i] = a[i] * b[i] if i < size else 0.0
    cuda.syncthreads()
    if local_i == 0:
        total = 0.0
        for k in range(TPB):
            total += shared[k]
        out[0] = total


@cuda.jit
def convolution(out, a, b, a_size, b_size):
    values = cuda.shared.array(TPB + 4, float32)
    kernel = cuda.shared.array(4, float32)
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    local_i = cuda.threadIdx.x
    values[local_i] = a[i] if i < a_size else 0
    if local_i < b_size:
        kernel[local_i] = b[local_i]
        values[TPB + local_i] = a[i + TPB] if i + TPB < a_size else 0
    cuda.syncthreads()
    if i < a_size:
        total = 0.0
        for k in range(b_size):
            total += values[local_i + k] * kernel[k]
        out[i] = total


@cuda.jit
def axis_sum(out, a, size):
    cache = cuda.shared.array(TPB, float32)
    i = cuda.threadIdx.x
    batch = cuda.blockIdx.y
    cache[i] = a[batch, i] if i < size else 0
    cuda.syncthreads()
    for k in range(3):
        step = 2**k
        if i % (2 * step) == 0:
            cache[i] += cache[i + step]
        cuda.syncthreads()
    if i == 0:
        out[batch, 0] = cache[0]


def _floats(*shape):
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * 5 % 17 - 4) / 8


def run_map():
    out = np.zeros(4, np.float32)
    map_ten[1, 4](out, _floats(4))
    return out


def run_zip():
    out = np.zeros(4, np.float32)
    zip_sum[1, 4](out, _floats(4), _floats(4)[::-1].copy())
    return out


def run_guard():
    out = np.zeros(4, np.float32)
    guard[1, 8](out, _floats(4), 4)
    return out


def run_map_2d():
    out = np.zeros((2, 2), np.float32)
    map_2d[1, (3, 3)](out, _floats(2, 2), 2)
    return out


def run_broadcast():
    out = np.zeros((2, 2), np.float32)
    broadcast[1, (3, 3)](out, _floats(2, 1), _floats(1, 2), 2)
    return out


def run_blocks():
    out = np.zeros((5, 5), np.float32)
    blocks_2d[(2, 2), (3, 3)](out, _floats(5, 5), 5)
    return out


def run_pooling():
    out = np.zeros(20, np.float32)
    pooling[3, TPB](out, _floats(20), 20)
    return out


def run_dot():
    out = np.zeros(1, np.float32)
    dot[1, TPB](out, _floats(6), _floats(6), 6)
    return out


def run_convolution():
    out = np.zeros(15, np.float32)
    convolution[2, TPB](out, _floats(15), _floats(4), 15, 4)
    return out


def run_axis_sum():
    out = np.zeros((4, 1), np.float32)
    a = _floats(4, 6)
    axis_sum[(1, 4), TPB](out, a, 6)
    np.testing.assert_array_equal(out[:, 0], a.sum(1))
    return out
