"""JAC, EDS, HSP, SRD1, SRD2 and LPS: each output is made of neighbouring inputs, which neighbouring threads share.

Builds: `baseline` loads every neighbour from global memory; `hand-written` loads a block's tile with its border into
shared memory first; `ghost zone` (JAC) loads one element per thread, and the threads at the border only load. Arrays
are flat, and the outermost elements are not written, as in the CUDA sources.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32
from smmux.benchmarks.base import Problem, Workload, close, eighths, equal, frozen, multiples, poisoned

__all__ = ["WORKLOADS"]

SIDE = 16
"""Threads along each side of a block, except of LPS's."""
TOLERANCE = 5e-6
"""Relative error of sums of products in float32."""


@cuda.jit
def jacobi(b, out, n, w0, w1, w2):
    """One step of Jacobi's method: an element, its four neighbours at edges and its four at corners."""
    x, y = cuda.grid(2)
    last = int32(n - 1)
    x, y = int32(x + 1), int32(y + 1)
    if x < last and y < last:
        edges = b[(y - 1) * n + x] + b[(y + 1) * n + x] + b[y * n + x - 1] + b[y * n + x + 1]
        corners = b[(y - 1) * n + x - 1] + b[(y - 1) * n + x + 1] + b[(y + 1) * n + x - 1] + b[(y + 1) * n + x + 1]
        out[y * n + x] = w0 * b[y * n + x] + w1 * edges + w2 * corners


@cuda.jit
def jacobi_halo(b, out, n, w0, w1, w2):
    """A tile of 18 x 18 elements for 16 x 16 outputs."""
    tile = cuda.shared.array((SIDE + 2, SIDE + 2), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = SIDE * cuda.blockIdx.x, SIDE * cuda.blockIdx.y
    for j in range(ty, SIDE + 2, SIDE):
        for i in range(tx, SIDE + 2, SIDE):
            if left + i < n and top + j < n:
                tile[j, i] = b[(top + j) * n + left + i]
    cuda.syncthreads()
    x, y = int32(left + tx + 1), int32(top + ty + 1)
    last = int32(n - 1)
    if x < last and y < last:
        edges = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
        corners = tile[ty, tx] + tile[ty, tx + 2] + tile[ty + 2, tx] + tile[ty + 2, tx + 2]
        out[y * n + x] = w0 * tile[ty + 1, tx + 1] + w1 * edges + w2 * corners


@cuda.jit
def jacobi_ghost(b, out, n, w0, w1, w2):
    """A tile of 16 x 16 elements, one for each thread, for 14 x 14 outputs."""
    tile = cuda.shared.array((SIDE, SIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = int32((SIDE - 2) * cuda.blockIdx.x + tx)
    y = int32((SIDE - 2) * cuda.blockIdx.y + ty)
    last = int32(n - 1)
    if x < n and y < n:
        tile[ty, tx] = b[y * n + x]
    cuda.syncthreads()
    if 0 < tx < SIDE - 1 and 0 < ty < SIDE - 1 and x < last and y < last:
        edges = tile[ty - 1, tx] + tile[ty + 1, tx] + tile[ty, tx - 1] + tile[ty, tx + 1]
        corners = tile[ty - 1, tx - 1] + tile[ty - 1, tx + 1] + tile[ty + 1, tx - 1] + tile[ty + 1, tx + 1]
        out[y * n + x] = w0 * tile[ty, tx] + w1 * edges + w2 * corners


@cuda.jit
def sobel(image, out, width, height):
    """Edges along one axis: the columns on either side, weighted."""
    x, y = cuda.grid(2)
    last_x, last_y = int32(width - 1), int32(height - 1)
    if 0 < x < last_x and 0 < y < last_y:
        i = y * width + x
        left = image[i - width - 1] + float32(2) * image[i - 1] + image[i + width - 1]
        right = image[i - width + 1] + float32(2) * image[i + 1] + image[i + width + 1]
        out[i] = abs(right - left)


@cuda.jit
def sobel_tiled(image, out, width, height):
    tile = cuda.shared.array((SIDE + 2, SIDE + 2), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    last_x, last_y = int32(width - 1), int32(height - 1)
    left, top = SIDE * cuda.blockIdx.x - 1, SIDE * cuda.blockIdx.y - 1
    for j in range(ty, SIDE + 2, SIDE):
        for i in range(tx, SIDE + 2, SIDE):
            if 0 <= left + i < width and 0 <= top + j < height:
                tile[j, i] = image[(top + j) * width + left + i]
    cuda.syncthreads()
    if 0 < x < last_x and 0 < y < last_y:
        before = tile[ty, tx] + float32(2) * tile[ty + 1, tx] + tile[ty + 2, tx]
        behind = tile[ty, tx + 2] + float32(2) * tile[ty + 1, tx + 2] + tile[ty + 2, tx + 2]
        out[y * width + x] = abs(behind - before)


@cuda.jit
def hotspot(temperature, power, out, n, step, across, along, sink):
    """A step of time of a chip's temperature; blocks overlap by two, and only the inner threads make outputs."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = int32((SIDE - 2) * cuda.blockIdx.x + tx)
    y = int32((SIDE - 2) * cuda.blockIdx.y + ty)
    last = int32(n - 1)
    i = y * n + x
    if 0 < tx < SIDE - 1 and 0 < ty < SIDE - 1 and x < last and y < last:
        here = temperature[i]
        rows = temperature[i - n] + temperature[i + n] - float32(2) * here
        columns = temperature[i - 1] + temperature[i + 1] - float32(2) * here
        out[i] = here + step * (power[i] + rows * along + columns * across - here * sink)


@cuda.jit
def hotspot_tiled(temperature, power, out, n, step, across, along, sink):
    tile = cuda.shared.array((SIDE, SIDE), float32)
    powers = cuda.shared.array((SIDE, SIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = int32((SIDE - 2) * cuda.blockIdx.x + tx)
    y = int32((SIDE - 2) * cuda.blockIdx.y + ty)
    last = int32(n - 1)
    if x < n and y < n:
        tile[ty, tx] = temperature[y * n + x]
        powers[ty, tx] = power[y * n + x]
    cuda.syncthreads()
    if 0 < tx < SIDE - 1 and 0 < ty < SIDE - 1 and x < last and y < last:
        here = tile[ty, tx]
        rows = tile[ty - 1, tx] + tile[ty + 1, tx] - float32(2) * here
        columns = tile[ty, tx - 1] + tile[ty, tx + 1] - float32(2) * here
        out[y * n + x] = here + step * (powers[ty, tx] + rows * along + columns * across - here * sink)


@cuda.jit
def srad1(image, north, south, west, east, coefficient, n, q):
    """Speckle-reducing diffusion, first half: differences to the neighbours, and the coefficient made of them."""
    x, y = cuda.grid(2)
    last = int32(n - 1)
    i = y * n + x
    if 0 < y < last and 0 < x < last:
        here = image[i]
        dn, ds = image[i - n] - here, image[i + n] - here
        dw, de = image[i - 1] - here, image[i + 1] - here
        slope = (dn * dn + ds * ds + dw * dw + de * de) / (here * here)
        bend = (dn + ds + dw + de) / here
        scale = float32(1) + float32(0.25) * bend
        spread = (float32(0.5) * slope - float32(0.0625) * bend * bend) / (scale * scale)
        c = float32(1) / (float32(1) + (spread - q) / (q * (float32(1) + q)))
        north[i], south[i], west[i], east[i] = dn, ds, dw, de
        coefficient[i] = min(max(c, float32(0)), float32(1))


@cuda.jit
def srad1_tiled(image, north, south, west, east, coefficient, n, q):
    tile = cuda.shared.array((SIDE + 2, SIDE + 2), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    last = int32(n - 1)
    left, top = SIDE * cuda.blockIdx.x - 1, SIDE * cuda.blockIdx.y - 1
    for j in range(ty, SIDE + 2, SIDE):
        for i in range(tx, SIDE + 2, SIDE):
            if 0 <= left + i < n and 0 <= top + j < n:
                tile[j, i] = image[(top + j) * n + left + i]
    cuda.syncthreads()
    if 0 < y < last and 0 < x < last:
        here = tile[ty + 1, tx + 1]
        dn, ds = tile[ty, tx + 1] - here, tile[ty + 2, tx + 1] - here
        dw, de = tile[ty + 1, tx] - here, tile[ty + 1, tx + 2] - here
        slope = (dn * dn + ds * ds + dw * dw + de * de) / (here * here)
        bend = (dn + ds + dw + de) / here
        scale = float32(1) + float32(0.25) * bend
        spread = (float32(0.5) * slope - float32(0.0625) * bend * bend) / (scale * scale)
        c = float32(1) / (float32(1) + (spread - q) / (q * (float32(1) + q)))
        place = y * n + x
        north[place], south[place], west[place], east[place] = dn, ds, dw, de
        coefficient[place] = min(max(c, float32(0)), float32(1))


@cuda.jit
def srad2(image, north, south, west, east, coefficient, out, n, rate):
    """Speckle-reducing diffusion, second half: what flows to and from the neighbours."""
    x, y = cuda.grid(2)
    last = int32(n - 1)
    i = y * n + x
    if y < last and x < last:
        here = coefficient[i]
        flow = here * (north[i] + west[i]) + coefficient[i + n] * south[i] + coefficient[i + 1] * east[i]
        out[i] = image[i] + rate * flow


@cuda.jit
def srad2_tiled(image, north, south, west, east, coefficient, out, n, rate):
    tile = cuda.shared.array((SIDE + 1, SIDE + 1), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    last = int32(n - 1)
    i = y * n + x
    if x < n and y < n:
        tile[ty, tx] = coefficient[i]
    if ty == SIDE - 1 and y < last and x < n:
        tile[ty + 1, tx] = coefficient[i + n]
    if tx == SIDE - 1 and x < last and y < n:
        tile[ty, tx + 1] = coefficient[i + 1]
    cuda.syncthreads()
    if y < last and x < last:
        flow = tile[ty, tx] * (north[i] + west[i]) + tile[ty + 1, tx] * south[i] + tile[ty, tx + 1] * east[i]
        out[i] = image[i] + rate * flow


def _blocks(outputs: int, side: int = SIDE) -> tuple[int, int]:
    return -(-outputs // side), -(-outputs // side)


def _square(seed: int, n: int, count: int = 1) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return [eighths(rng, n * n) for _ in range(count)]


def _problem(
    grid: tuple[int, int], arguments: Callable[[], tuple[Any, ...]], check: Callable[[tuple[Any, ...]], None]
) -> Problem:
    return Problem(grid, (SIDE, SIDE), arguments, check)


WEIGHTS = tuple(map(np.float32, (0.5, 0.3, 0.2)))
"""Of an element, of a neighbour at an edge, and of one at a corner."""


@lru_cache(maxsize=2)
def _jacobi_answer(n: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    (b,) = _square(1, n)
    m = b.reshape(n, n).astype(np.float64)
    edges = m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:]
    corners = m[:-2, :-2] + m[:-2, 2:] + m[2:, :-2] + m[2:, 2:]
    w0, w1, w2 = map(float, WEIGHTS)
    return b, frozen(w0 * m[1:-1, 1:-1] + w1 * edges + w2 * corners)


def _jacobi(build: str, n: int) -> Problem:
    """A matrix of n x n elements."""
    multiples(1, n=n - 2)
    b, answer = _jacobi_answer(n)
    return _problem(
        _blocks(n - 2, SIDE - 2 if build == "ghost zone" else SIDE),
        lambda: (b, poisoned(n * n, np.float32), np.int32(n), *WEIGHTS),
        lambda args: close(f"JAC: out, build {build}", _inner(args[1], n), answer, TOLERANCE),
    )


def _inner(array: NDArray[Any], n: int) -> NDArray[Any]:
    return array.reshape(n, n)[1:-1, 1:-1]


@lru_cache(maxsize=2)
def _sobel_answer(n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    (image,) = _square(2, n)
    m = image.reshape(n, n)
    difference = m[:, 2:] - m[:, :-2]
    return image, frozen(np.abs(difference[:-2] + 2 * difference[1:-1] + difference[2:]))


def _sobel(build: str, n: int) -> Problem:
    """An image of n x n pixels."""
    multiples(1, n=n - 2)
    image, answer = _sobel_answer(n)
    return _problem(
        _blocks(n),
        lambda: (image, poisoned(n * n, np.float32), np.int32(n), np.int32(n)),
        lambda args: equal(f"EDS: out, build {build}", _inner(args[1], n), answer),
    )


HEAT = tuple(map(np.float32, (0.5, 0.1, 0.2, 0.01)))
"""A step of time, conductances across and along, and of the heat sink."""


@lru_cache(maxsize=2)
def _hotspot_answer(n: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
    temperature, power = _square(3, n, 2)
    t, p = (m.reshape(n, n).astype(np.float64) for m in (temperature, power))
    step, across, along, sink = map(float, HEAT)
    here = t[1:-1, 1:-1]
    rows = t[:-2, 1:-1] + t[2:, 1:-1] - 2 * here
    columns = t[1:-1, :-2] + t[1:-1, 2:] - 2 * here
    answer = here + step * (p[1:-1, 1:-1] + rows * along + columns * across - here * sink)
    return temperature, power, frozen(answer)


def _hotspot(build: str, n: int) -> Problem:
    """A chip of n x n cells."""
    multiples(1, n=n - 2)
    temperature, power, answer = _hotspot_answer(n)
    return _problem(
        _blocks(n - 2, SIDE - 2),
        lambda: (temperature, power, poisoned(n * n, np.float32), np.int32(n), *HEAT),
        lambda args: close(f"HSP: out, build {build}", _inner(args[2], n), answer, TOLERANCE),
    )


SPECKLE, RATE = np.float32(0.25), np.float32(0.125)


@lru_cache(maxsize=2)
def _srad_answer(n: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """An image of numbers from 1 to 3, and what the first half makes of it: four differences and the coefficient."""
    image = frozen(_square(4, n)[0] + np.float32(2))
    m = image.reshape(n, n).astype(np.float64)
    here = m[1:-1, 1:-1]
    around = np.stack([m[:-2, 1:-1], m[2:, 1:-1], m[1:-1, :-2], m[1:-1, 2:]]) - here
    slope, bend, q = (around**2).sum(0) / here**2, around.sum(0) / here, float(SPECKLE)
    spread = (slope / 2 - bend**2 / 16) / (1 + bend / 4) ** 2
    c = np.clip(1 / (1 + (spread - q) / (q * (1 + q))), 0, 1)
    return image, frozen(np.concatenate([around, c[None]]))


def _srad1(build: str, n: int) -> Problem:
    """An image of n x n pixels."""
    multiples(1, n=n - 2)
    image, answer = _srad_answer(n)

    def check(args: tuple[Any, ...]) -> None:
        for name, got, wanted in zip("NSWEc", args[1:6], answer, strict=True):
            close(f"SRD1: {name}, build {build}", _inner(got, n), wanted, 1e-5)

    outputs = 5
    return _problem(
        _blocks(n),
        lambda: (image, *(poisoned(n * n, np.float32) for _ in range(outputs)), np.int32(n), SPECKLE),
        check,
    )


@lru_cache(maxsize=2)
def _srad2_answer(n: int) -> tuple[list[NDArray[np.float32]], NDArray[np.float32]]:
    arrays = _square(5, n, 6)
    image, north, south, west, east, c = (a.reshape(n, n) for a in arrays)
    inner = np.s_[:-1, :-1]
    flow = c[inner] * (north + west)[inner] + c[1:, :-1] * south[inner] + c[:-1, 1:] * east[inner]
    return arrays, frozen(image[inner] + RATE * flow)


def _srad2(build: str, n: int) -> Problem:
    """An image of n x n pixels, differences and a coefficient that are multiples of 1/8, so that sums are exact."""
    multiples(1, n=n - 1)
    arrays, answer = _srad2_answer(n)
    return _problem(
        _blocks(n),
        lambda: (*arrays, poisoned(n * n, np.float32), np.int32(n), RATE),
        lambda args: equal(f"SRD2: out, build {build}", args[6].reshape(n, n)[:-1, :-1], answer),
    )


SIZES = {"default": {"n": 512}, "quick": {"n": 128}, "tiny": {"n": 64}}


def _row(name: str, title: str, problems: Callable[..., Problem], baseline: Any, tiled: Any, **more: Any) -> Workload:
    sizes = more.pop("sizes", SIZES)
    return Workload(
        name, title, {"baseline": baseline, "hand-written": tiled, **more.pop("kernels", {})}, problems, sizes
    )


WORKLOADS = (
    _row("JAC", "Jacobi iteration", _jacobi, jacobi, jacobi_halo, kernels={"ghost zone": jacobi_ghost}),
    _row("EDS", "Sobel edge detection", _sobel, sobel, sobel_tiled),
    _row("HSP", "Hotspot", _hotspot, hotspot, hotspot_tiled),
    _row("SRD1", "Speckle-reducing diffusion, coefficients", _srad1, srad1, srad1_tiled),
    _row("SRD2", "Speckle-reducing diffusion, update", _srad2, srad2, srad2_tiled),
)
