"""Cubins as older compilers write them, which the tests do not have: their marks are put into newer ones."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import smmux
from smmux.modules.module import CompiledKernel
from tests.sass.conftest import needed

WORD = struct.Struct("<I")
MIN_STACK = b"\x04\x12\x08\x00"
"""EIATTR_MIN_STACK_SIZE with its format and length, in front of a symbol and of bytes."""
SWINHI, SWINLO = 0x2F, 0x30
"""Numbers of special registers, in byte 9 of an instruction."""

RECURSION = """
__device__ __noinline__ unsigned folded(unsigned n, unsigned depth) {
    if (n < 2) return depth;
    unsigned a = folded(n / 2, depth + 1);
    return a * 31 + folded(n - n / 2, depth + 1) + n % 7;
}
extern "C" __global__ void fold(unsigned *out) { out[threadIdx.x] = folded(threadIdx.x, 0); }
"""
POINTERS = """
__device__ __noinline__ float half_root(float x) { return 0.5f * sqrtf(x); }
__device__ __noinline__ float plus_root(float x) { return x + half_root(x + 1) * half_root(x + 2); }
__device__ __noinline__ float next(float x) { return x + 1; }
typedef float (*Function)(float);
__device__ Function const functions[3] = {half_root, plus_root, next};
extern "C" __global__ void call(const int *which, float *out) {
    out[threadIdx.x] = functions[which[threadIdx.x]](threadIdx.x);
}
"""
GENERIC = """
extern "C" __global__ void generic(unsigned long long *out) {
    __shared__ int words[64];
    int *word = words + threadIdx.x;
    asm volatile("" : "+l"(word));
    out[threadIdx.x] = (unsigned long long)word;
}
"""


def folded(n: int, depth: int) -> int:
    if n < 2:
        return depth
    return (folded(n // 2, depth + 1) * 31 + folded(n - n // 2, depth + 1) + n % 7) % 2**32


def with_stack(kernel: CompiledKernel, size: int) -> CompiledKernel:
    """The kernel as if its compiler had said that its calls need so many bytes of the stack, and not known it."""
    data, at = bytearray(kernel.cubin.data), 0
    assert MIN_STACK in data
    while (at := data.find(MIN_STACK, at)) >= 0:
        data[at + 8 : at + 12] = WORD.pack(size)
        at += 12
    return smmux.load(bytes(data))[kernel.name]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_recursion_has_the_default_stack_where_the_compiler_says_that_it_needs_none(arch: str) -> None:
    """As ptxas 13.0 does with -O3; the stack of a card's threads has 1,024 bytes unless they are told otherwise."""
    needed("nvcc", "nvdisasm")
    kernel, out = with_stack(smmux.load(RECURSION, arch)["fold"], 0), np.zeros(64, np.uint32)
    kernel.simulate(1, 64, [out])
    assert out.tolist() == [folded(n, 0) for n in range(64)]
    with pytest.raises(smmux.OutOfBoundsError, match="the stack of 32 bytes is full"):
        kernel.simulate(1, 64, [out], stack=32)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_functions_that_a_register_names_may_keep_what_the_compiler_has_not_counted(arch: str) -> None:
    """As compilers before CUDA 13 have it."""
    needed("nvcc", "nvdisasm")
    kernel, which, out = with_stack(smmux.load(POINTERS, arch)["call"], 0), np.arange(96) % 3, np.zeros(96, np.float32)
    kernel.simulate(1, 96, [which.astype(np.int32), out])
    x = np.arange(96.0)
    roots = 0.5 * np.sqrt([x, x + 1, x + 2])
    np.testing.assert_allclose(out, np.choose(which, [roots[0], x + roots[1] * roots[2], x + 1]), 1e-5)


def test_the_window_of_shared_memory_begins_at_zero() -> None:
    """Compilers before CUDA 13 add the low word of where it begins to addresses in shared memory."""
    needed("nvcc", "nvdisasm")
    kernel, out = smmux.load(GENERIC, "sm_90")["generic"], np.zeros((2, 64), np.uint64)
    kernel.simulate(1, 64, [out[0]])
    words = kernel.image.words
    [at] = [i for i, (low, high) in enumerate(words) if low & 0xFFF in (0x919, 0x9C3) and high >> 8 & 0xFF == SWINHI]
    old = words[at].tobytes()
    assert kernel.cubin.data.count(old) == 1
    older = kernel.cubin.data.replace(old, old[:9] + bytes([SWINLO]) + old[10:])
    smmux.load(older)["generic"].simulate(1, 64, [out[1]])
    assert (out[0] >> np.uint64(32) != 0).all()
    np.testing.assert_array_equal(out[1], out[0] & np.uint64(0xFFFFFFFF))
