"""Programs of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random, whole


def wholes(rng: Random, kind: str, *shapes: Any) -> list[Any]:
    """Arrays of small whole numbers."""
    return [whole(rng, shape, 3).astype(kind) for shape in shapes]


@program((3, 3), (8, 8))
def gemm(rng: Random) -> Case:
    a, b, c = wholes(rng, "f4", (17, 12), (12, 20), (17, 20))
    return Case([a, b, c.copy(), 2.0, -3.0, 17, 20, 12], {2: 2 * a @ b - 3 * c})


@program(1, 64)
def gemver(rng: Random) -> Case:
    a, u, v, x, y, w = wholes(rng, "f8", (20, 20), 20, 20, 20, 20, 20)
    given = [a.copy(), u, v, x.copy(), y, w.copy()]
    a += np.outer(u, v)
    x += 2 * a.T @ y
    return Case([*given, 20], {0: a, 3: x, 5: w + 3 * a @ x})


@program(1, 64)
def gesummv(rng: Random) -> Case:
    a, b, x = wholes(rng, "f4", (40, 40), (40, 40), 40)
    return Case([a, b, x, np.zeros(40, "f4"), 40], {3: 2 * a @ x + 3 * b @ x})


@program(1, 32)
def atax(rng: Random) -> Case:
    a, x = wholes(rng, "f4", (30, 40), 40)
    return Case([a, x, np.zeros(40, "f4"), np.zeros(30, "f4"), 30, 40], {2: a.T @ (a @ x), 3: a @ x})


@program(2, 32)
def bicg(rng: Random) -> Case:
    a, p, r = wholes(rng, "f4", (40, 12), 12, 40)
    return Case([a, p, r, np.zeros(40, "f4"), np.zeros(12, "f4"), 40, 12], {3: a @ p, 4: a.T @ r})


@program((2, 2), 32)
def mvt(rng: Random) -> Case:
    a, x1, x2, y1, y2 = wholes(rng, "f4", (40, 40), 40, 40, 40, 40)
    return Case([a, x1.copy(), x2.copy(), y1, y2, 40], {1: x1 + a @ y1, 2: x2 + a.T @ y2})


@program((2, 2), (16, 16))
def syr2k(rng: Random) -> Case:
    a, b, c = wholes(rng, "f4", (25, 10), (25, 10), (25, 25))
    return Case([a, b, c.copy(), 25, 10], {2: np.where(np.tri(25), c + a @ b.T + b @ a.T, c)})


@program(1, 64)
def correlation(rng: Random) -> Case:
    data = rng.standard_normal((40, 12))
    return Case([data, np.zeros((12, 12)), 40, 12], {1: np.corrcoef(data.T)}, 1e-12, 1e-12)


@program(6, 20, dynamic=160)
def doitgen(rng: Random) -> Case:
    a, c4 = wholes(rng, "f8", (6, 20), (20, 20))
    return Case([a.copy(), c4, 20], {0: a @ c4})


@program(1, 32)
def gram_schmidt(rng: Random) -> Case:
    a = rng.standard_normal((20, 8))
    q, r = np.linalg.qr(a)
    sign = np.sign(np.diag(r))
    return Case([a.copy(), np.zeros((8, 8)), 20, 8], {0: q * sign, 1: r * sign[:, None]}, 1e-10, 1e-12)


@program(1, 64)
def lu(rng: Random) -> Case:
    n = 14
    low = np.tril(whole(rng, (n, n), 2), -1) + np.eye(n)
    up = np.triu(whole(rng, (n, n), 2), 1) + np.diag(2.0 ** rng.integers(0, 3, n))
    return Case([(low @ up).astype("f4"), n], {0: low - np.eye(n) + up}, 1e-6, 1e-5)


@program(1, 32)
def gaussian(rng: Random) -> Case:
    a, b = rng.standard_normal((16, 16)), rng.standard_normal(16)
    return Case([a.copy(), b.copy(), 16], {1: np.linalg.solve(a, b)}, 1e-10, 1e-12)


@program(1, 32)
def jacobi(rng: Random) -> Case:
    x = whole(rng, 50).astype("f4")
    y, given = np.zeros_like(x), x.copy()
    for _ in range(3):
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 2
        x[1:-1] = y[1:-1] / 2
    return Case([given, np.zeros_like(x), 50, 3], {0: x, 1: y})


@program(1, (12, 10))
def fdtd_2d(rng: Random) -> Case:
    ex, ey, hz = wholes(rng, "f4", (10, 12), (10, 12), (10, 12))
    source, given = np.arange(3, dtype="f4"), [ex.copy(), ey.copy(), hz.copy()]
    for t in range(3):
        ey[0] = source[t]
        ey[1:] -= (hz[1:] - hz[:-1]) / 2
        ex[:, 1:] -= (hz[:, 1:] - hz[:, :-1]) / 2
        hz[:-1, :-1] -= 0.75 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return Case([*given, source, 10, 12, 3], {0: ex, 1: ey, 2: hz})


def sparse(rng: Random, n: int, kind: str) -> tuple[Case, Any]:
    dense = whole(rng, (n, n)) * (rng.uniform(size=(n, n)) < 0.2)
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    x = whole(rng, n).astype(kind)
    args = [starts, columns.astype(np.int32), dense[rows, columns].astype(kind), x, np.zeros(n, kind), n]
    return Case(args, {4: dense @ x}), dense


@program(2, 32)
def csr_scalar(rng: Random) -> Case:
    return sparse(rng, 50, "f8")[0]


@program(7, 64)
def csr_vector(rng: Random) -> Case:
    return sparse(rng, 50, "f4")[0]


def positive(rng: Random, n: int) -> Any:
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


@program(1, 32)
def cholesky(rng: Random) -> Case:
    a = positive(rng, 16)
    return Case([a.copy(), 16], {0: np.where(np.tri(16), np.linalg.cholesky(a), a)}, 1e-12, 1e-12)


@program(1, 32)
def conjugate_gradient(rng: Random) -> Case:
    a, b = positive(rng, 20), rng.standard_normal(20)
    return Case([a, b, np.zeros(20), 20, 40], {2: np.linalg.solve(a, b)}, 1e-9, 1e-11)
