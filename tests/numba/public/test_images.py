"""Kernels on images as people write them, against NumPy."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float64, int32, uint8


def picture(height: int = 20, width: int = 26) -> np.ndarray:
    return np.random.default_rng(height).integers(0, 256, (height, width), dtype=np.uint8)


@cuda.jit
def rgb_to_gray(rgb, gray):
    x, y = cuda.grid(2)
    if x < rgb.shape[1] and y < rgb.shape[0]:
        r, g, b = rgb[y, x, 0], rgb[y, x, 1], rgb[y, x, 2]
        gray[y, x] = uint8(0.299 * r + 0.587 * g + 0.114 * b)


def test_rgb_to_gray() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    gray = np.zeros((20, 30), np.uint8)
    rgb_to_gray[(2, 2), (16, 16)](rgb, gray)
    exact = rgb.astype(float) @ [0.299, 0.587, 0.114]
    assert (np.abs(gray - exact) <= 1).all()


@cuda.jit
def sobel(image, out):
    x, y = cuda.grid(2)
    if 1 <= x < image.shape[1] - 1 and 1 <= y < image.shape[0] - 1:
        gx = (
            image[y - 1, x + 1] + 2 * image[y, x + 1] + image[y + 1, x + 1]
            - image[y - 1, x - 1] - 2 * image[y, x - 1] - image[y + 1, x - 1]
        )  # fmt: skip
        gy = (
            image[y + 1, x - 1] + 2 * image[y + 1, x] + image[y + 1, x + 1]
            - image[y - 1, x - 1] - 2 * image[y - 1, x] - image[y - 1, x + 1]
        )  # fmt: skip
        out[y, x] = math.sqrt(gx * gx + gy * gy)


def test_sobel() -> None:
    image = picture().astype(float)
    out = np.zeros_like(image)
    sobel[(4, 3), (8, 8)](image, out)
    p = image
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    np.testing.assert_allclose(out[1:-1, 1:-1], np.hypot(gx, gy), rtol=1e-12)


@cuda.jit
def convolve(result, mask, image):
    """The example of many courses."""
    i, j = cuda.grid(2)
    image_rows, image_cols = image.shape
    if (i >= image_rows) or (j >= image_cols):
        return
    delta_rows = mask.shape[0] // 2
    delta_cols = mask.shape[1] // 2
    s = 0
    for k in range(mask.shape[0]):
        for l in range(mask.shape[1]):  # noqa: E741
            i_k = i - k + delta_rows
            j_l = j - l + delta_cols
            if (i_k >= 0) and (i_k < image_rows) and (j_l >= 0) and (j_l < image_cols):
                s += mask[k, l] * image[i_k, j_l]
    result[i, j] = s


def test_convolution() -> None:
    rng = np.random.default_rng(2)
    image, mask = rng.random((18, 22)), rng.random((3, 5))
    out = np.zeros_like(image)
    convolve[(3, 3), (8, 8)](out, mask, image)
    padded = np.pad(image, ((1, 1), (2, 2)))
    expected = sum(mask[k, m] * padded[2 - k : 20 - k, 4 - m : 26 - m] for k in range(3) for m in range(5))
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@cuda.jit
def median3x3(src, dst):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    h, w = src.shape
    if x < 1 or y < 1 or x >= w - 1 or y >= h - 1:
        return
    window = cuda.local.array(9, uint8)
    n = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            window[n] = src[y + dy, x + dx]
            n += 1
    for a in range(5):
        smallest = a
        for b in range(a + 1, 9):
            if window[b] < window[smallest]:
                smallest = b
        window[a], window[smallest] = window[smallest], window[a]
    dst[y, x] = window[4]


def test_median() -> None:
    image = picture()
    out = np.zeros_like(image)
    median3x3[(4, 3), (8, 8)](image, out)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3)).reshape(18, 24, 9)
    np.testing.assert_array_equal(out[1:-1, 1:-1], np.median(windows, axis=2))


@cuda.jit(device=True)
def gaussian(x, sigma):
    return math.exp(-(x**2) / (2 * sigma**2)) / (2 * math.pi * sigma**2)


@cuda.jit
def bilateral(image, out, radius, sigma_s, sigma_r):
    i, j = cuda.grid(2)
    if i < image.shape[0] and j < image.shape[1]:
        total, weights = 0.0, 0.0
        for di in range(-radius, radius + 1):
            for dj in range(-radius, radius + 1):
                ii = min(max(i + di, 0), image.shape[0] - 1)
                jj = min(max(j + dj, 0), image.shape[1] - 1)
                w = gaussian(math.sqrt(di**2 + dj**2), sigma_s) * gaussian(image[ii, jj] - image[i, j], sigma_r)
                total += w * image[ii, jj]
                weights += w
        out[i, j] = total / weights


def test_bilateral() -> None:
    image = picture(12, 10) / 255
    out = np.zeros_like(image)
    bilateral[(2, 2), (8, 8)](image, out, 2, 1.5, 0.2)
    padded = np.pad(image, 2, "edge")
    total, weights = np.zeros_like(image), np.zeros_like(image)
    for di in range(5):
        for dj in range(5):
            shifted = padded[di : di + 12, dj : dj + 10]
            w = np.exp(-((di - 2) ** 2 + (dj - 2) ** 2) / 4.5) * np.exp(-((shifted - image) ** 2) / 0.08)
            total += w * shifted
            weights += w
    np.testing.assert_allclose(out, total / weights, rtol=1e-10)


@cuda.jit
def histogram_shared(image, hist):
    local = cuda.shared.array(256, int32)
    tid = cuda.threadIdx.x
    for b in range(tid, 256, cuda.blockDim.x):
        local[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), image.size, cuda.gridsize(1)):
        cuda.atomic.add(local, image[i], 1)
    cuda.syncthreads()
    for b in range(tid, 256, cuda.blockDim.x):
        cuda.atomic.add(hist, b, local[b])


def test_histogram() -> None:
    from smmux import gpus

    image = picture(30, 40).ravel()
    hist = np.zeros(256, dtype=np.int64)
    with gpus.set_current("GTX480-48K"):
        histogram_shared[3, 64](image, hist)
    np.testing.assert_array_equal(hist, np.bincount(image, minlength=256))


@cuda.jit
def bilinear_resize(src, dst):
    x, y = cuda.grid(2)
    h, w = dst.shape
    if x < w and y < h:
        fx = x * (src.shape[1] - 1) / (w - 1)
        fy = y * (src.shape[0] - 1) / (h - 1)
        x0, y0 = int(math.floor(fx)), int(math.floor(fy))
        x1, y1 = min(x0 + 1, src.shape[1] - 1), min(y0 + 1, src.shape[0] - 1)
        ax, ay = fx - x0, fy - y0
        top = (1 - ax) * src[y0, x0] + ax * src[y0, x1]
        bottom = (1 - ax) * src[y1, x0] + ax * src[y1, x1]
        dst[y, x] = (1 - ay) * top + ay * bottom


def test_bilinear_interpolation() -> None:
    src = picture(9, 11) / 7
    dst = np.zeros((17, 21))
    bilinear_resize[(3, 3), (8, 8)](src, dst)
    rows, columns = np.linspace(0, 8, 17), np.linspace(0, 10, 21)
    by_column = np.array([np.interp(columns, np.arange(11), row) for row in src])
    expected = np.array([np.interp(rows, np.arange(9), column) for column in by_column.T]).T
    np.testing.assert_allclose(dst, expected, rtol=1e-12)


@cuda.jit
def integral_rows(src, dst):
    y = cuda.grid(1)
    if y < src.shape[0]:
        running = 0
        for x in range(src.shape[1]):
            running += src[y, x]
            dst[y, x] = running


@cuda.jit
def integral_columns(dst):
    x = cuda.grid(1)
    if x < dst.shape[1]:
        for y in range(1, dst.shape[0]):
            dst[y, x] += dst[y - 1, x]


def test_integral_image() -> None:
    image = picture()
    out = np.zeros(image.shape, dtype=np.int64)
    integral_rows[1, 32](image, out)
    integral_columns[1, 32](out)
    np.testing.assert_array_equal(out, image.astype(np.int64).cumsum(0).cumsum(1))


@cuda.jit
def gaussian_separable(src, dst, weights, horizontal):
    x, y = cuda.grid(2)
    h, w = src.shape
    r = weights.size // 2
    if x < w and y < h:
        acc = float64(0)
        for k in range(-r, r + 1):
            if horizontal:
                xx = x + k
                if xx < 0:
                    xx = -xx
                if xx >= w:
                    xx = 2 * w - 2 - xx
                acc += weights[k + r] * src[y, xx]
            else:
                yy = y + k
                if yy < 0:
                    yy = -yy
                if yy >= h:
                    yy = 2 * h - 2 - yy
                acc += weights[k + r] * src[yy, x]
        dst[y, x] = acc


def test_gaussian_blur() -> None:
    image = picture(16, 18).astype(float)
    weights = np.exp(-(np.arange(-2, 3) ** 2) / 2)
    weights /= weights.sum()
    half, out = np.zeros_like(image), np.zeros_like(image)
    gaussian_separable[(3, 2), (8, 8)](image, half, weights, True)
    gaussian_separable[(3, 2), (8, 8)](half, out, weights, False)
    padded = np.pad(image, 2, "reflect")
    expected = sum(
        np.outer(weights, weights)[a, b] * padded[a : a + 16, b : b + 18] for a in range(5) for b in range(5)
    )
    np.testing.assert_allclose(out, expected, rtol=1e-12)
