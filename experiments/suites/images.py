"""Images."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


def picture(rng: Random, height: int, width: int) -> np.ndarray:
    """Smooth light with noise."""
    y, x = np.mgrid[:height, :width]
    light: np.ndarray = np.sin(x / 17) + np.cos(y / 23) + rng.random((height, width))
    return light.astype(np.float32)


def padded(image: np.ndarray, by: int, dy: int, dx: int) -> np.ndarray:
    """The image moved by (dy, dx), continued at its edges."""
    height, width = image.shape
    return np.pad(image, by, "edge")[by + dy : by + dy + height, by + dx : by + dx + width]


@workload("streaming")
def gray(rng: Random, size: int) -> Launch:
    n = (10_000, 500_000, 2_000_000)[size]
    pixels = rng.integers(0, 256, (n, 4)).astype(np.uint8)
    out = (pixels[:, :3].astype(np.int64) @ np.array([77, 150, 29])) >> 8
    return Launch(-(-n // 256), 256, [n, pixels, np.zeros(n, np.uint8)], {2: out})


@workload("shared")
def blur_tiled(rng: Random, size: int) -> Launch:
    width, height = ((128, 64), (768, 512), (1_536, 1_024))[size]
    image = picture(rng, height, width)
    taps = np.array([1, 4, 6, 4, 1])
    out = sum(taps[r] * taps[s] * padded(image, 2, r - 2, s - 2).astype(np.float64) for r in range(5) for s in range(5))
    args = [width, height, image, np.zeros_like(image)]
    return Launch((width // 32, height // 16), (32, 16), args, {3: out / 256}, 1e-4, 1e-5)


@workload("cache")
def sobel(rng: Random, size: int) -> Launch:
    width, height = ((128, 64), (768, 512), (1_536, 1_024))[size]
    image = picture(rng, height, width)
    p = {(dy, dx): padded(image, 1, dy, dx).astype(np.float64) for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
    gx = p[-1, 1] + 2 * p[0, 1] + p[1, 1] - p[-1, -1] - 2 * p[0, -1] - p[1, -1]
    gy = p[1, -1] + 2 * p[1, 0] + p[1, 1] - p[-1, -1] - 2 * p[-1, 0] - p[-1, 1]
    out = np.zeros((height, width))
    out[1:-1, 1:-1] = np.hypot(gx, gy)[1:-1, 1:-1]
    args = [width, height, image, np.zeros_like(image)]
    return Launch((width // 32, height // 8), (32, 8), args, {3: out}, 1e-4, 1e-4)


@workload("arithmetic")
def median(rng: Random, size: int) -> Launch:
    width, height = ((128, 64), (768, 512), (1_024, 1_024))[size]
    image = rng.integers(0, 1000, (height, width)).astype(np.int32)
    out = np.median([padded(image, 1, dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)], axis=0)
    return Launch((width // 32, height // 8), (32, 8), [width, height, image, np.zeros_like(image)], {3: out})


@workload("atomic")
def histogram_shared(rng: Random, size: int) -> Launch:
    n, blocks = ((20_000, 8), (600_000, 264), (2_500_000, 1_056))[size]
    values = np.clip(rng.normal(128, 30, n), 0, 255).astype(np.uint8)
    out = np.bincount(values, minlength=256)
    return Launch(blocks, 256, [n, values, np.zeros(256, np.uint32)], {2: out})


@workload("arithmetic")
def bilateral(rng: Random, size: int) -> Launch:
    width, height = ((64, 64), (768, 384), (1_024, 768))[size]
    image = picture(rng, height, width)
    total = weights = np.zeros((height, width))
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            other = padded(image, 2, dy, dx).astype(np.float64)
            weight = np.exp(-0.1 * (dx * dx + dy * dy) - 2 * (other - image) ** 2)
            total, weights = total + weight * other, weights + weight
    args = [width, height, image, np.zeros_like(image)]
    return Launch((width // 32, height // 8), (32, 8), args, {3: total / weights}, 1e-3, 1e-4)


@workload("shared")
def row_sums(rng: Random, size: int) -> Launch:
    rows, width = ((8, 512), (1_056, 512), (2_112, 1_024))[size]
    image = rng.integers(0, 256, (rows, width)).astype(np.int32)
    return Launch(rows, 256, [width, image, np.zeros_like(image)], {2: image.cumsum(1)})
