"""The 512-point transform of SHOC's FFT, after Volkov: 64 threads, 8 points each, straight-line code.

Three passes of 8-point transforms in registers; between them the block exchanges the real parts and then the imaginary
parts through the same 576 words of shared memory, padded so that no accesses conflict.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from experiments.common.kernels.probe import Probe, agrees, gigabytes, on_card
from smmux import cuda, float32, float64
from smmux.gpus import Gpu

__all__ = ["PROBES"]

POINTS, THREADS = 512, 64
WORDS = 576
"""Of shared memory: eight rows of 66 or 72."""
HALF = math.sqrt(0.5)
REVERSED = (0, 4, 2, 6, 1, 5, 3, 7)


@cuda.jit(device=True)
def pairs(re, im, i, j):
    """Points i and j become their sum and difference."""
    re[i], re[j] = re[i] + re[j], re[i] - re[j]
    im[i], im[j] = im[i] + im[j], im[i] - im[j]


@cuda.jit(device=True)
def quarter(re, im, i):
    """Point i times -i: a product with (0, -1), of which a compiler may not leave out what is times 0."""
    re[i], im[i] = re[i] * float32(0) + im[i], im[i] * float32(0) - re[i]


@cuda.jit(device=True)
def eight_points(re, im):
    """The 8-point transform; its k-th output stands at REVERSED[k]."""
    for i in range(4):
        pairs(re, im, i, i + 4)
    re[5], im[5] = (re[5] + im[5]) * float32(HALF), (im[5] - re[5]) * float32(HALF)
    quarter(re, im, 6)
    re[7], im[7] = (im[7] - re[7]) * float32(HALF), (re[7] + im[7]) * float32(-HALF)
    for i in range(0, 8, 4):
        pairs(re, im, i, i + 2)
        pairs(re, im, i + 1, i + 3)
        quarter(re, im, i + 3)
        pairs(re, im, i, i + 1)
        pairs(re, im, i + 2, i + 3)


@cuda.jit(device=True, fastmath=True)
def rotate(re, im, i, turn):
    """The k-th output times exp(i k i turn). Angles are products in double precision, as C has it with pi in them."""
    for k in range(1, 8):
        p = REVERSED[k]
        angle = float32(float64(i) * (k * turn))
        cosine, sine = math.cos(angle), math.sin(angle)
        x, y = re[p], im[p]
        re[p] = x * cosine - y * sine
        im[p] = x * sine + y * cosine


@cuda.jit(device=True)
def exchange(words, z, put, put_step, take, take_step):
    """Store the outputs, put_step words apart, and load the inputs of the next pass."""
    for k in range(8):
        words[put + put_step * k] = z[REVERSED[k]]
    cuda.syncthreads()
    for k in range(8):
        z[k] = words[take + take_step * k]


@cuda.jit(fastmath=True)
def fft512(signals):
    words = cuda.shared.array(WORDS, float32)
    re = cuda.local.array(8, float32)
    im = cuda.local.array(8, float32)
    t = cuda.threadIdx.x
    low, high = t & 7, t >> 3
    for k in range(8):
        re[k] = signals[cuda.blockIdx.x, t + 64 * k, 0]
        im[k] = signals[cuda.blockIdx.x, t + 64 * k, 1]
    eight_points(re, im)
    rotate(re, im, t, -2 * math.pi / 512)
    exchange(words, re, t, 66, 66 * low + high, 8)
    cuda.syncthreads()
    exchange(words, im, t, 66, 66 * low + high, 8)
    eight_points(re, im)
    rotate(re, im, high, -2 * math.pi / 64)
    cuda.syncthreads()
    exchange(words, re, t, 72, 72 * high + low, 8)
    cuda.syncthreads()
    exchange(words, im, t, 72, 72 * high + low, 8)
    eight_points(re, im)
    for k in range(8):
        signals[cuda.blockIdx.x, t + 64 * k, 0] = re[REVERSED[k]]
        signals[cuda.blockIdx.x, t + 64 * k, 1] = im[REVERSED[k]]


@cache
def signals(batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Random signals with real and imaginary parts in turn, and their transforms."""
    given = np.random.default_rng(512).standard_normal((batch, POINTS, 2), dtype=np.float32)
    expected = np.fft.fft(given[..., 0].astype(np.float64) + 1j * given[..., 1], axis=1)
    return given, np.stack([expected.real, expected.imag], axis=-1)


def fft(gpu: Gpu, quick: bool) -> float:
    """GFLOPS of a batch of transforms, 5 N log2 N operations each."""
    batch = 512 if quick else 2048

    def clocks(transformed: int) -> int:
        given, expected = signals(2 * batch)  # of one size, for one program
        values = given.copy()
        result = on_card(fft512, transformed, THREADS, (values,), gpu)
        agrees("fft512", values[:transformed], expected[:transformed], 1e-5)
        return result.cycles

    return gigabytes(gpu, batch * 5 * POINTS * 9, clocks(2 * batch) - clocks(batch))


PROBES = (Probe("fft 512", "transforms of 512 complex points, in place", "GFLOPS", fft),)
