"""1-D heat equation: a kernel per time step, and all steps in one block between barriers."""

import numpy as np
from numba import cuda, float32

SIZE = 61
STEPS = 8


@cuda.jit
def heat_step(data, next_data, k):
    i = cuda.grid(1)
    if i >= len(data):
        return
    curr_temp = data[i]
    if i == 0:
        next_temp = curr_temp + k * (data[i + 1] - (2 * curr_temp))
    elif i == len(data) - 1:
        next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp))
    else:
        next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp) + data[i + 1])
    next_data[i] = next_temp


@cuda.jit
def heat_block(data, timesteps, k):
    rod = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    n = data.size
    rod[0, i] = data[i] if i < n else 0.0
    rod[1, i] = 0.0
    cuda.syncthreads()
    for step in range(timesteps):
        now = step % 2
        if i < n:
            left = rod[now, i - 1] if i > 0 else 0.0
            right = rod[now, i + 1] if i < n - 1 else 0.0
            rod[1 - now, i] = rod[now, i] + k * (left - 2 * rod[now, i] + right)
        cuda.syncthreads()
    if i < n:
        data[i] = rod[timesteps % 2, i]


def _initial():
    data = np.zeros(SIZE, np.float32)
    data[SIZE // 2] = 1 << 16
    return data


def run_steps():
    buf_0 = cuda.to_device(_initial())
    buf_1 = cuda.device_array_like(buf_0)
    for step in range(STEPS):
        if step % 2 == 0:
            heat_step[4, 16](buf_0, buf_1, 0.25)
        else:
            heat_step[4, 16](buf_1, buf_0, 0.25)
    result = buf_0.copy_to_host()
    assert result.sum() == 1 << 16
    return result


def run_block():
    data = _initial()
    heat_block[1, 64](data, STEPS, 0.25)
    assert data.sum() == 1 << 16
    return data


@cuda.jit
def heat_chosen(buf_0, buf_1, timesteps, k):
    i = cuda.threadIdx.x
    for step in range(timesteps):
        if (step % 2) == 0:
            data = buf_0
            next_data = buf_1
        else:
            data = buf_1
            next_data = buf_0
        if i < len(buf_0):
            curr_temp = data[i]
            if i == 0:
                next_temp = curr_temp + k * (data[i + 1] - (2 * curr_temp))
            elif i == len(data) - 1:
                next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp))
            else:
                next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp) + data[i + 1])
            next_data[i] = next_temp
        cuda.syncthreads()


@cuda.jit
def heat_exchanged(curr, following, timesteps, k):
    i = cuda.threadIdx.x
    for _ in range(timesteps):
        if 0 < i < len(curr) - 1:
            following[i] = curr[i] + k * (curr[i - 1] - 2 * curr[i] + curr[i + 1])
        cuda.syncthreads()
        curr, following = following, curr


def run_chosen():
    found = []
    for kernel in (heat_chosen, heat_exchanged):
        buf_0, buf_1 = _initial(), np.zeros(SIZE, np.float32)
        kernel[1, 64](buf_0, buf_1, STEPS + 1, 0.25)
        assert buf_1.sum() == 1 << 16
        found.append(buf_1)
    return np.array(found)
