"""The check for races in shared memory knows all ways in which compiled code goes there, and what orders its lanes."""

from __future__ import annotations

import numpy as np
import pytest

import smmux
from tests.sass.conftest import needed

SOURCE = r"""
/* Atomics, and bytes, of an array of which only the launch says whether it is shared. */
extern "C" __global__ void counts(int *a, int shared) {
    __shared__ int s[32];
    int *p = shared ? s : a;
    s[threadIdx.x % 32] = 0;
    __syncthreads();
    atomicAdd(p, 1);
    __syncthreads();
    a[threadIdx.x] = s[0];
}

extern "C" __global__ void turns(int *a, int shared) {
    __shared__ char s[64];
    char *p = shared ? s : (char *)a;
    p[threadIdx.x] = threadIdx.x;
    a[threadIdx.x] = p[63 - threadIdx.x];
}

/* A matrix that one warp stores, and that all load behind a barrier, or not. */
template <bool ordered> __device__ void matrices(int *out) {
    __shared__ alignas(16) unsigned short s[256];
    const int t = threadIdx.x;
    if (t < 32)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};"
                     :: "r"((unsigned)__cvta_generic_to_shared(s + 8 * t)), "r"(0x10001) : "memory");
    if (ordered) __syncthreads();
    int sum = 0;
    for (int k = 0; k < 4; k++) sum += s[4 * t + k];
    out[t] = sum;
}
extern "C" __global__ void stored(int *out, int unused) { matrices<true>(out); }
extern "C" __global__ void stored_at_once(int *out, int unused) { matrices<false>(out); }

/* Lanes of a warp that meet between a store and a load, all or in two parts, and that do not. */
template <int meeting> __device__ void mirror(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if (meeting == 1) __syncwarp();
    if (meeting == 2) {
        if (threadIdx.x % 2) __syncwarp();
        else __syncwarp();
    }
    out[threadIdx.x] = s[threadIdx.x ^ 31];
}
extern "C" __global__ void meet(int *out, int unused) { mirror<1>(out); }
extern "C" __global__ void meet_apart(int *out, int unused) { mirror<2>(out); }
extern "C" __global__ void pass(int *out, int unused) { mirror<0>(out); }

/* The compiler loads four words where one is needed. */
extern "C" __global__ void scan(int *out, int rows) {
    extern __shared__ int s[];
    const int x = threadIdx.x;
    for (int y = 0; y < rows; y++) {
        if (x % 32 == 31) s[x / 32] = y;
        __syncthreads();
        int sum = 0;
        for (int k = 0; k < x / 32; k++) sum += s[k];
        out[y * blockDim.x + x] = sum;
        __syncthreads();
    }
}
"""


@pytest.mark.parametrize("option", ["-O3", "-G"])
@pytest.mark.parametrize(
    ("kernel", "values", "kinds"),
    [
        ("counts", np.full(64, 64), ()),
        ("turns", None, ("race", "uninitialised")),
        ("stored", np.full(64, 4), ()),
        ("stored_at_once", None, ("race", "uninitialised")),
        ("meet", np.arange(64) ^ 31, ()),
        ("meet_apart", np.arange(64) ^ 31, ()),
        ("pass", np.arange(64) ^ 31, ("race",)),
    ],
)
def test_what_is_told(kernel: str, values: np.ndarray | None, kinds: tuple[str, ...], option: str) -> None:
    needed("nvcc", "nvdisasm")
    out = np.zeros(64, np.int32)
    module = smmux.load(SOURCE, arch="sm_90", options=[option])
    result = module[kernel].simulate(1, 64, [out, 1], check="races-strict")
    told = {finding.kind for finding in result.findings or ()}
    assert told <= set(kinds)
    assert ("race" in told) == ("race" in kinds)
    assert values is None or (out == values).all()


@pytest.mark.parametrize("check", [None, "races"])
@pytest.mark.parametrize("warps", [1, 2, 3, 4])
def test_wide_loads_may_reach_beyond_what_is_needed(warps: int, check: str | None) -> None:
    needed("nvcc", "nvdisasm")
    rows, out = np.arange(3)[:, None], np.zeros((3, 32 * warps), np.int32)
    kernel = smmux.load(SOURCE, arch="sm_90")["scan"]
    result = kernel.simulate(1, 32 * warps, [out, 3], dynamic_shared=4 * warps, check=check)
    assert (out == rows * (np.arange(32 * warps) // 32)).all()
    assert not result.findings
    if warps == 3:
        assert any(i.name == "LDS.128" for i in kernel.instructions)


COPIES = r"""
extern "C" __global__ void copied(int *out, const int *in, int generic) {
    __shared__ int s[128];
    const int t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    int *from = generic ? out : s;
    out[t] = from[127 - t];
    if (generic) return;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;"
                 :: "r"((unsigned)__cvta_generic_to_shared(s + t)), "l"(in + t) : "memory");
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_finding_says_which_memory_it_is_about(arch: str) -> None:
    """Copies store in shared memory, whose bytes count from the kernel's own on, wherever these begin; what a pointer
    leads to has its array's name."""
    needed("nvcc", "nvdisasm")
    kernel, given = smmux.load(COPIES, arch)["copied"], np.zeros(128, np.int32)
    (race,) = kernel.simulate(1, 128, [given.copy(), given, 0], check="races").races
    assert (race.first.action, race.second.action) == ("load", "store")
    assert (race.array, race.address) == (None, 4 * (127 - race.first.thread[0]))
    races = kernel.simulate(1, 128, [given.copy(), given, 1], check="races").races
    assert {(race.array, 4 * (race.index or 0)) for race in races} == {("argument 0", race.address) for race in races}


MIRRORED = r"""
extern "C" __global__ void mirrored(int *out) {
    __shared__ int s[64];
    int reserved;
    asm volatile("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(reserved));
    if (reserved < 0) out[0] = 1;
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize("option", ["-O3", "-G"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_bytes_of_shared_memory_count_from_the_first_array(arch: str, option: str) -> None:
    """What the driver reserves of a block lies in front of the kernel's own from sm_90 on, and behind it before."""
    needed("nvcc", "nvdisasm")
    kernel = smmux.load(MIRRORED, arch, [option])["mirrored"]
    races = kernel.simulate(1, 64, [np.zeros(64, np.int32)], check="races").races
    assert races
    assert {race.address for race in races} <= {4 * element for element in range(64)}
