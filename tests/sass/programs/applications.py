"""Programs that are steps of applications."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random, whole


def graph(rng: Random, n: int) -> tuple[Any, Any, Any]:
    """Starts of rows, edges, costs."""
    made = sparse.csr_array(rng.integers(1, 20, (n, n)) * (rng.uniform(size=(n, n)) < 0.06))
    return made, made.indptr.astype(np.int32), made.indices.astype(np.int32)


@program(2, 32)
def breadth_first(rng: Random) -> Case:
    made, starts, edges = graph(rng, 60)
    steps = csgraph.dijkstra(made, indices=0, unweighted=True)
    level = np.where(steps <= 1, steps, -1)
    expected = np.where(steps <= 2, steps, -1)
    return Case(
        [starts, edges, level.astype(np.int32), 1, np.zeros(1, np.int32), 60], {2: expected, 4: (steps == 2).any()}
    )


@program(1, 64)
def shortest_paths(rng: Random) -> Case:
    made, starts, edges = graph(rng, 60)
    far = np.full(60, 1 << 30, np.int32)
    far[0] = 0
    steps = np.minimum(csgraph.dijkstra(made, indices=0), 1 << 30)
    return Case([starts, edges, made.data.astype(np.int32), far, 60], {3: steps})


@program(1, 128)
def floyd_warshall(rng: Random) -> Case:
    made, _, _ = graph(rng, 24)
    dense = np.where(made.toarray() > 0, made.toarray(), 1 << 20)
    np.fill_diagonal(dense, 0)
    paths = dense.copy()
    for k in range(24):
        paths = np.minimum(paths, paths[:, k : k + 1] + paths[k])
    return Case([dense.astype(np.int32), 24], {0: paths})


@program(4, 32)
def k_means(rng: Random) -> Case:
    points, centres = whole(rng, (100, 3), 20).astype("f4"), whole(rng, (5, 3), 20).astype("f4")
    member = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
    sums = np.zeros((5, 3))
    np.add.at(sums, member, points)
    zeros = [np.zeros(100, "i4"), np.zeros((5, 3), "f4"), np.zeros(5, "i4")]
    return Case([points, centres, *zeros, 100, 5], {2: member, 3: sums, 4: np.bincount(member, minlength=5)})


@program(2, 64)
def nearest(rng: Random) -> Case:
    places = rng.uniform(0, 90, (100, 2)).astype("f4")
    target = np.array([30, 60], "f4")
    return Case([places, np.zeros(100, "f4"), target.tobytes(), 100], {1: np.hypot(*(places - target).T)}, 1e-6)


@program((3, 3), (8, 8))
def hotspot(rng: Random) -> Case:
    power, t = rng.uniform(0, 1, (20, 20)).astype("f4"), rng.uniform(70, 90, (20, 20)).astype("f4")
    p = np.pad(t, 1, mode="edge")
    out = (
        power
        + (p[:-2, 1:-1] + p[2:, 1:-1] - 2 * t) * 0.1
        + (p[1:-1, :-2] + p[1:-1, 2:] - 2 * t) * 0.2
        + (80 - t) * 0.05
    )
    return Case([power, t, np.zeros_like(t), 20, 0.5], {2: t + 0.5 * out}, 1e-6)


@program((2, 2), (16, 16))
def diffusion(rng: Random) -> Case:
    image = rng.uniform(0.5, 1, (20, 20)).astype("f4")
    j = image.astype(float)
    p = np.pad(j, 1, mode="edge")
    d = np.stack([p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]]) - j
    g2, laplace = (d**2).sum(0) / j**2, d.sum(0) / j
    q = (g2 / 2 - laplace**2 / 16) / (1 + laplace / 4) ** 2
    out = np.clip(1 / (1 + (q - 0.05) / (0.05 * 1.05)), 0, 1)
    return Case([image, np.zeros_like(image), 20, 0.05], {1: out}, 2e-5, 2e-6, 1e-4)


@program(2, (16, 8))
def layer(rng: Random) -> Case:
    x, w = rng.standard_normal(50).astype("f4"), rng.standard_normal((50, 32)).astype("f4")
    return Case([x, w, np.zeros(32, "f4"), 50], {2: 1 / (1 + np.exp(-(x.astype(float) @ w)))}, 2e-5, 1e-6, 1e-4)


@program(3, 32)
def n_body(rng: Random) -> Case:
    bodies = rng.uniform(0, 1, (96, 4)).astype("f4")
    apart = bodies[None, :, :3].astype(float) - bodies[:, None, :3]
    scale = bodies[None, :, 3] * ((apart**2).sum(2) + 0.01) ** -1.5
    return Case([bodies, np.zeros((96, 3), "f4"), 96], {1: (apart * scale[..., None]).sum(1)}, 1e-4, 1e-3)


@program(3, 32)
def softmax(rng: Random) -> Case:
    x = rng.standard_normal((3, 75)).astype("f4") * 3
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    return Case([x, np.zeros_like(x), 75], {1: e / e.sum(1, keepdims=True)}, 5e-6, 1e-7, 1e-5)
