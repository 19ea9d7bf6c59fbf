"""Thread positioning, as in "Writing CUDA kernels": explicit indices, `cuda.grid` in one, two and three dimensions."""

import numpy as np
from numba import cuda

THREE_DIMENSIONAL = ("run_3d",)  # grids; cards of compute capability 1.x have two


@cuda.jit
def increment_by_one(an_array):
    tx = cuda.threadIdx.x
    ty = cuda.blockIdx.x
    bw = cuda.blockDim.x
    pos = tx + ty * bw
    if pos < an_array.size:
        an_array[pos] += 1


@cuda.jit
def increment_a_2d_array(an_array):
    x, y = cuda.grid(2)
    if x < an_array.shape[0] and y < an_array.shape[1]:
        an_array[x, y] += 1


@cuda.jit
def number_3d(out):
    x, y, z = cuda.grid(3)
    nx, ny, nz = cuda.gridsize(3)
    if x < out.shape[0] and y < out.shape[1] and z < out.shape[2]:
        out[x, y, z] = x + nx * (y + ny * z) + 1000 * nz


@cuda.jit
def stride_2d(out):
    startx, starty = cuda.grid(2)
    stridex, stridey = cuda.gridsize(2)
    for i in range(startx, out.shape[0], stridex):
        for j in range(starty, out.shape[1], stridey):
            out[i, j] = 100 * startx + starty


@cuda.jit
def describe(out):
    i = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
    t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if cuda.blockDim.z == 1 and cuda.gridDim.z == 1 and cuda.threadIdx.z == 0:
        out[i, t, 0] = cuda.laneid
        out[i, t, 1] = cuda.warpsize
        out[i, t, 2] = t // cuda.warpsize


def run_1d():
    a = np.arange(100, dtype=np.int32)
    increment_by_one[4, 32](a)
    np.testing.assert_array_equal(a, np.arange(1, 101))
    return a


def run_2d():
    a = np.arange(70, dtype=np.float32).reshape(7, 10)
    increment_a_2d_array[(2, 3), (4, 4)](a)
    np.testing.assert_array_equal(a, np.arange(1, 71).reshape(7, 10))
    return a


def run_2d_of_a_view():
    a = cuda.to_device(np.zeros((9, 12), np.float32))
    increment_a_2d_array[(2, 3), (4, 4)](a[1:8, ::2])
    result = a.copy_to_host()
    assert result.sum() == 42
    return result


def run_3d():
    out = np.zeros((5, 6, 3), np.int32)
    number_3d[(2, 3, 2), (4, 2, 2)](out)
    return out


def run_stride_2d():
    out = np.full((11, 9), -1, np.int32)
    stride_2d[(1, 2), (4, 2)](out)
    return out


def run_describe():
    out = np.zeros((4, 48, 3), np.int32)
    describe[(2, 2), (12, 4)](out)
    return out
