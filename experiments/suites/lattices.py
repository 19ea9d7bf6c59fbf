"""Stencils and lattices."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.vector_suite import whole


@workload("cache")
def heat(rng: Random, size: int) -> Launch:
    n = (66, 546, 1_282)[size]
    a = whole(rng, (n, n))
    out = np.zeros_like(a)
    out[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.25 * (
        a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1] - 4 * a[1:-1, 1:-1]
    )
    return Launch((-(-(n - 2) // 32), -(-(n - 2) // 8)), (32, 8), [n, 0.25, a, np.zeros_like(a)], {3: out})


@workload("cache")
def seven_points(rng: Random, size: int) -> Launch:
    nx, ny, nz = ((34, 18, 10), (258, 130, 18), (514, 258, 18))[size]
    a = whole(rng, (nz, ny, nx))
    out, c = np.zeros_like(a), a[1:-1, 1:-1, 1:-1]
    out[1:-1, 1:-1, 1:-1] = (
        a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
        + a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] - 6 * c
    )  # fmt: skip
    args = [nx, ny, nz, a, np.zeros_like(a)]
    return Launch((-(-(nx - 2) // 32), -(-(ny - 2) // 4)), (32, 4), args, {4: out})


@workload("shared")
def steps_in_shared(rng: Random, size: int) -> Launch:
    blocks = (8, 1_056, 4_000)[size]
    x = whole(rng, blocks * 256)
    long = np.concatenate([np.full(4, x[0]), x, np.full(4, x[-1])]).astype(np.float64)
    for _ in range(4):
        long = 0.25 * np.concatenate([long[:1], long[:-1]]) + 0.5 * long + 0.25 * np.concatenate([long[1:], long[-1:]])
    return Launch(blocks, 256, [x.size, x, np.zeros_like(x)], {2: long[4:-4]})


@workload("fp64")
def wave_double(rng: Random, size: int) -> Launch:
    n = (66, 514, 1_154)[size]
    before, now = rng.standard_normal((2, n, n))
    out, c = np.zeros((n, n)), now[1:-1, 1:-1]
    near = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
    out[1:-1, 1:-1] = 2 * c - before[1:-1, 1:-1] + 0.1 * (near - 4 * c)
    args = [n, before, now, np.zeros((n, n))]
    return Launch((-(-(n - 2) // 32), -(-(n - 2) // 4)), (32, 4), args, {3: out}, 1e-12, 1e-12)


@workload("arithmetic")
def life(rng: Random, size: int) -> Launch:
    n = (64, 512, 1_024)[size]
    a = (rng.random((n, n)) < 0.4).astype(np.uint8)
    near = sum(np.roll(a, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - a
    return Launch((n // 32, n // 8), (32, 8), [n, a, np.zeros_like(a)], {2: (near == 3) | ((near == 2) & (a > 0))})


@workload("streaming")
def boltzmann(rng: Random, size: int) -> Launch:
    n = (64, 384, 768)[size]
    share = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    ex, ey = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    f = (share[:, None, None] * (1 + 0.1 * rng.random((9, n, n)))).astype(np.float32)
    moved = np.stack([np.roll(f[k].astype(np.float64), (ey[k], ex[k]), (0, 1)) for k in range(9)])
    rho = moved.sum(0)
    ux, uy = np.tensordot(ex, moved, 1) / rho, np.tensordot(ey, moved, 1) / rho
    along = 3 * (ex[:, None, None] * ux + ey[:, None, None] * uy)
    equal = share[:, None, None] * rho * (1 + along + along**2 / 2 - 1.5 * (ux**2 + uy**2))
    return Launch((n // 64, n), 64, [n, 0.6, f, np.zeros_like(f)], {3: moved + 0.6 * (equal - moved)}, 1e-4, 1e-5)
