"""Memory: local arrays, constant arrays, dynamic shared memory, views of it, shared arrays of two and three axes."""

import numpy as np
from numba import cuda, float32, int32, uint32

COEFFICIENTS = np.array([1, -2, 3, 0.5], np.float32)
TABLE = (np.arange(12, dtype=np.int32).reshape(3, 4) * 7) % 11


@cuda.jit
def polynomial(x, y):
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)
    if i < x.size:
        value = float32(0)
        for k in range(len(c)):
            value = value * x[i] + c[k]
        y[i] = value


@cuda.jit
def look_up(out):
    table = cuda.const.array_like(TABLE)
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = table[i % 3, j % 4] * 10 + table[2, i % 4]


@cuda.jit
def sort_five(data):
    i = cuda.grid(1)
    if i < data.shape[0]:
        a = cuda.local.array(5, float32)
        for k in range(5):
            a[k] = data[i, k]
        for p in range(1, 5):
            value = a[p]
            q = p - 1
            while q >= 0 and a[q] > value:
                a[q + 1] = a[q]
                q -= 1
            a[q + 1] = value
        for k in range(5):
            data[i, k] = a[k]


@cuda.jit
def local_matrix(out):
    m = cuda.local.array((3, 3), int32)
    i = int32(cuda.grid(1))
    for r in range(3):
        for c in range(3):
            m[r, c] = i * r + c
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    out[i] = trace * 100 + m[i % 3, (i // 3) % 3]


@cuda.jit
def reverse_dynamic(data):
    tile = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = data[i]
    cuda.syncthreads()
    data[i] = tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def dynamic_aliases(out):
    numbers = cuda.shared.array(0, int32)
    reals = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    numbers[t] = 0x3F800000
    cuda.syncthreads()
    out[t] = reals[(t + 1) % cuda.blockDim.x] * 8


@cuda.jit
def bytes_of_words(words, out):
    s = cuda.shared.array(16, uint32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = words[t]
    cuda.syncthreads()
    b = s.view(np.uint8)
    out[t] = b[t ^ 3]


@cuda.jit
def rotate_cube(cube):
    s = cuda.shared.array((2, 3, 4), float32)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    s[x, y, z] = cube[x, y, z]
    cuda.syncthreads()
    cube[x, y, z] = s[1 - x, (y + 1) % 3, 3 - z]


def run_const():
    x = np.arange(-16, 16, dtype=np.float32) / 4
    y = np.zeros_like(x)
    polynomial[2, 16](x, y)
    np.testing.assert_array_equal(y, np.polyval(COEFFICIENTS, x))
    return y


def run_const_2d():
    out = np.zeros((6, 7), np.int32)
    look_up[(2, 2), (4, 4)](out)
    return out


def run_local():
    data = ((np.arange(100, dtype=np.float32) * 37) % 23).reshape(20, 5) / 8
    expected = np.sort(data, axis=1)
    sort_five[1, 32](data)
    np.testing.assert_array_equal(data, expected)
    return data


def run_local_2d():
    out = np.zeros(40, np.int32)
    local_matrix[2, 20](out)
    return out


def run_dynamic_shared():
    data = np.arange(96, dtype=np.float32) / 8
    reverse_dynamic[3, 32, 0, 32 * 4](data)
    np.testing.assert_array_equal(data.reshape(3, 32), (np.arange(96) / 8).reshape(3, 32)[:, ::-1])
    return data


def run_dynamic_aliases():
    out = np.zeros(32, np.float32)
    dynamic_aliases[1, 32, 0, 128](out)
    np.testing.assert_array_equal(out, 8)
    return out


def run_view():
    words, out = np.arange(16, dtype=np.uint32) * np.uint32(0x01030507), np.zeros(64, np.uint8)
    bytes_of_words[1, 64](words, out)
    np.testing.assert_array_equal(out, words.astype(">u4").view(np.uint8))
    return out


def run_3d_shared():
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    rotate_cube[1, (2, 3, 4)](cube)
    return cube
