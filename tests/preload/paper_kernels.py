"""The kernels that TELEPORT's authors ran their analyzer on, written compactly: only what their indices are made of.

Arrays are flat and sizes are arguments, as in the CUDA sources. Each case has the class of every load of global memory
as a reader of the source gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smmux import cuda

N = 64
"""Rows and columns of the small launches here; blocks have 16 x 16 threads."""


@dataclass(frozen=True)
class Case:
    """A launch of a kernel. classes: of each load in the order of the source. reasons: part of the reason why there is
    no range, by class entry. entries: of the table."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    make: Callable[[], tuple[Any, ...]]
    classes: str
    reasons: tuple[str, ...] = ()
    entries: int = 0


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


def integers(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32) % 64


@cuda.jit
def mma(a, b, c, n):
    x, y = cuda.grid(2)
    if x < n and y < n:
        c[y * n + x] = a[y * n + x] + b[y * n + x]


@cuda.jit
def mma_columns(a, b, c, n):
    y, x = cuda.grid(2)
    if x < n and y < n:
        c[y * n + x] = a[y * n + x] + b[y * n + x]


@cuda.jit
def jacobi(b, out, n, w0, w1, w2):
    x, y = cuda.grid(2)
    x, y = x + 1, y + 1
    if x < n - 1 and y < n - 1:
        edges = b[(y - 1) * n + x] + b[(y + 1) * n + x] + b[y * n + x - 1] + b[y * n + x + 1]
        corners = b[(y - 1) * n + x - 1] + b[(y - 1) * n + x + 1] + b[(y + 1) * n + x - 1] + b[(y + 1) * n + x + 1]
        out[y * n + x] = w0 * b[y * n + x] + w1 * edges + w2 * corners


@cuda.jit
def sobel(image, out, width, height):
    x, y = cuda.grid(2)
    if 0 < x < width - 1 and 0 < y < height - 1:
        i = y * width + x
        left = image[i - width - 1] + 2 * image[i - 1] + image[i + width - 1]
        right = image[i - width + 1] + 2 * image[i + 1] + image[i + width + 1]
        out[i] = abs(right - left)


@cuda.jit
def hotspot(temperature, power, out, columns, rows, border, small):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    y = small * cuda.blockIdx.y - border + ty
    x = small * cuda.blockIdx.x - border + tx
    if 0 <= y < rows and 0 <= x < columns:
        out[y * columns + x] = temperature[y * columns + x] + power[y * columns + x]


@cuda.jit
def srad1(image, north, columns, rows):
    x, y = cuda.grid(2)
    i = y * columns + x
    if 0 < y < rows - 1 and 0 < x < columns - 1:
        centre = image[i]
        north[i] = image[i - columns] + image[i + columns] + image[i - 1] + image[i + 1] - 4 * centre


@cuda.jit
def srad2(coefficient, out, columns, rows):
    x, y = cuda.grid(2)
    i = y * columns + x
    if y < rows - 1 and x < columns - 1:
        out[i] = coefficient[i] + coefficient[i + columns] + coefficient[i + 1]


@cuda.jit
def srad_border(image, out, columns):
    x, y = cuda.grid(2)
    i = y * columns + x
    above = i - columns
    if y == 0:
        above = i
    out[i] = image[above]


@cuda.jit
def backprop_forward(inputs, weights, out, hidden):
    tx, ty, by = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.y
    index = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + hidden + 1
    out[(by * 16 + ty) * 16 + tx] = inputs[16 * by + ty + 1] * weights[index]


@cuda.jit
def backprop_adjust(delta, old, inputs, out, hidden):
    tx, ty, by = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.y
    index = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + hidden + 1
    out[index] = delta[tx + 1] * inputs[16 * by + ty + 1] + old[index]


@cuda.jit
def walsh(data, out, stride):
    p = cuda.grid(1)
    low = p & (stride - 1)
    first = ((p - low) << 2) + low
    out[p] = data[first] + data[first + stride] + data[first + 2 * stride] + data[first + 3 * stride]


@cuda.jit
def neurons(weights, inputs, out):
    bx, by, tx, ty = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x, cuda.threadIdx.y
    w = bx * 26
    total = weights[w]
    w += 1
    for i in range(25):
        total += inputs[by * 29 * 29 + 2 * ty * 29 + 2 * tx + i] * weights[w + i]
    out[(by * 6 + bx) * 13 * 13 + ty * 13 + tx] = total


@cuda.jit
def nearest(records, distances, width, count):
    i = cuda.grid(1)
    total = 0
    if i < count:
        for k in range(width):
            total += records[i * width + k]
        distances[i] = total


# A reader who substitutes definitions finds two of `index`; the analyzer sees that the loop advances it.
@cuda.jit
def laplace(u1, u2, nx, ny, nz):
    x, y = cuda.grid(2)
    step = nx * ny
    index = y * nx + x
    for _ in range(1, nz - 1):
        index += step
        if 0 < x < nx - 1 and 0 < y < ny - 1:
            u2[index] = u1[index - step] + u1[index + step] + u1[index - 1] + u1[index + 1]


@cuda.jit
def reduce5(data, out, n):
    tx = cuda.threadIdx.x
    i = cuda.blockIdx.x * (2 * cuda.blockDim.x) + tx
    out[cuda.blockIdx.x * cuda.blockDim.x + tx] = data[i] + data[i + cuda.blockDim.x]


@cuda.jit
def reduce6(data, out, n):
    tx = cuda.threadIdx.x
    i = cuda.blockIdx.x * (2 * cuda.blockDim.x) + tx
    total = 0.0
    while i < n:
        total += data[i] + data[i + cuda.blockDim.x]
        i += 2 * cuda.blockDim.x * cuda.gridDim.x
    out[cuda.blockIdx.x * cuda.blockDim.x + tx] = total


@cuda.jit
def histogram(data, counts, n):
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(counts, data[i], 1)
        i += cuda.gridsize(1)


@cuda.jit
def merge_histograms(partial, out, count):
    total = 0
    for i in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        total += partial[cuda.blockIdx.x + i * 64]
    out[cuda.grid(1)] = total


@cuda.jit
def breadth_first(nodes, edges, visited, cost, frontier, n):
    i = cuda.grid(1)
    if i < n and frontier[i] != 0:
        for k in range(nodes[i], nodes[i + 1]):
            other = edges[k]
            if visited[other] == 0:
                cost[other] = 1


@cuda.jit
def tree(roots, keys, children, out):
    bx, tx = cuda.blockIdx.x, cuda.threadIdx.x
    node = roots[bx]
    if keys[node * 16 + tx] > tx:
        out[bx * 16 + tx] = children[node * 16 + tx]


TILE = (16, 16)
SQUARE = (N // 16, N // 16)
Q, S, X = "quasi-static", "static", "non-precalculable"


def image() -> np.ndarray:
    return floats(N * N)


CASES = (
    Case("MMA", mma, SQUARE, TILE, lambda: (image(), image(), image(), N), "QQ", entries=32),
    Case("MMA by columns", mma_columns, SQUARE, TILE, lambda: (image(), image(), image(), N), "QQ", entries=32),
    Case("JAC", jacobi, SQUARE, TILE, lambda: (image(), image(), N, 0.5, 0.3, 0.2), "Q" * 9, entries=18),
    Case("EDS", sobel, SQUARE, TILE, lambda: (image(), image(), N, N), "Q" * 6, entries=18),
    Case("HSP", hotspot, (6, 6), TILE, lambda: (image(), image(), image(), N, N, 2, 12), "QQ", entries=32),
    Case("SRD 1", srad1, SQUARE, TILE, lambda: (image(), image(), N, N), "Q" * 5, entries=18),
    Case("SRD 2", srad2, SQUARE, TILE, lambda: (image(), image(), N, N), "QQQ", entries=17),
    Case("SRD border", srad_border, SQUARE, TILE, lambda: (image(), image(), N), "X", ("several definitions",)),
    Case("BKP 1", backprop_forward, (1, 4), TILE, lambda: (floats(65), floats(65 * 33), image(), 32), "SQ", entries=17),
    Case(
        "BKP 2",
        backprop_adjust,
        (1, 4),
        TILE,
        lambda: (floats(17), floats(65 * 33), floats(65), floats(65 * 33), 32),
        "SSQ",
        entries=18,
    ),
    Case("FWL", walsh, (4,), (64,), lambda: (floats(1024), floats(256), 16), "XXXX", ("a mask",) * 4),
    Case("NN", neurons, (2, 2), (13, 13), lambda: (floats(52), floats(2000), floats(8 * 2 * 169)), "SSS", entries=14),
    Case("NNC", nearest, (4,), (32,), lambda: (np.ones(1280, np.uint8), integers(128), 10, 128), "Q", entries=1),
    Case("LPS", laplace, (2, 4), (32, 4), lambda: (floats(4096), floats(4096), 64, 16, 4), "QQQQ", entries=16),
    Case("RDC 5", reduce5, (4,), (64,), lambda: (floats(512), floats(256), 512), "QQ", entries=1),
    Case("RDC 6", reduce6, (2,), (64,), lambda: (floats(512), floats(128), 512), "XX", ("block to block",) * 2),
    Case("HIS", histogram, (2,), (64,), lambda: (integers(512), integers(64), 512), "X", ("block to block",)),
    Case("HIS merge", merge_histograms, (64,), (32,), lambda: (integers(4096), integers(2048), 64), "Q", entries=64),
    Case(
        "BFS",
        breadth_first,
        (2,),
        (32,),
        lambda: (integers(65) // 8, integers(64), integers(64), integers(64), integers(64), 64),
        "QQQXX",
        ("loaded from 'nodes'", "loaded from 'edges'"),
        entries=2,
    ),
    Case(
        "BPT",
        tree,
        (4,),
        (16,),
        lambda: (integers(4), integers(64), integers(64), integers(64)),
        "SXX",
        ("loaded from 'roots'",) * 2,
        entries=1,
    ),
)
