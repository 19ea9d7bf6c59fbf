"""Histograms, strings, transforms, clusters and graphs."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float32, int32, uint8
from tests.multiplex.written_kernels import PLACE, ZEROS, A, N, Written, X

BINS = 16
CENTRES = 4
PATTERN = 5
TWO_PI = 2 * math.pi


@cuda.jit
def histogram_per_warp(d, h):
    bins = cuda.shared.array((2, BINS), int32)
    t = cuda.threadIdx.x
    for k in range(t, 2 * BINS, N):
        bins[k // BINS, k % BINS] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), d.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, (t // 32, d[i]), 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(h, t, bins[0, t] + bins[1, t])


@cuda.jit
def histogram_of_floats(x, low, width, h):
    bins = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        k = int32((x[i] - low) / width)
        if 0 <= k < BINS:
            cuda.atomic.add(bins, k, 1)
    cuda.syncthreads()
    if t < BINS and bins[t] > 0:
        cuda.atomic.add(h, t, bins[t])


@cuda.jit
def string_search(text, pattern, found):
    s = cuda.shared.array(N + PATTERN - 1, uint8)
    p = cuda.shared.array(PATTERN, uint8)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t < PATTERN:
        p[t] = pattern[t]
    s[t] = text[i]
    if t < PATTERN - 1 and i + N < text.size:
        s[t + N] = text[i + N]
    cuda.syncthreads()
    if i + PATTERN <= text.size:
        same = True
        for k in range(PATTERN):
            if s[t + k] != p[k]:
                same = False
                break
        found[i] = 1 if same else 0


@cuda.jit
def edit_distance(a, b, o):
    rows = cuda.shared.array((3, N + 1), int32)
    t = cuda.threadIdx.x + 1
    mine = b[cuda.blockIdx.x, t - 1]
    rows[0, t] = 0
    rows[1, t] = 1 if t == 1 else 0
    if t == 1:
        rows[0, 0] = 0
        rows[1, 0] = 1
    cuda.syncthreads()
    last, before, now = 1, 0, 2
    for d in range(2, 2 * N + 1):
        i = d - t
        if t == 1 and d <= N:
            rows[now, 0] = d
        if i == 0:
            rows[now, t] = t
        elif 0 < i <= N:
            cost = 0 if a[i - 1] == mine else 1
            rows[now, t] = min(min(rows[last, t] + 1, rows[last, t - 1] + 1), rows[before, t - 1] + cost)
        cuda.syncthreads()
        before, last, now = last, now, before
    if t == N:
        o[cuda.blockIdx.x] = rows[last, N]


@cuda.jit
def cluster_sums(points, centres, sums, counts):
    c = cuda.shared.array(CENTRES, float32)
    s = cuda.shared.array(CENTRES, float32)
    n = cuda.shared.array(CENTRES, int32)
    t = cuda.threadIdx.x
    if t < CENTRES:
        c[t] = centres[t]
        s[t] = 0
        n[t] = 0
    cuda.syncthreads()
    x = points[cuda.grid(1)]
    nearest, least = 0, abs(x - c[0])
    for k in range(1, CENTRES):
        d = abs(x - c[k])
        if d < least:
            nearest, least = k, d
    cuda.atomic.add(s, nearest, x)
    cuda.atomic.add(n, nearest, 1)
    cuda.syncthreads()
    if t < CENTRES:
        cuda.atomic.add(counts, t, n[t])
        cuda.atomic.add(sums, t, s[t])


@cuda.jit
def n_body(position, force):
    tile = cuda.shared.array((N, 2), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x, y = position[i, 0], position[i, 1]
    fx, fy = float32(0), float32(0)
    for first in range(0, position.shape[0], N):
        for axis in range(2):
            tile[t, axis] = position[first + t, axis]
        cuda.syncthreads()
        for j in range(N):
            dx, dy = tile[j, 0] - x, tile[j, 1] - y
            w = 1 / (dx * dx + dy * dy + 1)
            fx += w * dx
            fy += w * dy
        cuda.syncthreads()
    force[i, 0], force[i, 1] = fx, fy


@cuda.jit
def fft(signal, out):
    re = cuda.shared.array(N, float32)
    im = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    for k in range(2):
        i = t + k * (N // 2)
        place = 0
        rest = i
        for _ in range(6):
            place = 2 * place + (rest & 1)
            rest >>= 1
        re[place] = signal[b, i]
        im[place] = 0
    cuda.syncthreads()
    half = 1
    while half < N:
        j = t % half
        i = (t // half) * 2 * half + j
        angle = float32(-TWO_PI / 2) * j / half
        c, s = math.cos(angle), math.sin(angle)
        xr = c * re[i + half] - s * im[i + half]
        xi = c * im[i + half] + s * re[i + half]
        re[i + half], im[i + half] = re[i] - xr, im[i] - xi
        re[i] += xr
        im[i] += xi
        cuda.syncthreads()
        half *= 2
    for k in range(2):
        i = t + k * (N // 2)
        out[b, i, 0], out[b, i, 1] = re[i], im[i]


@cuda.jit
def walsh_hadamard(a):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    h = 1
    while h < N:
        x, y = s[t], s[t ^ h]
        cuda.syncthreads()
        s[t] = x + y if t & h == 0 else y - x
        cuda.syncthreads()
        h *= 2
    a[cuda.grid(1)] = s[t]


@cuda.jit
def polynomial(coefficients, x, y):
    c = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    if t < coefficients.size:
        c[t] = coefficients[t]
    cuda.syncthreads()
    i = cuda.grid(1)
    value = float32(0)
    for k in range(coefficients.size - 1, -1, -1):
        value = value * x[i] + c[k]
    y[i] = value


@cuda.jit
def table_lookup(table, a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    for k in range(t, N, cuda.blockDim.x):
        s[k] = table[k]
    cuda.syncthreads()
    i = cuda.grid(1)
    low, high = 0, N
    while low < high:
        middle = (low + high) >> 1
        if s[middle] < a[i]:
            low = middle + 1
        else:
            high = middle
    o[i] = low


@cuda.jit
def components(links, o):
    label = cuda.shared.array(N, int32)
    changed = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    label[t] = t
    changed[0] = 1
    cuda.syncthreads()
    while changed[0] == 1:
        cuda.syncthreads()
        changed[0] = 0
        cuda.syncthreads()
        other = label[links[cuda.grid(1)]]
        mine = label[t]
        cuda.syncthreads()
        if other < mine:
            label[t] = other
            changed[0] = 1
        cuda.syncthreads()
    o[cuda.grid(1)] = label[t]


@cuda.jit
def breadth_first(starts, targets, o):
    level = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    level[t] = 0 if t == b else -1
    cuda.syncthreads()
    depth = 0
    more = 1
    while more:
        found = 0
        if level[t] == depth:
            for e in range(starts[t], starts[t + 1]):
                v = targets[e]
                if level[v] == -1:
                    level[v] = depth + 1
                    found = 1
        more = cuda.syncthreads_or(found)
        depth += 1
    o[b, t] = level[t]


@cuda.jit
def run_lengths(a, o):
    heads = cuda.shared.array(N + 1, int32)
    count = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t == 0:
        count[0] = 0
    cuda.syncthreads()
    head = t == 0 or a[i] != a[i - 1]
    heads[t] = 1 if head else 0
    if head:
        cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    if head:
        end = t + 1
        while end < N and heads[end] == 0:
            end += 1
        o[i] = end - t
    if t == 0:
        o[i] += 1000 * count[0]


@cuda.jit
def queue(a, o, total):
    items = cuda.shared.array(N, float32)
    used = cuda.shared.array(1, int32)
    place = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        used[0] = 0
    cuda.syncthreads()
    x = a[cuda.grid(1)]
    if x > 40:
        items[cuda.atomic.add(used, 0, 1)] = x
    cuda.syncthreads()
    if t == 0:
        place[0] = cuda.atomic.add(total, 0, used[0])
    cuda.syncthreads()
    if t < used[0]:
        o[place[0] + t] = items[t]


@cuda.jit
def random_walk(seeds, o):
    state = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    state[t] = seeds[i]
    for _ in range(8):
        state[t] = (state[t] * 1103 + 12345) & 0x7FFF
    cuda.syncthreads()
    o[i] = state[t] ^ state[N - 1 - t]


SMALL = (A % BINS).astype(np.int32)
TEXT = np.frombuffer((b"abracadabra and abracad, " * 16)[:384], np.uint8).copy()
WORD = np.frombuffer(b"racad", np.uint8).copy()
HITS = np.array([TEXT[i : i + 5].tobytes() == b"racad" for i in range(384)], np.int32)
FIRST, SECOND = (A[:N] % 4).astype(np.int32), (A[: 6 * N] % 4).astype(np.int32).reshape(6, N)
CENTRE = np.array([5, 20, 33, 60], np.float32)
NEAREST = np.abs(X[:, None] - CENTRE).argmin(1)
BODIES = np.stack([X, X[::-1]], 1) / 8
LINKS = np.where(PLACE % 5 == 0, PLACE % N, (PLACE * 7 + 3) % N).astype(np.int32)
TABLE = np.sort(A[:N])
RUNS = (X > 20).astype(np.float32)


def _distance(a: np.ndarray, b: np.ndarray) -> int:
    d = np.arange(N + 1)
    for j, y in enumerate(b, 1):
        new = [j]
        for i, x in enumerate(a, 1):
            new.append(min(new[-1] + 1, d[i] + 1, d[i - 1] + (x != y)))
        d = np.array(new)
    return int(d[N])


def _forces() -> np.ndarray:
    p = BODIES.astype(float)
    d = p[None] - p[:, None]
    return (d / (1 + (d**2).sum(2))[:, :, None]).sum(1)


def _components() -> np.ndarray:
    label = np.tile(np.arange(N), 6)
    while True:
        new = np.minimum(label, label.reshape(6, N)[PLACE // N, LINKS])
        if (new == label).all():
            return label
        label = new


def _levels(starts: np.ndarray, targets: np.ndarray) -> np.ndarray:
    out = np.full((6, N), -1)
    for b in range(6):
        front, depth = [b], 0
        out[b, b] = 0
        while front:
            depth += 1
            reached = {int(v) for u in front for v in targets[starts[u] : starts[u + 1]] if out[b, v] < 0}
            front = sorted(reached)
            out[b, front] = depth
    return out


def _run_lengths() -> np.ndarray:
    out = np.zeros(384, np.int32)
    for b in range(6):
        row = RUNS[b * N : b * N + N]
        heads = [0, *(i for i in range(1, N) if row[i] != row[i - 1]), N]
        for i, j in zip(heads, heads[1:], strict=False):
            out[b * N + i] = j - i
        out[b * N] += 1000 * (len(heads) - 1)
    return out


def _walk() -> np.ndarray:
    s = X.astype(np.int64)
    for _ in range(8):
        s = (s * 1103 + 12345) & 0x7FFF
    return s ^ s.reshape(6, N)[:, ::-1].ravel()


STARTS = np.minimum(np.arange(N + 1) * 2, 120).astype(np.int32)
TARGETS = ((np.arange(120) * 37 + 11) % N).astype(np.int32)
SPECTRUM = np.fft.fft(X.reshape(6, N))
HADAMARD = np.array([[(-1) ** bin(i & j).count("1") for i in range(N)] for j in range(N)])
DATA = [
    Written(histogram_per_warp, 4, N, (SMALL, np.zeros(BINS, np.int32)), np.bincount(SMALL, minlength=BINS)),
    Written(histogram_of_floats, 6, N, (X, np.float32(4), np.float32(3), np.zeros(BINS, np.int32)),
            np.bincount(((X - 4) / 3).astype(int)[(X > 1) & (X < 52)], minlength=BINS)),
    Written(string_search, 6, N, (TEXT, WORD, np.zeros(384, np.int32)), HITS),
    Written(edit_distance, 6, N, (FIRST, SECOND, np.zeros(6, np.int32)), [_distance(FIRST, b) for b in SECOND]),
    Written(cluster_sums, 6, N, (X, CENTRE, np.zeros(CENTRES, np.float32), np.zeros(CENTRES, np.int32)),
            np.bincount(NEAREST, minlength=CENTRES)),
    Written(n_body, 6, N, (BODIES, np.zeros_like(BODIES)), _forces(), 1e-3),
    Written(fft, 6, N // 2, (X.reshape(6, N), np.zeros((6, N, 2), np.float32)),
            np.stack([SPECTRUM.real, SPECTRUM.imag], 2), 1e-2),
    Written(walsh_hadamard, 6, N, (X,), (X.reshape(6, N) @ HADAMARD).ravel()),
    Written(polynomial, 6, N, (A[:5].copy(), X / 64, ZEROS), np.polyval(A[4::-1].astype(float), X / 64), 1e-5),
    Written(table_lookup, 6, N, (TABLE, X, np.zeros(384, np.int32)), np.searchsorted(TABLE, X)),
    Written(components, 6, N, (LINKS, np.zeros(384, np.int32)), _components()),
    Written(breadth_first, 6, N, (STARTS, TARGETS, np.zeros((6, N), np.int32)), _levels(STARTS, TARGETS)),
    Written(run_lengths, 6, N, (RUNS, np.zeros(384, np.int32)), _run_lengths()),
    Written(queue, 6, N, (X, ZEROS, np.zeros(1, np.int32)), [(X > 40).sum()]),
    Written(random_walk, 6, N, (X.astype(np.int32), np.zeros(384, np.int32)), _walk()),
]  # fmt: skip
