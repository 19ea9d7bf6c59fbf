"""Operations that threads do together, and those on bits: atomics, warps, barriers, positions."""

import math

import numpy as np

from smmux import cuda, float32, int32
from tests.compiler.front import run


def test_atomics():
    @cuda.jit
    def kernel(ints, words, floats):
        tile = cuda.shared.array(2, int32)
        t = cuda.threadIdx.x
        if t < 2:
            tile[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(tile, t % 2, t)
        cuda.syncthreads()
        cuda.atomic.add(ints, (0, 0), 1)
        cuda.atomic.sub(ints, (0, 1), 2)
        cuda.atomic.max(ints, (0, 2), t)
        cuda.atomic.min(ints, (0, 3), -t)
        cuda.atomic.and_(words, 0, ~(1 << t))
        cuda.atomic.or_(words, 1, 1 << t)
        cuda.atomic.xor(words, 2, 1 << t)
        cuda.atomic.inc(words, 3, 9)
        cuda.atomic.dec(words, 4, 5)
        cuda.atomic.add(floats, 0, 0.5)
        cuda.atomic.sub(floats, 1, 0.25)
        cuda.atomic.max(floats, 2, float32(t))
        if t == 7:
            ints[1, 0] = cuda.atomic.exch(ints, (1, 1), 5)
            ints[1, 2] = cuda.atomic.cas(ints, (1, 3), 3, 8)
            ints[2, 0] = tile[0]
            ints[2, 1] = tile[1]

    ints = np.array([[0, 0, 0, 0], [0, 77, 0, 3], [0, 0, 0, 0]], np.int32)
    words, floats = np.array([0xFFFFFFFF, 0, 0, 0, 0], np.uint32), np.zeros(3, np.float32)
    run(kernel, 1, 32, ints, words, floats)
    np.testing.assert_array_equal(ints, [[32, -64, 31, -31], [77, 5, 3, 8], [240, 256, 0, 0]])
    np.testing.assert_array_equal(words, [0, 0xFFFFFFFF, 0xFFFFFFFF, 32 % 10, 4])
    np.testing.assert_array_equal(floats, [16.0, -8.0, 31.0])


def test_compare_and_swap_of_the_first_element():
    @cuda.jit
    def kernel(lock, out):
        out[cuda.threadIdx.x] = cuda.atomic.compare_and_swap(lock, 0, 1)

    lock, out = np.zeros(1, np.int32), np.zeros(8, np.int32)
    run(kernel, 1, 8, lock, out)
    assert lock[0] == 1
    assert out.sum() == 7


def test_warp_operations():
    @cuda.jit
    def kernel(out, a):
        t = cuda.threadIdx.x
        full = 0xFFFFFFFF
        x = a[t]
        out[0, t] = cuda.shfl_sync(full, x, 5)
        out[1, t] = cuda.shfl_up_sync(full, x, 3)
        out[2, t] = cuda.shfl_down_sync(full, x, 1)
        out[3, t] = cuda.shfl_xor_sync(full, x, 7)
        out[4, t] = cuda.ballot_sync(full, x > 40)
        out[5, t] = cuda.any_sync(full, x > 60) + 2 * cuda.all_sync(full, x >= 0) + 4 * cuda.eq_sync(full, x > 1000)
        out[6, t] = cuda.laneid + cuda.warpsize
        cuda.syncwarp()

    a = np.arange(0, 64, 2, dtype=np.int32)
    out, t = np.zeros((7, 32), np.int32), np.arange(32)
    run(kernel, 1, 32, out, a)
    np.testing.assert_array_equal(out[0], np.full(32, a[5]))
    np.testing.assert_array_equal(out[1], np.where(t >= 3, a[t - 3], a))
    np.testing.assert_array_equal(out[2], a[np.minimum(t + 1, 31)])
    np.testing.assert_array_equal(out[3], a[t ^ 7])
    mask = sum(1 << int(i) for i in t if a[i] > 40)
    np.testing.assert_array_equal(out[4].view(np.uint32), np.full(32, mask))
    np.testing.assert_array_equal(out[5], np.full(32, 1 + 2 + 4))
    np.testing.assert_array_equal(out[6], t + 32)


def test_bit_operations():
    @cuda.jit
    def kernel(out, a):
        t = cuda.threadIdx.x
        out[0, t] = cuda.popc(a[t])
        out[1, t] = cuda.clz(a[t])
        out[2, t] = cuda.ffs(a[t])
        out[3, t] = int32(cuda.brev(a[t]))
        out[4, t] = cuda.selp(a[t] > 5, 1, t)

    a = np.array([0, 1, 2, 12, 0x80000000, 0xFFFFFFFF, 0x00F0], np.uint32)
    out = np.zeros((5, len(a)), np.int32)
    run(kernel, 1, len(a), out, a)
    binary = [f"{int(x):032b}" for x in a]
    np.testing.assert_array_equal(out[0], [b.count("1") for b in binary])
    np.testing.assert_array_equal(out[1], [32 if "1" not in b else b.index("1") for b in binary])
    np.testing.assert_array_equal(out[2], [0 if "1" not in b else 32 - b.rindex("1") for b in binary])
    np.testing.assert_array_equal(out[3].view(np.uint32), [int(b[::-1], 2) for b in binary])
    np.testing.assert_array_equal(out[4], np.where(a > 5, 1, np.arange(len(a))))


def test_tuple_and_none_arguments():
    @cuda.jit
    def kernel(out, pair, option, scale):
        i = cuda.threadIdx.x
        a, (b, offset) = pair
        out[i] = a[i] + b[i] * scale + offset
        if option is not None:
            out[i] += option[i]

    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    out = np.zeros(4, np.float32)
    run(kernel, 1, 4, out, (a, (b, 5)), None, 2.0)
    np.testing.assert_array_equal(out, a + 7)
    run(kernel, 1, 4, out, (a, (b, 5)), a, np.float32(2))
    np.testing.assert_array_equal(out, 2 * a + 7)


def test_positions():
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        out[z, y, x] = x + nx * (y + ny * z) + cuda.blockIdx.z * 0 + (nz - nz)

    out = np.zeros((2, 6, 8), np.int32)
    run(kernel, (2, 3), (4, 2, 2), out)
    np.testing.assert_array_equal(out.ravel(), np.arange(96))


def test_barriers_that_count():
    @cuda.jit
    def kernel(out, a):
        t = cuda.threadIdx.x
        out[0, t] = cuda.syncthreads_count(a[t] > 10)
        out[1, t] = cuda.syncthreads_or(a[t] > 1000)
        out[2, t] = cuda.syncthreads_and(a[t] >= 0)

    a = np.arange(64, dtype=np.int32)
    out = np.full((3, 64), -1, np.int32)
    run(kernel, 1, 64, out, a)
    np.testing.assert_array_equal(out, np.repeat([[53], [0], [1]], 64, axis=1))


def test_reciprocal_square_root_under_fastmath():
    @cuda.jit(fastmath=True)
    def kernel(a):
        i = cuda.threadIdx.x
        a[i] = 1 / math.sqrt(a[i])

    a = np.array([1.0, 4.0, 0.25], np.float32)
    assert "rsqrt.approx.f32" in kernel.ir(a)
    assert "sqrt.approx.f32" not in kernel.ir(a).replace("rsqrt", "")
    run(kernel, 1, 3, a)
    np.testing.assert_allclose(a, [1.0, 0.5, 2.0], rtol=1e-6)
