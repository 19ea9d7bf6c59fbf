"""Kernels of which smmux.advise has something to say, each with the kernel that follows the advice.

The lines in question end with `# here`, in both kernels of a pair.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smmux import texture
from smmux.kernel import Kernel
from tests.package import improvable_kernels as kernels

__all__ = ["PAIRS", "Launch", "Pair", "line_of"]


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


def _points() -> Launch:
    p = kernels.numbers(kernels.N, 2)
    return Launch(kernels.field_of_points, kernels.N // 128, 128, (p, kernels.zeros(kernels.N)), ((1, 2 * p[:, 0]),))


def _field() -> Launch:
    p = kernels.numbers(kernels.N, 2)
    return Launch(
        kernels.array_of_field, kernels.N // 128, 128, (p[:, 0].copy(), kernels.zeros(kernels.N)), ((1, 2 * p[:, 0]),)
    )


def _stored(interleaved: bool) -> Launch:
    wanted = np.zeros((kernels.N, 2), np.int32)
    wanted[:, 1] = 10 * np.arange(kernels.N)
    kernel = kernels.store_field if interleaved else kernels.store_array
    expected = wanted.ravel() if interleaved else wanted[:, 1]
    return Launch(kernel, 60, 128, (np.zeros_like(expected),), ((0, expected),))


def _masses(records: bool) -> Launch:
    made = kernels.particles()
    given = made if records else made["mass"].copy()
    return Launch(
        kernels.mass_of_particles if records else kernels.array_of_mass,
        kernels.N // 128,
        128,
        (given, kernels.zeros(kernels.N)),
        ((1, made["mass"]),),
    )


def _triples(interleaved: bool) -> Launch:
    v = kernels.numbers(kernels.N, 3)
    given = v.ravel() if interleaved else v.T.copy().ravel()
    kernel = kernels.lengths_of_triples if interleaved else kernels.lengths_of_arrays
    return Launch(kernel, kernels.N // 128, 128, (given, kernels.zeros(kernels.N)), ((1, (v * v).sum(1)),))


def _pixels(planes: bool) -> Launch:
    image = np.random.default_rng(5).integers(0, 80, (4 * kernels.N, 3)).astype(np.uint8)
    given = image.T.copy() if planes else image
    kernel = kernels.sums_of_planes if planes else kernels.sums_of_pixels
    return Launch(kernel, 4 * kernels.N // 256, 256, (given, np.zeros(4 * kernels.N, np.uint8)), ((1, image.sum(1)),))


def _copied(kernel: Kernel) -> Launch:
    a = kernels.numbers(256, 208)
    grid = (16, 13) if kernel is kernels.copy_down else (13, 16)
    return Launch(kernel, grid, (16, 16), (a, kernels.zeros(256, 208)), ((1, 2 * a),))


def _planes(row: int) -> Launch:
    a = kernels.numbers(16, 16)
    args = a, kernels.zeros(960), 32
    return Launch(kernels.in_planes(row), 30, (16, 2), args, ((1, np.tile(2 * a.sum(1), 60)),))


def _twice(kernel: Kernel) -> Launch:
    a = kernels.numbers(30 * 256)
    return Launch(kernel, 30, 256, (a, kernels.zeros(len(a)), 20), ((1, a + 20),))


def _added(kernel: Kernel, k: int) -> Launch:
    b, c = kernels.numbers(2, 60 * 64 * k)
    return Launch(kernel, 60, 64, (kernels.zeros(len(b)), b, c, k), ((0, b + c),))


def _chunks() -> Launch:
    a = kernels.numbers(4096, 11)
    return Launch(kernels.sums_of_chunks, 64, 64, (a.ravel(), kernels.zeros(4096), 0), ((1, a[:, :10].sum(1)),))


def _chunk_columns() -> Launch:
    a = kernels.numbers(4096, 11)
    return Launch(
        kernels.sums_of_columns, 64, 64, (a.T.copy().ravel(), kernels.zeros(4096), 0), ((1, a[:, :10].sum(1)),)
    )


def _matrix(turned_round: bool) -> Launch:
    a = kernels.numbers(4096, 24)
    kernel = kernels.columns_of_matrix if turned_round else kernels.rows_of_matrix
    return Launch(kernel, 64, 64, (a.T.copy() if turned_round else a, kernels.zeros(4096)), ((1, a.sum(1)),))


def _scattered(kernel: Kernel, pad: int) -> Launch:
    a = kernels.numbers(192, 192)
    return Launch(kernel, (12, 12), (16, 16), (a, kernels.zeros(192, 192 + pad)[:, :192]), ((1, a.T),))


def _turned(row: int) -> Launch:
    a = kernels.numbers(32, 32)
    expected = np.tile(a.sum(1), 30)
    return Launch(kernels.turned(32, row), 30, 32, (a, kernels.zeros(960), 32), ((1, expected),))


def _chunked(words: int) -> Launch:
    a = np.arange(1024, dtype=np.int32) * 7 % 31
    chunks, total = a.reshape(64, 16), np.zeros(64, np.int32)
    for _ in range(4):
        for j in range(16):
            total = total * 3 + chunks[:, j]
    return Launch(kernels.chunked(words), 60, 64, (a, np.zeros(60 * 64, np.int32), 4), ((1, np.tile(total, 60)),))


def _doubles(row: int) -> Launch:
    a = kernels.numbers(32, 32).astype(np.float64)
    return Launch(kernels.of_doubles(row), 30, 32, (a, np.zeros(960), 32), ((1, np.tile(a.sum(1), 30)),))


def _camped(pad: int) -> Launch:
    a = kernels.numbers(512, 512)
    return Launch(kernels.turn_matrix, (32, 32), (16, 16), (a, kernels.zeros(512, 512 + pad)[:, :512]), ((1, a.T),))


def _walked(pad: int) -> Launch:
    a = kernels.numbers(240, 1024 + pad)
    expected = a[:, :1024].reshape(240, 16, 64).sum(1).ravel()
    return Launch(kernels.walk_rows, 240, 64, (a.ravel(), kernels.zeros(240 * 64), 1024 + pad), ((1, expected),))


def _table(kernel: Kernel) -> Launch:
    codes = np.random.default_rng(3).integers(0, 1 << 30, 60 * 512).astype(np.int32)
    code, total = codes.copy(), kernels.zeros(len(codes))
    for _ in range(12):
        total += kernels.TABLE[code & 15]
        code = (code >> 1) ^ (code << 3)
    args = (codes, kernels.zeros(len(codes)), 12)
    if kernel is kernels.constant_table:
        return Launch(kernel, 60, 512, args, ((1, total),))
    return Launch(kernel, 60, 512, (texture(kernels.TABLE), *args), ((2, total),))


def _own(kernel: Kernel) -> Launch:
    a = kernels.numbers(60 * 256)
    expected = a.copy()
    for k in range(20):
        expected = expected * np.float32(0.5) + np.float32(k)
    return Launch(kernel, 60, 256, (a, kernels.zeros(len(a)), 20), ((1, expected),))


def _registers(kernel: Kernel) -> Launch:
    a = kernels.numbers(120 * 256)
    swapped = a.reshape(120, 256)[:, ::-1].ravel()
    return Launch(kernel, 120, 256, (a, kernels.zeros(len(a))), ((1, swapped * swapped + a),))


PAIRS = {
    "field of points": Pair("layout", "points", _points, lambda _: _field()),
    "store of a field": Pair("layout", "points", lambda: _stored(True), lambda _: _stored(False)),
    "record": Pair("layout", "particles", lambda: _masses(True), lambda _: _masses(False)),
    "triples": Pair("layout", "v", lambda: _triples(True), lambda _: _triples(False)),
    "blocked sum": Pair(
        "assignment", "a b c", lambda: _added(kernels.add_blocked, 16), lambda _: _added(kernels.add_interleaved, 16)
    ),
    "blocked, 8 each": Pair(
        "assignment", "a b c", lambda: _added(kernels.add_blocked, 8), lambda _: _added(kernels.add_interleaved, 8)
    ),
    "unrolled chunks": Pair("assignment", "a", _chunks, lambda _: _chunk_columns()),
    "rows": Pair("assignment", "a", lambda: _matrix(False), lambda _: _matrix(True)),
    "transposition": Pair(
        "stride", "out", lambda: _scattered(kernels.scatter_rows, 16), lambda _: _scattered(kernels.scatter_tiles, 16)
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
    "table": Pair("table", "table", lambda: _table(kernels.constant_table), lambda _: _table(kernels.texture_table)),
    "pixels": Pair("layout", "image", lambda: _pixels(False), lambda _: _pixels(True)),
    "axes": Pair("stride", "a out", lambda: _copied(kernels.copy_down), lambda _: _copied(kernels.copy_along)),
    "planes": Pair("banks", "planes", lambda: _planes(16), lambda change: _planes(change["row"] + change["pad"])),
    "two barriers": Pair("barrier", "", lambda: _twice(kernels.barrier_twice), lambda _: _twice(kernels.barrier_once)),
    "own elements": Pair(
        "barrier", "", lambda: _own(kernels.own_elements_only), lambda _: _own(kernels.own_elements_freely)
    ),
    "registers": Pair(
        "barrier",
        "",
        lambda: _registers(kernels.barrier_in_registers),
        lambda _: _registers(kernels.no_barrier_in_registers),
        ("GTX480-48K", "K20c"),
    ),
}
