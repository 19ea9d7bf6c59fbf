"""The check for races knows what volatile and atomic variables of CUDA C++ are for, and tells what is wrong beside."""

from __future__ import annotations

import numpy as np
import pytest

import smmux
from tests.sass.conftest import needed

SOURCE = """
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
#ifndef FENCE
#define FENCE __threadfence()
#endif

/* Each block adds what all blocks before it have published behind a flag. */
extern "C" __global__ void look_back(volatile int *flag, int *value, int *out) {
    const int b = blockIdx.x;
    if (threadIdx.x) return;
    value[b] = b;
    FENCE;
    flag[b] = 1;
    int sum = 0;
    for (int j = b - 1; j >= 0; j--) {
        while (!flag[j]) {}
        __threadfence();
        sum += value[j];
    }
    out[b] = sum;
}

/* The whole grid meets twice. */
extern "C" __global__ void meets(int *part, int *sum, int *out) {
    auto grid = cg::this_grid();
    if (threadIdx.x == 0) part[blockIdx.x] = blockIdx.x;
    grid.sync();
    if (grid.thread_rank() == 0)
        for (int i = 0; i < gridDim.x; i++) sum[0] += part[i];
    grid.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = sum[0];
}

/* The largest of all, read before it is exchanged. */
extern "C" __global__ void largest(int *of, int *unused, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> all(*of);
    const int own = blockIdx.x * blockDim.x + threadIdx.x;
    int seen = all.load();
    while (seen < own && !all.compare_exchange_weak(seen, own)) {}
}

/* Compilers make sums of floats in shared memory of a load and a compare and swap. */
extern "C" __global__ void sums(int *of, int *unused, int *out) {
    __shared__ float single;
    __shared__ double wide;
    if (threadIdx.x == 0) single = wide = 0;
    __syncthreads();
    atomicAdd(&single, 1.0f);
    atomicAdd(&wide, 1.0);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = single + wide;
}

/* The same by hand, in device memory. */
extern "C" __global__ void swaps(int *of, int *unused, int *out) {
    for (int seen = *of, before = seen - 1; seen != before;) {
        before = seen;
        seen = atomicCAS(of, before, before + 1);
    }
}

/* Of 16 bits: the word around is compared and swapped, which two of them share. */
extern "C" __global__ void halves(unsigned short *of, int *unused, int *out) {
    __shared__ unsigned short own[2];
    if (threadIdx.x < 2) own[threadIdx.x] = 0;
    __syncthreads();
    for (int place = 0; place < 2; place++) {
        unsigned short *p = (place ? of : own) + threadIdx.x % 2, before, seen = 0;
        do {
            before = seen;
            seen = atomicCAS(p, before, (unsigned short)(before + 1));
        } while (seen != before);
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = own[0] + own[1];
}

/* What is compared is of another place. */
extern "C" __global__ void elsewhere(int *of, int *from, int *out) {
    atomicCAS(of, from[0] + 1, 5);
    if (threadIdx.x == 0 && blockIdx.x == 0) from[0] = 7;
}

/* The flag is no variable for that. */
extern "C" __global__ void hasty(int *flag, int *value, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) flag[0] = 1;
    else out[blockIdx.x] = flag[0];
}
"""
BLOCKS = 12


def races(kernel: str, option: str, arch: str = "sm_90", *options: str) -> list[str]:
    """The arrays that have races."""
    needed("nvcc", "nvdisasm")
    module = smmux.load(SOURCE, arch=arch, options=[option, "-std=c++17", *options])
    first, second, out = (np.zeros(BLOCKS, np.int32) for _ in range(3))
    result = module[kernel].simulate(BLOCKS, 32, [first, second, out], check="races")
    block = np.arange(BLOCKS)
    if kernel == "look_back":
        assert (out == block * (block - 1) // 2).all()
    elif kernel == "meets":
        assert (out == block.sum()).all()
    elif kernel == "sums":
        assert (out == 64).all()
    elif kernel == "halves":
        assert (out == 32).all()
        assert first[0] == (16 * BLOCKS << 16) + 16 * BLOCKS
    elif kernel == "swaps":
        assert first[0] == 32 * BLOCKS
    elif kernel == "largest":
        assert first[0] == 32 * BLOCKS - 1
    return sorted({str(race.array) for race in result.races})


@pytest.mark.parametrize("option", ["-O3", "-G"])
@pytest.mark.parametrize("kernel", ["look_back", "meets", "largest", "sums"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_what_waits_for_volatile_and_atomic_variables_is_ordered(kernel: str, option: str, arch: str) -> None:
    assert races(kernel, option, arch) == []


def test_what_a_swap_compares_is_no_data() -> None:
    assert races("swaps", "-O3") == []
    assert races("elsewhere", "-O3") == ["argument 1"]


@pytest.mark.parametrize("option", ["-O3", "-G"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_a_swap_of_16_bits_is_one_of_the_word_around_it(option: str, arch: str) -> None:
    assert races("halves", option, arch) == []


def test_without_a_fence_nothing_is_published() -> None:
    assert races("look_back", "-O3", "sm_90", "-DFENCE=") == ["argument 1"]


def test_plain_flags_order_nothing() -> None:
    assert races("hasty", "-O3") == ["argument 0"]


HALVES = """extern "C" __global__ void handed(int *out) {
    __shared__ int kept[32];
    int t = threadIdx.x;
    if (t < 32) {
        kept[t] = t;
        asm volatile("bar.arrive 2, 64;" ::: "memory");
        return;
    }
    asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = kept[63 - t];
}
extern "C" __global__ void early(int *out) {
    if (threadIdx.x < 32) return;
    asm volatile("bar.sync 2;" ::: "memory");
    out[threadIdx.x] = 1;
}
"""


def test_barriers_with_numbers_do_without_others_where_they_count_threads() -> None:
    """And of the whole block name their own place, not that of a barrier before."""
    needed("nvcc", "nvdisasm")
    module, out = smmux.load(HALVES), np.zeros(64, np.int32)
    assert not module["handed"].simulate(1, 64, [out], check="races").findings
    assert out[32:].tolist() == list(range(31, -1, -1))
    (finding,) = module["early"].simulate(1, 64, [out], check="races").findings
    assert (finding.kind, finding.second.action, finding.lines) == ("early-exit", "barrier", (13, 14))
    assert (finding.first.thread[0], finding.second.thread[0]) == (0, 32)


def test_accesses_to_registers_of_devices_are_relaxed_and_do_not_race() -> None:
    needed("nvcc", "nvdisasm")
    text = """extern "C" __global__ void told(int *flag) {
        int seen;
        asm volatile("ld.mmio.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag));
        asm volatile("st.mmio.relaxed.sys.global.u32 [%0], %1;" :: "l"(flag), "r"(seen | 1));
    }"""
    flag = np.zeros(1, np.int32)
    assert not smmux.load(text)["told"].simulate(4, 1, [flag], check="races").findings
    assert flag[0] == 1


HEAP = """
/* Memory that one thread gives back, and another one gets. */
extern "C" __global__ void used_again(int *out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
        int *p = (int *)malloc(64 + 8 * (t % 2));
        for (int k = 0; k < 16; k++) p[k] = t + i;
        sum += p[t % 16];
        free(p);
    }
    out[t] = sum;
}

/* What two warps store to one piece of memory, or one of them after it was given back. */
__device__ int *kept;
extern "C" __global__ void shared_by_two(int *out, int rounds) {
    if (threadIdx.x == 0) kept = (int *)malloc(256);
    __syncthreads();
    kept[threadIdx.x % 32] = threadIdx.x;
}
extern "C" __global__ void used_too_late(int *out, int rounds) {
    int *mine = (int *)malloc(256);
    if (threadIdx.x == 0) {
        free(mine);
        mine[1] = 1;
    }
    for (int i = 0; i < 200 * (threadIdx.x == 32); i++) out[threadIdx.x] += i;
    if (threadIdx.x == 32) {
        int *own = (int *)malloc(256);
        own[1] = 2;
        out[1] = own[1];
    }
}
"""


@pytest.mark.parametrize("option", ["-O3", "-G"])
@pytest.mark.parametrize(
    ("kernel", "blocks", "arrays"),
    [("used_again", 4, set()), ("shared_by_two", 1, {"heap"}), ("used_too_late", 1, {"heap"})],
)
def test_the_heap_orders_those_who_give_memory_back_before_those_who_get_it(
    kernel: str, blocks: int, arrays: set[str], option: str
) -> None:
    needed("nvcc", "nvdisasm")
    out, rounds, thread = np.zeros(64 * blocks, np.int32), 4, np.arange(64 * blocks)
    result = smmux.load(HEAP, options=[option])[kernel].simulate(blocks, 64, [out, rounds], check="races")
    assert {race.array for race in result.races} == arrays
    if kernel == "used_again":
        assert (out == rounds * thread + sum(range(rounds))).all()


MEETINGS = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
/* Each barrier of the grid has a copy for warps of which some lanes are late. */
extern "C" __global__ void late_lanes(int *out, int rounds) {
    auto grid = cg::this_grid();
    for (int k = 0; k < rounds; k++) {
        if (grid.block_rank() == 0 && threadIdx.x < 32) out[k] = k;
        grid.sync();
    }
}
extern "C" __global__ void unrolled(int *out, int limit) {
    auto grid = cg::this_grid();
    int own = grid.thread_rank(), sum = 0;
    for (int k = 0; k < 3; k++) {
        if (own < limit) sum += out[own + k];
        grid.sync();
        if (own < limit) out[own] = sum;
        grid.sync();
    }
}
/* Two barriers of the grid in one place. */
extern "C" __global__ void two_barriers(int *out, int rounds) {
    auto grid = cg::this_grid();
    if (threadIdx.x < 32) {
        for (int k = 0; k < rounds; k++) out[k] += k;
        grid.sync();
    } else grid.sync();
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize(("kernel", "lines"), [("late_lanes", set()), ("unrolled", set()), ("two_barriers", {27, 28})])
def test_a_barrier_and_its_copy_for_late_lanes_are_one(kernel: str, lines: set[int], arch: str) -> None:
    needed("nvcc", "nvdisasm")
    result = smmux.load(MEETINGS, arch)[kernel].simulate(2, 64, [np.zeros(64, np.int32), 32], check="races")
    found = [finding for finding in result.findings or () if finding.kind == "divergence"]
    instructions = result.program.instructions
    outermost = {instructions[side.pc].callers[-1].line for each in found for side in (each.first, each.second)}
    assert outermost <= lines
    assert bool(found) == bool(lines) or arch == "sm_80"
