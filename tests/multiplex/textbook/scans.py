"""Scans, and what they are for: compaction, splitting by bits, integral images, sorting by counting and by merging."""

from __future__ import annotations

import numpy as np

from smmux import cuda, float32, int32
from tests.multiplex.written_kernels import PLACE, ROWS, ZEROS, A, N, Written, X

LANES = 32


@cuda.jit
def in_place(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    d = 1
    while d < N:
        x = float32(0)
        if t >= d:
            x = s[t - d]
        cuda.syncthreads()
        s[t] += x
        cuda.syncthreads()
        d *= 2
    o[cuda.grid(1)] = s[t]


@cuda.jit
def scan_exchanged(a, o):
    now = cuda.shared.array(N, float32)
    later = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    now[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    d = 1
    while d < N:
        later[t] = now[t] + now[t - d] if t >= d else now[t]
        cuda.syncthreads()
        now, later = later, now
        d *= 2
    o[cuda.grid(1)] = now[t]


@cuda.jit
def warp_scan(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    lane = t & 31
    s[t] = a[cuda.grid(1)]
    if lane >= 1:
        s[t] = s[t - 1] + s[t]
    if lane >= 2:
        s[t] = s[t - 2] + s[t]
    if lane >= 4:
        s[t] = s[t - 4] + s[t]
    if lane >= 8:
        s[t] = s[t - 8] + s[t]
    if lane >= 16:
        s[t] = s[t - 16] + s[t]
    o[cuda.grid(1)] = s[t]


@cuda.jit
def two_levels(a, o):
    s = cuda.shared.array(N, float32)
    sums = cuda.shared.array(N // LANES, float32)
    t = cuda.threadIdx.x
    lane, warp = t % LANES, t // LANES
    s[t] = a[cuda.grid(1)]
    offset = 1
    while offset < LANES:
        if lane >= offset:
            s[t] += s[t - offset]
        offset *= 2
    cuda.syncthreads()
    if lane == LANES - 1:
        sums[warp] = s[t]
    cuda.syncthreads()
    before = float32(0)
    for w in range(warp):
        before += sums[w]
    o[cuda.grid(1)] = s[t] + before - a[cuda.grid(1)]


@cuda.jit(device=True)
def padded(i):
    return i + (i >> 4)


@cuda.jit
def blelloch_padded(a, o):
    temp = cuda.shared.array(N + N // 16, float32)
    t = cuda.threadIdx.x
    half = N // 2
    first = cuda.blockIdx.x * N
    ai, bi = t, t + half
    temp[padded(ai)] = a[first + ai]
    temp[padded(bi)] = a[first + bi]
    offset = 1
    d = half
    while d > 0:
        cuda.syncthreads()
        if t < d:
            i = padded(offset * (2 * t + 1) - 1)
            j = padded(offset * (2 * t + 2) - 1)
            temp[j] += temp[i]
        offset *= 2
        d >>= 1
    if t == 0:
        temp[padded(N - 1)] = 0
    d = 1
    while d < N:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            i = padded(offset * (2 * t + 1) - 1)
            j = padded(offset * (2 * t + 2) - 1)
            x = temp[i]
            temp[i] = temp[j]
            temp[j] += x
        d *= 2
    cuda.syncthreads()
    o[first + ai] = temp[padded(ai)]
    o[first + bi] = temp[padded(bi)]


@cuda.jit
def segmented(a, heads, o):
    values = cuda.shared.array(N, float32)
    flags = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    values[t] = a[i]
    flags[t] = heads[i]
    cuda.syncthreads()
    d = 1
    while d < N:
        x, f = values[t], flags[t]
        if t >= d:
            if f == 0:
                x += values[t - d]
            f |= flags[t - d]
        cuda.syncthreads()
        values[t], flags[t] = x, f
        cuda.syncthreads()
        d <<= 1
    o[i] = values[t]


@cuda.jit
def compact(a, o):
    places = cuda.shared.array((2, N), int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    keep = int32(1 if a[i] > 31 else 0)
    places[0, t] = keep
    cuda.syncthreads()
    source = 0
    d = 1
    while d < N:
        x = places[source, t]
        if t >= d:
            x += places[source, t - d]
        places[1 - source, t] = x
        source = 1 - source
        cuda.syncthreads()
        d *= 2
    if keep:
        o[cuda.blockIdx.x * N + places[source, t] - 1] = a[i]


@cuda.jit
def split_by_bits(keys, o):
    s = cuda.shared.array(N, int32)
    scanned = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    s[t] = keys[cuda.grid(1)]
    cuda.syncthreads()
    for bit in range(6):
        key = s[t]
        zero = 1 - ((key >> bit) & 1)
        scanned[t] = zero
        cuda.syncthreads()
        d = 1
        while d < N:
            x = scanned[t]
            if t >= d:
                x += scanned[t - d]
            cuda.syncthreads()
            scanned[t] = x
            cuda.syncthreads()
            d *= 2
        zeros = scanned[N - 1]
        to = scanned[t] - 1 if zero else zeros + t - scanned[t]
        s[to] = key
        cuda.syncthreads()
    o[cuda.grid(1)] = s[t]


@cuda.jit
def integral_rows(a, o):
    line = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    carry = float32(0)
    for first in range(0, a.shape[1], N):
        line[t] = a[cuda.blockIdx.x, first + t]
        cuda.syncthreads()
        k = 1
        while k < N:
            if t >= k:
                x = line[t] + line[t - k]
            else:
                x = line[t]
            cuda.syncthreads()
            line[t] = x
            cuda.syncthreads()
            k *= 2
        o[cuda.blockIdx.x, first + t] = line[t] + carry
        carry += line[N - 1]
        cuda.syncthreads()


@cuda.jit
def odd_even_sort(a):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    for phase in range(N):
        if t % 2 == phase % 2 and t + 1 < N:
            if s[t] > s[t + 1]:
                x = s[t]
                s[t] = s[t + 1]
                s[t + 1] = x
        cuda.syncthreads()
    a[cuda.grid(1)] = s[t]


@cuda.jit
def rank_sort(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    x = s[t]
    rank = 0
    for j in range(N):
        if s[j] < x or s[j] == x and j < t:
            rank += 1
    o[cuda.blockIdx.x * N + rank] = x


@cuda.jit
def merge_halves(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * N
    s[t] = a[first + t]
    cuda.syncthreads()
    half = N // 2
    x = s[t]
    left = t < half
    low, high = (half, N) if left else (0, half)
    base = low
    while low < high:
        mid = (low + high) // 2
        if s[mid] < x or not left and s[mid] == x:
            low = mid + 1
        else:
            high = mid
    o[first + (t if left else t - half) + low - base] = x


@cuda.jit
def bitonic_pairs(keys, values):
    k = cuda.shared.array(N, float32)
    v = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    k[t], v[t] = keys[i], values[i]
    size = 2
    while size <= N:
        stride = size // 2
        while stride > 0:
            cuda.syncthreads()
            other = t ^ stride
            if other > t:
                up = (t & size) == 0
                if (k[t] > k[other] or k[t] == k[other] and v[t] > v[other]) == up:
                    k[t], k[other] = k[other], k[t]
                    v[t], v[other] = v[other], v[t]
            stride //= 2
        size *= 2
    cuda.syncthreads()
    keys[i], values[i] = k[t], v[t]


HEADS = ((PLACE % 7 == 0) | (PLACE % N == 0)).astype(np.int32)
COMPACTED = np.zeros((6, N), np.float32)
for _row, _out in zip(ROWS, COMPACTED, strict=True):
    _out[: (_row > 31).sum()] = _row[_row > 31]
INTEGERS = X.astype(np.int32)
WIDE = A[:768].reshape(6, 128)
SORTED_HALVES = np.sort(X.reshape(12, N // 2), 1).ravel()
ORDER = np.argsort(ROWS, 1, kind="stable")


def _segments() -> np.ndarray:
    o, total = np.zeros(384, np.float32), np.float32(0)
    for i in range(384):
        total = X[i] if HEADS[i] else total + X[i]
        o[i] = total
    return o


SCANS = [
    Written(in_place, 6, N, (X, ZEROS), ROWS.cumsum(1).ravel()),
    Written(scan_exchanged, 6, N, (X, ZEROS), ROWS.cumsum(1).ravel()),
    Written(warp_scan, 6, N, (X, ZEROS), X.reshape(12, 32).cumsum(1).ravel()),
    Written(two_levels, 6, N, (X, ZEROS), (ROWS.cumsum(1) - ROWS).ravel()),
    Written(blelloch_padded, 6, N // 2, (X, ZEROS), (ROWS.cumsum(1) - ROWS).ravel()),
    Written(segmented, 6, N, (X, HEADS, ZEROS), _segments()),
    Written(compact, 6, N, (X, ZEROS), COMPACTED.ravel()),
    Written(split_by_bits, 6, N, (INTEGERS, np.zeros(384, np.int32)), np.sort(ROWS, 1).ravel()),
    Written(integral_rows, 6, N, (WIDE, np.zeros_like(WIDE)), WIDE.cumsum(1)),
    Written(odd_even_sort, 6, N, (X,), np.sort(ROWS, 1).ravel()),
    Written(rank_sort, 6, N, (X, ZEROS), np.sort(ROWS, 1).ravel()),
    Written(merge_halves, 6, N, (SORTED_HALVES, ZEROS), np.sort(ROWS, 1).ravel()),
    Written(bitonic_pairs, 6, N, (X, (PLACE % N).astype(np.int32)), ORDER.ravel()),
]
