"""Fractals, rays and transforms of pairs of real numbers, as people write them."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, gpus, uint32


@cuda.jit
def mandel_real(xs, ys, out, limit):
    i, j = cuda.grid(2)
    if i < ys.size and j < xs.size:
        x0, y0 = xs[j], ys[i]
        x = y = 0.0
        n = 0
        while x * x + y * y <= 4 and n < limit:
            x, y = x * x - y * y + x0, 2 * x * y + y0
            n += 1
        out[i, j] = n


def test_real_mandelbrot() -> None:
    xs, ys = np.linspace(-2, 1, 18), np.linspace(-1, 1, 12)
    out = np.zeros((12, 18), dtype=int)
    mandel_real[(3, 3), (4, 8)](xs, ys, out, 40)
    expected = np.zeros((12, 18), dtype=int)
    for i, y0 in enumerate(ys):
        for j, x0 in enumerate(xs):
            x = y = 0.0
            while x * x + y * y <= 4 and expected[i, j] < 40:
                x, y = x * x - y * y + x0, 2 * x * y + y0
                expected[i, j] += 1
    np.testing.assert_array_equal(out, expected)


@cuda.jit
def fft_stage(re, im, half):
    """One stage of a radix-2 transform in place, after bit reversal."""
    i = cuda.grid(1)
    if i < re.size // 2:
        j = i % half
        k = (i // half) * 2 * half + j
        angle = -math.pi * j / half
        wr, wi = math.cos(angle), math.sin(angle)
        xr = wr * re[k + half] - wi * im[k + half]
        xi = wr * im[k + half] + wi * re[k + half]
        re[k + half], im[k + half] = re[k] - xr, im[k] - xi
        re[k], im[k] = re[k] + xr, im[k] + xi


@cuda.jit
def bit_reverse(src, dst, bits):
    i = cuda.grid(1)
    if i < src.size:
        dst[cuda.brev(uint32(i)) >> (32 - bits)] = src[i]


def test_fft() -> None:
    x = np.random.default_rng(1).random(64)
    re, im = np.zeros(64), np.zeros(64)
    bit_reverse[1, 64](x, re, 6)
    half = 1
    while half < 64:
        fft_stage[1, 32](re, im, half)
        half *= 2
    np.testing.assert_allclose(re + 1j * im, np.fft.fft(x), atol=1e-12)


@cuda.jit(device=True)
def hit_sphere(ox, oy, oz, dx, dy, dz, sphere):
    cx, cy, cz, radius = sphere
    lx, ly, lz = cx - ox, cy - oy, cz - oz
    b = lx * dx + ly * dy + lz * dz
    d2 = lx * lx + ly * ly + lz * lz - b * b
    if d2 > radius * radius:
        return -1.0
    return b - math.sqrt(radius * radius - d2)


SPHERES = ((0.0, 0.0, 5.0, 1.0), (1.5, 0.5, 4.0, 0.7), (-1.0, -1.0, 6.0, 1.2))


@cuda.jit
def trace(depth, which):
    y, x = cuda.grid(2)
    h, w = depth.shape
    if x >= w or y >= h:
        return
    dx, dy, dz = (x + 0.5) / w - 0.5, (y + 0.5) / h - 0.5, 1.0
    norm = math.sqrt(dx * dx + dy * dy + dz * dz)
    nearest = math.inf
    found = -1
    k = 0
    for sphere in SPHERES:
        t = hit_sphere(0.0, 0.0, 0.0, dx / norm, dy / norm, dz / norm, sphere)
        if 0.0 < t < nearest:
            nearest = t
            found = k
        k += 1
    depth[y, x] = nearest
    which[y, x] = found


def test_ray_tracing() -> None:
    depth, which = np.zeros((12, 16)), np.zeros((12, 16), dtype=np.int64)
    trace[(3, 4), (4, 4)](depth, which)
    y, x = np.mgrid[:12, :16]
    d = np.stack([(x + 0.5) / 16 - 0.5, (y + 0.5) / 12 - 0.5, np.ones((12, 16))], -1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    hits = []
    for *c, radius in SPHERES:
        b = d @ np.array(c)
        d2 = np.dot(c, c) - b**2
        hits.append(np.where(d2 <= radius**2, b - np.sqrt(np.maximum(radius**2 - d2, 0)), np.inf))
    hits = np.array(hits)
    np.testing.assert_allclose(depth, hits.min(0), rtol=1e-12)
    np.testing.assert_array_equal(which, np.where(np.isinf(hits.min(0)), -1, hits.argmin(0)))


@cuda.jit(device=True)
def distance_field(x, y, z):
    return math.sqrt(x * x + y * y + z * z) - 1.0 + 0.1 * math.sin(8 * x) * math.sin(8 * y) * math.sin(8 * z)


@cuda.jit
def march(out):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        px, py, pz = 2.4 * x / out.shape[0] - 1.2, 2.4 * y / out.shape[1] - 1.2, -3.0
        steps = 0
        while steps < 40:
            d = distance_field(px, py, pz)
            if d < 1e-3 or pz > 3:
                break
            pz += 0.7 * d
            steps += 1
        out[x, y] = pz


def test_ray_marching() -> None:
    out = np.zeros((10, 10))
    with gpus.set_current("K20c"):
        march[(2, 2), (5, 5)](out)
    expected = np.zeros((10, 10))
    for i in range(10):
        for j in range(10):
            x, y, z = 2.4 * i / 10 - 1.2, 2.4 * j / 10 - 1.2, -3.0
            for _ in range(40):
                bumps = 0.1 * math.sin(8 * x) * math.sin(8 * y) * math.sin(8 * z)
                d = math.sqrt(x * x + y * y + z * z) - 1 + bumps
                if d < 1e-3 or z > 3:
                    break
                z += 0.7 * d
            expected[i, j] = z
    np.testing.assert_allclose(out, expected, atol=1e-6)
