"""Matrices, stencils, images and cellular automata: tiles in shared memory."""

from __future__ import annotations

import numpy as np

from smmux import cuda, float32, int32
from tests.multiplex.written_kernels import ZEROS, A, N, Written, X

T = 8
R = 2
MASK = np.array([1, 2, 1, 2, 4, 2, 1, 2, 1], np.float32)


@cuda.jit
def matmul_with_edges(a, b, c):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * T + ty
    col = cuda.blockIdx.x * T + tx
    total = float32(0)
    for m in range((a.shape[1] + T - 1) // T):
        if row < a.shape[0] and m * T + tx < a.shape[1]:
            sa[ty, tx] = a[row, m * T + tx]
        else:
            sa[ty, tx] = 0
        if m * T + ty < b.shape[0] and col < b.shape[1]:
            sb[ty, tx] = b[m * T + ty, col]
        else:
            sb[ty, tx] = 0
        cuda.syncthreads()
        for k in range(T):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


@cuda.jit
def matmul_prefetched(a, b, c):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    next_a, next_b = a[y, tx], b[ty, x]
    acc = float32(0)
    for m in range(a.shape[1] // T):
        sa[ty, tx] = next_a
        sb[ty, tx] = next_b
        cuda.syncthreads()
        if m + 1 < a.shape[1] // T:
            next_a = a[y, (m + 1) * T + tx]
            next_b = b[(m + 1) * T + ty, x]
        for k in range(T):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def transpose_square(a, o):
    tile = cuda.shared.array((T, T + 1), float32)
    x, y = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * T + cuda.threadIdx.x
    y = cuda.blockIdx.x * T + cuda.threadIdx.y
    o[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit
def matrix_vector(a, x, y):
    part = cuda.shared.array(N, float32)
    row = cuda.grid(1)
    acc = float32(0)
    for first in range(0, a.shape[1], N):
        if first + cuda.threadIdx.x < a.shape[1]:
            part[cuda.threadIdx.x] = x[first + cuda.threadIdx.x]
        cuda.syncthreads()
        for k in range(min(N, a.shape[1] - first)):
            if row < a.shape[0]:
                acc += a[row, first + k] * part[k]
        cuda.syncthreads()
    if row < a.shape[0]:
        y[row] = acc


@cuda.jit
def gram(a, o):
    left = cuda.shared.array((T, T), float32)
    right = cuda.shared.array((T, T), float32)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    acc = float32(0)
    for k in range(0, a.shape[0], T):
        left[i, j] = a[k + i, cuda.blockIdx.y * T + j]
        right[i, j] = a[k + i, cuda.blockIdx.x * T + j]
        cuda.syncthreads()
        for m in range(T):
            acc += left[m, i] * right[m, j]
        cuda.syncthreads()
    o[cuda.blockIdx.y * T + i, cuda.blockIdx.x * T + j] = acc


@cuda.jit
def floyd_warshall(d):
    s = cuda.shared.array((T, T), int32)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    s[i, j] = d[cuda.blockIdx.x, i, j]
    cuda.syncthreads()
    for k in range(T):
        through = s[i, k] + s[k, j]
        cuda.syncthreads()
        if through < s[i, j]:
            s[i, j] = through
        cuda.syncthreads()
    d[cuda.blockIdx.x, i, j] = s[i, j]


@cuda.jit
def gauss_jordan(m, o):
    s = cuda.shared.array((T, T + 1), float32)
    factors = cuda.shared.array(T, float32)
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    s[row, col] = m[cuda.blockIdx.x, row, col]
    cuda.syncthreads()
    for k in range(T):
        pivot = s[k, k]
        cuda.syncthreads()
        if row == k:
            s[k, col] /= pivot
        cuda.syncthreads()
        if col == k:
            factors[row] = s[row, k]
        cuda.syncthreads()
        if row != k:
            s[row, col] -= factors[row] * s[k, col]
        cuda.syncthreads()
    if col == T:
        o[cuda.blockIdx.x, row] = s[row, T]


@cuda.jit
def back_substitution(m, b, x):
    s = cuda.shared.array(T, float32)
    t = cuda.threadIdx.x
    y = b[cuda.blockIdx.x, t]
    for k in range(T - 1, -1, -1):
        if t == k:
            s[k] = y / m[cuda.blockIdx.x, k, k]
        cuda.syncthreads()
        if t < k:
            y -= m[cuda.blockIdx.x, t, k] * s[k]
    x[cuda.blockIdx.x, t] = s[t]


@cuda.jit
def heat_1d(u, o, steps):
    s = cuda.shared.array((2, N + 2), float32)
    t = cuda.threadIdx.x
    g = cuda.grid(1)
    now, later = 0, 1
    s[0, t + 1] = u[g]
    if t == 0:
        s[0, 0] = s[1, 0] = 0
        s[0, N + 1] = s[1, N + 1] = 0
    cuda.syncthreads()
    for _ in range(steps):
        s[later, t + 1] = (s[now, t] + 2 * s[now, t + 1] + s[now, t + 2]) * float32(0.25)
        cuda.syncthreads()
        now, later = later, now
    o[g] = s[now, t + 1]


@cuda.jit
def heat_exchanged(u, o, steps):
    now = cuda.shared.array(N + 2, float32)
    later = cuda.shared.array(N + 2, float32)
    t = cuda.threadIdx.x
    now[t + 1] = u[cuda.grid(1)]
    if t == 0:
        now[0] = later[0] = now[N + 1] = later[N + 1] = 0
    cuda.syncthreads()
    for _ in range(steps):
        later[t + 1] = (now[t] + 2 * now[t + 1] + now[t + 2]) * float32(0.25)
        cuda.syncthreads()
        now, later = later, now
    o[cuda.grid(1)] = now[t + 1]


@cuda.jit
def five_points(u, o):
    s = cuda.shared.array((T + 2, T + 2), float32)
    x, y = cuda.grid(2)
    h, w = u.shape
    i, j = cuda.threadIdx.y + 1, cuda.threadIdx.x + 1
    s[i, j] = u[y, x]
    if i == 1:
        s[0, j] = u[max(y - 1, 0), x]
    if i == T:
        s[T + 1, j] = u[min(y + 1, h - 1), x]
    if j == 1:
        s[i, 0] = u[y, max(x - 1, 0)]
    if j == T:
        s[i, T + 1] = u[y, min(x + 1, w - 1)]
    cuda.syncthreads()
    o[y, x] = s[i - 1, j] + s[i + 1, j] + s[i, j - 1] + s[i, j + 1] - 4 * s[i, j]


@cuda.jit
def convolution(u, o):
    mask = cuda.const.array_like(MASK)
    s = cuda.shared.array((T + 2, T + 2), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first_x, first_y = cuda.blockIdx.x * T - 1, cuda.blockIdx.y * T - 1
    for k in range(ty * T + tx, (T + 2) * (T + 2), T * T):
        i, j = k // (T + 2), k % (T + 2)
        y, x = first_y + i, first_x + j
        inside = 0 <= y and y < u.shape[0] and 0 <= x and x < u.shape[1]
        s[i, j] = u[y, x] if inside else float32(0)
    cuda.syncthreads()
    acc = float32(0)
    for i in range(3):
        for j in range(3):
            acc += mask[3 * i + j] * s[ty + i, tx + j]
    o[first_y + 1 + ty, first_x + 1 + tx] = acc


@cuda.jit
def sobel(u, o):
    s = cuda.shared.array((T + 2, T + 2), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for i in range(ty, T + 2, T):
        for j in range(tx, T + 2, T):
            yy = min(max(cuda.blockIdx.y * T + i - 1, 0), u.shape[0] - 1)
            xx = min(max(cuda.blockIdx.x * T + j - 1, 0), u.shape[1] - 1)
            s[i, j] = u[yy, xx]
    cuda.syncthreads()
    gx = s[ty, tx + 2] + 2 * s[ty + 1, tx + 2] + s[ty + 2, tx + 2]
    gx -= s[ty, tx] + 2 * s[ty + 1, tx] + s[ty + 2, tx]
    gy = s[ty + 2, tx] + 2 * s[ty + 2, tx + 1] + s[ty + 2, tx + 2]
    gy -= s[ty, tx] + 2 * s[ty, tx + 1] + s[ty, tx + 2]
    o[y, x] = abs(gx) + abs(gy)


@cuda.jit
def median_of_five(a, o):
    s = cuda.shared.array(N + 2 * R, float32)
    t = cuda.threadIdx.x
    g = cuda.grid(1)
    s[t + R] = a[g]
    if t < R:
        s[t] = a[max(g - R, 0)]
    if t >= N - R:
        s[t + 2 * R] = a[min(g + R, a.size - 1)]
    cuda.syncthreads()
    window = cuda.local.array(5, float32)
    for k in range(5):
        window[k] = s[t + k]
    for k in range(3):
        for m in range(k + 1, 5):
            if window[m] < window[k]:
                window[k], window[m] = window[m], window[k]
    o[g] = window[2]


@cuda.jit
def life(cells, o, steps):
    s = cuda.shared.array((T, T), int32)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    s[i, j] = cells[cuda.blockIdx.x, i, j]
    cuda.syncthreads()
    for _ in range(steps):
        alive = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if di != 0 or dj != 0:
                    alive += s[(i + di) % T, (j + dj) % T]
        now = s[i, j]
        cuda.syncthreads()
        s[i, j] = 1 if alive == 3 or alive == 2 and now == 1 else 0
        cuda.syncthreads()
    o[cuda.blockIdx.x, i, j] = s[i, j]


@cuda.jit
def window_maximum(a, o, width):
    s = cuda.shared.array(2 * N, float32)
    t = cuda.threadIdx.x
    g = cuda.grid(1)
    s[t] = a[g]
    s[t + N] = a[g + N] if g + N < a.size else float32(-1)
    cuda.syncthreads()
    best = s[t]
    for k in range(1, width):
        best = max(best, s[t + k])
    o[g] = best


@cuda.jit
def jacobi_until(a, o, limit):
    s = cuda.shared.array(N + 2, float32)
    error = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    s[t + 1] = a[cuda.grid(1)]
    if t == 0:
        s[0] = 0
        s[N + 1] = 0
        error[0] = limit + 1
    cuda.syncthreads()
    while error[0] > limit:
        x = (s[t] + s[t + 2]) * float32(0.5)
        change = abs(x - s[t + 1])
        cuda.syncthreads()
        if t == 0:
            error[0] = 0
        s[t + 1] = x
        cuda.syncthreads()
        cuda.atomic.max(error, 0, change)
        cuda.syncthreads()
    o[cuda.grid(1)] = s[t + 1]


SQUARE, OTHER = A.reshape(32, 32), A[::-1].reshape(32, 32).copy()
LEFT, RIGHT = A[: 19 * 21].reshape(19, 21), A[100 : 100 + 21 * 30].reshape(21, 30)
TALL = A[:1000].reshape(100, 10)[:, :10].copy()
BATCH = (X / 64).reshape(6, T, T) + 8 * np.eye(T, dtype=np.float32)
SYSTEMS = np.concatenate([BATCH, X[:48].reshape(6, T, 1)], 2)
UPPER = np.triu(BATCH)
ROADS = (X.reshape(6, T, T) + 1).astype(np.int32)
CELLS = (X.reshape(6, T, T) % 3 == 0).astype(np.int32)
IMAGE = (SQUARE / 2).astype(np.int32)
PADDED = np.pad(SQUARE, 1)
EDGED = np.pad(SQUARE, 1, mode="edge")
WINDOWS = np.lib.stride_tricks.sliding_window_view(np.concatenate([X, np.full(63, -1, np.float32)]), 9)[:384]


def _shortest(roads: np.ndarray) -> np.ndarray:
    d = roads.copy()
    for k in range(T):
        d = np.minimum(d, d[:, :, k : k + 1] + d[:, k : k + 1, :])
    return d


def _life(cells: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        around = [np.roll(cells, (i, j), (1, 2)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        alive = np.sum(around, 0)
        cells = ((alive == 3) | ((alive == 2) & (cells == 1))).astype(np.int32)
    return cells


def _heat(rows: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        p = np.pad(rows, ((0, 0), (1, 1)))
        rows = (p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]) * np.float32(0.25)
    return rows.ravel()


def _jacobi(rows: np.ndarray, limit: float) -> np.ndarray:
    out = []
    for row in rows:
        error = limit + 1
        while error > limit:
            p = np.pad(row, 1)
            new = (p[:-2] + p[2:]) * np.float32(0.5)
            error, row = np.abs(new - row).max(), new
        out.append(row)
    return np.concatenate(out)


def _sobel(image: np.ndarray) -> np.ndarray:
    p = np.pad(image, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    return np.abs(gx) + np.abs(gy)


def _blurred() -> np.ndarray:
    mask = MASK.reshape(3, 3)
    return sum(mask[i, j] * PADDED[i : i + 32, j : j + 32] for i in range(3) for j in range(3))


ROWS = X.reshape(6, N)
FLAT = np.pad(X, 2, mode="edge")
FLAT[:2], FLAT[-2:] = X[0], X[-1]
ZERO_SQUARE = np.zeros((32, 32), np.float32)
GRIDS = [
    Written(matmul_with_edges, (4, 3), (T, T), (LEFT, RIGHT, np.zeros((19, 30), np.float32)), LEFT @ RIGHT),
    Written(matmul_prefetched, (4, 4), (T, T), (SQUARE, OTHER, ZERO_SQUARE), SQUARE @ OTHER),
    Written(transpose_square, (4, 4), (T, T), (SQUARE, ZERO_SQUARE), SQUARE.T),
    Written(matrix_vector, 2, N, (TALL, A[:10].copy(), np.zeros(100, np.float32)), TALL @ A[:10]),
    Written(gram, (4, 4), (T, T), (SQUARE, ZERO_SQUARE), SQUARE.T @ SQUARE),
    Written(floyd_warshall, 6, (T, T), (ROADS,), _shortest(ROADS)),
    Written(gauss_jordan, 6, (T + 1, T), (SYSTEMS, np.zeros((6, T), np.float32)),
            np.linalg.solve(BATCH.astype(float), SYSTEMS[:, :, T:])[:, :, 0], 1e-4),
    Written(back_substitution, 6, T, (UPPER, X[:48].reshape(6, T), np.zeros((6, T), np.float32)),
            np.linalg.solve(UPPER.astype(float), X[:48].reshape(6, T, 1))[:, :, 0], 1e-4),
    Written(heat_1d, 6, N, (X, ZEROS, 5), _heat(ROWS, 5)),
    Written(heat_exchanged, 6, N, (X, ZEROS, 5), _heat(ROWS, 5)),
    Written(five_points, (4, 4), (T, T), (SQUARE, ZERO_SQUARE),
            EDGED[:-2, 1:-1] + EDGED[2:, 1:-1] + EDGED[1:-1, :-2] + EDGED[1:-1, 2:] - 4 * SQUARE),
    Written(convolution, (4, 4), (T, T), (SQUARE, ZERO_SQUARE), _blurred()),
    Written(sobel, (4, 4), (T, T), (IMAGE, np.zeros((32, 32), np.int32)), _sobel(IMAGE)),
    Written(median_of_five, 6, N, (X, ZEROS), np.median(np.lib.stride_tricks.sliding_window_view(FLAT, 5), 1)),
    Written(life, 6, (T, T), (CELLS, np.zeros_like(CELLS), 4), _life(CELLS, 4)),
    Written(window_maximum, 6, N, (X, ZEROS, 9), WINDOWS.max(1)),
    Written(jacobi_until, 6, N, (X, ZEROS, np.float32(2)), _jacobi(ROWS, 2.0)),
]  # fmt: skip
