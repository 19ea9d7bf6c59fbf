"""Kernels as people write them, each with a launch and what NumPy says of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smmux import cuda, float32, int32
from smmux.kernel import Kernel
from tests.numba import sources

N = 64
RADIUS = 3
MATMUL = Path(__file__).parents[1] / "numba" / "examples" / "matmul.py"
fast_matmul = sources.load(MATMUL.read_text(), str(MATMUL), "smmux").fast_matmul


@dataclass(frozen=True)
class Written:
    """A kernel, its grid, block and inputs, what becomes of the last array, and the tolerance."""

    kernel: Kernel
    grid: Any
    block: Any
    inputs: tuple[Any, ...]
    expected: Any
    tolerance: float = 0.0

    def arguments(self) -> tuple[Any, ...]:
        """Fresh copies."""
        return tuple(np.copy(x) if isinstance(x, np.ndarray) else x for x in self.inputs)


@cuda.jit
def stencil(a, o):
    s = cuda.shared.array(N + 2 * RADIUS, float32)
    g = cuda.grid(1)
    i = cuda.threadIdx.x + RADIUS
    s[i] = a[g]
    if cuda.threadIdx.x < RADIUS:
        s[i - RADIUS] = a[g - RADIUS] if g >= RADIUS else float32(0)
        if g + N < a.size:
            s[i + N] = a[g + N]
        else:
            s[i + N] = float32(0)
    cuda.syncthreads()
    acc = float32(0)
    for off in range(-RADIUS, RADIUS + 1):
        acc += s[i + off]
    o[g] = acc


@cuda.jit
def bitonic(a):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    k = 2
    while k <= N:
        j = k >> 1
        while j > 0:
            ixj = t ^ j
            if ixj > t:
                if (t & k) == 0:
                    if s[t] > s[ixj]:
                        s[t], s[ixj] = s[ixj], s[t]
                else:
                    if s[t] < s[ixj]:
                        s[t], s[ixj] = s[ixj], s[t]
            cuda.syncthreads()
            j >>= 1
        k <<= 1
    a[cuda.grid(1)] = s[t]


@cuda.jit
def histogram2(d, h):
    bins = cuda.shared.array(64, int32)
    start = cuda.grid(1)
    stride = cuda.gridDim.x * cuda.blockDim.x
    i = cuda.threadIdx.x
    while i < 64:
        bins[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    i = start
    while i < d.shape[0]:
        cuda.atomic.add(bins, d[i], 1)
        i += stride
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, 64, cuda.blockDim.x):
        cuda.atomic.add(h, b, bins[b])


@cuda.jit
def guard_size(a, o, n):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = 0
    if i < n:
        s[t] = a[i]
    cuda.syncthreads()
    if i >= n:
        return
    o[i] = s[N - 1 - t]


@cuda.jit(device=True)
def reversed_in_block(x, t):
    s = cuda.shared.array(N, float32)
    s[t] = x
    cuda.syncthreads()
    y = s[N - 1 - t]
    cuda.syncthreads()
    return y


@cuda.jit
def declared_inside2(a, o):
    i = cuda.grid(1)
    y = reversed_in_block(a[i], cuda.threadIdx.x)
    o[i] = y


@cuda.jit
def csr(a, ptr, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    acc = float32(0)
    for k in range(ptr[b], ptr[b + 1]):
        s[t] = a[k * N + t]
        cuda.syncthreads()
        acc += s[N - 1 - t]
        cuda.syncthreads()
    o[b * N + t] = acc


@cuda.jit
def converge(a):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    going = 1
    while going:
        x = s[t]
        y = max(x, s[(t + 1) % N])
        going = cuda.syncthreads_or(int32(y != x))
        s[t] = y
        cuda.syncthreads()
    a[i] = s[t]


@cuda.jit(device=True)
def block_sum(buf, t, x, n=64):
    buf[t] = x
    cuda.syncthreads()
    step = n // 2
    while step > 0:
        if t < step:
            buf[t] += buf[t + step]
        cuda.syncthreads()
        step //= 2
    total = buf[0]
    cuda.syncthreads()
    return total


@cuda.jit
def normalise(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    o[i] = a[i] / block_sum(s, t, x=a[i])


@cuda.jit
def variance(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    x = a[cuda.grid(1)]
    v = block_sum(s, t, x * x) / 64 - (block_sum(s, t, x) / 64) ** 2
    if t == 0:
        o[cuda.blockIdx.x] = v


@cuda.jit(device=True)
def maybe(buf, t, x, mode):
    if mode == 0:
        return x
    buf[t] = x
    cuda.syncthreads()
    return buf[N - 1 - t]


@cuda.jit
def early_in_function(a, o, mode):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    y = maybe(s, t, a[cuda.grid(1)], mode)
    o[cuda.grid(1)] = y


@cuda.jit
def else_return(a, o, n):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    if i < n:
        o[i] = s[N - 1 - t]
        return
    o[i] = -1


@cuda.jit
def nested_tiles(a, o):
    s = cuda.shared.array((8, 9), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for by in range(cuda.blockIdx.y, 4, cuda.gridDim.y):
        for bx in range(cuda.blockIdx.x, 4, cuda.gridDim.x):
            s[ty, tx] = a[by * 8 + ty, bx * 8 + tx]
            cuda.syncthreads()
            o[bx * 8 + ty, by * 8 + tx] = s[tx, ty]
            cuda.syncthreads()


@cuda.jit
def two_steps(a, o):
    u = cuda.shared.array(N + 2, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    u[t + 1] = a[i]
    if t == 0:
        u[0] = a[i + 1]
        u[N + 1] = a[i + N - 2]
    cuda.syncthreads()
    x = u[t] + u[t + 1] + u[t + 2]
    cuda.syncthreads()
    u[t + 1] = x
    cuda.syncthreads()
    o[i] = u[t] + u[t + 1] + u[t + 2]


@cuda.jit
def many_steps(a, o, steps):
    u = cuda.shared.array(N + 2, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    for j in range(t, N + 2, N):
        u[j] = a[i - t + j - 1] if 0 < j <= N else cuda.blockIdx.x
    cuda.syncthreads()
    x = u[t + 1]
    for _ in range(steps):
        x = u[t] + u[t + 2]
        cuda.syncthreads()
        u[t + 1] = x
        cuda.syncthreads()
    o[i] = x


@cuda.jit
def through_global(a, o):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    b = i - t
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[N - 1 - t]
    cuda.syncthreads()
    x = a[b + (t + 1) % N]
    cuda.syncthreads()
    o[i] = x + s[t]


RNG = np.random.default_rng(1)
A = RNG.integers(0, 64, 1024).astype(np.float32)
X = A[:384]
ROWS = X.reshape(6, N)
REVERSED = ROWS[:, ::-1].ravel()
ZEROS = np.zeros(384, np.float32)
LEFT, RIGHT = A[:480].reshape(20, 24), A[200:872].reshape(24, 28)
VALUES = RNG.integers(0, N, 1000).astype(np.int32)
ROW_STARTS = np.array([0, 2, 3, 3, 5, 6, 6], np.int32)
PLACE = np.arange(384)


def _sums(size: int) -> np.ndarray[Any, Any]:
    padded = np.pad(X, RADIUS)
    return np.array([padded[i : i + 2 * RADIUS + 1].sum() for i in range(size)], np.float32)


def _guarded(n: int) -> np.ndarray[Any, Any]:
    mirror = PLACE // N * N + N - 1 - PLACE % N
    return np.where((n > PLACE) & (mirror < n), REVERSED, 0)


def _csr() -> np.ndarray[Any, Any]:
    rows = REVERSED.reshape(6, N)
    return np.concatenate([rows[a:b].sum(0) for a, b in zip(ROW_STARTS, ROW_STARTS[1:], strict=False)])


def _stepped(edges: np.ndarray[Any, Any], steps: int, own: bool) -> np.ndarray[Any, Any]:
    """Every block with its edges, after sums of neighbours."""
    rows = ROWS
    for _ in range(steps):
        wide = np.hstack([edges[:, :1], rows, edges[:, 1:]])
        rows = wide[:, :-2] + wide[:, 2:] + own * rows
    return rows.ravel()


SUM = ROWS.sum(1, keepdims=True)
WRITTEN = [
    Written(stencil, 6, N, (X, ZEROS), _sums(384)),
    Written(fast_matmul, (4, 3), (8, 8), (LEFT, RIGHT, np.zeros((20, 28), np.float32)), LEFT @ RIGHT, 1e-5),
    Written(bitonic, 6, N, (X,), np.sort(ROWS, 1).ravel()),
    Written(histogram2, 4, 48, (VALUES, np.zeros(N, np.int32)), np.bincount(VALUES, minlength=N)),
    Written(guard_size, 6, N, (X, ZEROS, np.int32(350)), _guarded(350)),
    Written(declared_inside2, 6, N, (X, ZEROS), REVERSED),
    Written(csr, 6, N, (X, ROW_STARTS, ZEROS), _csr()),
    Written(converge, 6, N, (X,), np.repeat(ROWS.max(1), N)),
    Written(normalise, 6, N, (X, ZEROS), (ROWS / SUM).ravel(), 1e-6),
    Written(variance, 6, N, (X, np.zeros(6, np.float32)), ROWS.var(1), 1e-4),
    Written(early_in_function, 6, N, (X, ZEROS, np.int32(1)), REVERSED),
    Written(else_return, 6, N, (X, ZEROS, np.int32(350)), np.where(PLACE < 350, REVERSED, -1)),
    Written(nested_tiles, (2, 2), (8, 8), (A.reshape(32, 32), np.zeros((32, 32), np.float32)), A.reshape(32, 32).T),
    Written(two_steps, 6, N, (X, ZEROS), _stepped(ROWS[:, [1, N - 2]], 2, True)),
    Written(many_steps, 6, N, (X, ZEROS, 3), _stepped(np.repeat(np.arange(6.0), 2).reshape(6, 2), 3, False)),
    Written(through_global, 6, N, (X, ZEROS), X + np.roll(REVERSED.reshape(6, N), -1, 1).ravel()),
]
