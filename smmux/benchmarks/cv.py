"""CV: the column pass of a separable convolution.

A block of 16 x 8 threads covers 16 columns and 8 RESULT rows. Each thread loads RESULT + 2 HALO values, 8 rows apart;
values outside the image are zero. Shared memory holds each column as a row of 129 words, which is free of conflicts
on 16 banks. The coefficients are constants.

Builds: `staged` (RESULT 14, HALO 1, radius 8) loads into registers first; `as_sdk` is the same loading straight into
shared memory; `radius32` (8, 4, 32) is staged and has twice the arithmetic. All of them give 129 words a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32
from smmux.benchmarks.base import Benchmark, Problem, Table1, close, eighths, multiples, poisoned

__all__ = ["BENCHMARK"]

COLUMNS, ROWS = 16, 8
SHAPES = {"staged": (14, 1, 8), "as_sdk": (14, 1, 8), "radius32": (8, 4, 32)}


def coefficients(radius: int) -> NDArray[np.float32]:
    """2 radius + 1 taps, multiples of 1/8 and without symmetry, so that no two taps can be confused."""
    return eighths(np.random.default_rng(radius), 2 * radius + 1)


def staged_kernel(result: int, halo: int, radius: int) -> Any:
    """Baseline, a thread's column staged in registers."""
    taps = coefficients(radius)
    steps = result + 2 * halo
    column_words = steps * ROWS + 1

    @cuda.jit
    def convolve_columns(out, image, width, height, pitch):
        columns = cuda.shared.array((COLUMNS, column_words), float32)
        staged = cuda.local.array(steps, float32)
        weights = cuda.const.array_like(taps)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x = cuda.blockIdx.x * COLUMNS + tx
        y = (cuda.blockIdx.y * result - halo) * ROWS + ty
        for i in range(steps):
            row = int32(y + i * ROWS)
            if halo <= i < halo + result:
                staged[i] = image[row * pitch + x]
            else:
                staged[i] = image[row * pitch + x] if 0 <= row < height else float32(0)
        for i in range(steps):
            columns[tx, ty + i * ROWS] = staged[i]
        cuda.syncthreads()
        for i in range(halo, halo + result):
            total = float32(0)
            for j in range(-radius, radius + 1):
                total += weights[radius - j] * columns[tx, ty + i * ROWS + j]
            out[(y + i * ROWS) * pitch + x] = total

    return convolve_columns


def as_sdk_kernel(result: int, halo: int, radius: int) -> Any:
    """Baseline as published: global loads go straight to shared memory."""
    taps = coefficients(radius)
    steps = result + 2 * halo
    column_words = steps * ROWS + 1

    @cuda.jit
    def convolve_columns_as_sdk(out, image, width, height, pitch):
        columns = cuda.shared.array((COLUMNS, column_words), float32)
        weights = cuda.const.array_like(taps)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x = cuda.blockIdx.x * COLUMNS + tx
        y = (cuda.blockIdx.y * result - halo) * ROWS + ty
        for i in range(steps):
            row = int32(y + i * ROWS)
            if halo <= i < halo + result:
                columns[tx, ty + i * ROWS] = image[row * pitch + x]
            else:
                columns[tx, ty + i * ROWS] = image[row * pitch + x] if 0 <= row < height else float32(0)
        cuda.syncthreads()
        for i in range(halo, halo + result):
            total = float32(0)
            for j in range(-radius, radius + 1):
                total += weights[radius - j] * columns[tx, ty + i * ROWS + j]
            out[(y + i * ROWS) * pitch + x] = total

    return convolve_columns_as_sdk


def reference(image: NDArray[np.float32], taps: NDArray[np.float32]) -> NDArray[np.float64]:
    """out[y] = sum over j of taps[radius - j] image[y + j], with zeros around the image."""
    radius = len(taps) // 2
    padded = np.pad(image.astype(np.float64), ((radius, radius), (0, 0)))
    out = np.zeros(image.shape)
    for j in range(-radius, radius + 1):
        out += float(taps[radius - j]) * padded[radius + j : radius + j + len(image)]
    return out


def problem(build: str, width: int, height: int) -> Problem:
    """An image whose width is a multiple of 16 and whose height is one of 8 RESULT."""
    result, _, radius = SHAPES[build]
    multiples(COLUMNS, width=width)
    multiples(result * ROWS, height=height)
    image = eighths(np.random.default_rng(7), (height, width))
    expected = reference(image, coefficients(radius)).ravel()
    return Problem(
        grid=(width // COLUMNS, height // (result * ROWS)),
        block=(COLUMNS, ROWS),
        arguments=lambda: (
            poisoned(height * width, np.float32),
            image.reshape(-1),
            np.int32(width),
            np.int32(height),
            np.int32(width),
        ),
        check=lambda args: close("CV: out", args[0], expected, 1e-6),
    )


MAKERS: dict[str, Callable[[int, int, int], Any]] = {
    "staged": staged_kernel,
    "as_sdk": as_sdk_kernel,
    "radius32": staged_kernel,
}

BENCHMARK = Benchmark(
    name="CV",
    title="Convolution",
    kernels={build: MAKERS[build](*SHAPES[build]) for build in SHAPES},
    problems=problem,
    sizes={
        "default": {"width": 768, "height": 3584},
        "quick": {"width": 384, "height": 896},
        "tiny": {"width": 16, "height": 448},
    },
    table1=Table1(bytes=8300, threads=128, blocks=1),
)
