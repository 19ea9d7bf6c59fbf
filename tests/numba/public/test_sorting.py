"""Scans, sorts, reductions and checksums as people write them."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from smmux import cuda, float32, float64, gpus, int32, int64, uint32

THREADS = 64


@cuda.jit
def reduce_max(values, result):
    s = cuda.shared.array(THREADS, float64)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    s[tid] = values[i] if i < values.size else -np.inf
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        if tid % (2 * stride) == 0:
            s[tid] = max(s[tid], s[tid + stride])
        stride *= 2
        cuda.syncthreads()
    if tid == 0:
        result[cuda.blockIdx.x] = s[0]


def test_maximum() -> None:
    values = np.random.default_rng(0).normal(size=150)
    result = np.zeros(3)
    reduce_max[3, THREADS](values, result)
    assert result.max() == values.max()


@cuda.jit
def sum_last_warp(values, result):
    """The unrolled last warp that needs no barrier."""
    s = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    s[tid] = values[cuda.grid(1)]
    cuda.syncthreads()
    if tid < 32:
        s[tid] += s[tid + 32]
        s[tid] += s[tid + 16]
        s[tid] += s[tid + 8]
        s[tid] += s[tid + 4]
        s[tid] += s[tid + 2]
        s[tid] += s[tid + 1]
    if tid == 0:
        result[cuda.blockIdx.x] = s[0]


@pytest.mark.parametrize("schedule", ["source", "list"])
def test_sum_of_the_last_warp(schedule: str) -> None:
    values, result = np.arange(256, dtype=np.int32), np.zeros(4, dtype=np.int32)
    sum_last_warp.simulate(4, THREADS, (values, result), schedule=schedule)
    np.testing.assert_array_equal(result, values.reshape(4, 64).sum(1))


@cuda.jit
def sum_shuffle(values, result):
    val = float32(0)
    i = cuda.grid(1)
    if i < values.size:
        val = values[i]
    for offset in (16, 8, 4, 2, 1):
        val += cuda.shfl_down_sync(0xFFFFFFFF, val, offset)
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(result, 0, val)


def test_sum_by_shuffles() -> None:
    values, result = np.arange(100, dtype=np.float32), np.zeros(1, dtype=np.float32)
    with gpus.set_current("K20c"):
        sum_shuffle[2, THREADS](values, result)
    assert result[0] == 4950


@cuda.jit
def blelloch_scan(data, out):
    temp = cuda.shared.array(128, int64)
    thid = cuda.threadIdx.x
    n = 128
    temp[2 * thid] = data[2 * thid]
    temp[2 * thid + 1] = data[2 * thid + 1]
    offset = 1
    d = n >> 1
    while d > 0:
        cuda.syncthreads()
        if thid < d:
            ai = offset * (2 * thid + 1) - 1
            bi = offset * (2 * thid + 2) - 1
            temp[bi] += temp[ai]
        offset *= 2
        d >>= 1
    if thid == 0:
        temp[n - 1] = 0
    d = 1
    while d < n:
        offset >>= 1
        cuda.syncthreads()
        if thid < d:
            ai = offset * (2 * thid + 1) - 1
            bi = offset * (2 * thid + 2) - 1
            t = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += t
        d *= 2
    cuda.syncthreads()
    out[2 * thid] = temp[2 * thid]
    out[2 * thid + 1] = temp[2 * thid + 1]


def test_blelloch_scan() -> None:
    data = np.random.default_rng(1).integers(-(10**12), 10**12, 128)
    out = np.zeros(128, dtype=np.int64)
    blelloch_scan[1, 64](data, out)
    np.testing.assert_array_equal(out, np.concatenate([[0], data.cumsum()[:-1]]))


@cuda.jit
def hillis_steele(a, b, offset):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[i] + a[i - offset] if i >= offset else a[i]


def test_hillis_steele_scan() -> None:
    a = np.arange(100)
    b, expected, offset = np.zeros_like(a), np.arange(100).cumsum(), 1
    while offset < 100:
        hillis_steele[2, 64](a, b, offset)
        a, b = b, a
        offset *= 2
    np.testing.assert_array_equal(a, expected)


@cuda.jit
def bitonic_step(values, j, k):
    i = cuda.grid(1)
    ixj = i ^ j
    if ixj > i:
        if (i & k) == 0:
            if values[i] > values[ixj]:
                values[i], values[ixj] = values[ixj], values[i]
        else:
            if values[i] < values[ixj]:
                values[i], values[ixj] = values[ixj], values[i]


def test_bitonic_sort() -> None:
    values = np.random.default_rng(2).random(128)
    expected = np.sort(values)
    k = 2
    while k <= 128:
        j = k >> 1
        while j > 0:
            bitonic_step[2, 64](values, j, k)
            j >>= 1
        k <<= 1
    np.testing.assert_array_equal(values, expected)


@cuda.jit
def odd_even(a, phase):
    i = 2 * cuda.grid(1) + phase
    if i + 1 < len(a):
        if a[i] > a[i + 1]:
            tmp = a[i]
            a[i] = a[i + 1]
            a[i + 1] = tmp


def test_odd_even_sort() -> None:
    a = np.random.default_rng(3).integers(0, 100, 40)
    expected = np.sort(a)
    for phase in range(40):
        odd_even[1, 32](a, phase % 2)
    np.testing.assert_array_equal(a, expected)


@cuda.jit
def radix_pass(keys, out, bit):
    """A block sorts stably by one bit."""
    ones = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    n = keys.size
    b = (keys[t] >> bit) & 1
    ones[t] = b
    cuda.syncthreads()
    before = 0
    total = 0
    for k in range(n):
        if k < t:
            before += ones[k]
        total += ones[k]
    if b:
        out[n - total + before] = keys[t]
    else:
        out[t - before] = keys[t]


def test_radix_sort() -> None:
    keys = np.random.default_rng(4).integers(0, 256, 64, dtype=np.uint32)
    expected, out = np.sort(keys), np.zeros_like(keys)
    for bit in range(8):
        radix_pass[1, 64](keys, out, bit)
        keys, out = out, keys
    np.testing.assert_array_equal(keys, expected)


@cuda.jit
def crc32_rows(rows, table, out):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        crc = uint32(0xFFFFFFFF)
        for k in range(rows.shape[1]):
            crc = table[(crc ^ rows[i, k]) & 0xFF] ^ (crc >> 8)
        out[i] = ~crc


def test_crc32() -> None:
    table = np.zeros(256, np.uint32)
    for n in range(256):
        c = n
        for _ in range(8):
            c = c >> 1 ^ (0xEDB88320 if c & 1 else 0)
        table[n] = c
    rows = np.random.default_rng(5).integers(0, 256, (40, 9), dtype=np.uint8)
    out = np.zeros(40, np.uint32)
    crc32_rows[2, 32](rows, table, out)
    assert out.tolist() == [zlib.crc32(row.tobytes()) for row in rows]


@cuda.jit
def fnv1a(words, out):
    i = cuda.grid(1)
    if i < words.shape[0]:
        h = np.uint64(14695981039346656037)
        for k in range(words.shape[1]):
            h ^= np.uint64(words[i, k])
            h *= np.uint64(1099511628211)
        out[i] = h


def test_fnv_hash() -> None:
    words = np.random.default_rng(6).integers(0, 256, (30, 7), dtype=np.uint8)
    out = np.zeros(30, dtype=np.uint64)
    fnv1a[1, 32](words, out)
    expected = []
    for row in words.tolist():
        h = 14695981039346656037
        for byte in row:
            h = (h ^ byte) * 1099511628211 % 2**64
        expected.append(h)
    assert out.tolist() == expected


ROTATIONS = (7, 12, 17, 22)


@cuda.jit(device=True)
def rotl(x, n):
    return uint32((x << uint32(n)) | (x >> uint32(32 - n)))


@cuda.jit
def md5_round(state, words, constants):
    """The first sixteen steps of MD5 on a block per thread."""
    i = cuda.grid(1)
    if i < state.shape[0]:
        a, b, c, d = state[i, 0], state[i, 1], state[i, 2], state[i, 3]
        for k in range(16):
            f = (b & c) | (~b & d)
            f = f + a + constants[k] + words[i, k]
            a, d, c = d, c, b
            b = b + rotl(f, ROTATIONS[k % 4])
        state[i, 0], state[i, 1], state[i, 2], state[i, 3] = a, b, c, d


def test_hash_rounds() -> None:
    constants = (np.abs(np.sin(np.arange(1, 17))) * 2**32).astype(np.uint32)
    rng = np.random.default_rng(7)
    words = rng.integers(0, 2**32, (20, 16), dtype=np.uint32)
    state = rng.integers(0, 2**32, (20, 4), dtype=np.uint32)
    expected = []
    mask = 2**32 - 1
    for (a, b, c, d), row in zip(state.tolist(), words.tolist(), strict=True):
        for k in range(16):
            f = ((b & c) | (~b & d)) + a + int(constants[k]) + row[k] & mask
            n = ROTATIONS[k % 4]
            a, d, c, b = d, c, b, b + (f << n | f >> 32 - n) & mask
        expected.append([a, b, c, d])
    md5_round[1, 32](state, words, constants)
    assert state.tolist() == expected


@cuda.jit
def compact(values, kept, count, limit):
    i = cuda.grid(1)
    if i < values.size and values[i] > limit:
        kept[cuda.atomic.add(count, 0, 1)] = values[i]


def test_stream_compaction() -> None:
    values = np.random.default_rng(8).random(100)
    kept, count = np.zeros(100), np.zeros(1, dtype=np.int64)
    with gpus.set_current("GTX480-48K"):
        compact[4, 32](values, kept, count, 0.6)
    np.testing.assert_array_equal(np.sort(kept[: count[0]]), np.sort(values[values > 0.6]))
