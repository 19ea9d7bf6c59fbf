"""Irregular kernels: sparse matrix times vector, binary search, shortest paths, Collatz, primes, subsequences."""

import numpy as np
from numba import cuda, int16, int32, uint32

FAR = 1 << 20


@cuda.jit
def spmv(values, columns, starts, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@cuda.jit
def search(haystack, needles, places):
    i = cuda.grid(1)
    if i >= needles.size:
        return
    low, high = 0, haystack.size
    while low < high:
        middle = (low + high) // 2
        if haystack[middle] < needles[i]:
            low = middle + 1
        else:
            high = middle
    places[i] = low if low < haystack.size and haystack[low] == needles[i] else -1


@cuda.jit
def relax(distance, k):
    i, j = cuda.grid(2)
    n = distance.shape[0]
    if i < n and j < n:
        through = distance[i, k] + distance[k, j]
        if through < distance[i, j]:
            distance[i, j] = through


@cuda.jit
def collatz(steps):
    i = cuda.grid(1)
    if i < steps.size:
        n = int32(i + 1)
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps[i] = count


@cuda.jit
def primes(flags):
    n = cuda.grid(1)
    if n >= flags.size:
        return
    if n < 2:
        flags[n] = False
        return
    d = 2
    while d * d <= n:
        if n % d == 0:
            break
        d += 1
    else:
        flags[n] = True
        return
    flags[n] = False


@cuda.jit
def greatest_common_divisor(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y = a[i], b[i]
        while y:
            x, y = y, x % y
        out[i] = abs(x)


@cuda.jit
def common_subsequence(a, b, table):
    """Dynamic programming by antidiagonals."""
    t = cuda.threadIdx.x
    n, m = len(a), len(b)
    for diagonal in range(n + m - 1):
        j = diagonal - t
        if t < n and 0 <= j < m:
            if a[t] == b[j]:
                table[t + 1, j + 1] = table[t, j] + 1
            else:
                table[t + 1, j + 1] = max(table[t, j + 1], table[t + 1, j])
        cuda.syncthreads()


@cuda.jit
def scramble(words):
    i = cuda.grid(1)
    if i < words.size:
        h = words[i]
        h ^= h >> uint32(16)
        h *= uint32(0x85EBCA6B)
        h ^= h >> uint32(13)
        h *= uint32(0xC2B2AE35)
        h ^= h >> uint32(16)
        words[i] = h


@cuda.jit
def narrow(bytes_, shorts, flags):
    i = cuda.grid(1)
    if i < bytes_.size:
        wide = int32(bytes_[i]) * 300
        shorts[i] = int16(wide)
        flags[i] = wide > 0 and i % 3 != 0


def run_spmv():
    dense = (np.arange(150).reshape(15, 10) * 7 % 11 * (np.arange(150).reshape(15, 10) % 4 == 0)).astype(np.float32) / 8
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(16)).astype(np.int32)
    x, y = np.arange(10, dtype=np.float32) / 4, np.zeros(15, np.float32)
    spmv[1, 32](dense[rows, columns], columns.astype(np.int32), starts, x, y)
    np.testing.assert_array_equal(y, dense @ x)
    return y


def run_search():
    haystack, needles = np.arange(0, 99, 3, dtype=np.int32), np.arange(-2, 101, dtype=np.int32)
    places = np.zeros(needles.size, np.int32)
    search[4, 32](haystack, needles, places)
    np.testing.assert_array_equal(places, [n // 3 if n % 3 == 0 and 0 <= n < 99 else -1 for n in needles.tolist()])
    return places


def run_floyd_warshall():
    n = 9
    distance = np.full((n, n), FAR, np.int32)
    for i in range(n):
        distance[i, i] = 0
        distance[i, (i * 5 + 2) % n] = 3 + i
        distance[i, (i + 1) % n] = 7
    for k in range(n):
        relax[(3, 3), (4, 4)](distance, k)
    assert distance.max() < FAR
    return distance


def run_collatz():
    steps = np.zeros(60, np.int32)
    collatz[2, 32](steps)
    assert steps[26] == 111
    return steps


def run_primes():
    flags = np.zeros(100, np.bool_)
    primes[4, 32](flags)
    assert flags.sum() == 25
    return flags


def run_gcd():
    a, b = np.arange(1, 81, dtype=np.int32) * 6, np.arange(80, 0, -1, dtype=np.int32) * 4
    out = np.zeros(80, np.int32)
    greatest_common_divisor[2, 40](a, b, out)
    np.testing.assert_array_equal(out, np.gcd(a, b))
    return out


def run_common_subsequence():
    a = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], np.int32)
    b = np.array([2, 7, 1, 8, 2, 8, 1, 8, 2, 5, 3], np.int32)
    table = np.zeros((12, 12), np.int32)
    common_subsequence[1, 16](a, b, table)
    return table


def run_scramble():
    words = np.arange(64, dtype=np.uint32) * np.uint32(40503)
    scramble[2, 32](words)
    return words


def run_narrow():
    bytes_ = np.arange(-50, 46, dtype=np.int8)
    shorts, flags = np.zeros(96, np.int16), np.zeros(96, np.bool_)
    narrow[3, 32](bytes_, shorts, flags)
    return shorts, flags
