"""Kernels in pairs: one that wastes accesses to memory, and one that computes the same without."""

from __future__ import annotations

from typing import Any

import numpy as np

from smmux import cuda, float32, int32
from smmux.kernel import Kernel

N = 1 << 14
TABLE = np.arange(16, dtype=np.float32) ** 2


def numbers(*shape: int) -> Any:
    return np.random.default_rng(7).integers(0, 100, shape).astype(np.float32)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


# ---- arrays of structures


@cuda.jit
def field_of_points(points, out):
    i = cuda.grid(1)
    out[i] = 2 * points[i, 0]  # here


@cuda.jit
def array_of_field(x, out):
    i = cuda.grid(1)
    out[i] = 2 * x[i]  # here


@cuda.jit
def store_field(points):
    for i in range(cuda.grid(1), N, cuda.gridsize(1)):
        points[2 * i + 1] = 10 * i  # here


@cuda.jit
def store_array(y):
    for i in range(cuda.grid(1), N, cuda.gridsize(1)):
        y[i] = 10 * i  # here


@cuda.jit
def mass_of_particles(particles, out):
    i = cuda.grid(1)
    out[i] = particles[i].mass  # here


PARTICLE = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("mass", "f4")])


def particles() -> Any:
    made = np.zeros(N, PARTICLE)
    made["mass"] = numbers(N)
    return made


@cuda.jit
def lengths_of_triples(v, out):
    i = cuda.grid(1)
    x, y, z = v[3 * i], v[3 * i + 1], v[3 * i + 2]  # here
    out[i] = x * x + y * y + z * z


@cuda.jit
def lengths_of_arrays(v, out):
    i = cuda.grid(1)
    x, y, z = v[i], v[N + i], v[2 * N + i]  # here
    out[i] = x * x + y * y + z * z


@cuda.jit
def sums_of_pixels(image, out):
    i = cuda.grid(1)
    red, green, blue = image[i, 0], image[i, 1], image[i, 2]  # here
    out[i] = red + green + blue


@cuda.jit
def sums_of_planes(image, out):
    i = cuda.grid(1)
    red, green, blue = image[0, i], image[1, i], image[2, i]  # here
    out[i] = red + green + blue


# ---- blocked assignment


@cuda.jit
def add_blocked(a, b, c, k):
    t = cuda.grid(1)
    for i in range(t * k, t * k + k):
        a[i] = b[i] + c[i]  # here


@cuda.jit
def add_interleaved(a, b, c, k):
    n = cuda.gridsize(1)
    for i in range(cuda.grid(1), n * k, n):
        a[i] = b[i] + c[i]  # here


@cuda.jit
def sums_of_chunks(a, out, flip):
    t = cuda.grid(1)
    total = float32(0)
    for j in range(10):
        total += a[t * 11 + j]  # here
    out[t] = total


@cuda.jit
def sums_of_columns(a, out, flip):
    t = cuda.grid(1)
    total = float32(0)
    for j in range(10):
        total += a[j * 4096 + t]  # here
    out[t] = total


@cuda.jit
def rows_of_matrix(a, out):
    t = cuda.grid(1)
    total = float32(0)
    for j in range(a.shape[1]):
        total += a[t, j]  # here
    out[t] = total


@cuda.jit
def columns_of_matrix(a, out):
    t = cuda.grid(1)
    total = float32(0)
    for j in range(a.shape[0]):
        total += a[j, t]  # here
    out[t] = total


# ---- strides


@cuda.jit
def scatter_rows(a, out):
    x, y = cuda.grid(2)
    value = a[y, x]
    out[x, y] = value  # here


@cuda.jit
def scatter_tiles(a, out):
    tile = cuda.shared.array((16, 18), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    tile[ty, tx] = a[y + ty, x + tx]
    cuda.syncthreads()
    out[x + ty, y + tx] = tile[tx, ty]  # here


@cuda.jit
def copy_down(a, out):
    x, y = cuda.grid(2)
    out[x, y] = 2 * a[x, y]  # here


@cuda.jit
def copy_along(a, out):
    x, y = cuda.grid(2)
    out[y, x] = 2 * a[y, x]  # here


# ---- banks


def in_planes(row: int) -> Kernel:
    """Each thread reads down a column of its own plane."""

    @cuda.jit
    def turn_planes(a, out, rounds):
        planes = cuda.shared.array((2, 16, row), float32)
        t, p = cuda.threadIdx.x, cuda.threadIdx.y
        for j in range(16):
            planes[p, j, t] = a[j, t]
        cuda.syncthreads()
        total = float32(0)
        for k in range(rounds):
            total += planes[p, t, k % 16]  # here
        out[cuda.blockIdx.x * 32 + 16 * p + t] = total

    return turn_planes


def turned(rows: int, row: int) -> Kernel:
    """Each thread reads several times what stands across the tile."""

    @cuda.jit
    def turn_tile(a, out, rounds):
        tile = cuda.shared.array((rows, row), float32)
        t = cuda.threadIdx.x
        for j in range(rows):
            tile[j, t] = a[j, t]
        cuda.syncthreads()
        total = float32(0)
        for k in range(rounds):
            total += tile[t, k % rows]  # here
        out[cuda.grid(1)] = total

    return turn_tile


def chunked(words: int) -> Kernel:
    """Each thread walks through a chunk of shared memory, as SM-1 of Aho-Corasick does."""

    @cuda.jit
    def walk_chunks(a, out, rounds):
        chunks = cuda.shared.array(64 * words, int32)
        t = cuda.threadIdx.x
        for j in range(16):
            i = j * 64 + t
            chunks[i // 16 * words + i % 16] = a[i]
        cuda.syncthreads()
        total = int32(0)
        for _ in range(rounds):
            for j in range(16):
                total = total * 3 + chunks[t * words + j]  # here
        out[cuda.grid(1)] = total

    return walk_chunks


def of_doubles(row: int) -> Kernel:
    """Doubles down a column."""

    @cuda.jit
    def turn_doubles(a, out, rounds):
        tile = cuda.shared.array((32, row), np.float64)
        t = cuda.threadIdx.x
        for j in range(32):
            tile[j, t] = a[j, t]
        cuda.syncthreads()
        total = 0.0
        for k in range(rounds):
            total += tile[t, k % 32]  # here
        out[cuda.grid(1)] = total

    return turn_doubles


# ---- partitions


@cuda.jit
def turn_matrix(a, out):
    tile = cuda.shared.array((16, 18), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    tile[ty, tx] = a[y + ty, x + tx]
    cuda.syncthreads()
    out[x + ty, y + tx] = tile[tx, ty]  # here


@cuda.jit
def walk_rows(a, out, pitch):
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    total = float32(0)
    for x in range(0, 1024, 64):
        total += a[row * pitch + x + t]  # here
    out[row * 64 + t] = total


# ---- tables


@cuda.jit
def constant_table(codes, out, rounds):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    code, total = codes[i], float32(0)
    for _ in range(rounds):
        total += table[code & 15]  # here
        code = (code >> 1) ^ (code << 3)
    out[i] = total


@cuda.jit
def texture_table(table, codes, out, rounds):
    i = cuda.grid(1)
    code, total = codes[i], float32(0)
    for _ in range(rounds):
        total += table[code & 15]  # here
        code = (code >> 1) ^ (code << 3)
    out[i] = total


# ---- barriers


@cuda.jit
def own_elements_only(a, out, rounds):
    kept = cuda.shared.array(256, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    kept[t] = a[i]
    for k in range(rounds):
        kept[t] = kept[t] * float32(0.5) + float32(k)
        cuda.syncthreads()  # here
    out[i] = kept[t]


@cuda.jit
def own_elements_freely(a, out, rounds):
    kept = cuda.shared.array(256, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    kept[t] = a[i]
    for k in range(rounds):
        kept[t] = kept[t] * float32(0.5) + float32(k)
    out[i] = kept[t]


@cuda.jit
def barrier_in_registers(a, out):
    tile = cuda.shared.array(256, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    value = tile[255 - t]
    cuda.syncthreads()  # here
    out[i] = value * value + a[i]


@cuda.jit
def no_barrier_in_registers(a, out):
    tile = cuda.shared.array(256, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    value = tile[255 - t]
    out[i] = value * value + a[i]


@cuda.jit
def barrier_twice(a, out, rounds):
    tile = cuda.shared.array(256, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    value = a[i]
    for _ in range(rounds):
        tile[t] = value
        cuda.syncthreads()  # here
        cuda.syncthreads()
        value = tile[255 - t] + float32(1)
        cuda.syncthreads()
    out[i] = value


@cuda.jit
def barrier_once(a, out, rounds):
    tile = cuda.shared.array(256, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    value = a[i]
    for _ in range(rounds):
        tile[t] = value
        cuda.syncthreads()
        value = tile[255 - t] + float32(1)
        cuda.syncthreads()
    out[i] = value


@cuda.jit
def array_of_mass(mass, out):
    i = cuda.grid(1)
    out[i] = mass[i]  # here
