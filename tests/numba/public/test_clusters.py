"""Clusters, neighbours, graphs and sequences as people write them."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float64, gpus, int32, int64


@cuda.jit
def assign_clusters(points, centroids, labels):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = -1
        best_dist = math.inf
        for c in range(centroids.shape[0]):
            dist = 0.0
            for d in range(points.shape[1]):
                dist += (points[i, d] - centroids[c, d]) ** 2
            if dist < best_dist:
                best_dist = dist
                best = c
        labels[i] = best


@cuda.jit
def accumulate(points, labels, sums, counts):
    i = cuda.grid(1)
    if i < points.shape[0]:
        c = labels[i]
        for d in range(points.shape[1]):
            cuda.atomic.add(sums, (c, d), points[i, d])
        cuda.atomic.add(counts, c, 1)


def test_kmeans() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(m, 0.1, (25, 2)) for m in (0, 1, 2)])
    centroids = points[[0, 30, 60]].copy()
    expected = centroids.copy()
    labels = np.zeros(75, dtype=np.int64)
    with gpus.set_current("K20c"):
        for _ in range(3):
            sums, counts = np.zeros((3, 2)), np.zeros(3, dtype=np.int64)
            assign_clusters[3, 32](points, centroids, labels)
            accumulate[3, 32](points, labels, sums, counts)
            centroids = sums / counts[:, None]
            nearest = ((points[:, None] - expected) ** 2).sum(-1).argmin(1)
            expected = np.array([points[nearest == c].mean(0) for c in range(3)])
            np.testing.assert_array_equal(labels, nearest)
    np.testing.assert_allclose(centroids, expected, rtol=1e-12)


K = 4


@cuda.jit
def knn(data, queries, indices):
    q = cuda.grid(1)
    if q >= queries.shape[0]:
        return
    dists = cuda.local.array(K, float64)
    idx = cuda.local.array(K, int64)
    for k in range(K):
        dists[k] = 1e30
        idx[k] = -1
    for i in range(data.shape[0]):
        d = 0.0
        for j in range(data.shape[1]):
            t = data[i, j] - queries[q, j]
            d += t * t
        if d < dists[K - 1]:
            pos = K - 1
            while pos > 0 and dists[pos - 1] > d:
                dists[pos] = dists[pos - 1]
                idx[pos] = idx[pos - 1]
                pos -= 1
            dists[pos] = d
            idx[pos] = i
    for k in range(K):
        indices[q, k] = idx[k]


def test_nearest_neighbours() -> None:
    rng = np.random.default_rng(1)
    data, queries = rng.random((40, 3)), rng.random((20, 3))
    indices = np.zeros((20, K), dtype=np.int64)
    knn[1, 32](data, queries, indices)
    distances = ((queries[:, None] - data[None]) ** 2).sum(-1)
    np.testing.assert_array_equal(indices, distances.argsort(axis=1)[:, :K])


@cuda.jit
def floyd_warshall(dist, k):
    j, i = cuda.grid(2)
    n = dist.shape[0]
    if i < n and j < n:
        through = dist[i, k] + dist[k, j]
        if through < dist[i, j]:
            dist[i, j] = through


def test_floyd_warshall() -> None:
    rng = np.random.default_rng(2)
    dist = np.where(rng.random((16, 16)) < 0.3, rng.random((16, 16)), np.inf)
    np.fill_diagonal(dist, 0)
    expected = dist.copy()
    for k in range(16):
        floyd_warshall[(2, 2), (8, 8)](dist, k)
        expected = np.minimum(expected, expected[:, k : k + 1] + expected[k : k + 1])
    np.testing.assert_array_equal(dist, expected)


@cuda.jit
def bfs_level(indptr, indices, level, current, changed):
    v = cuda.grid(1)
    if v < level.size and level[v] == current:
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            if level[w] == -1:
                level[w] = current + 1
                changed[0] = True


def test_breadth_first_search() -> None:
    rng = np.random.default_rng(3)
    n = 60
    edges = rng.random((n, n)) < 0.04
    indptr = np.concatenate([[0], np.cumsum(edges.sum(1))])
    indices = np.nonzero(edges)[1]
    level = np.full(n, -1)
    level[0] = 0
    current, changed = 0, np.array([True])
    while changed[0]:
        changed[0] = False
        bfs_level[2, 32](indptr, indices, level, current, changed)
        current += 1
    expected, reached, front = np.full(n, -1), {0}, {0}
    depth = 0
    while front:
        expected[list(front)] = depth
        front = {int(w) for v in front for w in np.nonzero(edges[v])[0]} - reached
        reached |= front
        depth += 1
    np.testing.assert_array_equal(level, expected)


@cuda.jit
def needleman_wunsch_diagonal(a, b, score, diagonal, match, mismatch, gap):
    i = cuda.grid(1) + 1
    j = diagonal - i
    if i <= a.size and 1 <= j <= b.size:
        same = match if a[i - 1] == b[j - 1] else mismatch
        score[i, j] = max(score[i - 1, j - 1] + same, score[i - 1, j] + gap, score[i, j - 1] + gap)


def test_needleman_wunsch() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 4, 30), rng.integers(0, 4, 25)
    score = np.zeros((31, 26), dtype=np.int64)
    score[0], score[:, 0] = -2 * np.arange(26), -2 * np.arange(31)
    expected = score.copy()
    for diagonal in range(2, 56):
        needleman_wunsch_diagonal[1, 32](a, b, score, diagonal, 1, -1, -2)
    for i in range(1, 31):
        for j in range(1, 26):
            same = 1 if a[i - 1] == b[j - 1] else -1
            sides = expected[i - 1, j] - 2, expected[i, j - 1] - 2
            expected[i, j] = max(expected[i - 1, j - 1] + same, *sides)
    np.testing.assert_array_equal(score, expected)


@cuda.jit
def smith_waterman(queries, target, best, gap):
    """A query per thread, with one row of the matrix in local memory."""
    q = cuda.grid(1)
    if q >= queries.shape[0]:
        return
    row = cuda.local.array(32, int32)
    for j in range(32):
        row[j] = 0
    top = 0
    for i in range(queries.shape[1]):
        diagonal = 0
        for j in range(1, target.size + 1):
            up = row[j]
            s = diagonal + (2 if queries[q, i] == target[j - 1] else -1)
            s = max(s, max(up, row[j - 1]) - gap)
            s = max(s, 0)
            diagonal = up
            row[j] = s
            if s > top:
                top = s
    best[q] = top


def test_smith_waterman() -> None:
    rng = np.random.default_rng(5)
    queries, target = rng.integers(0, 4, (20, 12)), rng.integers(0, 4, 30)
    best = np.zeros(20, dtype=np.int64)
    smith_waterman[1, 32](queries, target, best, 1)
    for query, found in zip(queries, best, strict=True):
        h = np.zeros((13, 31), int)
        for i in range(1, 13):
            for j in range(1, 31):
                same = 2 if query[i - 1] == target[j - 1] else -1
                h[i, j] = max(0, h[i - 1, j - 1] + same, h[i - 1, j] - 1, h[i, j - 1] - 1)
        assert found == h.max()


@cuda.jit
def find_substring(text, pattern, found, count):
    i = cuda.grid(1)
    if i + pattern.size <= text.size:
        for k in range(pattern.size):
            if text[i + k] != pattern[k]:
                return
        place = cuda.atomic.add(count, 0, 1)
        found[place] = i


def test_string_search() -> None:
    text = "the cat sat on the mat with the other cat" * 3
    codes = np.frombuffer(text.encode(), np.uint8)
    found, count = np.full(50, -1), np.zeros(1, dtype=np.int32)
    find_substring[4, 32](codes, np.frombuffer(b"the", np.uint8), found, count)
    expected = [i for i in range(len(text)) if text.startswith("the", i)]
    assert count[0] == len(expected)
    assert sorted(found[: count[0]].tolist()) == expected
