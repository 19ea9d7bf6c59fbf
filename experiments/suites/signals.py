"""Signals: transforms and filters."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload
from experiments.suites.vector_suite import whole


@workload("shared")
def fft_256(rng: Random, size: int) -> Launch:
    blocks = (8, 1_056, 4_224)[size]
    x = rng.standard_normal((blocks, 256, 2)).astype(np.float32)
    out = np.fft.fft(x[..., 0] + 1j * x[..., 1].astype(np.float64))
    return Launch(blocks, 128, [x, np.zeros_like(x)], {1: np.stack([out.real, out.imag], 2)}, 1e-3, 1e-2)


@workload("arithmetic")
def dft_direct(rng: Random, size: int) -> Launch:
    n = (256, 1_024, 3_072)[size]
    x = rng.standard_normal(n).astype(np.float32)
    out = np.fft.fft(x.astype(np.float64))
    args = [n, x, np.zeros((n, 2), np.float32)]
    return Launch(n // 64, 64, args, {2: np.stack([out.real, out.imag], 1)}, 1e-3, 5e-2)


@workload("shared")
def fir(rng: Random, size: int) -> Launch:
    n = (4_096, 270_000, 1_000_000)[size]
    taps = np.array([k if k % 2 else -k for k in range(1, 17)] + [k if k % 2 == 0 else -k for k in range(16, 0, -1)])
    x = whole(rng, n)
    out = np.convolve(x.astype(np.float64), taps)[:n]
    return Launch(-(-n // 256), 256, [n, x, np.zeros(n, np.float32)], {2: out})


@workload("streaming")
def biquad(rng: Random, size: int) -> Launch:
    channels, n = ((512, 64), (33_792, 48), (135_168, 48))[size]
    x = whole(rng, (n, channels))
    s1 = s2 = np.zeros(channels)
    out = np.zeros((n, channels))
    for k in range(n):
        out[k] = 0.25 * x[k] + s1
        s1, s2 = 0.5 * x[k] - 0.25 * out[k] + s2, 0.25 * x[k] + 0.125 * out[k]
    return Launch(channels // 128, 128, [channels, n, x, np.zeros_like(x)], {3: out}, 1e-3, 1e-3)


@workload("shared")
def haar(rng: Random, size: int) -> Launch:
    blocks = (8, 1_056, 3_000)[size]
    x = whole(rng, (blocks, 512))
    out, low, n = np.zeros((blocks, 512)), x.astype(np.float64), 256
    while n:
        out[:, n : 2 * n] = (low[:, ::2] - low[:, 1::2]) / 2
        low, n = (low[:, ::2] + low[:, 1::2]) / 2, n // 2
    out[:, :1] = low
    return Launch(blocks, 256, [x, np.zeros_like(x)], {1: out})


@workload("cache")
def correlation(rng: Random, size: int) -> Launch:
    n, lags = ((2_048, 16), (4_096, 1_056), (8_192, 2_112))[size]
    x = rng.integers(-50, 51, n + lags).astype(np.int16)
    out = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), n)[:lags] @ x[:n].astype(np.float64)
    return Launch(lags, 128, [n, lags, x, np.zeros(lags, np.int32)], {3: out})
