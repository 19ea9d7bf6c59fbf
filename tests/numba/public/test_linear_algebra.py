"""Kernels of linear algebra as people write them, on the arrays that NumPy makes by default."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float64

TPB = 16


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def test_saxpy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(1000), rng.random(1000)
    out = np.zeros_like(x)
    saxpy[(1000 + 127) // 128, 128](2.5, x, y, out)
    np.testing.assert_array_equal(out, 2.5 * x + y)


@cuda.jit
def spmv_csr(values, columns, pointers, x, y):
    row = cuda.grid(1)
    if row < y.shape[0]:
        total = 0.0
        for k in range(pointers[row], pointers[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


def sparse(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    return rng.random((n, n)) * (rng.random((n, n)) < 0.1)


def test_spmv_csr() -> None:
    dense = sparse(70)
    rows, columns = np.nonzero(dense)
    pointers = np.zeros(71, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=70), out=pointers[1:])
    x, y = np.linspace(0, 1, 70), np.zeros(70)
    spmv_csr[3, 32](dense[rows, columns], columns, pointers, x, y)
    np.testing.assert_allclose(y, dense @ x, rtol=1e-12)


@cuda.jit
def spmv_ell(values, columns, x, y):
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    n, width = values.shape
    if row >= n:
        return
    dot = 0.0
    for k in range(width):
        col = columns[row, k]
        if col < 0:
            break
        dot += values[row, k] * x[col]
    y[row] = dot


def test_spmv_ell() -> None:
    dense = sparse(50)
    width = int((dense != 0).sum(axis=1).max())
    values, columns = np.zeros((50, width)), np.full((50, width), -1)
    for row in range(50):
        (found,) = np.nonzero(dense[row])
        values[row, : len(found)], columns[row, : len(found)] = dense[row, found], found
    x, y = np.arange(50) / 7, np.zeros(50)
    spmv_ell[2, 32](values, columns, x, y)
    np.testing.assert_allclose(y, dense @ x, rtol=1e-12)


@cuda.jit
def matmul_tiled(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float64)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float64)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x
    tmp = 0.0
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


def test_matmul_tiled() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random((20, 24)), rng.random((24, 30))
    c = np.zeros((20, 30))
    matmul_tiled[(2, 2), (TPB, TPB)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12)


TILE_DIM = 16
BLOCK_ROWS = 4


@cuda.jit
def transpose(odata, idata):
    tile = cuda.shared.array((TILE_DIM, TILE_DIM + 1), float64)
    x = cuda.blockIdx.x * TILE_DIM + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE_DIM + cuda.threadIdx.y
    for j in range(0, TILE_DIM, BLOCK_ROWS):
        if y + j < idata.shape[0] and x < idata.shape[1]:
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = idata[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE_DIM + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE_DIM + cuda.threadIdx.y
    for j in range(0, TILE_DIM, BLOCK_ROWS):
        if y + j < odata.shape[0] and x < odata.shape[1]:
            odata[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]


def test_transpose() -> None:
    a = np.arange(20 * 37).reshape(20, 37) / 3
    out = np.zeros((37, 20))
    transpose[(3, 2), (TILE_DIM, BLOCK_ROWS)](out, a)
    np.testing.assert_array_equal(out, a.T)


@cuda.jit
def lu_scale(a, k):
    i = cuda.grid(1) + k + 1
    if i < a.shape[0]:
        a[i, k] /= a[k, k]


@cuda.jit
def lu_update(a, k):
    j, i = cuda.grid(2)
    i += k + 1
    j += k + 1
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] -= a[i, k] * a[k, j]


def test_lu_steps() -> None:
    rng = np.random.default_rng(4)
    n = 12
    a = rng.random((n, n)) + n * np.eye(n)
    lu = a.copy()
    for k in range(n - 1):
        lu_scale[1, 32](lu, k)
        lu_update[(1, 1), (16, 16)](lu, k)
    lower, upper = np.tril(lu, -1) + np.eye(n), np.triu(lu)
    np.testing.assert_allclose(lower @ upper, a, rtol=1e-12)


@cuda.jit
def jacobi(a, b, x, x_new):
    i = cuda.grid(1)
    n = len(x)
    if i < n:
        sigma = 0.0
        for j in range(n):
            if j != i:
                sigma += a[i, j] * x[j]
        x_new[i] = (b[i] - sigma) / a[i, i]


def test_jacobi() -> None:
    rng = np.random.default_rng(5)
    a = rng.random((24, 24)) + 24 * np.eye(24)
    b, x, new = rng.random(24), np.zeros(24), np.zeros(24)
    for _ in range(45):
        jacobi[1, 32](a, b, x, new)
        x, new = new, x
    np.testing.assert_allclose(a @ x, b, rtol=1e-9)


@cuda.jit
def dot_kernel(x, y, partial):
    cache = cuda.shared.array(64, float64)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    temp = 0.0
    while i < x.size:
        temp += x[i] * y[i]
        i += cuda.blockDim.x * cuda.gridDim.x
    cache[tid] = temp
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s != 0:
        if tid < s:
            cache[tid] += cache[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = cache[0]


@cuda.jit
def axpy(y, a, x):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]


@cuda.jit
def xpay(x, a, y):
    """y = x + a y."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i] + a * y[i]


@cuda.jit
def laplacian_1d(x, out):
    i = cuda.grid(1)
    if i < x.size:
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < x.size - 1 else 0.0
        out[i] = 2 * x[i] - left - right


def test_conjugate_gradients() -> None:
    """The pieces of a solver: every vector operation is a kernel."""
    n = 16

    def dot(a: np.ndarray, b: np.ndarray) -> float:
        partial = np.zeros(2)
        dot_kernel[2, 64](a, b, partial)
        return float(partial.sum())

    b, x = np.sin(np.arange(n)), np.zeros(n)
    r, p, ap = b.copy(), b.copy(), np.zeros(n)
    rr = dot(r, r)
    for _ in range(n):
        laplacian_1d[1, 64](p, ap)
        alpha = rr / dot(p, ap)
        axpy[1, 64](x, alpha, p)
        axpy[1, 64](r, -alpha, ap)
        new = dot(r, r)
        if math.sqrt(new) < 1e-12:
            break
        xpay[1, 64](r, new / rr, p)
        rr = new
    matrix = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    np.testing.assert_allclose(matrix @ x, b, atol=1e-9)


@cuda.jit
def pagerank_step(indptr, indices, out_degree, rank, new_rank, damping):
    v = cuda.grid(1)
    n = rank.shape[0]
    if v < n:
        s = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            s += rank[u] / out_degree[u]
        new_rank[v] = (1.0 - damping) / n + damping * s


def test_pagerank() -> None:
    rng = np.random.default_rng(6)
    n = 40
    links = rng.random((n, n)) < 0.15  # links[v, u]: u links to v
    links[(np.arange(n) + 1) % n, np.arange(n)] = True
    degree = links.sum(axis=0)
    indptr = np.concatenate([[0], np.cumsum(links.sum(axis=1))])
    indices = np.nonzero(links)[1]
    rank, new = np.full(n, 1 / n), np.zeros(n)
    expected = rank.copy()
    for _ in range(10):
        pagerank_step[2, 32](indptr, indices, degree, rank, new, 0.85)
        rank, new = new, rank
        expected = 0.15 / n + 0.85 * (links @ (expected / degree))
    np.testing.assert_allclose(rank, expected, rtol=1e-12)
