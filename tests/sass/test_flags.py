"""Flags in shared memory order what stands behind fences: latches, locks, barriers of atomics, and hand-made flags."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import smmux
from tests.sass.conftest import needed

SOURCE = r"""
#define _CG_ABI_EXPERIMENTAL
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

/* One warp tells the other that its half is there: with a fence or not, and the other waits or looks once. */
template <bool fenced, bool waits> __device__ void tell(int *out) {
    __shared__ int s[64];
    __shared__ volatile int flag;
    const int t = threadIdx.x;
    if (!t) flag = 0;
    __syncthreads();
    if (t < 32) {
        s[t] = t;
        if (fenced) __threadfence_block();
        __syncwarp();
        if (!t) atomicExch((int *)&flag, 1);
    } else {
        if (waits) while (!flag) {}
        out[t - 32] = s[63 - t];
    }
}
extern "C" __global__ void told(int *out) { tell<true, true>(out); }
extern "C" __global__ void told_without_a_fence(int *out) { tell<false, true>(out); }
extern "C" __global__ void not_looked_at(int *out) { tell<true, false>(out); }

extern "C" __global__ void latch(int *out) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Latch) char place[sizeof(Latch)];
    __shared__ int s[64];
    Latch *l = (Latch *)place;
    if (!threadIdx.x) new (l) Latch(64);
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    l->arrive_and_wait();
    if (threadIdx.x < 32) out[threadIdx.x] = s[63 - threadIdx.x];
}

struct Count {
    int *rounds;
    __device__ void operator()() noexcept { ++*rounds; }
};
extern "C" __global__ void completion(int *out) {
    using Barrier = cuda::barrier<cuda::thread_scope_block, Count>;
    __shared__ alignas(Barrier) char place[sizeof(Barrier)];
    __shared__ int rounds;
    Barrier *b = (Barrier *)place;
    if (!threadIdx.x) {
        rounds = 0;
        new (b) Barrier(blockDim.x, Count{&rounds});
    }
    __syncthreads();
    for (int i = 0; i < 3; i++) b->arrive_and_wait();
    if (threadIdx.x < 32) out[threadIdx.x] = rounds;
}

extern "C" __global__ void stages(int *out, const int *in) {
    __shared__ int s[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&s[i % 2][threadIdx.x], in + 64 * i + threadIdx.x, sizeof(int), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        sum += s[i % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    if (threadIdx.x < 32) out[threadIdx.x] = sum;
}

extern "C" __global__ void tile(int *out) {
    __shared__ cg::block_tile_memory<128> memory;
    auto half = cg::tiled_partition<64>(cg::this_thread_block(memory));
    const int sum = cg::reduce(half, int(threadIdx.x), cg::plus<int>());
    if (threadIdx.x >= 96) out[threadIdx.x - 96] = sum;
}

/* The grid's barrier calls that of the block in several places. */
extern "C" __global__ void everybody(int *out) {
    auto grid = cg::this_grid();
    if (blockIdx.x) out[threadIdx.x] = threadIdx.x;
    grid.sync();
    if (!blockIdx.x) out[threadIdx.x] += 1;
}
"""
LANES = np.arange(32)
ORDERED = {
    "told": (1, 64, LANES[::-1]),
    "latch": (1, 64, 63 - LANES),
    "completion": (1, 64, np.full(32, 3)),
    "stages": (1, 64, 3 * 128 + 4 * (63 - LANES)),
    "tile": (1, 128, np.full(32, sum(range(64, 128)))),
    "everybody": (2, 32, LANES + 1),
}


@lru_cache
def built(arch: int) -> smmux.Module:
    needed("nvcc", "nvdisasm")
    return smmux.load(SOURCE, f"sm_{arch}")


def launched(kernel: str, arch: int) -> tuple[np.ndarray, set[str]]:
    """What the kernel writes, and the kinds of errors that are found."""
    grid, block, _ = ORDERED.get(kernel, (1, 64, None))
    out, ramp = np.zeros(32, np.int32), np.arange(256, dtype=np.int32)
    args = [out, ramp] if kernel == "stages" else [out]
    result = built(arch)[kernel].simulate(grid, block, args, check="races")
    return out, {finding.kind for finding in result.findings or () if finding.kind != "lockstep"}


@pytest.mark.parametrize("arch", [75, 80, 90])
@pytest.mark.parametrize("kernel", ORDERED)
def test_flags_order(kernel: str, arch: int) -> None:
    out, told = launched(kernel, arch)
    assert (out == ORDERED[kernel][2]).all()
    assert not told


@pytest.mark.parametrize("arch", [75, 90])
@pytest.mark.parametrize("kernel", ["told_without_a_fence", "not_looked_at"])
def test_what_is_not_fenced_or_not_looked_at_races(kernel: str, arch: int) -> None:
    assert launched(kernel, arch)[1] & {"race", "uninitialised"}


def test_bytes_of_findings_count_from_the_kernels_own() -> None:
    needed("nvcc", "nvdisasm")
    source = """
#include <cooperative_groups.h>
extern "C" __global__ void pass(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}"""
    kernel = smmux.load(source, "sm_80", ["-G", "-O0"])["pass"]
    [finding] = kernel.simulate(1, 64, [np.zeros(64, np.int32)], check="races").races
    assert 0 <= finding.address < 256
