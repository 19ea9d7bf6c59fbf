"""Kernels in the language of Numba: Numba compiles them for a card, and smmux compiles the same text."""

import math

from numba import cuda, float32, float64, int32, uint32


def scaled_sum(n, a, x, y):
    """y = a x + y."""
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def smooth(x, y):
    """The mean of a point and its four neighbours."""
    i, j = cuda.grid(2)
    if i > 0 and j > 0 and i < x.shape[1] - 1 and j < x.shape[0] - 1:
        y[j, i] = (x[j, i] + x[j - 1, i] + x[j + 1, i] + x[j, i - 1] + x[j, i + 1]) * float32(0.2)


def tiled_product(a, b, c):
    """A product of square matrices in tiles of 16 by 16."""
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column = cuda.blockIdx.x * 16 + tx
    row = cuda.blockIdx.y * 16 + ty
    total = float32(0)
    for k in range(0, a.shape[1], 16):
        left[ty, tx] = a[row, k + tx]
        right[ty, tx] = b[k + ty, column]
        cuda.syncthreads()
        for j in range(16):
            total += left[ty, j] * right[j, tx]
        cuda.syncthreads()
    c[row, column] = total


def block_sums(n, x, out):
    """The sum of each block's elements."""
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += x[i]
    part[t] = total
    step = 128
    while step > 0:
        cuda.syncthreads()
        if t < step:
            part[t] += part[t + step]
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def counts(n, x, bins):
    """How often each of 64 values occurs."""
    own = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t < 64:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(own, x[i], 1)
    cuda.syncthreads()
    if t < 64:
        cuda.atomic.add(bins, t, own[t])


def escape(most, step, out):
    """Steps until a point of the Mandelbrot set's surroundings leaves it."""
    i, j = cuda.grid(2)
    cx = float32(-1.5) + step * float32(i)
    cy = float32(-1) + step * float32(j)
    zx = float32(0)
    zy = float32(0)
    k = 0
    while k < most and zx * zx + zy * zy < float32(4):
        t = zx * zx - zy * zy + cx
        zy = float32(2) * zx * zy + cy
        zx = t
        k += 1
    out[j, i] = k


def distances(n, x, y, out):
    """The sum of the distances of each point to the first n, in double precision."""
    i = cuda.grid(1)
    px = x[i]
    py = y[i]
    total = float64(0)
    for j in range(n):
        dx = x[j] - px
        dy = y[j] - py
        total += math.sqrt(dx * dx + dy * dy)
    out[i] = total


def walks(steps, seeds, out):
    """Where a random walk ends."""
    i = cuda.grid(1)
    s = seeds[i]
    place = int32(0)
    for _ in range(steps):
        s = uint32(s * uint32(1664525) + uint32(1013904223))
        if s >> uint32(31):
            place += 1
        else:
            place -= 1
    out[i] = place


SIGNATURES = {
    "scaled_sum": "void(int32, float32, float32[::1], float32[::1])",
    "smooth": "void(float32[:, ::1], float32[:, ::1])",
    "tiled_product": "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])",
    "block_sums": "void(int32, float32[::1], float32[::1])",
    "counts": "void(int32, int32[::1], int32[::1])",
    "escape": "void(int32, float32, int32[:, ::1])",
    "distances": "void(int32, float64[::1], float64[::1], float64[::1])",
    "walks": "void(int32, uint32[::1], int32[::1])",
}
