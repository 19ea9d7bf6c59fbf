"""Shared-memory reductions: the documented one, sequential addressing, maximum with its index, one atomic per block."""

import numpy as np
from numba import cuda, float32, int32

NELEM = 128


@cuda.jit
def array_sum(data):
    tid = cuda.threadIdx.x
    size = len(data)
    if tid < size:
        i = cuda.grid(1)
        shr = cuda.shared.array(NELEM, int32)
        shr[tid] = data[i]
        cuda.syncthreads()
        s = 1
        while s < cuda.blockDim.x:
            if tid % (2 * s) == 0:
                shr[tid] += shr[tid + s]
            s *= 2
            cuda.syncthreads()
        if tid == 0:
            data[tid] = shr[tid]


@cuda.jit
def block_sums(data, sums):
    shr = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = 0.0
    while i < data.size:
        total += data[i]
        i += cuda.gridsize(1)
    shr[t] = total
    cuda.syncthreads()
    s = cuda.blockDim.x >> 1
    while s > 0:
        if t < s:
            shr[t] += shr[t + s]
        cuda.syncthreads()
        s >>= 1
    if t == 0:
        sums[cuda.blockIdx.x] = shr[0]


@cuda.jit
def maximum(data, result):
    value = cuda.shared.array(64, float32)
    place = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    best = data[t]
    where = t
    for i in range(t + 64, data.size, 64):
        if data[i] > best:
            best = data[i]
            where = i
    value[t] = best
    place[t] = where
    cuda.syncthreads()
    s = 32
    while s >= 1:
        if t < s and (value[t + s] > value[t] or (value[t + s] == value[t] and place[t + s] < place[t])):
            value[t] = value[t + s]
            place[t] = place[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        result[0] = place[0]


@cuda.jit
def grid_sum(data, total):
    part = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        part[0] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < data.size:
        cuda.atomic.add(part, 0, data[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, part[0])


def run_documented():
    a = cuda.to_device(np.arange(NELEM, dtype=np.int32))
    array_sum[1, NELEM](a)
    assert a.copy_to_host()[0] == sum(range(NELEM))
    return a.copy_to_host()


def run_block_sums():
    data = np.arange(1000, dtype=np.float32) / 8
    sums = np.zeros(3, np.float32)
    block_sums[3, 64](data, sums)
    assert sums.sum() == data.sum()
    return sums


def run_maximum():
    data = (np.arange(500, dtype=np.float32) * 37 % 251) / 8
    result = np.zeros(1, np.int32)
    maximum[1, 64](data, result)
    assert result[0] == np.argmax(data)
    return result


def run_grid_sum():
    data = np.arange(-50, 150, dtype=np.int32)
    total = np.zeros(1, np.int32)
    grid_sum[7, 32](data, total)
    assert total[0] == data.sum()
    return total
