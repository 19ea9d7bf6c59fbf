"""Kernels of which smmux.advise has something to say, each with the kernel that follows the advice.

The lines in question end with `# here`, in both kernels of a pair.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smmux import cuda, float32, int32, texture
from smmux.kernel import Kernel

__all__ = ["PAIRS", "Launch", "Pair", "line_of"]

N = 1 << 14
TABLE = np.arange(16, dtype=np.float32) ** 2


@dataclass(frozen=True)
class Launch:
    """A kernel with grid and block, its arguments, and what they have to become."""

    kernel: Kernel
    grid: Any
    block: Any
    args: tuple[Any, ...]
    expected: tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class Pair:
    """Two launches of one purpose: the second as the advice of that kind on the first says, with its numbers."""

    kind: str
    array: str
    bad: Callable[[], Launch]
    good: Callable[[Mapping[str, int]], Launch]
    gpus: tuple[str, ...] = ("GTX285", "GTX480-48K", "K20c")


def line_of(kernel: Kernel) -> int:
    """The line that ends with `# here`."""
    lines, first = inspect.getsourcelines(kernel.__wrapped__)
    return next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))


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


def _points() -> Launch:
    p = numbers(N, 2)
    return Launch(field_of_points, N // 128, 128, (p, zeros(N)), ((1, 2 * p[:, 0]),))


def _field() -> Launch:
    p = numbers(N, 2)
    return Launch(array_of_field, N // 128, 128, (p[:, 0].copy(), zeros(N)), ((1, 2 * p[:, 0]),))


def _stored(interleaved: bool) -> Launch:
    wanted = np.zeros((N, 2), np.int32)
    wanted[:, 1] = 10 * np.arange(N)
    kernel = store_field if interleaved else store_array
    expected = wanted.ravel() if interleaved else wanted[:, 1]
    return Launch(kernel, 60, 128, (np.zeros_like(expected),), ((0, expected),))


def _masses(records: bool) -> Launch:
    made = particles()
    given = made if records else made["mass"].copy()
    return Launch(
        mass_of_particles if records else array_of_mass, N // 128, 128, (given, zeros(N)), ((1, made["mass"]),)
    )


@cuda.jit
def array_of_mass(mass, out):
    i = cuda.grid(1)
    out[i] = mass[i]  # here


def _triples(interleaved: bool) -> Launch:
    v = numbers(N, 3)
    given = v.ravel() if interleaved else v.T.copy().ravel()
    kernel = lengths_of_triples if interleaved else lengths_of_arrays
    return Launch(kernel, N // 128, 128, (given, zeros(N)), ((1, (v * v).sum(1)),))


def _pixels(planes: bool) -> Launch:
    image = np.random.default_rng(5).integers(0, 80, (4 * N, 3)).astype(np.uint8)
    given = image.T.copy() if planes else image
    kernel = sums_of_planes if planes else sums_of_pixels
    return Launch(kernel, 4 * N // 256, 256, (given, np.zeros(4 * N, np.uint8)), ((1, image.sum(1)),))


def _copied(kernel: Kernel) -> Launch:
    a = numbers(256, 208)
    grid = (16, 13) if kernel is copy_down else (13, 16)
    return Launch(kernel, grid, (16, 16), (a, zeros(256, 208)), ((1, 2 * a),))


def _planes(row: int) -> Launch:
    a = numbers(16, 16)
    args = a, zeros(960), 32
    return Launch(in_planes(row), 30, (16, 2), args, ((1, np.tile(2 * a.sum(1), 60)),))


def _twice(kernel: Kernel) -> Launch:
    a = numbers(30 * 256)
    return Launch(kernel, 30, 256, (a, zeros(len(a)), 20), ((1, a + 20),))


def _added(kernel: Kernel, k: int) -> Launch:
    b, c = numbers(2, 60 * 64 * k)
    return Launch(kernel, 60, 64, (zeros(len(b)), b, c, k), ((0, b + c),))


def _chunks() -> Launch:
    a = numbers(4096, 11)
    return Launch(sums_of_chunks, 64, 64, (a.ravel(), zeros(4096), 0), ((1, a[:, :10].sum(1)),))


def _chunk_columns() -> Launch:
    a = numbers(4096, 11)
    return Launch(sums_of_columns, 64, 64, (a.T.copy().ravel(), zeros(4096), 0), ((1, a[:, :10].sum(1)),))


def _matrix(turned_round: bool) -> Launch:
    a = numbers(4096, 24)
    kernel = columns_of_matrix if turned_round else rows_of_matrix
    return Launch(kernel, 64, 64, (a.T.copy() if turned_round else a, zeros(4096)), ((1, a.sum(1)),))


def _scattered(kernel: Kernel, pad: int) -> Launch:
    a = numbers(192, 192)
    return Launch(kernel, (12, 12), (16, 16), (a, zeros(192, 192 + pad)[:, :192]), ((1, a.T),))


def _turned(row: int) -> Launch:
    a = numbers(32, 32)
    expected = np.tile(a.sum(1), 30)
    return Launch(turned(32, row), 30, 32, (a, zeros(960), 32), ((1, expected),))


def _chunked(words: int) -> Launch:
    a = np.arange(1024, dtype=np.int32) * 7 % 31
    chunks, total = a.reshape(64, 16), np.zeros(64, np.int32)
    for _ in range(4):
        for j in range(16):
            total = total * 3 + chunks[:, j]
    return Launch(chunked(words), 60, 64, (a, np.zeros(60 * 64, np.int32), 4), ((1, np.tile(total, 60)),))


def _doubles(row: int) -> Launch:
    a = numbers(32, 32).astype(np.float64)
    return Launch(of_doubles(row), 30, 32, (a, np.zeros(960), 32), ((1, np.tile(a.sum(1), 30)),))


def _camped(pad: int) -> Launch:
    a = numbers(512, 512)
    return Launch(turn_matrix, (32, 32), (16, 16), (a, zeros(512, 512 + pad)[:, :512]), ((1, a.T),))


def _walked(pad: int) -> Launch:
    a = numbers(240, 1024 + pad)
    expected = a[:, :1024].reshape(240, 16, 64).sum(1).ravel()
    return Launch(walk_rows, 240, 64, (a.ravel(), zeros(240 * 64), 1024 + pad), ((1, expected),))


def _table(kernel: Kernel) -> Launch:
    codes = np.random.default_rng(3).integers(0, 1 << 30, 60 * 512).astype(np.int32)
    code, total = codes.copy(), zeros(len(codes))
    for _ in range(12):
        total += TABLE[code & 15]
        code = (code >> 1) ^ (code << 3)
    args = (codes, zeros(len(codes)), 12)
    if kernel is constant_table:
        return Launch(kernel, 60, 512, args, ((1, total),))
    return Launch(kernel, 60, 512, (texture(TABLE), *args), ((2, total),))


def _own(kernel: Kernel) -> Launch:
    a = numbers(60 * 256)
    expected = a.copy()
    for k in range(20):
        expected = expected * np.float32(0.5) + np.float32(k)
    return Launch(kernel, 60, 256, (a, zeros(len(a)), 20), ((1, expected),))


def _registers(kernel: Kernel) -> Launch:
    a = numbers(120 * 256)
    swapped = a.reshape(120, 256)[:, ::-1].ravel()
    return Launch(kernel, 120, 256, (a, zeros(len(a))), ((1, swapped * swapped + a),))


PAIRS = {
    "field of points": Pair("layout", "points", _points, lambda _: _field()),
    "store of a field": Pair("layout", "points", lambda: _stored(True), lambda _: _stored(False)),
    "record": Pair("layout", "particles", lambda: _masses(True), lambda _: _masses(False)),
    "triples": Pair("layout", "v", lambda: _triples(True), lambda _: _triples(False)),
    "blocked sum": Pair("assignment", "a b c", lambda: _added(add_blocked, 16), lambda _: _added(add_interleaved, 16)),
    "blocked, 8 each": Pair(
        "assignment", "a b c", lambda: _added(add_blocked, 8), lambda _: _added(add_interleaved, 8)
    ),
    "unrolled chunks": Pair("assignment", "a", _chunks, lambda _: _chunk_columns()),
    "rows": Pair("assignment", "a", lambda: _matrix(False), lambda _: _matrix(True)),
    "transposition": Pair(
        "stride", "out", lambda: _scattered(scatter_rows, 16), lambda _: _scattered(scatter_tiles, 16)
    ),
    "tile": Pair("banks", "tile", lambda: _turned(32), lambda change: _turned(change["row"] + change["pad"])),
    "chunks": Pair("banks", "chunks", lambda: _chunked(16), lambda change: _chunked(change["row"] + change["pad"])),
    "doubles": Pair(
        "banks",
        "tile",
        lambda: _doubles(32),
        lambda change: _doubles((change["row"] + change["pad"]) // 2),
        ("GTX480-48K", "K20c"),
    ),
    "camping of tiles": Pair(
        "partitions", "out", lambda: _camped(0), lambda change: _camped(change["pad"] // 4), ("GTX285", "K20c")
    ),
    "camping of rows": Pair(
        "partitions", "a", lambda: _walked(0), lambda change: _walked(change["pad"] // 4), ("GTX285",)
    ),
    "table": Pair("table", "table", lambda: _table(constant_table), lambda _: _table(texture_table)),
    "pixels": Pair("layout", "image", lambda: _pixels(False), lambda _: _pixels(True)),
    "axes": Pair("stride", "a out", lambda: _copied(copy_down), lambda _: _copied(copy_along)),
    "planes": Pair("banks", "planes", lambda: _planes(16), lambda change: _planes(change["row"] + change["pad"])),
    "two barriers": Pair("barrier", "", lambda: _twice(barrier_twice), lambda _: _twice(barrier_once)),
    "own elements": Pair("barrier", "", lambda: _own(own_elements_only), lambda _: _own(own_elements_freely)),
    "registers": Pair(
        "barrier",
        "",
        lambda: _registers(barrier_in_registers),
        lambda _: _registers(no_barrier_in_registers),
        ("GTX480-48K", "K20c"),
    ),
}
