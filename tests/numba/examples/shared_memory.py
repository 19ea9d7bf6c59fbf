"""Kernels that stage data in shared memory: transpose, stencil, histogram, prefix sums, bitonic and odd-even sort."""

import numpy as np
from numba import cuda, float32, int32, uint32

TILE = 8
RADIUS = 3
BINS = 16


@cuda.jit
def transpose(a, b):
    tile = cuda.shared.array((TILE, TILE + 1), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE + tx
    y = cuda.blockIdx.y * TILE + ty
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + tx
    y = cuda.blockIdx.x * TILE + ty
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = tile[tx, ty]


@cuda.jit
def stencil(a, b):
    window = cuda.shared.array(32 + 2 * RADIUS, float32)
    g = cuda.grid(1)
    t = cuda.threadIdx.x + RADIUS
    n = a.size
    window[t] = a[g] if g < n else 0
    if cuda.threadIdx.x < RADIUS:
        window[t - RADIUS] = a[g - RADIUS] if g >= RADIUS else 0
        window[t + 32] = a[g + 32] if g + 32 < n else 0
    cuda.syncthreads()
    if g < n:
        total = 0.0
        for offset in range(-RADIUS, RADIUS + 1):
            total += window[t + offset]
        b[g] = total


@cuda.jit
def histogram(values, bins):
    local = cuda.shared.array(BINS, uint32)
    t = cuda.threadIdx.x
    for i in range(t, BINS, cuda.blockDim.x):
        local[i] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(local, values[i] >> 4, 1)
    cuda.syncthreads()
    for i in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(bins, i, local[i])


@cuda.jit
def hillis_steele(data):
    buffer = cuda.shared.array((2, 64), int32)
    t = cuda.threadIdx.x
    source = 0
    buffer[source, t] = data[t]
    cuda.syncthreads()
    distance = 1
    while distance < cuda.blockDim.x:
        value = buffer[source, t]
        if t >= distance:
            value += buffer[source, t - distance]
        source = 1 - source
        buffer[source, t] = value
        distance *= 2
        cuda.syncthreads()
    data[t] = buffer[source, t]


@cuda.jit
def blelloch(data):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[2 * t] = data[2 * t]
    s[2 * t + 1] = data[2 * t + 1]
    offset = 1
    d = 32
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]
        offset *= 2
        d >>= 1
    if t == 0:
        s[63] = 0.0
    d = 1
    while d < 64:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            low = offset * (2 * t + 1) - 1
            high = offset * (2 * t + 2) - 1
            s[low], s[high] = s[high], s[low] + s[high]
        d *= 2
    cuda.syncthreads()
    data[2 * t] = s[2 * t]
    data[2 * t + 1] = s[2 * t + 1]


@cuda.jit
def bitonic(data):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = data[t]
    cuda.syncthreads()
    k = 2
    while k <= 64:
        j = k // 2
        while j > 0:
            partner = t ^ j
            if partner > t:
                ascending = (t & k) == 0
                a, b = s[t], s[partner]
                if (a > b) == ascending:
                    s[t] = b
                    s[partner] = a
            cuda.syncthreads()
            j //= 2
        k *= 2
    data[t] = s[t]


@cuda.jit
def odd_even(data):
    t = cuda.threadIdx.x
    n = data.size
    for phase in range(n):
        left = 2 * t + phase % 2
        if left + 1 < n and data[left] > data[left + 1]:
            data[left], data[left + 1] = data[left + 1], data[left]
        cuda.syncthreads()


@cuda.jit
def votes(values, out):
    t = cuda.threadIdx.x
    positive = values[t] > 0
    count = cuda.syncthreads_count(positive)
    every = cuda.syncthreads_and(values[t] > -100)
    some = cuda.syncthreads_or(values[t] == 7)
    if t == 0:
        out[0] = count
        out[1] = every
        out[2] = some


def run_transpose():
    a = np.arange(19 * 13, dtype=np.float32).reshape(19, 13)
    b = np.zeros((13, 19), np.float32)
    transpose[(2, 3), (TILE, TILE)](a, b)
    np.testing.assert_array_equal(b, a.T)
    return b


def run_stencil():
    a = (np.arange(90, dtype=np.float32) * 11 % 32) / 8
    b = np.zeros_like(a)
    stencil[3, 32](a, b)
    np.testing.assert_array_equal(b, np.convolve(a, np.ones(2 * RADIUS + 1), "same"))
    return b


def run_histogram():
    values = ((np.arange(400, dtype=np.int64) ** 2 * 97) % 256).astype(np.uint8)
    bins = np.zeros(BINS, np.uint32)
    histogram[2, 48](values, bins)
    np.testing.assert_array_equal(bins, np.bincount(values >> 4, minlength=BINS))
    return bins


def run_hillis_steele():
    data = np.arange(64, dtype=np.int32) % 10
    expected = np.cumsum(data)
    hillis_steele[1, 64](data)
    np.testing.assert_array_equal(data, expected)
    return data


def run_blelloch():
    data = (np.arange(64, dtype=np.float32) % 10) / 8
    expected = np.cumsum(data) - data
    blelloch[1, 32](data)
    np.testing.assert_array_equal(data, expected)
    return data


def run_bitonic():
    data = (np.arange(64, dtype=np.float32) * 27 % 64) / 8
    bitonic[1, 64](data)
    np.testing.assert_array_equal(data, np.arange(64) / 8)
    return data


def run_odd_even():
    data = (np.arange(25, dtype=np.int32) * 7) % 25
    odd_even[1, 13](data)
    np.testing.assert_array_equal(data, np.arange(25))
    return data


def run_votes():
    values, out = np.arange(-20, 20, dtype=np.int32), np.zeros(3, np.int32)
    votes[1, 40](values, out)
    np.testing.assert_array_equal(out, [19, 1, 1])
    return out
