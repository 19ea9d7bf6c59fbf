"""Histograms, strings, clusters, sparse matrices, bodies and trees: tables and stretches in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.foreign.foreign_row import row
from smmux import cuda, float32, int32, uint8
from smmux.benchmarks.base import Problem, close, eighths, equal, frozen, poisoned

__all__ = ["WORKLOADS"]

TOLERANCE = 1e-4
BODIES, TEAM = 64, 256
"""Threads of a block, and bodies that attract one another."""


@cuda.jit
def bodies(position, force):
    """Forces within teams of 256 bodies, 64 of which lie in shared memory at a time."""
    tile = cuda.shared.array((BODIES, 4), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = i // TEAM * TEAM
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    fx, fy, fz = float32(0), float32(0), float32(0)
    for start in range(0, TEAM, BODIES):
        for axis in range(4):
            tile[t, axis] = position[first + start + t, axis]
        cuda.syncthreads()
        for j in range(BODIES):
            dx, dy, dz = tile[j, 0] - x, tile[j, 1] - y, tile[j, 2] - z
            w = tile[j, 3] / (dx * dx + dy * dy + dz * dz + float32(1))
            fx += w * dx
            fy += w * dy
            fz += w * dz
        cuda.syncthreads()
    force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz


BINS, WARPS = 256, 4


@cuda.jit
def histogram(values, counts):
    """Counts of bytes, a row of counts for each warp."""
    bins = cuda.shared.array((WARPS, BINS), int32)
    t = cuda.threadIdx.x
    for w in range(WARPS):
        for k in range(t, BINS, 32 * WARPS):
            bins[w, k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, (t // 32, values[i]), 1)
    cuda.syncthreads()
    for k in range(t, BINS, 32 * WARPS):
        cuda.atomic.add(counts, k, bins[0, k] + bins[1, k] + bins[2, k] + bins[3, k])


STRETCH, PATTERN = 2048, 8


@cuda.jit
def search(text, pattern, found):
    """How often a word of eight letters occurs in a block's stretch of text."""
    s = cuda.shared.array(STRETCH + PATTERN, uint8)
    p = cuda.shared.array(PATTERN, uint8)
    hits = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * STRETCH
    if t < PATTERN:
        p[t] = pattern[t]
    if t == 0:
        hits[0] = 0
    for i in range(t, STRETCH + PATTERN, 128):
        s[i] = text[first + i]
    cuda.syncthreads()
    for i in range(t, STRETCH, 128):
        k = 0
        while k < PATTERN and s[i + k] == p[k]:
            k += 1
        if k == PATTERN:
            cuda.atomic.add(hits, 0, 1)
    cuda.syncthreads()
    if t == 0:
        found[cuda.blockIdx.x] = hits[0]


LETTERS = 128


@cuda.jit
def distance(a, b, out):
    """How many edits make one word of another, along diagonals of which three lie in shared memory."""
    rows = cuda.shared.array((3, LETTERS + 1), int32)
    word = cuda.shared.array(LETTERS, uint8)
    t = cuda.threadIdx.x + 1
    word[t - 1] = a[cuda.blockIdx.x, t - 1]
    mine = b[cuda.blockIdx.x, t - 1]
    rows[0, t] = 0
    rows[1, t] = 1 if t == 1 else 0
    if t == 1:
        rows[0, 0] = 0
        rows[1, 0] = 1
    cuda.syncthreads()
    last, before, now = 1, 0, 2
    for d in range(2, 2 * LETTERS + 1):
        i = d - t
        if t == 1 and d <= LETTERS:
            rows[now, 0] = d
        if i == 0:
            rows[now, t] = t
        elif 0 < i <= LETTERS:
            cost = 0 if word[i - 1] == mine else 1
            rows[now, t] = min(min(rows[last, t] + 1, rows[last, t - 1] + 1), rows[before, t - 1] + cost)
        cuda.syncthreads()
        before, last, now = last, now, before
    if t == LETTERS:
        out[cuda.blockIdx.x] = rows[last, LETTERS]


CENTRES, AXES = 64, 8


@cuda.jit
def clusters(points, centres, nearest):
    """The nearest of 64 centres for each point in eight dimensions."""
    c = cuda.shared.array((CENTRES, AXES), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    for k in range(t, CENTRES * AXES, 128):
        c[k // AXES, k % AXES] = centres[k // AXES, k % AXES]
    cuda.syncthreads()
    p0, p1, p2, p3 = points[0, i], points[1, i], points[2, i], points[3, i]
    p4, p5, p6, p7 = points[4, i], points[5, i], points[6, i], points[7, i]
    best = 0
    least = float32(1e30)
    for k in range(CENTRES):
        total = (p0 - c[k, 0]) ** 2 + (p1 - c[k, 1]) ** 2 + (p2 - c[k, 2]) ** 2 + (p3 - c[k, 3]) ** 2
        total += (p4 - c[k, 4]) ** 2 + (p5 - c[k, 5]) ** 2 + (p6 - c[k, 6]) ** 2 + (p7 - c[k, 7]) ** 2
        if total < least:
            best = k
            least = total
    nearest[i] = best


ENTRIES, LINES = 1024, 64
"""Entries of a sparse matrix that a block stages, and rows that it adds up."""


@cuda.jit
def sparse(values, columns, starts, x, y):
    """A sparse matrix times a vector: products go to shared memory in order, and a thread adds up each row."""
    products = cuda.shared.array(ENTRIES, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x * LINES
    first = starts[row]
    last = starts[row + LINES]
    for e in range(first + t, last, 128):
        products[e - first] = values[e] * x[columns[e]]
    cuda.syncthreads()
    if t < LINES:
        total = float32(0)
        for e in range(starts[row + t], starts[row + t + 1]):
            total += products[e - first]
        y[row + t] = total


LEVELS = 128


@cuda.jit
def binomial(prices, strikes, up, down, chance, discount, out):
    """Prices of options by a binomial tree of 127 steps, a block for each."""
    v = cuda.shared.array(LEVELS, float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    price = prices[b]
    for _ in range(t):
        price *= up
    for _ in range(LEVELS - 1 - t):
        price *= down
    v[t] = max(price - strikes[b], float32(0))
    cuda.syncthreads()
    for step in range(LEVELS - 1, 0, -1):
        value = float32(0)
        if t < step:
            value = discount * (chance * v[t + 1] + (float32(1) - chance) * v[t])
        cuda.syncthreads()
        if t < step:
            v[t] = value
        cuda.syncthreads()
    if t == 0:
        out[b] = v[0]


def _bodies(blocks: int) -> Problem:
    position = eighths(np.random.default_rng(1), (BODIES * blocks, 4))
    teams = position.reshape(-1, TEAM, 4).astype(np.float64)
    apart = teams[:, None, :, :3] - teams[:, :, None, :3]
    weights = teams[:, None, :, 3] / (1 + (apart**2).sum(3))
    answer = (apart * weights[..., None]).sum(2).reshape(-1, 3)
    return Problem(
        grid=(blocks,),
        block=(BODIES,),
        arguments=lambda: (position, poisoned((BODIES * blocks, 3), np.float32)),
        check=lambda args: close("forces", args[1], answer, TOLERANCE),
    )


def _counts(blocks: int, each: int) -> Problem:
    """So many blocks, and values for each of their threads."""
    values = frozen(np.random.default_rng(2).integers(0, BINS, 32 * WARPS * blocks * each, np.int32))
    answer = np.bincount(values, minlength=BINS)
    return Problem(
        grid=(blocks,),
        block=(32 * WARPS,),
        arguments=lambda: (values, np.zeros(BINS, np.int32)),
        check=lambda args: equal("counts", args[1], answer),
    )


def _found(blocks: int) -> Problem:
    rng = np.random.default_rng(3)
    text = rng.integers(97, 101, STRETCH * blocks + PATTERN, np.uint8)
    text[-PATTERN:] = 0
    pattern = frozen(text[100 : 100 + PATTERN].copy())
    windows = np.lib.stride_tricks.sliding_window_view(text, PATTERN)[: STRETCH * blocks]
    answer = (windows == pattern).all(1).reshape(blocks, STRETCH).sum(1)
    return Problem(
        grid=(blocks,),
        block=(128,),
        arguments=lambda: (frozen(text), pattern, poisoned(blocks, np.int32)),
        check=lambda args: equal("found", args[2], answer),
    )


def _distances(blocks: int) -> Problem:
    rng = np.random.default_rng(4)
    a, b = (frozen(rng.integers(0, 4, (blocks, LETTERS), np.uint8)) for _ in range(2))
    d: Any = np.tile(np.arange(LETTERS + 1), (blocks, 1))
    for j in range(LETTERS):
        new = np.empty_like(d)
        new[:, 0] = j + 1
        for i in range(LETTERS):
            other = d[:, i] + (a[:, i] != b[:, j])
            new[:, i + 1] = np.minimum(np.minimum(new[:, i], d[:, i + 1]) + 1, other)
        d = new
    answer = d[:, -1]
    return Problem(
        grid=(blocks,),
        block=(LETTERS,),
        arguments=lambda: (a, b, poisoned(blocks, np.int32)),
        check=lambda args: equal("distances", args[2], answer),
    )


def _clusters(blocks: int) -> Problem:
    rng = np.random.default_rng(5)
    points, centres = eighths(rng, (AXES, 128 * blocks)), eighths(rng, (CENTRES, AXES))
    least, answer = np.full(128 * blocks, np.inf), np.zeros(128 * blocks, int)
    for k in range(CENTRES):
        d = ((points - centres[k][:, None]) ** 2).sum(0)
        answer[d < least] = k
        least = np.minimum(d, least)
    return Problem(
        grid=(blocks,),
        block=(128,),
        arguments=lambda: (points, centres, poisoned(128 * blocks, np.int32)),
        check=lambda args: equal("nearest", args[2], answer),
    )


def _sparse(blocks: int) -> Problem:
    rng = np.random.default_rng(6)
    rows = LINES * blocks
    lengths = rng.integers(1, ENTRIES // LINES + 1, rows)
    starts = frozen(np.concatenate([[0], lengths.cumsum()]).astype(np.int32))
    values, x = eighths(rng, int(starts[-1])), eighths(rng, rows)
    columns = frozen(rng.integers(0, rows, values.size, np.int32))
    answer = np.add.reduceat(values * x[columns], starts[:-1])
    return Problem(
        grid=(blocks,),
        block=(128,),
        arguments=lambda: (values, columns, starts, x, poisoned(rows, np.float32)),
        check=lambda args: equal("sparse product", args[4], answer),
    )


def _options(blocks: int) -> Problem:
    rng = np.random.default_rng(7)
    prices, strikes = (frozen(rng.uniform(20, 60, blocks).astype(np.float32)) for _ in range(2))
    up, down, chance, discount = (np.float32(x) for x in (1.02, 1 / 1.02, 0.505, 0.9998))
    moves = np.arange(LEVELS)
    wide = prices[:, None].astype(np.float64) * float(up) ** moves * float(down) ** (LEVELS - 1 - moves)
    v: Any = np.maximum(wide - strikes[:, None], 0)
    for _ in range(LEVELS - 1):
        v = float(discount) * (float(chance) * v[:, 1:] + (1 - float(chance)) * v[:, :-1])
    answer = v[:, 0]
    return Problem(
        grid=(blocks,),
        block=(LEVELS,),
        arguments=lambda: (prices, strikes, up, down, chance, discount, poisoned(blocks, np.float32)),
        check=lambda args: close("options", args[6], answer, TOLERANCE),
    )


WORKLOADS = (
    row("BODIES", "Forces between bodies", bodies, lambda blocks: _bodies(-(-blocks // 4) * 4), blocks=2112),
    row("HISTOGRAM", "Histogram of 256 values", histogram, _counts, blocks=1056, each=16),
    row("SEARCH", "Search of a word", search, _found, blocks=1056),
    row("EDITS", "Edit distance", distance, _distances, blocks=528),
    row("CLUSTERS", "Nearest centres", clusters, _clusters, blocks=2112),
    row("SPARSE", "Sparse matrix times vector", sparse, _sparse, blocks=2112),
    row("OPTIONS", "Options by a binomial tree", binomial, _options, blocks=2112),
)
