"""The host's side: streams, events, pinned and mapped arrays, configured kernels, signatures, tuples as arguments."""

import numpy as np
from numba import cuda, float32, int32, void


@cuda.jit
def scale(a, factor):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * factor


@cuda.jit(void(float32[:], int32))
def shift(a, by):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += by


@cuda.jit("void(float32[:, :])", fastmath=True)
def by_text(a):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] *= 2


@cuda.jit
def add_all(arrays, weights, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y = arrays
        out[i] = weights[0] * x[i] + weights[1] * y[i]


@cuda.jit
def slots(a, flag):
    """Shapes, sizes and dimensions are numbers."""
    if cuda.grid(1) == 0:
        a[0, 0] = a.ndim
        a[0, 1] = a.size
        a[0, 2] = len(a)
        a[1, 0] = a.shape[-1]
        if flag:
            a[1, 1] = 1
        rows, columns = a.shape
        a[1, 2] = rows * 10 + columns


def run_streams():
    stream = cuda.stream()
    a = cuda.to_device(np.arange(40, dtype=np.float32), stream=stream)
    scale[2, 32, stream](a, 0.5)
    with stream.auto_synchronize():
        scale[2, 32, stream](a, 4)
    stream.synchronize()
    cuda.synchronize()
    return a.copy_to_host(stream=stream)


def run_events():
    begin, end = cuda.event(), cuda.event()
    a = cuda.pinned_array(40, np.float32)
    a[:] = np.arange(40)
    begin.record()
    scale[2, 32](a, 3)
    end.record()
    end.synchronize()
    return np.array(a)


def run_signatures():
    a = np.arange(12, dtype=np.float32)
    shift[1, 16](a, 3)
    b = a.reshape(3, 4).copy()
    by_text[(1, 1), (4, 4)](b)
    np.testing.assert_array_equal(b.ravel(), 2 * (np.arange(12) + 3))
    return a, b


def run_copies():
    host = np.arange(16, dtype=np.int32)
    device = cuda.device_array(16, np.int32)
    device.copy_to_device(host)
    scale[1, 16](device, 3)
    back = np.zeros(16, np.int32)
    device.copy_to_host(back)
    np.testing.assert_array_equal(back, host * 3)
    return back


def run_tuples():
    x, y = np.arange(20, dtype=np.float32), np.arange(20, 0, -1, dtype=np.float32)
    out = np.zeros(20, np.float32)
    add_all[1, 32]((cuda.to_device(x), cuda.to_device(y)), (2, 0.5), out)
    np.testing.assert_array_equal(out, 2 * x + y / 2)
    return out


def run_slots():
    a = np.zeros((2, 3), np.int32)
    slots[1, 2](a, True)
    np.testing.assert_array_equal(a, [[2, 6, 2], [3, 1, 23]])
    return a
