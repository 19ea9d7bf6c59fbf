"""`smmux.cuh`: dynamic shared memory of CUDA C++ held from alloc to release; the paper's FFT and MC with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import benchmarks
from smmux.benchmarks.base import Problem
from smmux.errors import KernelError
from smmux.results.result import Result
from tests.sass.conftest import ARCHITECTURES, needed

FOLDER = Path(__file__).parent / "multiplexing"
REVERSE = """#include "smmux.cuh"
extern "C" __global__ void reverse(float *a, int missing)
{
    extern __shared__ float tile[];
    __shared__ float kept[64];
    int i = threadIdx.x, at = blockIdx.x * 64 + i;
    kept[i] = 1;
    float value = a[at];
    if (missing != 1) smmux::alloc();
    tile[i] = value;
    __syncthreads();
    float *from = i % 2 ? kept + i : tile + i;  // lanes of one access go to both parts
    value = tile[63 - i] + (i % 2 ? *from : *from * 0 + 1);
    if (missing != 2) smmux::release();
    if (missing == 3) value = tile[i];
    a[at] = value;
}
"""


def reverse(missing: int = 0, arch: str = "sm_90", **options: Any) -> Result:
    needed("nvcc", "nvdisasm")
    values = np.arange(64 * 300, dtype=np.float32)
    wanted = values.reshape(-1, 64)[:, ::-1].ravel() + 1
    result = smmux.load(REVERSE, arch)["reverse"].simulate(300, 64, (values, missing), dynamic_shared=16384, **options)
    assert (values == wanted).all()
    return result


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_both_parts_of_shared_memory_are_right(arch: str) -> None:
    static, dynamic = reverse(arch=arch), reverse(arch=arch, management="dynamic", extra_blocks=4)
    assert static.program.dynamic_bytes == 16384
    assert dynamic.residency == static.residency + 4
    assert dynamic.management == "dynamic"


def test_blocks_take_turns() -> None:
    result = reverse(management="dynamic", extra_blocks=4, trace=True, check="races")
    assert result.trace is not None
    assert len(result.trace.allocations()) == 300
    assert not result.findings


def test_loads_are_back_before_shared_memory_is_asked_for() -> None:
    """Else a block would hold it while it waits for what it loaded in front: on a machine with a scoreboard, where no
    counter happens to hold the barrier up."""
    result = reverse(management="dynamic", extra_blocks=4, trace=True, gpu="K20c")
    assert result.trace is not None
    start = {stay.block: stay.start for stay in result.trace.blocks()}
    least = result.trace.gpu.mem_pipeline + result.trace.gpu.rop_latency  # of a load that finds its line in the L2
    assert all(each.ask - start[each.block] > least for each in result.trace.allocations())


@pytest.mark.parametrize(
    "missing, message, line",
    [(1, "does not hold", 10), (2, "ended holding shared memory", 17), (3, "does not hold", 15)],
)
def test_misuse_is_found(missing: int, message: str, line: int) -> None:
    needed("nvcc", "nvdisasm")
    with pytest.raises(KernelError, match=message) as caught:
        smmux.load(REVERSE)["reverse"].simulate(
            1, 64, (np.zeros(64, np.float32), missing), dynamic_shared=256, management="dynamic", extra_blocks=1
        )
    assert caught.value.line == line


def test_a_kernel_without_the_header_holds_all_from_start_to_end() -> None:
    needed("nvcc", "nvdisasm")
    text = REVERSE.replace("smmux::alloc()", "__syncthreads()").replace("smmux::release()", "__syncthreads()")
    values = np.zeros(64, np.float32)
    result = smmux.load(text)["reverse"].simulate(1, 64, (values, 0), dynamic_shared=256)
    assert result.program.dynamic_bytes == 0


@pytest.mark.parametrize("management", ["static", "dynamic"])
def test_half_of_a_block_may_meet_while_the_other_half_waits_for_memory(management: str) -> None:
    """At a barrier with a number of its own, which has nothing to do with the one that the others wait at."""
    needed("nvcc", "nvdisasm")
    text = """#include "smmux.cuh"
    extern "C" __global__ void apart(int *out) {
        extern __shared__ int tile[];
        __shared__ int halves[64];
        int t = threadIdx.x, own = 0;
        if (t < 64) {
            for (long long start = clock64(); clock64() - start < 2000;) {}
            halves[t] = t;
            asm volatile("bar.sync 1, 64;" ::: "memory");
            own = halves[63 - t];
        }
        smmux::alloc();
        tile[t] = own;
        __syncthreads();
        out[t] = tile[127 - t];
        smmux::release();
    }"""
    out, extra = np.zeros(128, np.int32), {"extra_blocks": 1} if management == "dynamic" else {}
    smmux.load(text)["apart"].simulate(1, 128, [out], dynamic_shared=1024, management=management, **extra)
    assert out.tolist() == [0] * 64 + list(range(64))


def fft(problem: Problem) -> tuple[Any, ...]:
    return problem.arguments()


def mc(problem: Problem) -> tuple[Any, ...]:
    positions, normals, cells, first, size, shift, _, _, iso, active, most, counts, edges = problem.arguments()
    tables = (np.array(counts, np.uint32), np.array(edges, np.uint32))
    return positions, normals, cells, first, shift[1], iso, active, most, *tables


@pytest.mark.parametrize(
    "name, arguments, shared, size",
    [("FFT", fft, 2 * 1088 * 4, {"batch": 64}), ("MC", mc, 24 * 32 * 12, {"n": 16})],
    ids=["FFT", "MC"],
)
def test_the_papers_kernels(
    name: str, arguments: Callable[[Problem], tuple[Any, ...]], shared: int, size: dict[str, float]
) -> None:
    needed("nvcc", "nvdisasm")
    (kernel,) = smmux.load(FOLDER / f"{name.lower()}.cu")
    problem = benchmarks.get(name).problem(size)
    for options in ({}, {"management": "dynamic", "extra_blocks": 4, "check": "races"}):
        args = arguments(problem)
        result = kernel.simulate(problem.grid, problem.block, args, dynamic_shared=shared, **options)  # type: ignore[arg-type]
        problem.check(args)
        assert not result.findings
        assert result.program.dynamic_bytes == shared
