"""Arrays: indexing, spaces, views, narrow elements, atomics, warp operations."""

import numpy as np
import pytest

from smmux import CompileError, cuda, float32, int32, smm, uint8, uint32
from smmux.kernel import from_source
from tests.compiler.front import run

WEIGHTS = np.array([0.5, 0.25, 2.0, -1.0], np.float32)
BYTES = np.arange(10, 30, dtype=np.uint8).reshape(4, 5)


def test_many_dimensions_and_strides():
    @cuda.jit
    def kernel(out, a):
        x, y = cuda.grid(2)
        if x < a.shape[2] and y < a.shape[1]:
            for z in range(a.shape[0]):
                out[z, y, x] = a[z, y, x] + z * 100

    base = np.arange(4 * 6 * 10, dtype=np.int32).reshape(4, 6, 10)
    out = np.zeros((4, 6, 10), np.int32)
    run(kernel, (2, 2), (8, 4), out, base)
    expected = base + 100 * np.arange(4)[:, None, None]
    np.testing.assert_array_equal(out, expected)
    # strided and transposed views, on the machine alone (its definition takes contiguous arrays)
    out = np.zeros((4, 6, 10), np.int32)
    kernel.simulate((2, 2), (8, 4), (out, np.asfortranarray(base)), gpu="GTX285")
    np.testing.assert_array_equal(out, expected)
    wide = np.zeros((4, 6, 20), np.int32)
    kernel.simulate((2, 2), (8, 4), (wide[:, :, ::2], base), gpu="GTX285")
    np.testing.assert_array_equal(wide[:, :, ::2], expected)
    assert not wide[:, :, 1::2].any()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, np.complex64])
def test_arrays_without_axes(dtype):
    @cuda.jit
    def kernel(a, hits, b):
        cuda.atomic.add(hits, (), 2)
        if cuda.grid(1) == 0:
            b[0] = a[()] + a.size + a.ndim
            a[()] += b[1:2].item()
            b[2] = a.item()
            a[...] = b[1]

    a, hits, b = np.array(3, dtype), np.array(5, np.int32), np.arange(10, 13).astype(dtype)
    kernel.simulate(1, 48, (a, hits, b), gpu="GTX285")
    assert (a, hits, b.tolist()) == (11, 101, [4, 11, 14])
    with pytest.raises(CompileError, match=r"'a' is a 0-d array of .* here; write a\[\(\)\]"):
        from_source("def kernel(a):\n    x = a + 1", {}).simulate(1, 1, (a,))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_narrow_elements_widen_and_truncate(dtype):
    @cuda.jit
    def kernel(out, wide, a):
        i = cuda.threadIdx.x
        wide[i] = a[i] - 1
        out[i] = a[i] * 3 + 7

    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, 0, 1, 5, info.max - 1, info.max // 2], dtype)
    out, wide = np.zeros_like(a), np.zeros(len(a), np.int32)
    run(kernel, 1, len(a), out, wide, a)
    np.testing.assert_array_equal(wide, a.astype(np.int32) - 1)
    np.testing.assert_array_equal(out, (a.astype(np.int32) * 3 + 7).astype(dtype))


def test_bool_arrays():
    @cuda.jit
    def kernel(out, flags, a):
        i = cuda.threadIdx.x
        out[i] = not flags[i] and a[i] > 2
        flags[i] = a[i]

    flags, a = np.array([True, False, False, True]), np.array([0, 3, 1, 9], np.int32)
    out, before = np.zeros(4, np.bool_), flags.copy()
    run(kernel, 1, 4, out, flags, a)
    np.testing.assert_array_equal(out, ~before & (a > 2))
    np.testing.assert_array_equal(flags, a != 0)


def test_shared_arrays_are_packed_and_viewed():
    @cuda.jit
    def kernel(out):
        counters = cuda.shared.array(6, uint8)
        tile = cuda.shared.array((4, 8), float32)
        words = tile.view(uint32)
        t = cuda.threadIdx.x
        tile[t // 8, t % 8] = float32(t)
        if t < 6:
            counters[t] = t
        cuda.syncthreads()
        out[t] = words[t // 8, t % 8] + counters[t % 6]

    out = np.zeros(32, np.uint32)
    run(kernel, 1, 32, out)
    t = np.arange(32)
    np.testing.assert_array_equal(out, t.astype(np.float32).view(np.uint32) + t % 6)
    assert kernel.compile((out,)).shared_bytes == 8 + 128


def test_byte_view_of_words():
    @cuda.jit
    def kernel(out, a):
        words = cuda.shared.array(8, uint32)
        octets = words.view(uint8)
        t = cuda.threadIdx.x
        words[t] = a[t]
        cuda.syncthreads()
        out[t] = (octets[4 * t] << 24) | (octets[4 * t + 1] << 16) | (octets[4 * t + 2] << 8) | octets[4 * t + 3]
        octets[4 * t] = 255
        out[t] ^= words[t] & 0xFF

    a = np.arange(8, dtype=np.uint32) * 0x01234567
    out = np.zeros(8, np.uint32)
    run(kernel, 1, 8, out, a)
    np.testing.assert_array_equal(out, a.byteswap() ^ 0xFF)


def test_local_arrays_are_registers_or_memory():
    @cuda.jit
    def registers(out, a):
        x = cuda.local.array((2, 3), int32)
        t = cuda.threadIdx.x
        for i in range(2):
            for j in range(3):
                x[i, j] = a[t] * (i + 1) + j
        total = 0
        for i in range(2):
            for j in range(3):
                total = total * 2 + x[i, j]
        out[t] = total

    @cuda.jit
    def memory(out, a):
        x = cuda.local.array(6, int32)
        t = cuda.threadIdx.x
        for i in range(6):
            x[i] = a[t] * (i // 3 + 1) + i % 3
        total = 0
        for i in range(t - t, 6):
            total = total * 2 + x[i]
        out[t] = total

    a = np.arange(-4, 4, dtype=np.int32)
    first, second = np.zeros(8, np.int32), np.zeros(8, np.int32)
    run(registers, 1, 8, first, a)
    run(memory, 1, 8, second, a)
    np.testing.assert_array_equal(first, second)
    assert registers.compile((first, a)).local_bytes == 0
    assert memory.compile((second, a)).local_bytes == 24


def test_elements_that_nobody_wrote_read_as_zero():
    @cuda.jit
    def straight(out, n):
        x = cuda.local.array(4, float32)
        out[0] = x[1]
        if x[2] > n:
            out[1] = 1.0
        out[2] = x[3] * 2.0

    @cuda.jit
    def carried(out, n):
        x = cuda.local.array(4, float32)
        for _ in range(n + 1):
            out[0] = x[0]
            x[0] = x[3] + x[2]
            x[3] = x[1] + x[3]
        while x[0] < n:
            x[0] += 1.0
            x[1] = x[0]
        out[2] = x[3]

    @cuda.jit
    def nested(out, n):
        x = cuda.local.array(4, float32)
        while x[2] < n:
            x[2] += 1.0
            for _ in range(3):
                x[3] = x[0] + x[1]
                x[1] = x[3] + x[2] * 0.0
            break
        while x[0] < n:
            x[0] += 1.0
            while x[0] < n:
                x[0] += 1.0
                out[1] = x[1]
        out[2] = x[3]

    for kernel in (straight, carried, nested):
        for schedule in ("source", "list"):
            for n in (0, 3):
                out = np.full(3, 9.0, np.float32)
                kernel.simulate(1, 32, (out, n), schedule=schedule)
                assert set(out) <= {0.0, 9.0}
                assert out[2] == 0.0


def test_register_arrays_live_through_loops_and_calls():
    @cuda.jit(device=True)
    def rotate(x, by):
        for _ in range(by):
            last = x[3]
            for i in range(3, 0, -1):
                x[i] = x[i - 1]
            x[0] = last

    @cuda.jit
    def kernel(out, n):
        x = cuda.local.array(4, float32)
        for i in range(4):
            x[i] = i
        for _ in range(n):
            rotate(x, 1)
        rotate(x, n)
        for i in range(4):
            out[i] = x[i]

    for n in range(4):
        out = np.zeros(4, np.float32)
        run(kernel, 1, 1, out, n)
        np.testing.assert_array_equal(out, np.roll(np.arange(4), 2 * n))
    assert kernel.compile((out, 3)).local_bytes == 0


def test_narrow_local_arrays_wrap():
    @cuda.jit
    def kernel(out, n):
        x = cuda.local.array(2, uint8)
        x[0] = n
        x[1] = x[0] - 50
        out[0], out[1] = x[0], x[1]

    out = np.zeros(2, np.int32)
    run(kernel, 1, 1, out, np.int32(300))
    np.testing.assert_array_equal(out, [44, 250])


def test_constant_arrays():
    @cuda.jit
    def kernel(out, n):
        weights = cuda.const.array_like(WEIGHTS)
        table = cuda.const.array_like(BYTES)
        t = cuda.threadIdx.x
        total = float32(0)
        for i in range(4):
            total += weights[i] * t
        out[t] = total + weights[n % 4] + table[n, t % 5] + table[3, 4]

    out = np.zeros(8, np.float32)
    run(kernel, 1, 8, out, 2)
    t = np.arange(8, dtype=np.float32)
    expected = sum(w * t for w in WEIGHTS) + WEIGHTS[2] + BYTES[2, np.arange(8) % 5] + BYTES[3, 4]
    np.testing.assert_array_equal(out, expected)
    listing = kernel.ir(out, 2)
    assert listing.count("ld.const") == 3  # constant words are operands; one dynamic word and two bytes are loads


def test_captured_arrays_are_part_of_the_key():
    table = np.array([1, 2, 3], np.int32)

    @cuda.jit
    def kernel(out):
        out[0] = cuda.const.array_like(table)[1]

    out = np.zeros(1, np.int32)
    run(kernel, 1, 1, out)
    assert out[0] == 2
    table[1] = 9
    run(kernel, 1, 1, out)
    assert out[0] == 9


def test_dynamic_shared_memory():
    @cuda.jit
    def kernel(out):
        words = cuda.shared.array(0, float32)
        t = cuda.threadIdx.x
        words[t] = t
        cuda.syncthreads()
        out[t] = words[words.size - 1 - t]

    out = np.zeros(32, np.float32)
    kernel[1, 32, 0, 128](out)
    np.testing.assert_array_equal(out, np.arange(32)[::-1])


def test_allocated_shared_memory():
    @cuda.jit
    def kernel(out):
        fixed = cuda.shared.array(8, int32)
        first = smm.array(32, int32)
        second = smm.array((2, 16), int32)
        t = cuda.threadIdx.x
        fixed[t % 8] = 1
        smm.alloc()
        first[t] = t
        second[t // 16, t % 16] = 2 * t
        cuda.syncthreads()
        out[t] = first[31 - t] + second[1 - t // 16, t % 16] + fixed[t % 8]
        smm.release()

    out = np.zeros(32, np.int32)
    for management in ("static", "dynamic"):
        run(kernel, 1, 32, out, management=management)
        t = np.arange(32)
        np.testing.assert_array_equal(out, 31 - t + 2 * (t ^ 16) + 1)
    program = kernel.compile((out,))
    assert (program.shared_bytes, program.dynamic_bytes) == (32, 256)


def test_rows():
    @cuda.jit(device=True)
    def total(row):
        s = float32(0)
        for i in range(len(row)):
            s += row[i]
        return s

    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        row = a[i]
        out[i] = total(row) + total(a[0]) + row[1] + a.T[0, i]

    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    out = np.zeros(4, np.float32)
    run(kernel, 1, 4, out, a)
    np.testing.assert_array_equal(out, a.sum(1) + a[0].sum() + a[:, 1] + a[:, 0])


def test_attributes():
    @cuda.jit
    def kernel(out, a):
        tile = cuda.shared.array(a.shape, a.dtype)
        tile[0, 0] = a[0, 0]
        out[0], out[1], out[2], out[3], out[4] = a.size, a.ndim, len(a), a.strides[0], a.nbytes + tile.itemsize

    out = np.zeros(5, np.int32)
    run(kernel, 1, 1, out, np.zeros((3, 5), np.int16))
    np.testing.assert_array_equal(out, [15, 2, 3, 10, 32])


@pytest.mark.parametrize("shape", ["-1", "(-1,)", "(3, -1)", "-1, 2", "12"])
def test_reshaped(shape):
    a = np.arange(12, dtype=np.int32).reshape(4, 3)
    expected = eval(f"a.reshape({shape})")
    last = ", ".join(str(extent - 1) for extent in expected.shape)
    text = f"def kernel(a, out):\n    m = a.reshape({shape})\n    out[0], out[1] = m[{last}], m.shape[0]\n"
    out = np.zeros(2, np.int32)
    run(from_source(text, {}), 1, 1, a, out)
    assert list(out) == [11, len(expected)]


def test_augmented_elements():
    @cuda.jit
    def kernel(a, b):
        i = cuda.threadIdx.x
        a[i] += 2
        a[i] *= a[i]
        b[i, 1] -= a[i] * b[i, 0]

    a, b = np.arange(4, dtype=np.int32), np.arange(8, dtype=np.float32).reshape(4, 2)
    expected = (a + 2) ** 2
    expected_b = b.copy()
    expected_b[:, 1] -= expected * b[:, 0]
    run(kernel, 1, 4, a, b)
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(b, expected_b)


def test_local_bytes_need_not_fill_words() -> None:
    @cuda.jit
    def backwards(out, n):
        own = cuda.local.array(9, uint8)
        for k in range(9):
            own[k] = cuda.threadIdx.x + k
        for k in range(n):
            out[cuda.threadIdx.x, k] = own[n - 1 - k]

    out = np.zeros((32, 9), np.int32)
    run(backwards, 1, 32, out, 9)
    np.testing.assert_array_equal(out, np.arange(32)[:, None] + np.arange(8, -1, -1))
