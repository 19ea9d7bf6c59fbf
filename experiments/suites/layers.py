"""Layers of neural networks."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.vector_suite import whole


def shares(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    e: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
    total: np.ndarray = e.sum(-1, keepdims=True)
    out: np.ndarray = e / total
    return out


@workload("streaming")
def softmax(rng: Random, size: int) -> Launch:
    rows, n = ((64, 256), (8_448, 128), (16_384, 256))[size]
    x = rng.standard_normal((rows, n)).astype(np.float32)
    return Launch(rows // 8, 256, [n, x, np.zeros_like(x)], {2: shares(x.astype(np.float64))}, 1e-3, 1e-6)


@workload("streaming")
def layer_norm(rng: Random, size: int) -> Launch:
    rows, n = ((16, 1_024), (1_056, 1_024), (4_224, 1_024))[size]
    x, scale = rng.standard_normal((rows, n)).astype(np.float32), rng.random(n).astype(np.float32)
    y = (x - x.mean(1, keepdims=True, dtype=float)) / np.sqrt(x.var(1, keepdims=True, dtype=float) + 1e-5) * scale
    return Launch(rows, 256, [n, x, scale, np.zeros_like(x)], {3: y}, 1e-3, 1e-4)


@workload("streaming")
def gelu_halves(rng: Random, size: int) -> Launch:
    n = (8_192, 270_336, 1_500_000)[size]
    x = rng.standard_normal((n, 2)).astype(np.float16)
    v = x.astype(np.float64)
    return Launch(-(-n // 256), 256, [n, x, np.zeros_like(x)], {2: v / (1 + np.exp(-1.702 * v))}, 2e-3, 1e-4)


@workload("streaming")
def pooling(rng: Random, size: int) -> Launch:
    width, height = ((128, 64), (1_024, 512), (2_048, 1_536))[size]
    x = whole(rng, (height, width), 100)
    out = x.reshape(height // 2, 2, width // 2, 2).max((1, 3))
    args = [width, x, np.zeros_like(out)]
    return Launch((width // 64, height // 16), (32, 8), args, {2: out})


@workload("arithmetic")
def convolution(rng: Random, size: int) -> Launch:
    n = (32, 256, 512)[size]
    x, weights = np.zeros((8, n + 2, n + 2), np.float32), whole(rng, (8, 8, 3, 3), 2)
    x[:, 1:-1, 1:-1] = whole(rng, (8, n, n), 3)
    out = sum(
        np.einsum("kc,cyx->kyx", weights[:, :, r, s], x[:, r : r + n, s : s + n]) for r in range(3) for s in range(3)
    )
    args = [n, x, weights, np.zeros((8, n, n), np.float32)]
    return Launch((n // 32, n // 4), (32, 4), args, {3: np.maximum(out, 0)})


@workload("cache")
def embedding(rng: Random, size: int) -> Launch:
    words, width, known = ((64, 64, 256), (4_224, 64, 4_096), (12_000, 64, 16_384))[size]
    table = rng.random((known, width * 4)).astype(np.float32)
    chosen = (known * rng.random(words) ** 2).astype(np.int32)
    args = [width, chosen, table, np.zeros((words, width * 4), np.float32)]
    return Launch(words, 64, args, {3: table[chosen]})


@workload("shared")
def attention(rng: Random, size: int) -> Launch:
    queries, n = ((128, 64), (4_224, 128), (8_448, 256))[size]
    q, k, v = (rng.standard_normal((rows, 32)).astype(np.float32) * 0.5 for rows in (queries, n, n))
    out = shares(q.astype(np.float64) @ k.T) @ v
    return Launch(queries // 32, 256, [n, q, k, v, np.zeros_like(q)], {4: out}, 1e-3, 1e-4)
