"""Kernels of the open half's CUDA C++ once more, in Python: the same launches, sums in the same order, flat arrays.

Python has no `__restrict__`, so that kernels have no counterpart here in whose loops loads wait for stores without it.

They tell the error of this package's compiler from that of the machine, which the vendor's code of the same kernels has
alone. `KERNELS` holds them by `suite.name`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smmux import cuda, float32, float64, int32, uint32

__all__ = ["KERNELS"]

KERNELS: dict[str, Any] = {}


def _of(suite: str) -> Any:
    """Enter a kernel of that suite under its name."""

    def enter(kernel: Any) -> Any:
        KERNELS[f"{suite}.{kernel.__name__}"] = kernel
        return kernel

    return enter


@_of("dense")
@cuda.jit
def gemm_plain(n, a, b, c):
    column = cuda.blockIdx.x * 16 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 16 + cuda.threadIdx.y
    total = float32(0)
    for k in range(n):
        total += a[row * n + k] * b[k * n + column]
    c[row * n + column] = total


@_of("dense")
@cuda.jit
def gemm_tiled(n, a, b, c):
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * 16 + x, cuda.blockIdx.y * 16 + y
    total = float32(0)
    for k in range(0, n, 16):
        left[y, x] = a[row * n + k + x]
        right[y, x] = b[(k + y) * n + column]
        cuda.syncthreads()
        for j in range(16):
            total += left[y, j] * right[j, x]
        cuda.syncthreads()
    c[row * n + column] = total


@_of("dense")
@cuda.jit
def gemm_registers(n, a, b, c):
    left = cuda.shared.array((8, 64), float32)
    right = cuda.shared.array((8, 64), float32)
    sums = cuda.local.array((4, 4), float32)
    u = cuda.local.array(4, float32)
    v = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    tx, ty = t % 16, t // 16
    row, column = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    for r in range(4):
        for s in range(4):
            sums[r, s] = 0
    for k in range(0, n, 8):
        for j in range(2):
            i = t + 256 * j
            left[i % 8, i // 8] = a[(row + i // 8) * n + k + i % 8]
            right[i // 64, i % 64] = b[(k + i // 64) * n + column + i % 64]
        cuda.syncthreads()
        for j in range(8):
            for r in range(4):
                u[r] = left[j, ty * 4 + r]
                v[r] = right[j, tx * 4 + r]
            for r in range(4):
                for s in range(4):
                    sums[r, s] += u[r] * v[s]
        cuda.syncthreads()
    for r in range(4):
        for s in range(4):
            c[(row + ty * 4 + r) * n + column + tx * 4 + s] = sums[r, s]


@_of("dense")
@cuda.jit
def gemv_transposed(rows, columns, a, x, y):
    c = cuda.grid(1)
    if c >= columns:
        return
    total = float32(0)
    for r in range(rows):
        total += a[r * columns + c] * x[r]
    y[c] = total


@_of("dense")
@cuda.jit
def gemv_warps(rows, columns, a, x, y):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    total = float32(0)
    for c in range(lane, columns, 32):
        total += a[row * columns + c] * x[c]
    total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 16)
    total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 8)
    total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 4)
    total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 2)
    total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 1)
    if lane == 0:
        y[row] = total


@_of("dense")
@cuda.jit
def transpose_plain(n, a, out):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    top = cuda.blockIdx.y * 32
    for y in range(top + cuda.threadIdx.y, top + 32, 8):
        out[x * n + y] = a[y * n + x]


@_of("dense")
@cuda.jit
def transpose_tiled(n, a, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        tile[j, tx] = a[(y + j) * n + x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32
    for j in range(ty, 32, 8):
        out[(y + j) * n + x] = tile[tx, j]


@_of("dense")
@cuda.jit
def syrk_double(n, depth, a, c):
    column = cuda.blockIdx.x * 16 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 16 + cuda.threadIdx.y
    if column > row or row >= n:
        return
    total = c[row * n + column]
    for k in range(depth):
        total += a[row * depth + k] * a[column * depth + k]
    c[row * n + column] = total


@_of("images")
@cuda.jit
def gray(n, pixels, out):
    i = cuda.grid(1)
    if i < n:
        out[i] = (77 * pixels[4 * i] + 150 * pixels[4 * i + 1] + 29 * pixels[4 * i + 2]) >> 8


FILTER = np.array([1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1], np.float32)


@_of("images")
@cuda.jit
def blur_tiled(width, height, image, out):
    tile = cuda.shared.array((20, 36), float32)
    weights = cuda.const.array_like(FILTER)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32 - 2, cuda.blockIdx.y * 16 - 2
    for i in range(ty * 32 + tx, 20 * 36, 512):
        x = min(max(x0 + i % 36, 0), width - 1)
        y = min(max(y0 + i // 36, 0), height - 1)
        tile[i // 36, i % 36] = image[y * width + x]
    cuda.syncthreads()
    total = float32(0)
    for r in range(5):
        for s in range(5):
            total += weights[5 * r + s] * tile[ty + r, tx + s]
    out[(y0 + 2 + ty) * width + x0 + 2 + tx] = total / 256


@_of("images")
@cuda.jit
def sobel(width, height, image, out):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 8 + cuda.threadIdx.y
    if x < 1 or y < 1 or x >= width - 1 or y >= height - 1:
        return
    p = y * width + x
    gx = image[p + 1 - width] + 2 * image[p + 1] + image[p + 1 + width]
    gx = gx - image[p - 1 - width] - 2 * image[p - 1] - image[p + width - 1]
    gy = image[p + width - 1] + 2 * image[p + width] + image[p + width + 1]
    gy = gy - image[p - width - 1] - 2 * image[p - width] - image[p + 1 - width]
    out[p] = math.sqrt(gx * gx + gy * gy)


@_of("images")
@cuda.jit
def histogram_shared(n, values, bins):
    own = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.blockIdx.x * 256 + t, n, cuda.gridDim.x * 256):
        cuda.atomic.add(own, int32(values[i]), 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@_of("lattices")
@cuda.jit
def heat(n, rate, before, out):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x + 1
    y = cuda.blockIdx.y * 8 + cuda.threadIdx.y + 1
    at = y * n + x
    if x < n - 1 and y < n - 1:
        ring = before[at - 1] + before[at + 1] + before[at - n] + before[at + n]
        out[at] = before[at] + rate * (ring - 4 * before[at])


@_of("lattices")
@cuda.jit
def seven_points(nx, ny, nz, before, out):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x + 1
    y = cuda.blockIdx.y * 4 + cuda.threadIdx.y + 1
    if x >= nx - 1 or y >= ny - 1:
        return
    plane = nx * ny
    at = y * nx + x
    below, here = before[at], before[at + plane]
    for z in range(1, nz - 1):
        c = at + z * plane
        above = before[c + plane]
        ring = before[c - 1] + before[c + 1] + before[c - nx] + before[c + nx]
        out[c] = ring + below + above - 6 * here
        below, here = here, above


@_of("lattices")
@cuda.jit
def steps_in_shared(n, before, out):
    two = cuda.shared.array((2, 264), float32)
    t = cuda.threadIdx.x
    source = 0
    for i in range(t, 264, 256):
        two[0, i] = before[min(max(cuda.blockIdx.x * 256 - 4 + i, 0), n - 1)]
    for _ in range(4):
        cuda.syncthreads()
        for i in range(t, 264, 256):
            ends = float32(0.25) * two[source, max(i - 1, 0)] + float32(0.5) * two[source, i]
            two[source ^ 1, i] = ends + float32(0.25) * two[source, min(i + 1, 263)]
        source ^= 1
    cuda.syncthreads()
    out[cuda.blockIdx.x * 256 + t] = two[0, t + 4]


@_of("lattices")
@cuda.jit
def wave_double(n, before, now, after):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x + 1
    y = cuda.blockIdx.y * 4 + cuda.threadIdx.y + 1
    at = y * n + x
    if x < n - 1 and y < n - 1:
        ring = now[at - 1] + now[at + 1] + now[at - n] + now[at + n] - 4 * now[at]
        after[at] = 2 * now[at] - before[at] + float64(0.1) * ring


@_of("particles")
@cuda.jit(fastmath=True)  # so that the root is the card's own, as that of CUDA C++
def bodies(n, body, force):
    tile = cuda.shared.array((128, 4), float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 128 + t
    ox, oy, oz = body[4 * i], body[4 * i + 1], body[4 * i + 2]
    fx, fy, fz = float32(0), float32(0), float32(0)
    for base in range(0, n, 128):
        at = 4 * (base + t)
        tile[t, 0], tile[t, 1], tile[t, 2], tile[t, 3] = body[at], body[at + 1], body[at + 2], body[at + 3]
        cuda.syncthreads()
        for k in range(16):
            for m in range(8):
                j = 8 * k + m
                x, y, z = tile[j, 0] - ox, tile[j, 1] - oy, tile[j, 2] - oz
                inverse = 1 / math.sqrt(x * x + y * y + z * z + float32(0.01))
                scale = tile[j, 3] * inverse * inverse * inverse
                fx += x * scale
                fy += y * scale
                fz += z * scale
        cuda.syncthreads()
    force[4 * i], force[4 * i + 1], force[4 * i + 2], force[4 * i + 3] = fx, fy, fz, float32(0)


@_of("particles")
@cuda.jit
def thomas(systems, n, low, middle, high, x):
    s = cuda.grid(1)
    if s >= systems:
        return
    c, d = high[s] / middle[s], x[s] / middle[s]
    high[s] = c
    x[s] = d
    for k in range(1, n):
        at = k * systems + s
        scale = 1 / (middle[at] - low[at] * c)
        c, d = high[at] * scale, (x[at] - low[at] * d) * scale
        high[at] = c
        x[at] = d
    for k in range(n - 2, -1, -1):
        at = k * systems + s
        d = x[at] - high[at] * d
        x[at] = d


TAPS = np.array([(-1) ** k * (k + 1 if k < 16 else 32 - k) for k in range(32)], np.float32)


@_of("signals")
@cuda.jit
def fir(n, x, y):
    own = cuda.shared.array(256 + 32, float32)
    taps = cuda.const.array_like(TAPS)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + t
    for k in range(t, 256 + 31, 256):
        at = cuda.blockIdx.x * 256 + k - 31
        own[k] = x[at] if 0 <= at < n else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for k in range(32):
        total += taps[k] * own[t + 31 - k]
    if i < n:
        y[i] = total


@_of("signals")
@cuda.jit
def haar(x, y):
    v = cuda.shared.array(512, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 512
    a, b = x[base + 2 * t], x[base + 2 * t + 1]
    y[base + 256 + t] = (a - b) * float32(0.5)
    v[t] = (a + b) * float32(0.5)
    n = 128
    while n > 0:
        cuda.syncthreads()
        if t < n:
            a, b = v[2 * t], v[2 * t + 1]
        cuda.syncthreads()
        if t < n:
            v[t] = (a + b) * float32(0.5)
            y[base + n + t] = (a - b) * float32(0.5)
        n //= 2
    if t == 0:
        y[base] = v[0]


@_of("graphs")
@cuda.jit
def rank_pull(n, starts, edges, share, following):
    v = cuda.grid(1)
    if v >= n:
        return
    total = float32(0)
    for e in range(starts[v], starts[v + 1]):
        total += share[uint32(edges[e])]
    following[v] = float32(0.15) + float32(0.85) * total


@_of("graphs")
@cuda.jit
def relax(n, starts, edges, costs, distance, following):
    v = cuda.grid(1)
    if v >= n:
        return
    own = distance[v]
    for e in range(starts[v], starts[v + 1]):
        cuda.atomic.min(following, uint32(edges[e]), own + costs[e])


@_of("graphs")
@cuda.jit
def shortcuts(n, steps, parent, root):
    v = cuda.grid(1)
    if v >= n:
        return
    at = v
    s = 0
    while s < steps and parent[uint32(at)] != at:
        at = parent[uint32(at)]
        s += 1
    root[v] = at
