"""Scans, sorts, transforms and systems of equations: a block's numbers lie in shared memory from step to step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.foreign.foreign_row import row
from smmux import cuda, float32
from smmux.benchmarks.base import Problem, close, eighths, equal, frozen, poisoned

__all__ = ["WORKLOADS"]

TOLERANCE = 1e-4
N = 256


@cuda.jit
def hillis_steele(data, out):
    """Sums of all before, doubling the distance, between two rows of shared memory."""
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


HALF = 512


@cuda.jit
def blelloch(data, out):
    """The same of 1024 numbers up and down a tree."""
    temp = cuda.shared.array(2 * HALF, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 2 * HALF
    temp[2 * t] = data[base + 2 * t]
    temp[2 * t + 1] = data[base + 2 * t + 1]
    offset = 1
    d = HALF
    while d > 0:
        cuda.syncthreads()
        if t < d:
            i = offset * (2 * t + 1) - 1
            j = offset * (2 * t + 2) - 1
            temp[j] += temp[i]
        offset *= 2
        d >>= 1
    cuda.syncthreads()
    if t == 0:
        temp[2 * HALF - 1] = 0
    d = 1
    while d < 2 * HALF:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            i = offset * (2 * t + 1) - 1
            j = offset * (2 * t + 2) - 1
            x = temp[i]
            temp[i] = temp[j]
            temp[j] += x
        d *= 2
    cuda.syncthreads()
    out[base + 2 * t] = temp[2 * t]
    out[base + 2 * t + 1] = temp[2 * t + 1]


@cuda.jit
def bitonic(a, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    k = 2
    while k <= N:
        j = k >> 1
        while j > 0:
            other = t ^ j
            if other > t:
                if (t & k) == 0:
                    if s[t] > s[other]:
                        s[t], s[other] = s[other], s[t]
                else:
                    if s[t] < s[other]:
                        s[t], s[other] = s[other], s[t]
            cuda.syncthreads()
            j >>= 1
        k <<= 1
    out[cuda.grid(1)] = s[t]


POINTS = 512
TURN = np.exp(-2j * np.pi * np.arange(POINTS // 2) / POINTS)
COS, SIN = frozen(TURN.real.astype(np.float32)), frozen(TURN.imag.astype(np.float32))


@cuda.jit
def fft(signal, cosines, sines, out):
    """A transform of 512 real points, 128 threads with two butterflies each."""
    re = cuda.shared.array(POINTS, float32)
    im = cuda.shared.array(POINTS, float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    for i in range(t, POINTS, 128):
        place = 0
        rest = i
        for _ in range(9):
            place = 2 * place + (rest & 1)
            rest >>= 1
        re[place] = signal[b, i]
        im[place] = 0
    cuda.syncthreads()
    half = 1
    while half < POINTS:
        for k in range(t, POINTS // 2, 128):
            j = k & (half - 1)
            i = 2 * (k - j) + j
            turn = j * (POINTS // 2 // half)
            c, s = cosines[turn], sines[turn]
            xr = c * re[i + half] - s * im[i + half]
            xi = c * im[i + half] + s * re[i + half]
            yr, yi = re[i], im[i]
            re[i + half] = yr - xr
            im[i + half] = yi - xi
            re[i] = yr + xr
            im[i] = yi + xi
        cuda.syncthreads()
        half *= 2
    for i in range(t, POINTS, 128):
        out[b, i, 0] = re[i]
        out[b, i, 1] = im[i]


@cuda.jit
def walsh(a, out):
    """A Walsh-Hadamard transform of 1024 numbers, in place."""
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * 1024
    for i in range(t, 1024, 128):
        s[i] = a[first + i]
    cuda.syncthreads()
    h = 1
    while h < 1024:
        for k in range(t, 512, 128):
            low = k & (h - 1)
            i = 2 * (k - low) + low
            x, y = s[i], s[i + h]
            s[i] = x + y
            s[i + h] = x - y
        cuda.syncthreads()
        h *= 2
    for i in range(t, 1024, 128):
        out[first + i] = s[i]


ORDER = 16


@cuda.jit
def factors(matrices, out):
    """Factors of a matrix of 16 x 16, without pivots."""
    a = cuda.shared.array((ORDER, ORDER + 1), float32)
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    b = cuda.blockIdx.x
    a[row, col] = matrices[b, row, col]
    cuda.syncthreads()
    for k in range(ORDER - 1):
        if row > k and col == k:
            a[row, k] /= a[k, k]
        cuda.syncthreads()
        if row > k and col > k:
            a[row, col] -= a[row, k] * a[k, col]
        cuda.syncthreads()
    out[b, row, col] = a[row, col]


ROWS = 256


@cuda.jit
def cyclic(lower, diagonal, upper, right, out):
    """A tridiagonal system of 256 equations by parallel cyclic reduction."""
    a = cuda.shared.array(ROWS, float32)
    b = cuda.shared.array(ROWS, float32)
    c = cuda.shared.array(ROWS, float32)
    d = cuda.shared.array(ROWS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    a[t], b[t], c[t], d[t] = lower[i], diagonal[i], upper[i], right[i]
    cuda.syncthreads()
    step = 1
    while step < ROWS:
        na, nb, nc, nd = float32(0), b[t], float32(0), d[t]
        if t >= step:
            k = a[t] / b[t - step]
            na = -(a[t - step] * k)
            nb -= c[t - step] * k
            nd -= d[t - step] * k
        if t + step < ROWS:
            k = c[t] / b[t + step]
            nc = -(c[t + step] * k)
            nb -= a[t + step] * k
            nd -= d[t + step] * k
        cuda.syncthreads()
        a[t], b[t], c[t], d[t] = na, nb, nc, nd
        cuda.syncthreads()
        step *= 2
    out[i] = d[t] / b[t]


BASIS = np.array(
    [[math.sqrt((1 if u == 0 else 2) / 8) * math.cos((2 * x + 1) * u * math.pi / 16) for x in range(8)]
     for u in range(8)], np.float32,
)  # fmt: skip


@cuda.jit
def cosines(image, basis, out):
    """A cosine transform of blocks of 8 x 8 pixels, eight of them beside one another."""
    pixels = cuda.shared.array((8, 64), float32)
    half = cuda.shared.array((8, 64), float32)
    m = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    pixels[ty, tx] = image[y, x]
    if tx < 8:
        m[ty, tx] = basis[ty, tx]
    cuda.syncthreads()
    first, u = tx & 56, tx & 7
    total = float32(0)
    for k in range(8):
        total += pixels[ty, first + k] * m[u, k]
    half[ty, tx] = total
    cuda.syncthreads()
    total = float32(0)
    for k in range(8):
        total += half[k, tx] * m[ty, k]
    out[y, x] = total


WIDTH = 1024


@cuda.jit
def softmax(a, out):
    """Rows of 1024 numbers, kept in shared memory between their maximum, sum and quotient."""
    line = cuda.shared.array(WIDTH, float32)
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    most = float32(-1e30)
    for i in range(t, WIDTH, 128):
        x = a[b, i]
        line[i] = x
        most = max(most, x)
    part[t] = most
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            part[t] = max(part[t], part[t + k])
        cuda.syncthreads()
        k //= 2
    most = part[0]
    cuda.syncthreads()
    total = float32(0)
    for i in range(t, WIDTH, 128):
        e = math.exp(line[i] - most)
        line[i] = e
        total += e
    part[t] = total
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            part[t] += part[t + k]
        cuda.syncthreads()
        k //= 2
    total = part[0]
    for i in range(t, WIDTH, 128):
        out[b, i] = line[i] / total


def _numbers(seed: int, *shape: int) -> NDArray[np.float32]:
    return eighths(np.random.default_rng(seed), shape)


def _scan(blocks: int, each: int, threads: int, inclusive: bool) -> Problem:
    data = _numbers(1, blocks * each)
    rows = data.reshape(blocks, each)
    answer = (rows.cumsum(1) - (0 if inclusive else rows)).ravel()
    return Problem(
        grid=(blocks,),
        block=(threads,),
        arguments=lambda: (data, poisoned(data.size, np.float32)),
        check=lambda args: equal("scan", args[1], answer),
    )


def _sorted(blocks: int) -> Problem:
    data = frozen(np.random.default_rng(2).random(blocks * N, np.float32))
    answer = np.sort(data.reshape(blocks, N), 1).ravel()
    return Problem(
        grid=(blocks,),
        block=(N,),
        arguments=lambda: (data, poisoned(data.size, np.float32)),
        check=lambda args: equal("sorted", args[1], answer),
    )


def _spectrum(blocks: int) -> Problem:
    signal = _numbers(3, blocks, POINTS)
    answer = np.fft.fft(signal)
    return Problem(
        grid=(blocks,),
        block=(128,),
        arguments=lambda: (signal, COS, SIN, poisoned((blocks, POINTS, 2), np.float32)),
        check=lambda args: close("spectrum", args[3], np.stack([answer.real, answer.imag], 2), TOLERANCE),
    )


def _hadamard(blocks: int) -> Problem:
    data = _numbers(4, blocks * 1024)
    answer = data.reshape(blocks, 1024).copy()
    h = 1
    while h < 1024:
        pairs = answer.reshape(blocks, -1, 2, h)
        answer = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(blocks, -1)
        h *= 2
    return Problem(
        grid=(blocks,),
        block=(128,),
        arguments=lambda: (data, poisoned(data.size, np.float32)),
        check=lambda args: equal("transform", args[1], answer.ravel()),
    )


def _factors(blocks: int) -> Problem:
    matrices = frozen(_numbers(5, blocks, ORDER, ORDER) + 16 * np.eye(ORDER, dtype=np.float32))
    answer = matrices.astype(np.float64)
    for k in range(ORDER - 1):
        answer[:, k + 1 :, k] /= answer[:, k, k, None]
        answer[:, k + 1 :, k + 1 :] -= answer[:, k + 1 :, k, None] * answer[:, k, None, k + 1 :]
    return Problem(
        grid=(blocks,),
        block=(ORDER, ORDER),
        arguments=lambda: (matrices, poisoned(matrices.shape, np.float32)),
        check=lambda args: close("factors", args[1], answer, TOLERANCE),
    )


def _system(blocks: int) -> Problem:
    lower, upper, right = (_numbers(seed, blocks, ROWS).copy() for seed in (6, 7, 8))
    lower[:, 0] = upper[:, -1] = 0
    diagonal = np.full((blocks, ROWS), 4, np.float32)
    inputs = [frozen(each.ravel()) for each in (lower, diagonal, upper, right)]

    def check(args: tuple[Any, ...]) -> None:
        x = args[4].reshape(blocks, ROWS).astype(np.float64)
        product = 4 * x
        product[:, 1:] += lower[:, 1:] * x[:, :-1]
        product[:, :-1] += upper[:, :-1] * x[:, 1:]
        close("right side of the solution", product, right, TOLERANCE)

    return Problem(
        grid=(blocks,),
        block=(ROWS,),
        arguments=lambda: (*inputs, poisoned(blocks * ROWS, np.float32)),
        check=check,
    )


def _cosines(n: int) -> Problem:
    """An image of n strips of n times 64 pixels."""
    image = _numbers(9, 8 * n, 64 * n)
    tiles = image.reshape(n, 8, 8 * n, 8)
    answer = np.einsum("ux,arcx,vr->avcu", BASIS, tiles, BASIS).reshape(image.shape)
    return Problem(
        grid=(n, n),
        block=(64, 8),
        arguments=lambda: (image, BASIS, poisoned(image.shape, np.float32)),
        check=lambda args: close("cosines", args[2], answer, TOLERANCE),
    )


def _softmax(blocks: int) -> Problem:
    a = _numbers(10, blocks, WIDTH)
    e = np.exp(a.astype(np.float64))
    answer = e / e.sum(1, keepdims=True)
    return Problem(
        grid=(blocks,),
        block=(128,),
        arguments=lambda: (a, poisoned(a.shape, np.float32)),
        check=lambda args: close("softmax", args[1], answer, TOLERANCE),
    )


WORKLOADS = (
    row("SCAN", "Sums of all before", hillis_steele, lambda blocks: _scan(blocks, N, N, True), blocks=4096),
    row("TREE", "Sums of all before, by a tree", blelloch, lambda blocks: _scan(blocks, 2 * HALF, HALF, False),
        blocks=1056),
    row("BITONIC", "Bitonic sort", bitonic, _sorted, blocks=1056),
    row("FOURIER", "Fourier transform of 512 points", fft, _spectrum, blocks=2112),
    row("HADAMARD", "Walsh-Hadamard transform", walsh, _hadamard, blocks=2112),
    row("FACTORS", "Factors of small matrices", factors, _factors, blocks=4096),
    row("CYCLIC", "Tridiagonal systems", cyclic, _system, blocks=2112),
    row("COSINES", "Cosine transform of 8 x 8", cosines, _cosines, n=64),
    row("SOFTMAX", "Softmax of rows", softmax, _softmax, blocks=4096),
)  # fmt: skip
