"""POINTS and SUMS: the same work by neighbouring threads on neighbouring words of memory, and on words further apart.

POINTS sets both fields of each point: an array of structures (`aos`) or a structure of arrays (`soa`). SUMS adds two
arrays, each thread a stretch of its own (`blocked`) or every so-many-th element (`interleaved`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smmux import cuda, int32
from smmux.benchmarks.base import Problem, Workload, equal, frozen, multiples, poisoned

__all__ = ["WORKLOADS"]

THREADS = 256
POINT = np.dtype([("x", np.int32), ("y", np.int32)])


@cuda.jit
def structures(points, n):
    """Both fields of a point lie side by side."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        points[i].y = int32(i * 10)
        points[i].x = i


@cuda.jit
def arrays(x, y, n):
    """Each field has an array of its own."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = int32(i * 10)
        x[i] = i


@cuda.jit
def add_blocked(a, b, c, n, stretch):
    """Each thread has `stretch` elements in a row."""
    start = int32(cuda.grid(1) * stretch)
    for i in range(start, min(n, int32(start + stretch))):
        a[i] = b[i] + c[i]


@cuda.jit
def add_interleaved(a, b, c, n, stretch):
    """The threads take turns."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        a[i] = b[i] + c[i]


def _points(build: str, points: int, each: int) -> Problem:
    """So many points, `each` per thread."""
    multiples(THREADS * each, points=points)
    numbers = frozen(np.arange(points, dtype=np.int32))

    def check(args: tuple[Any, ...]) -> None:
        x, y = (args[0]["x"], args[0]["y"]) if build == "aos" else args[:2]
        equal(f"POINTS: x, build {build}", x, numbers)
        equal(f"POINTS: y, build {build}", y, 10 * numbers)

    fields = (POINT,) if build == "aos" else (np.int32, np.int32)
    return Problem(
        grid=(points // THREADS // each,),
        block=(THREADS,),
        arguments=lambda: (*(poisoned(points, field) for field in fields), np.int32(points)),
        check=check,
    )


def _sums(build: str, elements: int, each: int) -> Problem:
    """Sums of so many elements, any count, of which a thread adds up to `each`."""
    multiples(1, elements=elements, each=each)
    rng = np.random.default_rng(4)
    b, c = (frozen(rng.integers(-(1 << 30), 1 << 30, elements, np.int32)) for _ in range(2))
    return Problem(
        grid=(-(-elements // (THREADS * each)),),
        block=(THREADS,),
        arguments=lambda: (poisoned(elements, np.int32), b, c, np.int32(elements), np.int32(each)),
        check=lambda args: equal(f"SUMS: a, build {build}", args[0], b + c),
    )


WORKLOADS = (
    Workload(
        name="POINTS",
        title="Both fields of points",
        kernels={"aos": structures, "soa": arrays},
        problems=_points,
        sizes={
            "default": {"points": 1 << 20, "each": 4},
            "quick": {"points": 1 << 17, "each": 4},
            "tiny": {"points": 1 << 11, "each": 2},
        },
    ),
    Workload(
        name="SUMS",
        title="Sums of two arrays",
        kernels={"blocked": add_blocked, "interleaved": add_interleaved},
        problems=_sums,
        sizes={
            "default": {"elements": 1 << 20, "each": 32},
            "quick": {"elements": 1 << 17, "each": 32},
            "tiny": {"elements": 5000, "each": 8},
        },
    ),
)
