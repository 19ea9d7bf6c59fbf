"""The puzzles of "GPU Puzzles" (Sasha Rush) in their frame, with obvious solutions: only the import is another.

A puzzle is a function that takes `cuda` and returns the kernel; its arrays are what `np.zeros` and `np.arange` make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import smmux as numba
from smmux import cuda as numba_cuda


@dataclass
class CudaProblem:
    name: str
    fn: Callable[[Any], Any]
    inputs: list[Any]
    out: Any
    args: list[Any] = field(default_factory=list)
    threadsperblock: tuple[int, int] = (1, 1)
    blockspergrid: tuple[int, int] = (1, 1)
    spec: Callable[..., Any] = lambda: None

    def run_cuda(self) -> Any:
        jitfn = numba_cuda.jit(self.fn(numba_cuda))
        jitfn[self.blockspergrid, self.threadsperblock](self.out, *self.inputs, *self.args)
        return self.out

    def check(self) -> None:
        expected = self.spec(*self.inputs)
        np.testing.assert_allclose(self.run_cuda(), expected)


def map_test(cuda):
    def call(out, a) -> None:
        local_i = cuda.threadIdx.x
        out[local_i] = a[local_i] + 10

    return call


def zip_test(cuda):
    def call(out, a, b) -> None:
        local_i = cuda.threadIdx.x
        out[local_i] = a[local_i] + b[local_i]

    return call


def map_guard_test(cuda):
    def call(out, a, size) -> None:
        local_i = cuda.threadIdx.x
        if local_i < size:
            out[local_i] = a[local_i] + 10

    return call


def map_2D_test(cuda):
    def call(out, a, size) -> None:
        local_i = cuda.threadIdx.x
        local_j = cuda.threadIdx.y
        if local_i < size and local_j < size:
            out[local_i, local_j] = a[local_i, local_j] + 10

    return call


def broadcast_test(cuda):
    def call(out, a, b, size) -> None:
        local_i = cuda.threadIdx.x
        local_j = cuda.threadIdx.y
        if local_i < size and local_j < size:
            out[local_i, local_j] = a[local_i, 0] + b[0, local_j]

    return call


def map_block_test(cuda):
    def call(out, a, size) -> None:
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < size:
            out[i] = a[i] + 10

    return call


def map_block2D_test(cuda):
    def call(out, a, size) -> None:
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        if i < size and j < size:
            out[i, j] = a[i, j] + 10

    return call


TPB = 4


def shared_test(cuda):
    def call(out, a, size) -> None:
        shared = cuda.shared.array(TPB, numba.float32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x

        if i < size:
            shared[local_i] = a[i]
            cuda.syncthreads()

        if i < size:
            out[i] = shared[local_i] + 10

    return call


TPB_POOL = 8


def pooling_test(cuda):
    def call(out, a, size) -> None:
        shared = cuda.shared.array(TPB_POOL, numba.float32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x

        if i < size:
            shared[local_i] = a[i]
        cuda.syncthreads()
        if i < size:
            acc = 0
            for k in range(3):
                if local_i - k >= 0:
                    acc += shared[local_i - k]
            out[i] = acc

    return call


def dot_test(cuda):
    def call(out, a, b, size) -> None:
        shared = cuda.shared.array(TPB_POOL, numba.float32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x

        if i < size:
            shared[local_i] = a[i] * b[i]
        cuda.syncthreads()
        if local_i == 0:
            total = 0.0
            for k in range(size):
                total += shared[k]
            out[0] = total

    return call


MAX_CONV = 4
TPB_CONV = 8
TPB_MAX_CONV = TPB_CONV + MAX_CONV


def conv_test(cuda):
    def call(out, a, b, a_size, b_size) -> None:
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x
        shared_a = cuda.shared.array(TPB_MAX_CONV, numba.float32)
        shared_b = cuda.shared.array(MAX_CONV, numba.float32)

        if i < a_size:
            shared_a[local_i] = a[i]
        if local_i < b_size:
            shared_b[local_i] = b[local_i]
        else:
            local_j = local_i - b_size
            if i - b_size + TPB_CONV < a_size and local_j < b_size:
                shared_a[TPB_CONV + local_j] = a[i - b_size + TPB_CONV]
        cuda.syncthreads()

        acc = 0
        for k in range(b_size):
            if i + k < a_size:
                acc += shared_a[local_i + k] * shared_b[k]
        if i < a_size:
            out[i] = acc

    return call


def conv_spec(a, b):
    out = np.zeros(*a.shape)
    for i in range(a.shape[0]):
        out[i] = sum([a[i + j] * b[j] for j in range(b.shape[0]) if i + j < a.shape[0]])
    return out


def sum_test(cuda):
    def call(out, a, size: int) -> None:
        cache = cuda.shared.array(TPB_POOL, numba.float32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x
        if i < size:
            cache[local_i] = a[i]
        else:
            cache[local_i] = 0
        cuda.syncthreads()
        p = 2
        while p <= TPB_POOL:
            if local_i % p == 0:
                cache[local_i] = cache[local_i] + cache[local_i + p // 2]
            cuda.syncthreads()
            p *= 2
        if local_i == 0:
            out[cuda.blockIdx.x] = cache[0]

    return call


def sum_spec(a):
    out = np.zeros((a.shape[0] + TPB_POOL - 1) // TPB_POOL)
    for j, i in enumerate(range(0, a.shape[-1], TPB_POOL)):
        out[j] = a[i : i + TPB_POOL].sum()
    return out


def axis_sum_test(cuda):
    def call(out, a, size: int) -> None:
        cache = cuda.shared.array(TPB_POOL, numba.float32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x
        batch = cuda.blockIdx.y
        cache[local_i] = a[batch, i] if i < size else 0
        cuda.syncthreads()
        for k in range(3):
            p = 2**k
            if local_i % (p * 2) == 0 and local_i + p < TPB_POOL:
                cache[local_i] += cache[local_i + p]
            cuda.syncthreads()
        if local_i == 0:
            out[batch, 0] = cache[local_i]

    return call


TPB_MM = 3


def mm_oneblock_test(cuda):
    def call(out, a, b, size: int) -> None:
        a_shared = cuda.shared.array((TPB_MM, TPB_MM), numba.float32)
        b_shared = cuda.shared.array((TPB_MM, TPB_MM), numba.float32)

        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        local_i = cuda.threadIdx.x
        local_j = cuda.threadIdx.y

        total = 0
        for k in range(0, size, TPB_MM):
            if i < size and k + local_j < size:
                a_shared[local_i, local_j] = a[i, k + local_j]
            if j < size and k + local_i < size:
                b_shared[local_i, local_j] = b[k + local_i, j]
            cuda.syncthreads()
            for local_k in range(min(TPB_MM, size - k)):
                total += a_shared[local_i, local_k] * b_shared[local_k, local_j]
            cuda.syncthreads()
        if i < size and j < size:
            out[i, j] = total

    return call


def ten(a):
    return a + 10


def problems() -> dict[str, CudaProblem]:
    """The problems with their sizes, by name."""
    line, square = np.arange(4), np.arange(4).reshape((2, 2))
    columns = np.arange(2).reshape(2, 1), np.arange(2).reshape(1, 2)
    batch = np.arange(24).reshape((4, 6))
    small, large = (np.arange(n * n).reshape((n, n)) for n in (2, 8))

    def pool(a):
        return np.array([a[max(i - 2, 0) : i + 1].sum() for i in range(len(a))], float)

    def product(a, b):
        return a @ b

    found = [
        CudaProblem("Map", map_test, [line], np.zeros((4,)), threadsperblock=(4, 1), spec=ten),
        CudaProblem("Zip", zip_test, [line, np.arange(4)], np.zeros((4,)), [], (4, 1), spec=np.add),
        CudaProblem("Guard", map_guard_test, [line], np.zeros((4,)), [4], (8, 1), spec=ten),
        CudaProblem("Map 2D", map_2D_test, [square], np.zeros((2, 2)), [2], (3, 3), spec=ten),
        CudaProblem("Broadcast", broadcast_test, [*columns], np.zeros((2, 2)), [2], (3, 3), spec=np.add),
        CudaProblem("Blocks", map_block_test, [np.arange(9)], np.zeros((9,)), [9], (4, 1), (3, 1), spec=ten),
        CudaProblem("Blocks 2D", map_block2D_test, [np.ones((5, 5))], np.zeros((5, 5)), [5], (3, 3), (2, 2), spec=ten),
        CudaProblem("Shared", shared_test, [np.ones(8)], np.zeros(8), [8], (TPB, 1), (2, 1), spec=ten),
        CudaProblem("Pooling", pooling_test, [np.arange(8)], np.zeros((8,)), [8], (8, 1), spec=pool),
        CudaProblem("Dot", dot_test, [np.arange(8), np.arange(8)], np.zeros(1), [8], (8, 1), spec=np.dot),
        CudaProblem("Conv", conv_test, [np.arange(6), np.arange(3)], np.zeros(6), [6, 3], (8, 1), spec=conv_spec),
        CudaProblem(
            "Conv full", conv_test, [np.arange(15), np.arange(4)], np.zeros(15), [15, 4], (8, 1), (2, 1), conv_spec
        ),
        CudaProblem("Sum", sum_test, [np.arange(8)], np.zeros(1), [8], (8, 1), (1, 1), sum_spec),
        CudaProblem("Sum full", sum_test, [np.arange(15)], np.zeros(2), [15], (8, 1), (2, 1), sum_spec),
        CudaProblem(
            "Axis Sum", axis_sum_test, [batch], np.zeros((4, 1)), [6], (8, 1), (1, 4),
            lambda a: a.sum(axis=1, keepdims=True),
        ),
        CudaProblem("Matmul", mm_oneblock_test, [small, small.T], np.zeros((2, 2)), [2], (3, 3), spec=product),
        CudaProblem(
            "Matmul full", mm_oneblock_test, [large, large.T], np.zeros((8, 8)), [8], (3, 3), (3, 3), product
        ),
    ]  # fmt: skip
    return {problem.name: problem for problem in found}


@pytest.mark.parametrize("name", problems())
def test_puzzle(name: str) -> None:
    problems()[name].check()
