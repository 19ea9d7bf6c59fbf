"""Scans, sorts, stencils and factorisations as textbooks have them, each with a launch and what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np

from smmux import cuda, float32, int32, uint8
from tests.multiplex.written_kernels import PLACE, ROWS, ZEROS, A, N, Written, X

Matrix = np.ndarray[Any, Any]
TILE, STEP = 16, 4
HALF = 32


@cuda.jit
def transpose_with_edges(a, out):
    tile = cuda.shared.array((TILE, TILE + 1), float32)
    x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    for j in range(0, TILE, STEP):
        if x < a.shape[1] and y + j < a.shape[0]:
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = a[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    for j in range(0, TILE, STEP):
        if x < a.shape[0] and y + j < a.shape[1]:
            out[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]


@cuda.jit
def hillis_steele(data, out):
    temp = cuda.shared.array((2, N), float32)
    t = cuda.threadIdx.x
    src = 0
    temp[0, t] = data[cuda.grid(1)]
    cuda.syncthreads()
    offset = 1
    while offset < N:
        dst = 1 - src
        if t >= offset:
            temp[dst, t] = temp[src, t] + temp[src, t - offset]
        else:
            temp[dst, t] = temp[src, t]
        cuda.syncthreads()
        src = dst
        offset *= 2
    out[cuda.grid(1)] = temp[src, t]


@cuda.jit
def blelloch(data, sums, out):
    temp = cuda.shared.array(2 * HALF, float32)
    tid = cuda.threadIdx.x
    base = cuda.blockIdx.x * 2 * HALF
    temp[2 * tid] = data[base + 2 * tid]
    temp[2 * tid + 1] = data[base + 2 * tid + 1]
    offset = 1
    d = HALF
    while d > 0:
        cuda.syncthreads()
        if tid < d:
            ai = offset * (2 * tid + 1) - 1
            bi = offset * (2 * tid + 2) - 1
            temp[bi] += temp[ai]
        offset *= 2
        d >>= 1
    if tid == 0:
        sums[cuda.blockIdx.x] = temp[2 * HALF - 1]
        temp[2 * HALF - 1] = 0
    d = 1
    while d < 2 * HALF:
        offset >>= 1
        cuda.syncthreads()
        if tid < d:
            ai = offset * (2 * tid + 1) - 1
            bi = offset * (2 * tid + 2) - 1
            t = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += t
        d *= 2
    cuda.syncthreads()
    out[base + 2 * tid] = temp[2 * tid]
    out[base + 2 * tid + 1] = temp[2 * tid + 1]


@cuda.jit
def stencil_3d(u, out):
    plane = cuda.shared.array((10, 10), float32)
    nz, ny, nx = u.shape
    i, j = cuda.grid(2)
    tx, ty = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    below = u[0, j, i]
    here = u[1, j, i]
    inside = 0 < i and i < nx - 1 and 0 < j and j < ny - 1
    for k in range(1, nz - 1):
        above = u[k + 1, j, i]
        plane[ty, tx] = here
        if tx == 1 and i > 0:
            plane[ty, 0] = u[k, j, i - 1]
        if tx == 8 and i < nx - 1:
            plane[ty, 9] = u[k, j, i + 1]
        if ty == 1 and j > 0:
            plane[0, tx] = u[k, j - 1, i]
        if ty == 8 and j < ny - 1:
            plane[9, tx] = u[k, j + 1, i]
        cuda.syncthreads()
        if inside:
            ring = plane[ty - 1, tx] + plane[ty + 1, tx] + plane[ty, tx - 1] + plane[ty, tx + 1]
            out[k, j, i] = below + above + ring - 6 * here
        cuda.syncthreads()
        below, here = here, above


@cuda.jit
def batched_lu(mats):
    a = cuda.shared.array((8, 8), float32)
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    b = cuda.blockIdx.x
    a[row, col] = mats[b, row, col]
    cuda.syncthreads()
    for k in range(7):
        if row > k and col == k:
            a[row, k] /= a[k, k]
        cuda.syncthreads()
        if row > k and col > k:
            a[row, col] -= a[row, k] * a[k, col]
        cuda.syncthreads()
    mats[b, row, col] = a[row, col]


@cuda.jit
def counting_sort(keys, out):
    local_keys = cuda.shared.array(N, uint8)
    counts = cuda.shared.array(16, int32)
    starts = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    local_keys[t] = keys[cuda.grid(1)]
    if t < 16:
        counts[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, int32(local_keys[t]), 1)
    cuda.syncthreads()
    if t == 0:
        total = 0
        for k in range(16):
            starts[k] = total
            total += counts[k]
    cuda.syncthreads()
    if t < 16:
        base = cuda.blockIdx.x * N + starts[t]
        for j in range(counts[t]):
            out[base + j] = t


@cuda.jit
def last_block(a, partial, done, total):
    s = cuda.shared.array(N, float32)
    am_last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    k = N // 2
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]
        cuda.threadfence()
        seen = cuda.atomic.add(done, 0, 1)
        am_last[0] = 1 if seen == cuda.gridDim.x - 1 else 0
    cuda.syncthreads()
    if am_last[0] == 1 and t == 0:
        x = float32(0)
        for b in range(cuda.gridDim.x):
            x += partial[b]
        total[0] = x


@cuda.jit
def triangular(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    acc = float32(0)
    for k in range(b + 1):
        s[t] = a[k * N + t]
        cuda.syncthreads()
        acc += s[N - 1 - t]
        cuda.syncthreads()
    o[b * N + t] = acc


@cuda.jit
def double_buffer(a, b, c):
    sa = cuda.shared.array((2, 8, 8), float32)
    sb = cuda.shared.array((2, 8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    buf = 0
    acc = float32(0)
    sa[0, ty, tx] = a[y, tx]
    sb[0, ty, tx] = b[ty, x]
    cuda.syncthreads()
    for k0 in range(8, a.shape[1] + 8, 8):
        if k0 < a.shape[1]:
            sa[1 - buf, ty, tx] = a[y, k0 + tx]
            sb[1 - buf, ty, tx] = b[k0 + ty, x]
        for k in range(8):
            acc += sa[buf, ty, k] * sb[buf, k, tx]
        cuda.syncthreads()
        buf = 1 - buf
    c[y, x] = acc


@cuda.jit
def names_taken(a, o, block_id):
    staged = cuda.shared.array(N, float32)
    v_tb_id = cuda.threadIdx.x
    turn = cuda.blockIdx.x
    v_t_id = turn * cuda.blockDim.x + v_tb_id
    staged[v_tb_id] = a[v_t_id]
    cuda.syncthreads()
    o[v_t_id] = staged[(v_tb_id + block_id) % N]


def _laplacian(q: Matrix) -> Matrix:
    out = np.zeros_like(q)
    inner = slice(1, -1)
    for axis in range(3):
        out[inner, inner, inner] += (np.roll(q, 1, axis) + np.roll(q, -1, axis) - 2 * q)[inner, inner, inner]
    return out


def _lu(matrix: Matrix) -> Matrix:
    m = matrix.astype(np.float64)
    for k in range(8):
        m[k + 1 :, k] /= m[k, k]
        m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return m


WIDE = A[:720].reshape(30, 24)
CUBE = A.reshape(4, 16, 16)
MATRICES = (X / 64).reshape(6, 8, 8) + 8 * np.eye(8, dtype=np.float32)
KEYS = (X % 16).astype(np.uint8)
LEFT, RIGHT = A[:256].reshape(16, 16), A[256:512].reshape(16, 16)
SIX, ONE = np.zeros(6, np.float32), np.zeros(1, np.float32)
CLASSIC = [
    Written(transpose_with_edges, (2, 2), (TILE, STEP), (WIDE, np.zeros((24, 30), np.float32)), WIDE.T),
    Written(hillis_steele, 6, N, (X, ZEROS), ROWS.cumsum(1).ravel()),
    Written(blelloch, 6, HALF, (X, SIX, ZEROS), (ROWS.cumsum(1) - ROWS).ravel()),
    Written(stencil_3d, (2, 2), (8, 8), (CUBE, np.zeros_like(CUBE)), _laplacian(CUBE)),
    Written(batched_lu, 6, (8, 8), (MATRICES,), np.stack([_lu(m) for m in MATRICES]), 1e-5),
    Written(counting_sort, 6, N, (KEYS, np.zeros(384, np.uint8)), np.sort(KEYS.reshape(6, N), 1).ravel()),
    Written(last_block, 6, N, (X, SIX, np.zeros(1, np.int32), ONE), [X.sum()]),
    Written(triangular, 6, N, (X, ZEROS), ROWS[:, ::-1].cumsum(0).ravel()),
    Written(double_buffer, (2, 2), (8, 8), (LEFT, RIGHT, np.zeros((16, 16), np.float32)), LEFT @ RIGHT),
    Written(names_taken, 6, N, (X, ZEROS, 3), X[PLACE // N * N + (PLACE + 3) % N]),
]
