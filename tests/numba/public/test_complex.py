"""Fractals and transforms over complex numbers as people write them."""

from __future__ import annotations

import cmath
import math

import numpy as np

from smmux import cuda


@cuda.jit(device=True)
def mandel(x, y, max_iters):
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


@cuda.jit
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):
    """The kernel of Numba's tutorial."""
    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    startX, startY = cuda.grid(2)
    gridX = cuda.gridDim.x * cuda.blockDim.x
    gridY = cuda.gridDim.y * cuda.blockDim.y
    for x in range(startX, width, gridX):
        real = min_x + x * pixel_size_x
        for y in range(startY, height, gridY):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel(real, imag, iters)


def escape(c: complex, limit: int) -> int:
    z = 0j
    for i in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return limit


def test_complex_mandelbrot() -> None:
    image = np.zeros((12, 18), dtype=np.uint8)
    mandel_kernel[(2, 2), (8, 4)](-2.0, 1.0, -1.0, 1.0, image, 30)
    expected = [[escape(complex(-2 + x * (3 / 18), -1 + y * (2 / 12)), 30) for x in range(18)] for y in range(12)]
    np.testing.assert_array_equal(image, expected)


@cuda.jit
def julia(z0, out, c, limit):
    i = cuda.grid(1)
    if i < z0.size:
        z = z0[i]
        count = 0
        while abs(z) <= 2 and count < limit:
            z = z**2 + c
            count += 1
        out[i] = count


def test_julia() -> None:
    y, x = np.mgrid[-1.2:1.2:10j, -1.5:1.5:12j]
    points = (x + 1j * y).ravel()
    out = np.zeros(points.size, dtype=np.int64)
    julia[4, 32](points, out, -0.4 + 0.6j, 40)
    expected = []
    for z in points.tolist():
        count = 0
        while abs(z) <= 2 and count < 40:
            z = z * z + (-0.4 + 0.6j)
            count += 1
        expected.append(count)
    assert (np.abs(out - expected) == 0).mean() > 0.98  # the last bit of a square may decide


@cuda.jit
def newton_fractal(points, roots, which):
    i = cuda.grid(1)
    if i < points.size:
        z = points[i]
        for _ in range(30):
            z = z - (z * z * z - 1) / (3 * z * z)
        best = 0
        for k in range(1, roots.size):
            if abs(z - roots[k]) < abs(z - roots[best]):
                best = k
        which[i] = best


def test_newton_fractal() -> None:
    points = np.array([complex(a, b) for a in (-2, -1, 0.5, 1.5) for b in (-1.5, 0.3, 1)])
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    which = np.zeros(points.size, dtype=np.int64)
    newton_fractal[1, 32](points, roots, which)
    z = points.copy()
    for _ in range(30):
        z = z - (z**3 - 1) / (3 * z**2)
    np.testing.assert_array_equal(which, np.abs(z[:, None] - roots).argmin(axis=1))


@cuda.jit
def dft(x, out):
    k = cuda.grid(1)
    n = x.size
    if k < n:
        acc = 0j
        for t in range(n):
            acc += x[t] * cmath.exp(-2j * math.pi * k * t / n)
        out[k] = acc


def test_discrete_fourier_transform() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(16) + 1j * rng.random(16)
    out = np.zeros(16, dtype=complex)
    dft[1, 32](x, out)
    np.testing.assert_allclose(out, np.fft.fft(x), rtol=1e-9, atol=1e-9)
