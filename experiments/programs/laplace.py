"""A stencil in three dimensions, whose threads go through all planes of a column. Builds are those of stencils.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32
from smmux.benchmarks.base import Problem, Workload, eighths, equal, frozen, multiples, poisoned

__all__ = ["WORKLOADS"]

LAPLACE_X, LAPLACE_Y = 32, 4
"""Threads of a block of LPS."""


@cuda.jit
def laplace(u1, u2, nx, ny, nz):
    """A step of Laplace's equation in three dimensions; each thread goes through all planes."""
    x, y = cuda.grid(2)
    last_x, last_y = int32(nx - 1), int32(ny - 1)
    step = nx * ny
    index = y * nx + x
    for _ in range(1, int32(nz - 1)):
        index += step
        if 0 < x < last_x and 0 < y < last_y:
            plane = u1[index - 1] + u1[index + 1] + u1[index - nx] + u1[index + nx]
            u2[index] = (plane + u1[index - step] + u1[index + step]) * float32(0.125)


@cuda.jit
def laplace_tiled(u1, u2, nx, ny, nz):
    """The plane of the outputs lies in shared memory, those before and behind it in registers."""
    tile = cuda.shared.array((LAPLACE_Y + 2, LAPLACE_X + 2), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    last_x, last_y = int32(nx - 1), int32(ny - 1)
    left, top = LAPLACE_X * cuda.blockIdx.x - 1, LAPLACE_Y * cuda.blockIdx.y - 1
    step = nx * ny
    index = y * nx + x
    here, above = u1[index], u1[index + step]
    for k in range(1, int32(nz - 1)):
        index += step
        below, here, above = here, above, u1[index + step]
        for j in range(ty, LAPLACE_Y + 2, LAPLACE_Y):
            for i in range(tx, LAPLACE_X + 2, LAPLACE_X):
                if 0 <= left + i < nx and 0 <= top + j < ny:
                    tile[j, i] = u1[k * step + (top + j) * nx + left + i]
        cuda.syncthreads()
        if 0 < x < last_x and 0 < y < last_y:
            plane = tile[ty + 1, tx] + tile[ty + 1, tx + 2] + tile[ty, tx + 1] + tile[ty + 2, tx + 1]
            u2[index] = (plane + below + above) * float32(0.125)
        cuda.syncthreads()


@lru_cache(maxsize=2)
def _laplace_answer(n: int, planes: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    u = eighths(np.random.default_rng(6), planes * n * n)
    m = u.reshape(planes, n, n)
    rows = m[1:-1, :-2, 1:-1] + m[1:-1, 2:, 1:-1]
    columns = m[1:-1, 1:-1, :-2] + m[1:-1, 1:-1, 2:]
    return u, frozen((rows + columns + m[:-2, 1:-1, 1:-1] + m[2:, 1:-1, 1:-1]) / 8)


def _laplace(build: str, n: int, planes: int) -> Problem:
    """So many planes of n x n elements."""
    multiples(LAPLACE_X, n=n)
    multiples(1, planes=planes - 2)
    u, answer = _laplace_answer(n, planes)

    def check(args: tuple[Any, ...]) -> None:
        equal(f"LPS: u2, build {build}", args[1].reshape(planes, n, n)[1:-1, 1:-1, 1:-1], answer)

    return Problem(
        grid=(n // LAPLACE_X, n // LAPLACE_Y),
        block=(LAPLACE_X, LAPLACE_Y),
        arguments=lambda: (u, poisoned(u.size, np.float32), np.int32(n), np.int32(n), np.int32(planes)),
        check=check,
    )


WORKLOADS = (
    Workload(
        "LPS",
        "Laplace in three dimensions",
        {"baseline": laplace, "hand-written": laplace_tiled},
        _laplace,
        {
            "default": {"n": 256, "planes": 8},
            "quick": {"n": 96, "planes": 8},
            "tiny": {"n": 64, "planes": 4},
        },
    ),
)
