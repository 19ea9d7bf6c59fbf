"""FFT: a batch of 1024-point complex transforms, one per block of 64 threads, in place.

Five passes of radix-4 butterflies in registers, 16 points per thread, with an exchange through shared memory after each
of the first four: store, barrier, load. Each exchange is a region. Real and imaginary part lie in two planes, padded
so that on 32 banks no access conflicts.
"""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float32
from smmux.benchmarks.base import Benchmark, Problem, Table1, close, multiples

__all__ = ["BENCHMARK"]

POINTS = 1024
THREADS = 64
WORDS = 2 * 1088  # two planes; the last exchange uses all of it, the others planes of 1056 words
STEP = -2 * math.pi / POINTS


@cuda.jit(device=True)
def load_signal(plane, t, z):
    """Thread t takes words 4t..4t+3 of each quarter of the block's signal: z[r][c] at 4r + c."""
    for r in range(4):
        for c in range(4):
            z[4 * r + c] = plane[cuda.blockIdx.x, 256 * r + 4 * t + c]


@cuda.jit(device=True)
def store_signal(plane, t, z):
    """The inverse of `load_signal`."""
    for r in range(4):
        for c in range(4):
            plane[cuda.blockIdx.x, 256 * r + 4 * t + c] = z[4 * r + c]


@cuda.jit(device=True)
def butterflies(re, im):
    """FFT4: the 4-point transform over the legs r, for each of the four columns c."""
    for c in range(4):
        a_re, a_im = re[c] + re[8 + c], im[c] + im[8 + c]
        b_re, b_im = re[c] - re[8 + c], im[c] - im[8 + c]
        d_re, d_im = re[4 + c] + re[12 + c], im[4 + c] + im[12 + c]
        e_re, e_im = re[4 + c] - re[12 + c], im[4 + c] - im[12 + c]
        re[c], im[c] = a_re + d_re, a_im + d_im
        re[4 + c], im[4 + c] = b_re + e_im, b_im - e_re
        re[8 + c], im[8 + c] = a_re - d_re, a_im - d_im
        re[12 + c], im[12 + c] = b_re - e_im, b_im + e_re


@cuda.jit(device=True, fastmath=True)
def rotate(re, im, k, angle):
    """Multiply point k by exp(i angle)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    x, y = re[k], im[k]
    re[k] = x * cosine - y * sine
    im[k] = x * sine + y * cosine


@cuda.jit(device=True, fastmath=True)
def twiddle_points(re, im, t):
    """Pass 1: z[r][c] times W(r (4t + c)), where W(e) = exp(-2 pi i e / 1024)."""
    for r in range(1, 4):
        for c in range(4):
            rotate(re, im, 4 * r + c, float32(r * (4 * t + c)) * float32(STEP))


@cuda.jit(device=True, fastmath=True)
def twiddle_legs(re, im, exponent):
    """Passes 2 to 4: z[r][c] times W(r exponent), the same for all columns."""
    for r in range(1, 4):
        angle = float32(r * exponent) * float32(STEP)
        cosine, sine = math.cos(angle), math.sin(angle)
        for c in range(4):
            x, y = re[4 * r + c], im[4 * r + c]
            re[4 * r + c] = x * cosine - y * sine
            im[4 * r + c] = x * sine + y * cosine


@cuda.jit(device=True)
def scatter(planes, size, first, leg, column, re, im):
    """z[r][c] to word first + leg r + column c of each plane of `size` words."""
    for r in range(4):
        for c in range(4):
            planes[first + leg * r + column * c] = re[4 * r + c]
            planes[first + leg * r + column * c + size] = im[4 * r + c]


@cuda.jit(device=True)
def gather(planes, size, first, leg, column, re, im):
    """The inverse of `scatter`, with addresses of its own."""
    for r in range(4):
        for c in range(4):
            re[4 * r + c] = planes[first + leg * r + column * c]
            im[4 * r + c] = planes[first + leg * r + column * c + size]


@cuda.jit(fastmath=True)
def fft(real, imaginary):
    """Baseline: the shared planes are the block's for as long as it lives."""
    planes = cuda.shared.array(WORDS, float32)
    re = cuda.local.array(16, float32)
    im = cuda.local.array(16, float32)
    t = cuda.threadIdx.x
    load_signal(real, t, re)
    load_signal(imaginary, t, im)

    butterflies(re, im)
    twiddle_points(re, im, t)
    scatter(planes, 1056, 4 * t + (t >> 3), 264, 1, re, im)
    cuda.syncthreads()
    gather(planes, 1056, t + (t >> 5), 66, 264, re, im)

    butterflies(re, im)
    twiddle_legs(re, im, 4 * t)
    cuda.syncthreads()
    scatter(planes, 1056, 4 * t + (t >> 3), 1, 264, re, im)
    cuda.syncthreads()
    gather(planes, 1056, t + (t >> 5), 66, 264, re, im)

    butterflies(re, im)
    twiddle_legs(re, im, 16 * (t >> 2))
    cuda.syncthreads()
    scatter(planes, 1056, t, 264, 66, re, im)
    cuda.syncthreads()
    gather(planes, 1056, (t & 3) + 264 * ((t >> 2) & 3) + 4 * (t >> 4), 16, 66, re, im)

    butterflies(re, im)
    twiddle_legs(re, im, 64 * (t >> 4))
    cuda.syncthreads()
    scatter(planes, 1088, t, 272, 68, re, im)
    cuda.syncthreads()
    gather(planes, 1088, (t & 15) + 272 * (t >> 4), 16, 68, re, im)

    butterflies(re, im)
    store_signal(real, t, re)
    store_signal(imaginary, t, im)


def problem(build: str, batch: int) -> Problem:
    """`batch` transforms of random signals."""
    multiples(1, batch=batch)
    rng = np.random.default_rng(2)
    real = rng.standard_normal((batch, POINTS), dtype=np.float32)
    imaginary = rng.standard_normal((batch, POINTS), dtype=np.float32)
    expected = np.fft.fft(real.astype(np.float64) + 1j * imaginary, axis=1)

    def check(args):
        close("FFT: real part", args[0], expected.real, 1e-5, "max")
        close("FFT: imaginary part", args[1], expected.imag, 1e-5, "max")

    return Problem(grid=(batch,), block=(THREADS,), arguments=lambda: (real.copy(), imaginary.copy()), check=check)


BENCHMARK = Benchmark(
    name="FFT",
    title="Fast Fourier transform",
    kernels={"staged": fft},
    problems=problem,
    sizes={"default": {"batch": 2048}, "quick": {"batch": 256}, "tiny": {"batch": 2}},
    table1=Table1(bytes=8736, threads=64, blocks=1),
)
