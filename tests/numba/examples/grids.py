"""Two-dimensional grids: Laplace's equation, the game of life, the Mandelbrot set, a convolution, images, distances."""

import numpy as np
from numba import cuda, float32, int32, uint8

MASK = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32)


@cuda.jit
def jacobi(a, b, residual):
    j, i = cuda.grid(2)
    n, m = a.shape
    if 0 < i < n - 1 and 0 < j < m - 1:
        new = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        b[i, j] = new
        cuda.atomic.max(residual, 0, abs(new - a[i, j]))


@cuda.jit
def laplace_shared(a, b):
    tile = cuda.shared.array((6, 6), float32)
    j, i = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    n, m = a.shape
    tile[ty, tx] = a[min(i, n - 1), min(j, m - 1)]
    cuda.syncthreads()
    if 0 < i < n - 1 and 0 < j < m - 1:
        up = tile[ty - 1, tx] if ty > 0 else a[i - 1, j]
        down = tile[ty + 1, tx] if ty < 5 else a[i + 1, j]
        left = tile[ty, tx - 1] if tx > 0 else a[i, j - 1]
        right = tile[ty, tx + 1] if tx < 5 else a[i, j + 1]
        b[i, j] = (up + down + left + right) * 0.25


@cuda.jit
def life(now, after):
    row, column = cuda.grid(2)
    rows, columns = now.shape
    if row < rows and column < columns:
        neighbours = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dy != 0 or dx != 0:
                    neighbours += now[(row + dy) % rows, (column + dx) % columns]
        alive = now[row, column] == 1
        after[row, column] = 1 if neighbours == 3 or (alive and neighbours == 2) else 0


@cuda.jit(device=True)
def escape(x, y, limit):
    real, imaginary = x, y
    for i in range(limit):
        r2, i2 = real * real, imaginary * imaginary
        if r2 + i2 > 4.0:
            return i
        imaginary = 2 * real * imaginary + y
        real = r2 - i2 + x
    return limit


@cuda.jit
def mandelbrot(image, left, top, step, limit):
    startx, starty = cuda.grid(2)
    stridex, stridey = cuda.gridsize(2)
    for x in range(startx, image.shape[1], stridex):
        for y in range(starty, image.shape[0], stridey):
            image[y, x] = escape(float32(left + x * step), float32(top + y * step), limit)


@cuda.jit
def convolve(result, mask, image):
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


@cuda.jit
def to_grey(rgb, grey):
    y, x = cuda.grid(2)
    if y < grey.shape[0] and x < grey.shape[1]:
        r, g, b = int32(rgb[y, x, 0]), int32(rgb[y, x, 1]), int32(rgb[y, x, 2])
        grey[y, x] = uint8((77 * r + 151 * g + 28 * b) >> 8)


@cuda.jit
def distances(a, b, out):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < b.shape[0]:
        d = 0.0
        for k in range(a.shape[1]):
            d += (a[i, k] - b[j, k]) ** 2
        out[i, j] = d


def _plate():
    a = np.zeros((13, 11), np.float32)
    a[:, 0] = 1024
    return a


def run_jacobi():
    a = cuda.to_device(_plate())
    b = cuda.to_device(_plate())
    residual = np.zeros(1, np.float32)
    for _ in range(3):
        residual[0] = 0
        jacobi[(2, 2), (8, 8)](a, b, residual)
        a, b = b, a
    return a.copy_to_host(), residual


def run_laplace_shared():
    a, b = _plate(), _plate()
    laplace_shared[(2, 3), (6, 6)](a, b)
    expected = a.copy()
    expected[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
    np.testing.assert_array_equal(b, expected)
    return b


def run_life():
    now = np.zeros((9, 12), np.int32)
    now[1, 2] = now[2, 3] = now[3, 1] = now[3, 2] = now[3, 3] = 1  # a glider
    glider = now.copy()
    after = np.zeros_like(now)
    for _ in range(4):
        life[(3, 3), (4, 4)](now, after)
        now, after = after, now
    np.testing.assert_array_equal(now, np.roll(glider, (1, 1), (0, 1)))
    return now


def run_mandelbrot():
    image = np.zeros((12, 18), np.uint8)
    mandelbrot[(2, 2), (8, 4)](image, -2.0, -1.0, 0.125, 6)
    assert {0, 6} <= set(image.ravel().tolist())
    return image


def run_convolution():
    image = ((np.arange(120, dtype=np.float32) * 7) % 32).reshape(10, 12) / 8
    result = np.zeros_like(image)
    convolve[(2, 2), (8, 8)](result, MASK.copy(), image)
    return result


def run_grey():
    rgb = ((np.arange(180, dtype=np.int32) * 41) % 256).astype(np.uint8).reshape(6, 10, 3)
    grey = np.zeros((6, 10), np.uint8)
    to_grey[(1, 2), (8, 8)](rgb, grey)
    return grey


def run_distances():
    a = np.arange(24, dtype=np.float32).reshape(6, 4) / 8
    b = np.arange(20, dtype=np.float32).reshape(5, 4) / 4
    out = np.zeros((6, 5), np.float32)
    distances[(2, 2), (4, 4)](a, b, out)
    np.testing.assert_array_equal(out, ((a[:, None] - b[None]) ** 2).sum(-1))
    return out
