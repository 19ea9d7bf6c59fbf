"""Programs of blocks that work together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random, whole


@program((3, 2), (16, 16))
def transpose(rng: Random) -> Case:
    a = rng.standard_normal((30, 41), np.float32)
    return Case([a, np.zeros((41, 30), np.float32), 41, 30], {1: a.T})


def product(rng: Random, n: int, kind: str) -> Case:
    a, b = whole(rng, (n, n)).astype(kind), whole(rng, (n, n)).astype(kind)
    return Case([a, b, np.zeros((n, n), kind), n], {2: a @ b})


@program((3, 3), (8, 8), dynamic=2 * 64 * 8)
def dynamic_matmul(rng: Random) -> Case:
    return product(rng, 24, "f8")


@program((2, 2), 64)
def register_matmul(rng: Random) -> Case:
    return product(rng, 64, "f4")


@program(2, 128)
def reduce_shared(rng: Random) -> Case:
    x = whole(rng, 700, 1 << 20).astype(np.int32)
    out = [x[np.arange(700) // 128 % 2 == b].sum() for b in range(2)]
    return Case([x, np.zeros(2, np.int32), 700], {1: out})


@program(1, 96)
def reduce_shuffle(rng: Random) -> Case:
    x = rng.standard_normal(500)
    return Case([x, np.zeros(1), 500], {1: x.max()})


@program(3, 32)
def last_block(rng: Random) -> Case:
    x = whole(rng, 500, 1000).astype(np.int32)
    return Case([x, np.zeros(3, np.int32), np.zeros(1, np.int32), 500], {2: x.sum()})


@program(1, 128)
def scan_hillis_steele(rng: Random) -> Case:
    x = whole(rng, 128, 1000).astype(np.int32)
    return Case([x, np.zeros(128, np.int32), 128], {1: np.cumsum(x)})


@program(1, 64, dynamic=512)
def scan_blelloch(rng: Random) -> Case:
    x = whole(rng, 128, 1000).astype(np.float32)
    return Case([x, np.zeros(128, np.float32), 128], {1: np.cumsum(x) - x})


@program(1, 128)
def scan_warps(rng: Random) -> Case:
    x = rng.integers(0, 1 << 32, 128, np.uint32)
    return Case([x, np.zeros(128, np.uint32)], {1: np.cumsum(x, dtype=np.uint32)})


@program(2, 128)
def compact(rng: Random) -> Case:
    x = whole(rng, 250, 1000).astype(np.int32)
    kept = np.sort(x[x % 3 == 0])

    def check(args: Any) -> None:
        np.testing.assert_array_equal(np.sort(args[1][: len(kept)]), kept)

    return Case([x, np.zeros(250, np.int32), np.zeros(1, np.int32), 250], {2: len(kept)}, check=check)


@program(2, 64)
def histogram_warps(rng: Random) -> Case:
    x = rng.integers(0, 10, 333).astype(np.int32)
    return Case([x, np.zeros(10, np.int32), 333], {1: np.bincount(x, minlength=10)})


@program(2, 64)
def histogram_global(rng: Random) -> Case:
    x = rng.integers(0, 256, 333, np.uint8)
    return Case([x, np.zeros(64, np.uint32), 333], {1: np.bincount(x >> 2, minlength=64)})


@program(1, 128)
def bitonic_sort(rng: Random) -> Case:
    keys, values = rng.standard_normal(256).astype(np.float32), np.arange(256, dtype=np.int32)
    return Case([keys.copy(), values], {0: np.sort(keys), 1: np.argsort(keys)})


@program(1, 128)
def radix_sort(rng: Random) -> Case:
    keys = rng.integers(0, 1 << 32, 128, np.uint32)
    return Case([keys.copy()], {0: np.sort(keys)})


@program(1, 32)
def merge_path(rng: Random) -> Case:
    a, b = (np.sort(whole(rng, n, 50)).astype(np.int32) for n in (100, 130))
    return Case([a, b, np.zeros(230, np.int32), 100, 130], {2: np.sort(np.concatenate([a, b]))})


@program((3, 3), (16, 8))
def convolution(rng: Random) -> Case:
    a = whole(rng, (20, 40)).astype(np.float32)
    padded, weights = np.pad(a, 1), np.outer([1, 2, 1], [1, 2, 1])
    out = sum(weights[r, s] * padded[r : r + 20, s : s + 40] for r in range(3) for s in range(3)) / 16
    return Case([a, np.zeros_like(a), 40, 20], {1: out})


@program((2, 2), (8, 8))
def stencil_3d(rng: Random) -> Case:
    a = whole(rng, (7, 14, 15)).astype(np.float32)
    out = np.zeros_like(a)
    middle = a[1:-1, 1:-1, 1:-1]
    near = a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
    out[1:-1, 1:-1, 1:-1] = near + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:] - 6 * middle
    return Case([a, np.zeros_like(a), 15, 14, 7], {1: out})


@program((2, 3), (16, 8))
def life(rng: Random) -> Case:
    a = rng.integers(0, 2, (20, 30)).astype(np.uint8)
    near = sum(np.roll(a, (r, s), (0, 1)) for r in (-1, 0, 1) for s in (-1, 0, 1) if r or s)
    return Case([a, np.zeros_like(a), 30, 20], {1: (near == 3) | ((near == 2) & (a == 1))})


@program(1, 128)
def pathfinder(rng: Random) -> Case:
    wall = rng.integers(0, 10, (9, 128)).astype(np.int32)
    costs = wall[0]
    for row in wall[1:]:
        wide = np.pad(costs, 1, constant_values=1 << 20)
        costs = np.minimum(np.minimum(wide[:-2], wide[2:]), costs) + row
    return Case([wall, np.zeros(128, np.int32), 9, 128], {1: costs})


@program(1, 32)
def needleman_wunsch(rng: Random) -> Case:
    n = 24
    a, b = (rng.integers(0, 4, n).astype(np.int8) for _ in range(2))
    scores = np.zeros((n + 1, n + 1), np.int32)
    scores[0], scores[:, 0] = -np.arange(n + 1), -np.arange(n + 1)
    given = scores.copy()
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            match = scores[i - 1, j - 1] + (2 if a[i - 1] == b[j - 1] else -1)
            scores[i, j] = max(match, scores[i - 1, j] - 1, scores[i, j - 1] - 1)
    return Case([a, b, given, n, 1], {2: scores})


@program(3, 32)
def fft_shared(rng: Random) -> Case:
    x = (rng.standard_normal((3, 64)) + 1j * rng.standard_normal((3, 64))).astype(np.complex64)
    return Case([x.copy()], {0: np.fft.fft(x, axis=1)}, 0, 2e-5)


@program(1, 32)
def fft_registers(rng: Random) -> Case:
    x = (rng.standard_normal((32, 16)) + 1j * rng.standard_normal((32, 16))).astype(np.complex64)
    return Case([x.copy()], {0: np.fft.fft(x, axis=1)}, 0, 2e-5)
