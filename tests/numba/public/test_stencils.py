"""Differential equations on grids, as people write them, against the same steps of NumPy."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float64


@cuda.jit
def heat_step(u, u_new, alpha, dt, dx):
    i, j = cuda.grid(2)
    nx, ny = u.shape
    if 0 < i < nx - 1 and 0 < j < ny - 1:
        lap = (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]) / dx**2
        u_new[i, j] = u[i, j] + alpha * dt * lap


def test_heat_equation() -> None:
    u = np.zeros((20, 24))
    u[5:10, 8:12] = 100
    new, expected = u.copy(), u.copy()
    for _ in range(5):
        heat_step[(3, 3), (8, 8)](u, new, 0.1, 0.05, 0.2)
        u, new = new, u
        mid = expected[1:-1, 1:-1]
        around = expected[2:, 1:-1] + expected[:-2, 1:-1] + expected[1:-1, 2:] + expected[1:-1, :-2]
        expected[1:-1, 1:-1] = mid + 0.1 * 0.05 * (around - 4 * mid) / 0.2**2
    np.testing.assert_allclose(u, expected, rtol=1e-12)


TILE = 32
RADIUS = 3
COEFFICIENTS = np.array([0.1, 0.2, 0.3, 0.4, 0.3, 0.2, 0.1])


@cuda.jit
def stencil_1d(inp, out):
    temp = cuda.shared.array(TILE + 2 * RADIUS, dtype=float64)
    weights = cuda.const.array_like(COEFFICIENTS)
    gindex = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    lindex = cuda.threadIdx.x + RADIUS
    n = inp.size
    temp[lindex] = inp[gindex] if gindex < n else 0
    if cuda.threadIdx.x < RADIUS:
        temp[lindex - RADIUS] = inp[gindex - RADIUS] if gindex >= RADIUS else 0
        temp[lindex + TILE] = inp[gindex + TILE] if gindex + TILE < n else 0
    cuda.syncthreads()
    result = 0.0
    for offset in range(-RADIUS, RADIUS + 1):
        result += temp[lindex + offset] * weights[offset + RADIUS]
    if gindex < n:
        out[gindex] = result


def test_stencil_1d() -> None:
    x = np.random.default_rng(1).random(100)
    out = np.zeros(100)
    stencil_1d[4, TILE](x, out)
    np.testing.assert_allclose(out, np.convolve(x, COEFFICIENTS, "same"), rtol=1e-12)


@cuda.jit
def fd3d(a, b, c0, c1):
    k, j, i = cuda.grid(3)
    nz, ny, nx = a.shape
    if i >= 1 and i < nx - 1 and j >= 1 and j < ny - 1 and k >= 1 and k < nz - 1:
        b[k, j, i] = c0 * a[k, j, i] + c1 * (
            a[k - 1, j, i] + a[k + 1, j, i] + a[k, j - 1, i] + a[k, j + 1, i] + a[k, j, i - 1] + a[k, j, i + 1]
        )


def test_finite_differences_3d() -> None:
    a = np.random.default_rng(2).random((8, 9, 10))
    b = np.zeros_like(a)
    from smmux import gpus

    with gpus.set_current("GTX480-48K"):
        fd3d[(2, 3, 3), (4, 4, 4)](a, b, 0.5, 0.1)
    m = slice(1, -1)
    around = a[:-2, m, m] + a[2:, m, m] + a[m, :-2, m] + a[m, 2:, m] + a[m, m, :-2] + a[m, m, 2:]
    np.testing.assert_allclose(b[m, m, m], 0.5 * a[m, m, m] + 0.1 * around, rtol=1e-12)
    assert (b[0] == 0).all()


@cuda.jit
def wave_step(prev, cur, nxt, c2):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if x == 0 or y == 0 or x >= cur.shape[1] - 1 or y >= cur.shape[0] - 1:
        return
    lap = cur[y, x - 1] + cur[y, x + 1] + cur[y - 1, x] + cur[y + 1, x] - 4 * cur[y, x]
    nxt[y, x] = 2 * cur[y, x] - prev[y, x] + c2 * lap


def test_wave_equation() -> None:
    n = 20
    y, x = np.mgrid[:n, :n]
    cur = np.exp(-((x - 10) ** 2 + (y - 9) ** 2) / 8)
    cur[[0, -1]] = cur[:, [0, -1]] = 0
    prev, nxt = cur.copy(), np.zeros((n, n))
    a, b = cur.copy(), cur.copy()
    for _ in range(6):
        wave_step[(3, 3), (8, 8)](prev, cur, nxt, 0.25)
        prev, cur, nxt = cur, nxt, prev
        c = np.zeros((n, n))
        m = b[1:-1, 1:-1]
        lap = b[1:-1, :-2] + b[1:-1, 2:] + b[:-2, 1:-1] + b[2:, 1:-1] - 4 * m
        c[1:-1, 1:-1] = 2 * m - a[1:-1, 1:-1] + 0.25 * lap
        a, b = b, c
    np.testing.assert_allclose(cur, b, atol=1e-12)


@cuda.jit
def life_step(board, new_board):
    row, col = cuda.grid(2)
    rows, cols = board.shape
    if row < rows and col < cols:
        alive = 0
        for dr in range(-1, 2):
            for dc in range(-1, 2):
                if dr == 0 and dc == 0:
                    continue
                alive += board[(row + dr) % rows, (col + dc) % cols]
        if board[row, col] == 1 and (alive == 2 or alive == 3):
            new_board[row, col] = 1
        elif board[row, col] == 0 and alive == 3:
            new_board[row, col] = 1
        else:
            new_board[row, col] = 0


def test_game_of_life() -> None:
    board = np.random.default_rng(3).integers(0, 2, (24, 20))
    new = np.zeros_like(board)
    expected = board.copy()
    for _ in range(4):
        life_step[(3, 3), (8, 8)](board, new)
        board, new = new, board
        shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
        count = sum(np.roll(expected, s, (0, 1)) for s in shifts)
        expected = ((count == 3) | ((expected == 1) & (count == 2))).astype(int)
    np.testing.assert_array_equal(board, expected)


W = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
CX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
CY = (0, 0, 1, 0, -1, 1, 1, -1, -1)


@cuda.jit
def lbm_collide(f, omega):
    x, y = cuda.grid(2)
    if x >= f.shape[1] or y >= f.shape[2]:
        return
    rho = 0.0
    ux = 0.0
    uy = 0.0
    for q in range(9):
        rho += f[q, x, y]
        ux += CX[q] * f[q, x, y]
        uy += CY[q] * f[q, x, y]
    ux /= rho
    uy /= rho
    usqr = 1.5 * (ux * ux + uy * uy)
    for q in range(9):
        cu = 3.0 * (CX[q] * ux + CY[q] * uy)
        feq = W[q] * rho * (1 + cu + 0.5 * cu * cu - usqr)
        f[q, x, y] += omega * (feq - f[q, x, y])


@cuda.jit
def lbm_stream(f, f_new):
    x, y = cuda.grid(2)
    nx, ny = f.shape[1], f.shape[2]
    if x < nx and y < ny:
        for q in range(9):
            xs = (x - CX[q] + nx) % nx
            ys = (y - CY[q] + ny) % ny
            f_new[q, x, y] = f[q, xs, ys]


def test_lattice_boltzmann() -> None:
    nx, ny = 12, 16
    f = np.random.default_rng(4).random((9, nx, ny)) + 1
    new, expected = np.zeros_like(f), f.copy()
    w, cx, cy = (np.array(v).reshape(9, 1, 1) for v in (W, CX, CY))
    for _ in range(3):
        lbm_collide[(2, 2), (8, 8)](f, 0.9)
        lbm_stream[(2, 2), (8, 8)](f, new)
        f, new = new, f
        rho = expected.sum(0)
        ux, uy = (cx * expected).sum(0) / rho, (cy * expected).sum(0) / rho
        cu = 3 * (cx * ux + cy * uy)
        feq = w * rho * (1 + cu + cu**2 / 2 - 1.5 * (ux**2 + uy**2))
        expected += 0.9 * (feq - expected)
        expected = np.stack([np.roll(expected[q], (CX[q], CY[q]), (0, 1)) for q in range(9)])
    np.testing.assert_allclose(f, expected, rtol=1e-11)


@cuda.jit(device=True)
def limiter(r):
    return max(0.0, min(1.0, r))


@cuda.jit
def advect(u, out, c):
    """Upwind with a minmod limiter on a ring."""
    i = cuda.grid(1)
    n = u.size
    if i < n:
        flux = cuda.local.array(2, float64)
        for side in range(2):
            k = (i - 1 + side) % n
            a = u[k] - u[(k - 1) % n]
            b = u[(k + 1) % n] - u[k]
            r = a / b if math.fabs(b) > 1e-14 else 0.0
            flux[side] = u[k] + 0.5 * (1 - c) * limiter(r) * b
        out[i] = u[i] - c * (flux[1] - flux[0])


def test_advection() -> None:
    u = np.where(np.abs(np.arange(50) - 20) < 6, 1.0, np.sin(np.arange(50)))
    out = np.zeros(50)
    advect[2, 32](u, out, 0.4)
    a, b = u - np.roll(u, 1), np.roll(u, -1) - u
    r = np.where(np.abs(b) > 1e-14, a / np.where(b == 0, 1, b), 0)
    flux = u + 0.5 * 0.6 * np.clip(r, 0, 1) * b
    np.testing.assert_allclose(out, u - 0.4 * (flux - np.roll(flux, 1)), atol=1e-12)
