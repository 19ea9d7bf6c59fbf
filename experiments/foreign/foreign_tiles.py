"""Matrices, images and grids: a block's tile lies in shared memory, with or without a border."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.foreign.foreign_row import row
from smmux import cuda, float32
from smmux.benchmarks.base import Problem, close, eighths, equal, frozen, poisoned

__all__ = ["WORKLOADS"]

T = 16
"""Threads along each side of a block."""
TOLERANCE = 1e-4


@cuda.jit
def matmul(a, b, c):
    """A product of matrices of any size."""
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
def prefetched(a, b, c):
    """The same of whole tiles, the next of which are loaded while a block multiplies."""
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


SIDE, STEP = 32, 8
"""Side of the tile of the transposition, and its rows that a block loads at a time."""


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((SIDE, SIDE + 1), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * SIDE + tx
    y = cuda.blockIdx.y * SIDE + ty
    for j in range(0, SIDE, STEP):
        tile[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * SIDE + tx
    y = cuda.blockIdx.x * SIDE + ty
    for j in range(0, SIDE, STEP):
        out[y + j, x] = tile[tx, ty + j]


RADIUS = 2
WINDOW = 2 * RADIUS + 1
WIDE = T + 2 * RADIUS
MASK = eighths(np.random.default_rng(5), WINDOW * WINDOW)


@cuda.jit
def convolution(image, out):
    """A window of 5 x 5 weights; outside the image there are zeros."""
    tile = cuda.shared.array((WIDE, WIDE), float32)
    mask = cuda.const.array_like(MASK)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    left, top = cuda.blockIdx.x * T - RADIUS, cuda.blockIdx.y * T - RADIUS
    for j in range(ty, WIDE, T):
        for i in range(tx, WIDE, T):
            inside = 0 <= left + i < image.shape[1] and 0 <= top + j < image.shape[0]
            tile[j, i] = image[top + j, left + i] if inside else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for r in range(WINDOW):
        for c in range(WINDOW):
            total += tile[ty + r, tx + c] * mask[r * WINDOW + c]
    out[y, x] = total


STEPS = 4


@cuda.jit
def heat(u, out):
    """Four steps of heat in a tile of 32 x 32 of which the inner 24 x 24 come out right."""
    old = cuda.shared.array((32, 32), float32)
    new = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * (32 - 2 * STEPS) + tx
    y0 = cuda.blockIdx.y * (32 - 2 * STEPS)
    for j in range(ty, 32, 8):
        old[j, tx] = u[y0 + j, x]
    cuda.syncthreads()
    for _ in range(STEPS):
        for j in range(ty, 32, 8):
            if 0 < tx < 31 and 0 < j < 31:
                ring = old[j - 1, tx] + old[j + 1, tx] + old[j, tx - 1] + old[j, tx + 1]
                new[j, tx] = old[j, tx] + float32(0.125) * (ring - float32(4) * old[j, tx])
        cuda.syncthreads()
        for j in range(ty, 32, 8):
            if 0 < tx < 31 and 0 < j < 31:
                old[j, tx] = new[j, tx]
        cuda.syncthreads()
    for j in range(ty, 32, 8):
        if STEPS <= tx < 32 - STEPS and STEPS <= j < 32 - STEPS:
            out[y0 + j, x] = old[j, tx]


@cuda.jit(device=True)
def ordered(a, b):
    return min(a, b), max(a, b)


@cuda.jit
def median(image, out):
    """The middle one of 3 x 3 pixels, by a network of comparisons."""
    tile = cuda.shared.array((T + 2, T + 2), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(ty, T + 2, T):
        for i in range(tx, T + 2, T):
            tile[j, i] = image[cuda.blockIdx.y * T + j, cuda.blockIdx.x * T + i]
    cuda.syncthreads()
    p0, p1, p2 = tile[ty, tx], tile[ty, tx + 1], tile[ty, tx + 2]
    p3, p4, p5 = tile[ty + 1, tx], tile[ty + 1, tx + 1], tile[ty + 1, tx + 2]
    p6, p7, p8 = tile[ty + 2, tx], tile[ty + 2, tx + 1], tile[ty + 2, tx + 2]
    p1, p2 = ordered(p1, p2)
    p4, p5 = ordered(p4, p5)
    p7, p8 = ordered(p7, p8)
    p0, p1 = ordered(p0, p1)
    p3, p4 = ordered(p3, p4)
    p6, p7 = ordered(p6, p7)
    p1, p2 = ordered(p1, p2)
    p4, p5 = ordered(p4, p5)
    p7, p8 = ordered(p7, p8)
    p3 = max(p0, p3)
    p5 = min(p5, p8)
    p4, p7 = ordered(p4, p7)
    p6 = max(p3, p6)
    p4 = max(p1, p4)
    p2 = min(p2, p5)
    p4 = min(p4, p7)
    p4, p2 = ordered(p4, p2)
    p4 = max(p6, p4)
    x, y = cuda.grid(2)
    out[y, x] = min(p4, p2)


@cuda.jit
def seven_points(u, out):
    """A stencil in three dimensions; a plane lies in shared memory, those beside it in registers."""
    plane = cuda.shared.array((T + 2, T + 2), float32)
    nz, ny, nx = u.shape
    x, y = cuda.grid(2)
    i, j = x + 1, y + 1
    tx, ty = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    below = u[0, j, i]
    here = u[1, j, i]
    for k in range(1, nz - 1):
        above = u[k + 1, j, i]
        plane[ty, tx] = here
        if tx == 1:
            plane[ty, 0] = u[k, j, i - 1]
        if tx == T:
            plane[ty, T + 1] = u[k, j, i + 1]
        if ty == 1:
            plane[0, tx] = u[k, j - 1, i]
        if ty == T:
            plane[T + 1, tx] = u[k, j + 1, i]
        cuda.syncthreads()
        ring = plane[ty - 1, tx] + plane[ty + 1, tx] + plane[ty, tx - 1] + plane[ty, tx + 1]
        out[k, j, i] = below + above + ring - float32(6) * here
        cuda.syncthreads()
        below, here = here, above


KEYS, DEPTH = 32, 16
"""Keys of an attention, and numbers of each."""


@cuda.jit
def attention(q, k, v, out):
    """Attention to 32 keys, each thread with a query of its own, whose weights lie in shared memory too."""
    keys = cuda.shared.array((KEYS, DEPTH), float32)
    values = cuda.shared.array((KEYS, DEPTH), float32)
    weights = cuda.shared.array((KEYS, 65), float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    i = cuda.grid(1)
    for j in range(t, KEYS * DEPTH, 64):
        keys[j // DEPTH, j % DEPTH] = k[b, j // DEPTH, j % DEPTH]
        values[j // DEPTH, j % DEPTH] = v[b, j // DEPTH, j % DEPTH]
    cuda.syncthreads()
    most = float32(-1e30)
    for j in range(KEYS):
        score = float32(0)
        for d in range(DEPTH):
            score += q[d, i] * keys[j, d]
        weights[j, t] = score
        most = max(most, score)
    total = float32(0)
    for j in range(KEYS):
        w = math.exp(weights[j, t] - most)
        weights[j, t] = w
        total += w
    for d in range(DEPTH):
        acc = float32(0)
        for j in range(KEYS):
            acc += weights[j, t] * values[j, d]
        out[d, i] = acc / total


def _random(seed: int, *shape: int) -> NDArray[np.float32]:
    return eighths(np.random.default_rng(seed), shape)


def _product(n: int, edges: int) -> Problem:
    """Matrices of 16 n rows and columns, less some at the edges."""
    side = T * n - edges
    a, b = _random(1, side, side), _random(2, side, side)
    answer = a @ b
    return Problem(
        grid=(n, n),
        block=(T, T),
        arguments=lambda: (a, b, poisoned((side, side), np.float32)),
        check=lambda args: equal("product", args[2], answer),
    )


def _transposed(n: int) -> Problem:
    a = _random(3, SIDE * n, SIDE * n)
    return Problem(
        grid=(n, n),
        block=(SIDE, STEP),
        arguments=lambda: (a, poisoned(a.shape, np.float32)),
        check=lambda args: equal("transposed", args[1], a.T),
    )


def _convolved(n: int) -> Problem:
    image = _random(4, T * n, T * n)
    wide = np.pad(image, RADIUS)
    windows = np.lib.stride_tricks.sliding_window_view(wide, (WINDOW, WINDOW))
    answer = np.einsum("yxrc,rc->yx", windows, MASK.reshape(WINDOW, WINDOW))
    return Problem(
        grid=(n, n),
        block=(T, T),
        arguments=lambda: (image, poisoned(image.shape, np.float32)),
        check=lambda args: equal("convolved", args[1], answer),
    )


def _heated(n: int) -> Problem:
    side = 24 * n + 2 * STEPS
    u = _random(6, side, side)
    wanted: Any = u.astype(np.float64)
    for _ in range(STEPS):
        ring = wanted[:-2, 1:-1] + wanted[2:, 1:-1] + wanted[1:-1, :-2] + wanted[1:-1, 2:]
        wanted = wanted[1:-1, 1:-1] + 0.125 * (ring - 4 * wanted[1:-1, 1:-1])
    return Problem(
        grid=(n, n),
        block=(32, 8),
        arguments=lambda: (u, poisoned(u.shape, np.float32)),
        check=lambda args: close("heat", args[1][STEPS:-STEPS, STEPS:-STEPS], wanted, TOLERANCE),
    )


def _middles(n: int) -> Problem:
    image = frozen(np.random.default_rng(7).random((T * n + 2, T * n + 2), np.float32))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    answer = np.median(windows.reshape(T * n, T * n, 9), 2)
    return Problem(
        grid=(n, n),
        block=(T, T),
        arguments=lambda: (image, poisoned((T * n, T * n), np.float32)),
        check=lambda args: equal("median", args[1], answer),
    )


def _cube(n: int, planes: int) -> Problem:
    u = _random(8, planes, T * n + 2, T * n + 2)
    inner = slice(1, -1)
    around = [np.roll(u, step, axis) for axis in range(3) for step in (1, -1)]
    answer = (sum(around) - 6 * u)[inner, inner, inner]
    return Problem(
        grid=(n, n),
        block=(T, T),
        arguments=lambda: (u, poisoned(u.shape, np.float32)),
        check=lambda args: equal("seven points", args[1][inner, inner, inner], answer),
    )


def _attended(blocks: int) -> Problem:
    """So many blocks of 64 queries."""
    q, k, v = _random(9, DEPTH, 64 * blocks), _random(10, blocks, KEYS, DEPTH), _random(11, blocks, KEYS, DEPTH)
    scores = np.einsum("dbi,bjd->bij", q.reshape(DEPTH, blocks, 64).astype(np.float64), k)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    weights /= weights.sum(2, keepdims=True)
    answer = np.einsum("bij,bjd->dbi", weights, v).reshape(DEPTH, -1)
    return Problem(
        grid=(blocks,),
        block=(64,),
        arguments=lambda: (q, k, v, poisoned(q.shape, np.float32)),
        check=lambda args: close("attention", args[3], answer, TOLERANCE),
    )


WORKLOADS = (
    row("MATMUL", "Product of matrices", matmul, lambda n: _product(n, 5), n=32),
    row("PREFETCH", "Product of matrices, loaded ahead", prefetched, lambda n: _product(n, 0), n=32),
    row("TRANSPOSE", "Transposition", transpose, _transposed, n=64),
    row("CONVOLUTION", "Window of 5 x 5 weights", convolution, _convolved, n=64),
    row("HEAT", "Four steps of heat", heat, _heated, n=48),
    row("MEDIAN", "Median of 3 x 3", median, _middles, n=64),
    row("SEVEN", "Stencil in three dimensions", seven_points, _cube, n=24, planes=20),
    row("ATTENTION", "Attention to 32 keys", attention, _attended, blocks=1056),
)
