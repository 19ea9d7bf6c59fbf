"""Integers: hashes, ciphers, number theory."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np

from experiments.suites import Launch, Random, workload


def words(rng: Random, shape: int | tuple[int, ...]) -> np.ndarray:
    """Random words of 32 bits."""
    return rng.integers(0, 1 << 32, shape, np.uint32)


@workload("arithmetic")
def sha256(rng: Random, size: int) -> Launch:
    n = (512, 33_792, 135_168)[size]
    message = rng.integers(0, 256, (n, 55)).astype(np.uint8)
    blocks = np.concatenate(
        [message, np.full((n, 1), 128, np.uint8), np.zeros((n, 6), np.uint8), [[1, 184]] * np.ones((n, 1), int)], 1
    )
    out = np.stack([np.frombuffer(hashlib.sha256(row.tobytes()).digest(), ">u4") for row in message], 1)
    given = np.ascontiguousarray(blocks.astype(np.uint8)).view(">u4").T.astype(np.uint32)
    return Launch(-(-n // 128), 128, [n, np.ascontiguousarray(given), np.zeros((8, n), np.uint32)], {2: out})


@workload("shared")
def crc_tables(rng: Random, size: int) -> Launch:
    n, length = ((1_024, 12), (67_584, 12), (202_752, 16))[size]
    data = words(rng, (length, n))
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0xEDB88320) ^ table >> np.uint32(1), table >> np.uint32(1)).astype(
            np.uint32
        )
    out = [zlib.crc32(row.tobytes()) for row in np.ascontiguousarray(data.T)]
    return Launch(n // 256, 256, [n, length, data, table, np.zeros(n, np.uint32)], {4: np.array(out, np.uint32)})


@workload("arithmetic")
def xtea(rng: Random, size: int) -> Launch:
    n = (2_048, 135_168, 540_672)[size]
    key, text = words(rng, 4), words(rng, (n, 2))
    v0, v1, total, delta = text[:, 0].copy(), text[:, 1].copy(), 0, 0x9E3779B9
    four, five = np.uint32(4), np.uint32(5)
    for _ in range(32):
        v0 += ((v1 << four ^ v1 >> five) + v1) ^ np.uint32((total + int(key[total & 3])) & 0xFFFFFFFF)
        total = (total + delta) & 0xFFFFFFFF
        v1 += ((v0 << four ^ v0 >> five) + v0) ^ np.uint32((total + int(key[total >> 11 & 3])) & 0xFFFFFFFF)
    return Launch(n // 256, 256, [n, *key, text.copy()], {5: np.stack([v0, v1], 1)})


@workload("divergent")
def collatz(rng: Random, size: int) -> Launch:
    n = (2_048, 33_792, 135_168)[size]
    value, steps = np.arange(1, n + 1, dtype=np.int64), np.zeros(n, np.int32)
    live = value != 1
    while live.any():
        value[live] = np.where(value[live] & 1, 3 * value[live] + 1, value[live] // 2)
        steps += live
        live = value != 1
    return Launch(-(-n // 256), 256, [n, np.zeros(n, np.int32)], {1: steps})


@workload("divergent")
def mandelbrot(rng: Random, size: int) -> Launch:
    width, height, most = ((64, 32, 128), (384, 352, 128), (768, 704, 128))[size]
    step = np.float32(2.0 / height)
    cx = (np.float32(-1.5) + (step * np.arange(width, dtype=np.float32)))[None, :] * np.ones((height, 1), np.float32)
    cy = (np.float32(-1.0) + (step * np.arange(height, dtype=np.float32)))[:, None] * np.ones((1, width), np.float32)
    zx, zy, k = np.zeros_like(cx), np.zeros_like(cy), np.zeros(cx.shape, np.int64)
    live = np.ones(cx.shape, bool)
    for _ in range(most):
        live &= zx.astype(np.float64) ** 2 + zy.astype(np.float64) ** 2 < 4
        t = np.where(live, zx * zx - zy * zy + cx, zx)
        zy = np.where(live, 2 * zx * zy + cy, zy)
        zx, k = t, k + live
    args = [width, most, -1.5, -1.0, float(step), np.zeros((height, width), np.int32)]
    return Launch((width // 16, height // 16), (16, 16), args, {5: k}, 0, most)


@workload("divergent")
def powers_modulo(rng: Random, size: int) -> Launch:
    n, modulus = (1_024, 16_896, 67_584)[size], 4_294_967_291
    base, exponent = words(rng, n), (words(rng, n) >> rng.integers(8, 24, n).astype(np.uint32)).astype(np.uint32)
    out = [pow(int(b), int(e), modulus) for b, e in zip(base, exponent, strict=True)]
    args = [n, np.uint32(modulus), base, exponent, np.zeros(n, np.uint32)]
    return Launch(-(-n // 128), 128, args, {4: np.array(out, np.uint32)})


@workload("shared")
def sieve(rng: Random, size: int) -> Launch:
    blocks, each = ((8, 8_192), (264, 16_384), (528, 16_384))[size]
    n = blocks * each
    crossed = np.zeros(n, bool)
    crossed[:2] = True
    primes = []
    for p in range(2, int(n**0.5) + 1):
        if not crossed[p]:
            primes.append(p)
            crossed[p * p :: p] = True
    out = (~crossed).reshape(blocks, each).sum(1)
    args = [each, len(primes), np.array(primes, np.int32), np.zeros(blocks, np.int32)]
    return Launch(blocks, 256, args, {3: out}, dynamic=each)
