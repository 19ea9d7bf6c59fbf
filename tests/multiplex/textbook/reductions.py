"""Reductions: sums, extremes, norms and counts over the elements of each block."""

from __future__ import annotations

import numpy as np

from smmux import cuda, float32, int32
from tests.multiplex.written_kernels import ROWS, A, N, Written, X

WARPS = N // 32


@cuda.jit
def interleaved(a, o):
    s = cuda.shared.array(N, float32)
    tid = cuda.threadIdx.x
    s[tid] = a[cuda.blockIdx.x * cuda.blockDim.x + tid]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        if tid % (2 * step) == 0:
            s[tid] += s[tid + step]
        cuda.syncthreads()
        step *= 2
    if tid == 0:
        o[cuda.blockIdx.x] = s[0]


@cuda.jit
def strided_index(a, o):
    s = cuda.shared.array(N, float32)
    tid = cuda.threadIdx.x
    s[tid] = a[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < N:
        index = 2 * step * tid
        if index < N:
            s[index] += s[index + step]
        cuda.syncthreads()
        step *= 2
    if tid == 0:
        o[cuda.blockIdx.x] = s[0]


@cuda.jit
def first_add(a, o):
    s = cuda.shared.array(N // 2, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * (cuda.blockDim.x * 2) + tid
    s[tid] = a[i] + a[i + cuda.blockDim.x]
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if tid < step:
            s[tid] += s[tid + step]
        cuda.syncthreads()
        step >>= 1
    if tid == 0:
        o[cuda.blockIdx.x] = s[0]


@cuda.jit
def last_warp(a, o):
    s = cuda.shared.array(N, float32)
    tid = cuda.threadIdx.x
    s[tid] = a[cuda.grid(1)]
    cuda.syncthreads()
    if tid < 32:
        s[tid] += s[tid + 32]
        if tid < 16:
            s[tid] += s[tid + 16]
            s[tid] += s[tid + 8]
            s[tid] += s[tid + 4]
            s[tid] += s[tid + 2]
            s[tid] += s[tid + 1]
    if tid == 0:
        o[cuda.blockIdx.x] = s[0]


@cuda.jit(device=True)
def warp_reduce(s, tid):
    s[tid] += s[tid + 32]
    s[tid] += s[(tid + 16) % N]
    s[tid] += s[(tid + 8) % N]
    s[tid] += s[(tid + 4) % N]
    s[tid] += s[(tid + 2) % N]
    s[tid] += s[(tid + 1) % N]


@cuda.jit
def last_warp_in_function(a, o):
    s = cuda.shared.array(N, float32)
    tid = cuda.threadIdx.x
    s[tid] = a[cuda.grid(1)]
    cuda.syncthreads()
    if tid < 32:
        warp_reduce(s, tid)
    if tid == 0:
        o[cuda.blockIdx.x] = s[0]


@cuda.jit
def grid_stride(a, o):
    s = cuda.shared.array(N, float32)
    tid = cuda.threadIdx.x
    total = float32(0)
    i = cuda.grid(1)
    while i < a.size:
        total += a[i]
        i += cuda.gridsize(1)
    s[tid] = total
    cuda.syncthreads()
    k = N // 2
    while k != 0:
        if tid < k:
            s[tid] += s[tid + k]
        cuda.syncthreads()
        k //= 2
    if tid == 0:
        cuda.atomic.add(o, 0, s[0])


@cuda.jit
def arg_max(a, best, where):
    values = cuda.shared.array(N, float32)
    places = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    values[t] = a[cuda.grid(1)]
    places[t] = t
    cuda.syncthreads()
    half = N // 2
    while half >= 1:
        if t < half:
            if values[t + half] > values[t] or values[t + half] == values[t] and places[t + half] < places[t]:
                values[t] = values[t + half]
                places[t] = places[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        best[cuda.blockIdx.x] = values[0]
        where[cuda.blockIdx.x] = places[0]


@cuda.jit
def min_and_max(a, o):
    low = cuda.shared.array(N, float32)
    high = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    low[t] = high[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    s = N >> 1
    while s > 0:
        if t < s:
            low[t] = min(low[t], low[t + s])
            high[t] = max(high[t], high[t + s])
        cuda.syncthreads()
        s >>= 1
    if t < 2:
        o[cuda.blockIdx.x, t] = low[0] if t == 0 else high[0]


@cuda.jit
def dot(a, b, c):
    cache = cuda.shared.array(N, float32)
    tid = cuda.grid(1)
    cache_index = cuda.threadIdx.x
    temp = float32(0)
    while tid < a.shape[0]:
        temp += a[tid] * b[tid]
        tid += cuda.blockDim.x * cuda.gridDim.x
    cache[cache_index] = temp
    cuda.syncthreads()
    i = cuda.blockDim.x // 2
    while i != 0:
        if cache_index < i:
            cache[cache_index] += cache[cache_index + i]
        cuda.syncthreads()
        i //= 2
    if cache_index == 0:
        c[cuda.blockIdx.x] = cache[0]


@cuda.jit
def by_shuffles(a, o):
    sums = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    x = a[cuda.grid(1)]
    offset = 16
    while offset > 0:
        x += cuda.shfl_down_sync(0xFFFFFFFF, x, offset)
        offset //= 2
    if t % 32 == 0:
        sums[t // 32] = x
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for w in range(WARPS):
            total += sums[w]
        o[cuda.blockIdx.x] = total


@cuda.jit
def softmax(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    x = a[row, t]
    s[t] = x
    cuda.syncthreads()
    k = N // 2
    while k > 0:
        if t < k:
            s[t] = max(s[t], s[t + k])
        cuda.syncthreads()
        k //= 2
    top = s[0]
    cuda.syncthreads()
    e = float32(2.0) ** (x - top)
    s[t] = e
    cuda.syncthreads()
    k = N // 2
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        cuda.syncthreads()
        k //= 2
    o[row, t] = e / s[0]


@cuda.jit
def mean_and_variance(a, o):
    s = cuda.shared.array((2, N), float32)
    t = cuda.threadIdx.x
    x = a[cuda.grid(1)]
    s[0, t] = x
    s[1, t] = x * x
    cuda.syncthreads()
    for k in (32, 16, 8, 4, 2, 1):
        if t < k:
            for m in range(2):
                s[m, t] += s[m, t + k]
        cuda.syncthreads()
    if t == 0:
        mean = s[0, 0] / N
        o[cuda.blockIdx.x] = s[1, 0] / N - mean * mean


@cuda.jit
def count_above(a, o, limit):
    seen = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        seen[0] = 0
    cuda.syncthreads()
    if a[cuda.grid(1)] > limit:
        cuda.atomic.add(seen, 0, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        o[cuda.blockIdx.x] = seen[0]


@cuda.jit
def column_sums(a, o):
    tile = cuda.shared.array((8, 33), float32)
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    acc = float32(0)
    for y in range(cuda.threadIdx.y, a.shape[0], cuda.blockDim.y):
        acc += a[y, x]
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = acc
    cuda.syncthreads()
    step = 4
    while step > 0:
        if cuda.threadIdx.y < step:
            tile[cuda.threadIdx.y, cuda.threadIdx.x] += tile[cuda.threadIdx.y + step, cuda.threadIdx.x]
        cuda.syncthreads()
        step //= 2
    if cuda.threadIdx.y == 0:
        o[x] = tile[0, cuda.threadIdx.x]


@cuda.jit
def nearest(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    best = float32(1e9)
    for first in range(0, a.size, N):
        s[t] = a[first + t]
        cuda.syncthreads()
        for j in range(N):
            if first + j != i:
                best = min(best, abs(s[j] - a[i]))
        cuda.syncthreads()
    o[i] = best


SUMS = ROWS.sum(1)
SIX = np.zeros(6, np.float32)
POWERS = np.exp2((ROWS - ROWS.max(1, keepdims=True)).astype(np.float64))
DISTANCES = np.abs(X[:, None] - X) + np.diag(np.full(384, 1e9, np.float32))
REDUCTIONS = [
    Written(interleaved, 6, N, (X, SIX), SUMS),
    Written(strided_index, 6, N, (X, SIX), SUMS),
    Written(first_add, 6, N // 2, (X, SIX), SUMS),
    Written(last_warp, 6, N, (X, SIX), SUMS),
    Written(last_warp_in_function, 6, N, (X, SIX), SUMS),
    Written(grid_stride, 2, N, (A, np.zeros(1, np.float32)), [A.sum()]),
    Written(arg_max, 6, N, (X, SIX, np.zeros(6, np.int32)), ROWS.argmax(1)),
    Written(min_and_max, 6, N, (X, np.zeros((6, 2), np.float32)), np.stack([ROWS.min(1), ROWS.max(1)], 1)),
    Written(dot, 4, N, (A, A[::-1].copy(), np.zeros(4, np.float32)), (A * A[::-1]).reshape(4, 4, N).sum((0, 2))),
    Written(by_shuffles, 6, N, (X, SIX), SUMS),
    Written(softmax, 6, N, (ROWS, np.zeros_like(ROWS)), POWERS / POWERS.sum(1, keepdims=True), 1e-6),
    Written(mean_and_variance, 6, N, (X, SIX), ROWS.var(1), 1e-4),
    Written(count_above, 6, N, (X, np.zeros(6, np.int32), 30), (ROWS > 30).sum(1)),
    Written(column_sums, 2, (32, 8), (A.reshape(16, 64), np.zeros(64, np.float32)), A.reshape(16, 64).sum(0)),
    Written(nearest, 6, N, (X, np.zeros(384, np.float32)), DISTANCES.min(1)),
]
