"""What errors of compiled code say, with and without optimisation: the place, and what was wrong there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smmux
from smmux.errors import CompileError, DeadlockError, KernelAssertionError, KernelError, OutOfBoundsError
from tests.sass.conftest import needed

SOURCE = """#include <assert.h>
typedef int (*function)(int);
extern "C" {
__global__ void calls(int *out, function f) {
    out[threadIdx.x] = f(3);
}
__global__ void follows(int *out, const int *p) {
    out[threadIdx.x] = p[threadIdx.x];
}
__global__ void shares(int *out) {
    __shared__ int s[32];
    s[threadIdx.x + out[0] + 1] = 2;
    __syncthreads();
    out[1] = s[3];
}
__global__ void asserts(int *out) {
    assert(out[threadIdx.x] > 5);
    out[1] = 2;
}
__global__ void stops(int *out) {
    if (out[0] == 0)
        __trap();
    out[1] = 2;
}
__global__ void waits(int *out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    out[threadIdx.x] = 1;
}
__global__ void allocates(int *out, int bytes) {
    int *p = (int *)malloc(bytes);
    out[0] = p != nullptr;
    if (!p) return;
    p[bytes / 4 - 1] = 7;
    out[1] = p[bytes / 4 - 1];
    free(p);
}
__global__ void prints(char *text) {
    __shared__ char near[8];
    char own[8];
    for (int i = 0; i < 4; i++) near[i] = 'S', own[i] = 'b' + i;
    near[4] = own[4] = 0;
    printf("'%s' '%s' '%s' '%.2s' %d\\n", text, near, own, "abc", 3);
    text[0] = 'F';
    printf("'%s' %s\\n", text, (char *)nullptr);
}
}
"""


@pytest.fixture(scope="module", params=["-G", "-O3"])
def module(request: pytest.FixtureRequest) -> smmux.Module:
    needed("nvcc", "nvdisasm")
    return smmux.load(SOURCE, options=[request.param])


def out() -> np.ndarray:
    return np.zeros(64, np.int32)


@pytest.mark.parametrize(
    ("name", "more", "threads", "error", "line", "message"),
    [
        ("calls", (0,), 32, KernelError, 5, "call through a null pointer to a function"),
        ("follows", (None,), 32, OutOfBoundsError, 8, "global access through a null pointer, byte 0"),
        ("shares", (), 32, OutOfBoundsError, 12, "outside the block's shared memory, byte 128, .* thread .31"),
        ("asserts", (), 32, KernelAssertionError, 17, r"assertion does not hold: out\[threadIdx.x\] > 5"),
        ("stops", (), 32, KernelError, 22, "the kernel stops itself"),
        ("waits", (), 64, DeadlockError, 27, r"barrier 1 \(1 of 2 warps arrived\)"),
    ],
)
def test_an_error_says_what_was_wrong_and_where(
    module: smmux.Module,
    name: str,
    more: tuple[Any, ...],
    threads: int,
    error: type[KernelError],
    line: int,
    message: str,
) -> None:
    with pytest.raises(error, match=message) as caught:
        module[name].simulate(1, threads, [out(), *more])
    assert caught.value.line == line


def test_an_access_outside_names_the_argument_also_where_its_space_is_in_the_address(module: smmux.Module) -> None:
    with pytest.raises(OutOfBoundsError, match="array 'argument 1', flat index 8 of 8"):
        module["follows"].simulate(1, 32, [out(), np.zeros(8, np.int32)])


@pytest.mark.parametrize("megabytes", [1, 7])
def test_a_thread_may_have_the_heap_that_a_card_has_unless_told_otherwise(module: smmux.Module, megabytes: int) -> None:
    found = out()
    module["allocates"].simulate(1, 1, [found, megabytes << 20])
    assert found[:2].tolist() == [1, 7]


def test_a_heap_has_an_end(module: smmux.Module) -> None:
    found = out()
    module["allocates"].simulate(1, 1, [found, 9 << 20])
    assert found[0] == 0


def test_assembly_in_the_source_has_its_lines_in_ptx() -> None:
    needed("nvcc", "nvdisasm")
    source = 'extern "C" __global__ void k() { asm volatile("bar.sync 1, 48;"); }'
    with pytest.raises(CompileError, match=r"^<text>: Number of threads .*\(line \d+ of its PTX\)"):
        smmux.load(source)


def test_printf_has_the_characters_of_the_moment_wherever_they_lie(module: smmux.Module) -> None:
    """In device, shared and local memory, and of a text that changes behind the call: what an H200 printed."""
    text = np.frombuffer(b"first of all\0", np.int8).copy()
    printed = module["prints"].simulate(1, 1, [text]).printed
    assert printed == "'first of all' 'SSSS' 'bcde' 'ab' 3\n'First of all' (null)\n"


@pytest.mark.parametrize("index", [1000, 2**20, 2**27, -5])
def test_a_heap_hides_no_access_outside_of_an_array(index: int) -> None:
    needed("nvcc", "nvdisasm")
    text = """
        extern "C" __global__ void taken(int **a) { a[0] = (int *)malloc(16); }
        extern "C" __global__ void store(int *a, long long n) { a[n] = 1; }"""
    with pytest.raises(OutOfBoundsError, match="argument 0"):
        smmux.load(text, arch="sm_90")["store"].simulate(1, 1, [np.zeros(64, np.int32), index])
