"""Kernels in Triton, of `triton_kernels.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.suites import Launch, Random, Shape, workload
from experiments.suites.matrices import halves

MADE = Path(__file__).parents[1] / "hardware" / "suites" / "triton.json"
"""What the script that compiled the kernels says of them."""


@lru_cache
def made() -> Mapping[str, Mapping[str, Any]]:
    """By kernel: warps of a block, bytes of shared memory, and constants."""
    return dict(json.loads(MADE.read_text("utf-8"))["kernels"])


def constants(kernel: str) -> list[int]:
    """What the kernel was compiled for, as the lengths of a tile."""
    return list(made()[kernel]["constants"].values())


def launched(
    kernel: str,
    grid: Shape,
    args: Sequence[Any],
    results: Mapping[int, Any],
    relative: float = 0.0,
    absolute: float = 0.0,
) -> Launch:
    """A launch with the warps and the shared memory that the kernel was compiled for."""
    about = made()[kernel]
    return Launch(grid, 32 * about["warps"], args, results, relative, absolute, about["shared"])


def bfloats(values: np.ndarray) -> np.ndarray:
    """The words of the nearest bfloat16, which NumPy has no type for."""
    words = values.astype(np.float32).view(np.uint32)
    odd = words >> np.uint32(16) & np.uint32(1)
    return ((words + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)


def floats(words: np.ndarray) -> np.ndarray:
    """The values of words of bfloat16."""
    return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)


def uniform(seed: int, n: int) -> np.ndarray:
    """What `tl.rand` draws for 0 to n - 1: first words of Philox 4x32-10, of Salmon et al., Parallel random numbers: as
    easy as 1, 2, 3 (2011)."""
    zero, low, half = np.zeros(n, np.uint64), np.uint64(0xFFFFFFFF), np.uint64(32)
    counter, keys = [np.arange(n, dtype=np.uint64), zero, zero, zero], [seed, 0]
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            (second >> half) ^ counter[1] ^ np.uint64(keys[0]), second & low,
            (first >> half) ^ counter[3] ^ np.uint64(keys[1]), first & low,
        ]  # fmt: skip
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    drawn = counter[0].astype(np.uint32).view(np.int32)
    return np.where(drawn < 0, ~drawn, drawn).astype(np.float32) * np.float32(4.6566127342e-10)


@workload("streaming")
def softmax(rng: Random, size: int) -> Launch:
    blocks, rows, n = ((8, 24, 528), (2_112, 2_112, 768), (2_112, 10_560, 768))[size]
    x = rng.standard_normal((rows, n), np.float32)
    powers = np.exp(x - x.max(1, keepdims=True))
    out = powers / powers.sum(1, keepdims=True)
    return launched("softmax", blocks, [x, np.zeros_like(x), rows, n], {1: out}, 1e-5)


@workload("streaming")
def layer_norm(rng: Random, size: int) -> Launch:
    rows, n = ((16, 528), (2_112, 768), (6_336, 1_024))[size]
    x = bfloats(rng.standard_normal((rows, n), np.float32))
    weight, bias = rng.standard_normal((2, n), np.float32)
    wide = floats(x).astype(np.float64)
    mean, scale = wide.mean(1), 1 / np.sqrt(wide.var(1) + 1e-5)
    out = (wide - mean[:, None]) * scale[:, None] * weight + bias
    kept = [np.zeros((rows, n), np.float32), *np.zeros((2, rows), np.float32)]
    args = [x, weight, bias, *kept, n, 1e-5]
    return launched("layer_norm", rows, args, {3: out, 4: mean, 5: scale}, 1e-5, 1e-5)


@workload("arithmetic")
def dropout(rng: Random, size: int) -> Launch:
    (block,) = constants("dropout")
    n = (8_016, 1_081_344, 3_244_032)[size]
    x = rng.standard_normal(n, np.float32)
    p, seed = 0.1, 1_234_567
    out = np.where(uniform(seed, n) > np.float32(p), x / (1 - np.float32(p)), 0)
    return launched("dropout", -(-n // block), [x, np.zeros_like(x), n, p, seed], {1: out}, 1e-6)


@workload("streaming")
def cross_entropy(rng: Random, size: int) -> Launch:
    rows, n = ((16, 3_008), (1_056, 4_096), (2_640, 4_096))[size]
    logits, labels = rng.standard_normal((rows, n), np.float32), rng.integers(0, n, rows).astype(np.int32)
    most = logits.max(1)
    loss = np.log(np.exp(logits - most[:, None]).sum(1)) + most - logits[np.arange(rows), labels]
    args = [logits, labels, np.zeros(rows, np.float32), n]
    return launched("cross_entropy", rows, args, {2: loss}, 1e-5, 1e-5)


@workload("streaming")
def adamw(rng: Random, size: int) -> Launch:
    (block,) = constants("adamw")
    n = (8_016, 1_081_344, 3_244_032)[size]
    w, g, m, v = rng.standard_normal((4, n), np.float32)
    v *= v
    rate, beta1, beta2, epsilon, decay, right1, right2 = 1e-2, 0.9, 0.99, 1e-6, 0.1, 2.0, 20.0
    first = (np.float32(beta1) * m + np.float32(1 - beta1) * g).astype(np.float64)
    second = (np.float32(beta2) * v + np.float32(1 - beta2) * g * g).astype(np.float64)
    stepped = w * (1 - rate * decay) - rate * first * right1 / (np.sqrt(second * right2) + epsilon)
    args = [w, g, m, v, n, rate, beta1, beta2, epsilon, decay, right1, right2]
    return launched("adamw", -(-n // block), args, {0: stepped, 2: first, 3: second}, 1e-5, 1e-5)


@workload("shared")
def transpose(rng: Random, size: int) -> Launch:
    m, n = constants("transpose")
    rows, columns = ((176, 272), (2_816, 2_304), (4_608, 4_608))[size]
    x = rng.standard_normal((rows, columns), np.float32).astype(np.float16)
    args = [x, np.zeros((columns, rows), np.float16), rows, columns]
    return launched("transpose", (-(-rows // m), -(-columns // n)), args, {1: x.T})


@workload("shared")
def recurrence(rng: Random, size: int) -> Launch:
    rows, length = ((16, 528), (2_112, 1_024), (6_336, 1_024))[size]
    factors, x = rng.random((rows, length), np.float32), rng.standard_normal((rows, length), np.float32)
    h, out = np.zeros(rows), np.zeros((length, rows))
    for step, (factor, value) in enumerate(zip(factors.T.copy(), x.T.copy(), strict=True)):
        out[step] = h = factor * h + value
    return launched("recurrence", rows, [factors, x, np.zeros_like(x), length], {2: out.T}, 1e-5, 1e-5)


@workload("arithmetic")
def route(rng: Random, size: int) -> Launch:
    rows, experts = constants("route")
    tokens = (500, 67_584, 168_960)[size]
    scores = rng.standard_normal((tokens, experts), np.float32).astype(np.float16)
    rest, each = scores.astype(np.float32), np.arange(tokens)
    best = rest.argmax(1)
    first = rest[each, best]
    rest[each, best] = -np.inf
    next_best = rest.argmax(1)
    share = 1 / (1 + np.exp(rest[each, next_best] - first))
    args = [scores, np.zeros((tokens, 2), np.float32), np.zeros((tokens, 2), np.int32), tokens]
    results = {1: np.stack([share, 1 - share], 1), 2: np.stack([best, next_best], 1)}
    return launched("route", -(-tokens // rows), args, results, 1e-5, 1e-6)


@workload("atomic")
def histogram(rng: Random, size: int) -> Launch:
    _, bins = constants("histogram")
    n, blocks = ((8_000, 4), (2_000_000, 1_056), (8_000_000, 2_112))[size]
    x = np.minimum(rng.geometric(0.03, n) - 1, bins - 1).astype(np.int32)
    args = [x, np.zeros(bins, np.int32), n]
    return launched("histogram", blocks, args, {1: np.bincount(x, minlength=bins)})


@workload("divergent")
def embedding_bag(rng: Random, size: int) -> Launch:
    (width,) = constants("embedding_bag")
    bags, words = ((32, 1_000), (4_224, 20_000), (12_000, 40_000))[size]
    lengths = np.minimum(rng.geometric(0.06, bags), 128) - 1
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    tokens = rng.integers(0, words, starts[-1]).astype(np.int32)
    table = halves(rng, (words, width))
    sums = np.zeros((bags, width), np.float32)
    np.add.at(sums, np.repeat(np.arange(bags), lengths), table[tokens].astype(np.float32))
    means = sums / np.maximum(lengths, 1)[:, None]
    args = [table, tokens, starts, np.zeros_like(sums)]
    return launched("embedding_bag", bags, args, {3: means}, 1e-6)


@workload("mma")
def matmul(rng: Random, size: int) -> Launch:
    tile_m, tile_n, *_ = constants("matmul")
    m, n, k = ((128, 256, 128), (1_280, 2_112, 256), (1_920, 4_224, 320))[size]
    a, b = halves(rng, (m, k)), halves(rng, (k, n))
    out = a.astype(np.float32) @ b.astype(np.float32)
    args = [a, b, np.zeros((m, n), np.float16), m, n, k]
    return launched("matmul", (m // tile_m) * (n // tile_n), args, {2: out})


@workload("mma")
def split_k(rng: Random, size: int) -> Launch:
    tile_m, tile_n, _ = constants("split_k")
    m, n, k, parts = ((16, 128, 640, 4), (32, 1_664, 5_120, 40), (64, 2_112, 5_120, 40))[size]
    a, b = halves(rng, (m, k)).astype(np.float32), halves(rng, (k, n)).astype(np.float32)
    args = [bfloats(a), bfloats(b), np.zeros((m, n), np.float32), n, k]
    return launched("split_k", (m // tile_m, n // tile_n, parts), args, {2: a @ b})


@workload("mma")
def bytes_product(rng: Random, size: int) -> Launch:
    tile_m, tile_n, _ = constants("bytes_product")
    m, n, k = ((128, 128, 256), (2_560, 1_056, 256), (4_608, 2_112, 384))[size]
    a, b = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (n, k)).astype(np.int8)
    scales = rng.random(n, np.float32)
    out = (a.astype(np.float32) @ b.astype(np.float32).T) * scales  # sums of less than 2^24, which are exact
    args = [a, b, scales, np.zeros((m, n), np.float32), n, k]
    return launched("bytes_product", (m // tile_m, n // tile_n), args, {3: out}, 1e-6)


@workload("mma")
def attention(rng: Random, size: int) -> Launch:
    tile, _, width = constants("attention")
    heads, length = ((4, 96), (132, 256), (440, 192))[size]
    q, k, v = rng.standard_normal((3, heads, length, width), np.float32).astype(np.float16)
    wide_q, wide_k, wide_v = (x.astype(np.float32) for x in (q, k, v))
    scores = wide_q @ wide_k.transpose(0, 2, 1) * np.float32(width**-0.5)
    scores += np.triu(np.full((length, length), -np.inf, np.float32), 1)
    powers = np.exp(scores - scores.max(2, keepdims=True))
    out = powers / powers.sum(2, keepdims=True) @ wide_v
    args = [q, k, v, np.zeros_like(q), length, float(width**-0.5 * np.log2(np.e))]
    return launched("attention", (length // tile, heads), args, {3: out}, 5e-3, 2e-3)
