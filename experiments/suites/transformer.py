"""Steps of a transformer in halves and bytes."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.matrices import halves


@workload("mma")
def project(rng: Random, size: int) -> Launch:
    n = (128, 768, 1_536)[size]
    a, b = halves(rng, (n, n)), halves(rng, (n, n))
    out = a.astype(np.float32) @ b.astype(np.float32).T
    return Launch((n // 32, n // 64), 128, [n, a, b, np.zeros((n, n), np.float16)], {3: out})


@workload("mma")
def bytes_product(rng: Random, size: int) -> Launch:
    n = (128, 512, 1_024)[size]
    a, b = (rng.integers(-128, 128, (n, n)).astype(np.int8) for _ in range(2))
    out = a.astype(np.float64) @ b.astype(np.float64).T
    return Launch(n * n // 256 // 4, 128, [n, a, b, np.zeros((n, n), np.int32)], {3: out})


@workload("streaming")
def rms_norm(rng: Random, size: int) -> Launch:
    rows, n = ((16, 512), (2_112, 512), (6_000, 512))[size]
    x, scale = rng.standard_normal((rows, 2 * n)).astype(np.float16), rng.random(2 * n).astype(np.float16)
    v = x.astype(np.float64)
    y = v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-5) * scale
    return Launch(rows, 128, [n, x, scale, np.zeros_like(x)], {3: y}, 3e-3, 1e-3)


@workload("arithmetic")
def rotate(rng: Random, size: int) -> Launch:
    places, pairs = ((32, 64), (2_112, 128), (6_000, 256))[size]
    x = rng.standard_normal((places, pairs, 2)).astype(np.float32)
    rate = np.exp2(np.float32(-13.287712) * np.arange(pairs, dtype=np.float32) / np.float32(pairs))
    angle = np.arange(places, dtype=np.float32)[:, None] * rate
    c, s = np.cos(angle.astype(np.float64)), np.sin(angle.astype(np.float64))
    out = np.stack([c * x[..., 0] - s * x[..., 1], s * x[..., 0] + c * x[..., 1]], 2)
    return Launch(places, pairs, [pairs, x.copy()], {1: out}, 1e-2, 1e-2)


@workload("streaming")
def gated(rng: Random, size: int) -> Launch:
    n, blocks = ((8_192, 8), (200_000, 528), (800_000, 1_056))[size]
    gate, up = rng.standard_normal((2, n, 4)).astype(np.float32)
    out = gate.astype(np.float64) / (1 + np.exp(-gate.astype(np.float64))) * up
    return Launch(blocks, 256, [n, gate, up, np.zeros_like(gate)], {3: out}, 1e-3, 1e-5)


@workload("cache")
def quantize(rng: Random, size: int) -> Launch:
    rows, n = ((64, 256), (8_448, 256), (16_384, 384))[size]
    x = rng.standard_normal((rows, n)).astype(np.float32)
    most = np.abs(x).max(1)
    out = np.rint(x * (np.float32(127) / most)[:, None])
    args = [n, x, np.zeros((rows, n), np.int8), np.zeros(rows, np.float32)]
    return Launch(rows // 8, 256, args, {2: out, 3: most / np.float32(127)}, 1e-6, 1.01)
