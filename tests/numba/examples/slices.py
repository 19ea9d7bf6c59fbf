"""Slices and views: parts of arrays as arguments of functions, as targets, with steps, and of every memory."""

import numpy as np
from numba import cuda, float64, int64


@cuda.jit(device=True)
def copy(inp, out):
    for i in range(out.shape[0]):
        out[i] = inp[i]


@cuda.jit
def rows(inp, out):
    i = cuda.grid(1)
    copy(inp[i, :], out[i, :])


def run_rows():
    inp = np.arange(100).reshape(10, 10)
    out = np.zeros_like(inp)
    rows[1, 10](inp, out)
    return out


@cuda.jit
def columns(inp, out):
    i = cuda.grid(1)
    copy(inp[:, i], out[i])


def run_columns():
    inp = np.arange(30).reshape(5, 6) / 4
    out = np.zeros((6, 5))
    columns[1, 6](inp, out)
    return out


@cuda.jit(device=True)
def total(values):
    s = 0.0
    for i in range(len(values)):
        s += values[i]
    return s


@cuda.jit
def windows(a, n, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = total(a[i : i + n])


def run_windows():
    a, out = np.arange(20) * 0.5, np.zeros(16)
    windows[1, 16](a, 5, out)
    return out


@cuda.jit
def steps(a, out):
    i = cuda.grid(1)
    out[i, 0] = total(a[::2])
    out[i, 1] = total(a[i::3])
    out[i, 2] = total(a[: -i - 1])
    out[i, 3] = total(a[-4:])
    back = a[::-1]
    out[i, 4] = back[i]
    out[i, 5] = a[1:][2:][i]
    out[i, 6] = len(a[i:7])
    out[i, 7] = a[8:2:-2].shape[0]


def run_steps():
    a, out = np.arange(12) ** 2.0, np.zeros((4, 8))
    steps[1, 4](a, out)
    return out


@cuda.jit
def planes(a, out):
    i = cuda.grid(1)
    plane = a[i]
    out[i, 0] = plane[1, 2]
    out[i, 1] = plane[1][2]
    out[i, 2] = a[i, 1][2]
    out[i, 3] = a[i, :, 2][1]
    out[i, 4] = a[:, 1:, ::2][i, 0, 1]
    out[i, 5] = plane.shape[1] * 10 + plane.ndim
    out[i, 6] = a[..., 3][i, 0]
    out[i, 7] = plane.T[3, 1]


def run_planes():
    a, out = np.arange(24.0).reshape(2, 3, 4), np.zeros((2, 8))
    planes[1, 2](a, out)
    return out


@cuda.jit
def filled(a):
    i = cuda.grid(1)
    a[i, :] = i
    a[i, 2:4] = -1.5


def run_filled():
    a = np.ones((4, 6))
    filled[1, 4](a)
    return a


@cuda.jit
def copied(a, b):
    i = cuda.grid(1)
    a[i, 1:4] = b[i, ::2]


def run_copied():
    a, b = np.zeros((3, 5)), np.arange(18.0).reshape(3, 6)
    copied[1, 3](a, b)
    return a


@cuda.jit(device=True)
def swap(a, i, j):
    a[i], a[j] = a[j], a[i]


@cuda.jit
def parts_of_shared(a, out):
    s = cuda.shared.array((4, 8), float64)
    t = cuda.threadIdx.x
    row = s[t]
    for k in range(8):
        row[k] = a[t, k]
    swap(row, t, 7 - t)
    swap(s[t, 2:6], 0, 3)
    cuda.syncthreads()
    for k in range(8):
        out[t, k] = s[3 - t, k]


def run_parts_of_shared():
    a, out = np.arange(32.0).reshape(4, 8), np.zeros((4, 8))
    parts_of_shared[1, 4](a, out)
    return out


@cuda.jit
def parts_of_local(out, n):
    own = cuda.local.array((3, 4), int64)
    t = cuda.threadIdx.x
    for k in range(12):
        own[k // 4, k % 4] = k + t
    middle = own[1, 1:]
    for k in range(n):
        middle[k] *= 10
    for k in range(12):
        out[t, k] = own[k // 4, k % 4]


def run_parts_of_local():
    out = np.zeros((4, 12), dtype=np.int64)
    parts_of_local[1, 4](out, 3)
    return out


@cuda.jit
def given(a, out):
    i = cuda.grid(1)
    out[i] = a[i] + a[-1]


def run_views_as_arguments():
    """NumPy's views, as far as Numba takes them from the host: of one piece."""
    a = np.arange(40.0).reshape(5, 8)
    found = []
    for view in (a[1], a[2:4].ravel(), a.ravel()[5:25], a[:, :1].ravel()):
        out = np.zeros(view.size)
        given[1, view.size](view, out)
        found.append(out)
    return tuple(found)


@cuda.jit
def reshaped(a, out):
    i = cuda.grid(1)
    b = a.reshape((3, 4))
    out[i] = b[i // 4, i % 4] + a.ravel()[11 - i]


def run_reshaped():
    a, out = np.arange(12.0), np.zeros(12)
    reshaped[1, 12](a, out)
    return out


@cuda.jit
def from_the_end(a, b, out):
    i = cuda.grid(1)
    k = -1 - i
    out[i] = a[k] + a[-2] * 100 + b[k, -1] * 10000 + b[-1, k] * 1000000


def run_from_the_end():
    a, b, out = np.arange(4), np.arange(16).reshape(4, 4), np.zeros(4, dtype=np.int64)
    from_the_end[1, 4](a, b, out)
    return out
