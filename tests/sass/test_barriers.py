"""Asynchronous barriers in shared memory: beside an H200, and what goes wrong with them. What programs make of them is
in `programs/barriers.py`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import smmux
from experiments.hardware.hopper.mbarrier_vectors import INVALIDATE
from smmux.modules.module import Module, load
from tests.sass.conftest import ARCHITECTURES, needed
from tests.sass.vectors import FOLDER, card

HEAD = """
#include <cuda/barrier>
__device__ unsigned at_shared(const void *place) { return (unsigned)__cvta_generic_to_shared(place); }
"""
HANDED_OVER = """
extern "C" __global__ void handed_over(int *y) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int values[64];
    if (threadIdx.x == 0) init(&barrier, WAITED);
    __syncthreads();
    values[threadIdx.x] = threadIdx.x;
    auto token = barrier.arrive();
    if (WAITS) barrier.wait(cuda::std::move(token));
    y[threadIdx.x] = values[63 - threadIdx.x];
}
"""
ALONE = """
#include <cuda_awbarrier_primitives.h>
extern "C" __global__ void alone(int *y) {
    __shared__ __mbarrier_t barrier;
    if (threadIdx.x == 0) __mbarrier_init(&barrier, 65);
    __syncthreads();
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    #if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.shared.b64 p, [%0], %1; @!p bra W;}" ::"r"(at_shared(&barrier)),
                 "l"(token) : "memory");
#else
    while (!__mbarrier_test_wait(&barrier, token)) {}
#endif
    y[0] = 1;
}
"""
FORGOTTEN = """
extern "C" __global__ void forgotten(int *y, int many) {
    __shared__ unsigned long long barrier;
    unsigned over;
    if (many) asm volatile("mbarrier.arrive.noComplete.shared.b64 _, [%0], %1;" ::"r"(at_shared(&barrier)), "r"(many));
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(over) : "r"(at_shared(&barrier)) : "memory");
    y[threadIdx.x] = over;
}
"""


@lru_cache
def built(text: str, arch: str, **named: int) -> Module:
    needed("nvcc", "nvdisasm")
    return load(HEAD + text, arch, [f"-D{name}={value}" for name, value in named.items()])


def handed_over(arch: str, waited: int = 64, waits: bool = True, **options: object) -> tuple[np.ndarray, smmux.Result]:
    y = np.zeros(64, np.int32)
    kernel = built(HANDED_OVER, arch, WAITED=waited, WAITS=int(waits))["handed_over"]
    return y, kernel.simulate(1, 64, (y,), **options)


def test_each_step_tells_what_the_card_told() -> None:
    """Words of barriers are compared where they end: before, loads do not see on the card what they hold."""
    needed("nvcc", "nvdisasm")
    kernel = load(FOLDER / "mbarrier.cu", "sm_90")["steps"]
    vectors, source = card("vectors_mbarrier"), np.arange(100, 132, dtype=np.int32)
    for number, refused in enumerate(vectors["refused"]):
        rows = slice(*vectors["starts"][number : number + 2])
        steps = vectors["steps"][rows]
        words, told = np.zeros((len(steps), 4), np.uint64), np.zeros((len(steps), 32), np.uint64)
        args = (steps.copy(), len(steps), source, words.reshape(-1), told.reshape(-1))
        if refused:
            with pytest.raises(smmux.BarrierError, match="more arrive"):
                kernel.simulate(1, 32, args)
            continue
        kernel.simulate(1, 32, args)
        np.testing.assert_array_equal(told, vectors["told"][rows], err_msg=f"program {number}")
        ended = steps[:, 0] == INVALIDATE
        np.testing.assert_array_equal(words[ended], vectors["words"][rows][ended])


def test_operations_take_as_long_as_on_the_card() -> None:
    """A try that fails, a test and an arrival of a warp; the first of each brings its code in."""
    needed("nvcc", "nvdisasm")
    clocks = np.zeros(32, np.int64)
    load(FOLDER / "mbarrier.cu", "sm_90")["times"].simulate(1, 32, (clocks,), gpu="H200")
    measured = card("vectors_mbarrier")["times"]
    for first in (1, 9, 17):
        np.testing.assert_array_equal(clocks[first : first + 7], measured[first : first + 7])


@pytest.mark.long
def test_threads_that_nobody_joins_wait_for_ever() -> None:
    y = np.zeros(1, np.int32)
    with pytest.raises(smmux.DeadlockError, match="no warp can make progress"):
        built(ALONE, "sm_90")["alone"].simulate(1, 64, (y,))
    with pytest.raises(smmux.CycleLimitError):  # code for CC 8.x polls, and so may wait for anything
        built(ALONE, "sm_80")["alone"].simulate(1, 64, (y,), max_cycles=20_000)


@pytest.mark.long
def test_more_arrivals_than_a_barrier_awaits_stop_the_kernel() -> None:
    with pytest.raises(smmux.BarrierError, match="more arrive at an asynchronous barrier"):
        handed_over("sm_90", waited=48)
    with pytest.raises(smmux.BarrierError, match="more arrive at an asynchronous barrier"):
        built(FORGOTTEN, "sm_90")["forgotten"].simulate(1, 32, (np.zeros(32, np.int32), 1))


def test_a_barrier_that_nobody_began_is_found() -> None:
    result = built(FORGOTTEN, "sm_90")["forgotten"].simulate(1, 32, (np.zeros(32, np.int32), 0), check="races")
    assert {found.kind for found in result.findings or ()} == {"uninitialised"}


@pytest.mark.long
@pytest.mark.parametrize("arch", [arch for arch in ARCHITECTURES if arch not in ARCHITECTURES[:1]])
def test_waiting_orders_and_arriving_does_not(arch: str) -> None:
    y, result = handed_over(arch, check="races")
    np.testing.assert_array_equal(y, np.arange(64)[::-1])
    assert not result.findings
    _, result = handed_over(arch, waited=65, waits=False, check="races")
    assert "race" in {found.kind for found in result.findings or ()}


def test_clusters_of_several_blocks_are_refused() -> None:
    text = """extern "C" __global__ void __cluster_dims__(2, 1, 1) two(int *y) {
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
    }"""
    with pytest.raises(smmux.CompileError, match=r"UCGABAR_ARV.*clusters of 2 blocks are not simulated"):
        built(text, "sm_90")["two"].simulate(2, 32, (np.zeros(1, np.int32),))


def test_a_grid_has_whole_clusters() -> None:
    needed("nvcc", "nvdisasm")
    kernel = smmux.load("""extern "C" __global__ void __cluster_dims__(2, 1, 1) two(int *y) { y[blockIdx.x] = 1; }""")[
        "two"
    ]
    out = np.zeros(4, np.int32)
    kernel.simulate(4, 1, [out])
    assert out.tolist() == [1, 1, 1, 1]
    with pytest.raises(smmux.LaunchError, match=r"clusters of \(2, 1, 1\) blocks, which \(3, 1, 1\) is no multiple of"):
        kernel.simulate(3, 1, [out])


def test_blocks_know_their_cluster_or_the_kernel_is_refused() -> None:
    """Which cluster it is, and where in it, follows from the grid; the rank is part of addresses, too."""
    needed("nvcc", "nvdisasm")
    text = """extern "C" __global__ void __cluster_dims__(3, 2, 1) places(int *y) {
        int at[8];
        asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y;" : "=r"(at[0]), "=r"(at[1]));
        asm("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y;" : "=r"(at[2]), "=r"(at[3]));
        asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y;" : "=r"(at[4]), "=r"(at[5]));
        asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctarank;" : "=r"(at[6]), "=r"(at[7]));
        for (int i = 0; i < 8; i++) y[8 * (blockIdx.y * gridDim.x + blockIdx.x) + i] = at[i];
    }
    extern "C" __global__ void __cluster_dims__(2, 1, 1) rank(int *y) {
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(y[blockIdx.x]));
    }"""
    module, out = smmux.load(text), np.zeros((4, 9, 8), np.int32)
    module["places"].simulate((9, 4), 1, [out])
    y, x = np.indices((4, 9))
    wanted = [x // 3, y // 2, x % 3, y % 2, 0 * x + 3, 0 * x + 2, 0 * x + 3, 0 * x + 6]
    assert (out == np.moveaxis(wanted, 0, -1)).all()
    with pytest.raises(smmux.CompileError, match="S2R.*clusters of 2 blocks are not simulated"):
        module["rank"].simulate(2, 1, [np.zeros(2, np.int32)])
