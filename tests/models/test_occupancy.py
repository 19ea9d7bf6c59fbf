"""Occupancy: Table 1 of the paper, the calculator's worked example, and blocks put on an SM one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import LaunchError, _core, cuda, float32, gpus, models
from smmux.machines.occupancy_picture import LIMITERS
from tests.reference import occupancy as definition


@dataclass(frozen=True)
class Row:
    """A row of Table 1: threads per block, bytes of the arrays, bytes of the parameters, residency."""

    threads: int
    array_bytes: int
    param_bytes: int
    bytes: int
    gtx285: int
    gtx480_16k: int
    gtx480_48k: int


# Parameters: 64-bit pointers, but 32-bit ones for MM and RD, as the paper's byte counts have it.
TABLE_1 = {
    "MV": Row(32, 4224, 28, 4268, 3, 3, 8),
    "FFT": Row(64, 8704, 16, 8736, 1, 1, 5),
    "MC": Row(32, 9216, 92, 9324, 1, 1, 5),
    "STO": Row(128, 16256, 32, 16304, 1, 1, 3),
    "SP": Row(64, 4096, 32, 4144, 3, 4, 8),
    "HG": Row(64, 8192, 16, 8224, 1, 2, 6),
    "CV": Row(128, 8256, 28, 8300, 1, 1, 5),
    "MM": Row(256, 2048, 20, 2084, 4, 6, 6),
    "TP": Row(128, 4224, 20, 4260, 3, 3, 8),
    "RD": Row(128, 512, 12, 540, 8, 8, 8),
}
# With what Table 1 counts on a GTX285 (parameters in shared memory) taken over to a GTX480.
TABLE_1_BYTES_ON_GTX480 = {"SP": (3, 8), "HG": (1, 5)}


@pytest.mark.parametrize("gpu", ["GTX285", "GTX285-1100"])
@pytest.mark.parametrize("name", TABLE_1)
def test_table_1(name: str, gpu: str) -> None:
    """Both occupancy rules: the calculator's with its 512-byte unit, and GPGPU-Sim's without rounding."""
    row = TABLE_1[name]
    answer = models.occupancy(row.threads, 0, row.array_bytes, gpu, row.param_bytes)
    assert (answer.shared_bytes, answer.blocks) == (row.bytes, row.gtx285)
    assert answer.threads == row.gtx285 * row.threads


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_on_gtx480(name: str) -> None:
    row = TABLE_1[name]
    answer = [models.occupancy(row.threads, 0, row.array_bytes, gpu) for gpu in ("GTX480-16K", "GTX480-48K")]
    assert [o.blocks for o in answer] == [row.gtx480_16k, row.gtx480_48k]
    assert answer[0].shared_bytes == row.array_bytes


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_bytes_on_gtx480(name: str) -> None:
    row = TABLE_1[name]
    answer = tuple(models.occupancy(row.threads, 0, row.bytes, f"GTX480-{size}").blocks for size in ("16K", "48K"))
    assert answer == TABLE_1_BYTES_ON_GTX480.get(name, (row.gtx480_16k, row.gtx480_48k))


@pytest.mark.parametrize(
    ("name", "limiter"),
    [("MV", "shared memory"), ("STO", "shared memory"), ("MM", "warps"), ("RD", "warps")],
)
def test_limiter(name: str, limiter: str) -> None:
    row = TABLE_1[name]
    assert models.occupancy(row.threads, 0, row.array_bytes, "GTX285", row.param_bytes).limiter == limiter


def test_worked_example_of_the_calculator() -> None:
    """Compute capability 1.3, 96 threads, 14 registers, 2176 bytes: limits 8, 8, 6."""
    gpu = gpus.get("GTX285").replace(smem_reserved=0)
    answer = models.occupancy(96, 14, 2176, gpu)
    assert (answer.blocks, answer.warps, answer.limiter) == (6, 18, "shared memory")
    assert (answer.limits["registers"], answer.limits["blocks"]) == (8, 8)


def test_registers_per_block_in_pairs_of_warps_on_cc1() -> None:
    """One warp of 10 registers takes the place of two: 640 registers, rounded to 1024."""
    assert models.occupancy(32, 10, 0, "GTX285").limits["registers"] == 16384 // 1024
    assert models.occupancy(256, 16, 0, "GTX285").limits["registers"] == 4
    assert models.occupancy(256, 17, 0, "GTX285").limits["registers"] == 3


@pytest.mark.parametrize("threads", [32, 33, 96, 256, 512])
@pytest.mark.parametrize("registers", [1, 4, 5, 10, 16, 63])
def test_registers_as_gpgpusim_allocates_them(threads: int, registers: int) -> None:
    """16384 / (padded threads x registers rounded up to 4)."""
    answer = models.occupancy(threads, registers, 0, "GTX285-1100")
    padded = -(-threads // 32) * 32
    assert answer.limits["registers"] == 16384 // (padded * (-(-registers // 4) * 4))


def test_registers_per_warp_on_fermi() -> None:
    """21 registers: 672 -> 704 per warp, 46 warps; three-warp blocks: 15 of them."""
    assert models.occupancy(96, 21, 0, "GTX480-48K").limits["registers"] == 15


@pytest.mark.parametrize("extra", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["MV", "FFT", "MC", "STO", "SP", "HG", "CV"])
def test_counter_of_the_paper(name: str, extra: int) -> None:
    """All of a target kernel's arrays are dynamic: K + n blocks on the simulated card."""
    row = TABLE_1[name]
    answer = models.occupancy(
        row.threads, 0, 0, "GTX285-1100", row.param_bytes, dynamic_bytes=row.array_bytes, extra_blocks=extra
    )
    room = (16384 - row.array_bytes) // (-(-(16 + row.param_bytes) // 16) * 16)
    assert answer.static_blocks == row.gtx285
    assert answer.blocks == min(row.gtx285 + extra, room, 8)
    assert answer.limiter == ("counter" if row.gtx285 + extra <= room else "shared memory")


def test_co_rule_of_the_paper() -> None:
    """6 kB = 4 kB private + 2 kB public in 16 kB: two blocks statically, three with CO (paper, section 5)."""
    gpu = gpus.get("GTX285-1100").replace(smem_reserved=0)
    answer = models.occupancy(64, 0, 4096, gpu, dynamic_bytes=2048, extra_blocks=3)
    assert (answer.static_blocks, answer.blocks, answer.limiter) == (2, 3, "shared memory")


def test_marching_cubes_reaches_one_more_block_with_co() -> None:
    """6144 bytes private, 3072 public."""
    answer = models.occupancy(32, 0, 6144, "GTX285-1100", 92, dynamic_bytes=3072, extra_blocks=3)
    assert (answer.static_blocks, answer.blocks) == (1, 2)


def test_a_size_that_can_never_fit() -> None:
    assert models.occupancy(64, 0, 16384, "GTX285").blocks == 0
    assert models.occupancy(64, 0, 0, "GTX285", dynamic_bytes=16384, extra_blocks=3).blocks == 0
    assert models.occupancy(64, 0, 0, "GTX285", dynamic_bytes=20000, extra_blocks=3).limiter == "shared memory"


def test_a_block_may_have_less_than_an_sm() -> None:
    """A GTX 980: 96 kB on an SM, of which a block may have 48."""
    maxwell = gpus.get("K20c").replace(name="GTX980", smem_bytes=96 * 1024, max_smem_block=48 * 1024)
    assert models.occupancy(64, 0, 48 * 1024, maxwell).blocks == 2
    assert models.occupancy(64, 0, 48 * 1024 + 1, maxwell).limiter == "shared memory"
    assert models.occupancy(64, 0, 48 * 1024 + 1, maxwell).blocks == 0
    assert models.occupancy(64, 0, 0, maxwell, dynamic_bytes=48 * 1024, extra_blocks=3).blocks == 5
    assert models.occupancy(64, 0, 4, maxwell, dynamic_bytes=48 * 1024, extra_blocks=3).blocks == 0
    with gpus.set_current(maxwell):
        device = cuda.get_current_device()
        assert device.MAX_SHARED_MEMORY_PER_BLOCK == 48 * 1024
        assert device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR == 96 * 1024

    @cuda.jit
    def large(y: Any) -> None:
        tile = cuda.shared.array(12289, float32)
        tile[cuda.threadIdx.x] = 1
        y[cuda.threadIdx.x] = tile[cuda.threadIdx.x]

    with pytest.raises(LaunchError, match=r"needs 49156 bytes of shared memory \('tile' 49156\), GTX980 allows 49152"):
        large.simulate(1, 32, (np.zeros(32, np.float32),), gpu=maxwell)


def test_no_shared_memory_is_no_limit() -> None:
    answer = models.occupancy(256, 0, 0, "GTX480-48K")
    assert (answer.limits["shared memory"], answer.limits["registers"], answer.limits["counter"]) == (None, None, None)
    assert (answer.blocks, answer.limiter) == (6, "warps")


MACHINES = st.builds(
    lambda name, change: gpus.get(name).replace(**change),
    st.sampled_from(gpus.names()),
    st.fixed_dictionaries(
        {},
        optional={
            "reg_unit": st.sampled_from((1, 64, 128, 512)),
            "reg_alloc_warp": st.integers(0, 1),
            "warp_gran": st.integers(1, 4),
            "smem_unit": st.sampled_from((1, 100, 128, 512)),
            "smm_unit": st.sampled_from((1, 16, 48)),
            "smem_reserved": st.sampled_from((0, 16, 100)),
            "max_smem_block": st.sampled_from((0, 1, 500, 8000, 12000)),
            "max_blocks_sm": st.integers(1, 16),
        },
    ),
)

THREADS, REGISTERS = st.integers(1, 512), st.integers(0, 63)


@settings(max_examples=120, deadline=None)
@given(MACHINES, THREADS, REGISTERS, st.integers(0, 20000))
def test_formulas_equal_putting_blocks_one_by_one(gpu: gpus.Gpu, threads: int, registers: int, smem: int) -> None:
    answer = models.occupancy(threads, registers, smem, gpu)
    assert answer.blocks == definition.resident_blocks(gpu, threads, registers, smem + gpu.smem_reserved)
    assert answer.limits[answer.limiter] == answer.blocks
    assert all(blocks is None or blocks >= answer.blocks for blocks in answer.limits.values())


@settings(max_examples=120, deadline=None)
@given(
    MACHINES, st.integers(1, 512), st.integers(0, 63), st.integers(0, 9000), st.integers(0, 17000), st.integers(0, 9)
)
def test_dynamic_residency(gpu: gpus.Gpu, threads: int, registers: int, smem: int, dynamic: int, extra: int) -> None:
    answer = models.occupancy(threads, registers, smem, gpu, dynamic_bytes=dynamic, extra_blocks=extra)
    held = smem + gpu.smem_reserved
    assert answer.blocks == definition.resident_blocks_dynamic(gpu, threads, registers, held, dynamic, extra)
    assert answer.static_blocks == definition.resident_blocks(gpu, threads, registers, held + dynamic)
    if extra == 0:
        assert answer.blocks <= answer.static_blocks


def test_every_limit_of_the_table_is_told_and_the_first_of_the_least_is_the_limiter() -> None:
    keys = {key: name for key, name, _ in _core.LIMITS}
    assert set(keys.values()) == set(LIMITERS)
    for threads, registers, fixed, part in (
        (32, 0, 100, 0),
        (256, 40, 5000, 0),
        (64, 63, 0, 3000),
        (512, 20, 16, 9000),
    ):
        found = _core.occupancy(gpus.as_tuple(gpus.get("GTX480-48K")), threads, registers, fixed, part, 1)
        limits = [found[key] for key in keys]
        assert found["blocks"] == min(limits)
        assert found["limiter"] == list(keys.values())[limits.index(min(limits))]
