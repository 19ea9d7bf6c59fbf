"""Probes find what a machine is given, whatever that is."""

from __future__ import annotations

import pytest

from experiments.common import cards, probes
from smmux import gpus


@pytest.mark.parametrize(("gpu", "kb"), [("GTX285", 16), ("GTX285", 8), ("GTX480-48K", 48), ("GTX480-48K", 24)])
def test_the_largest_block_fills_shared_memory(gpu: str, kb: int) -> None:
    assert probes.shared_bytes(gpus.get(gpu).replace(smem_bytes=kb * 1024)) == kb * 1024


@pytest.mark.parametrize(("gpu", "kb"), [("GTX285", 64), ("GTX285", 32), ("GTX480-16K", 128), ("GTX480-16K", 64)])
def test_blocks_fill_the_registers(gpu: str, kb: int) -> None:
    assert probes.register_bytes(gpus.get(gpu).replace(regs_sm=kb * 1024 // 4)) == kb * 1024


def test_registers_are_told_only_where_they_limit() -> None:
    with pytest.raises(ValueError, match="warps, not registers, limit GTX285 to 2 blocks"):
        probes.register_bytes(gpus.get("GTX285").replace(max_threads_sm=512, max_warps_sm=16, regs_sm=1 << 16))


@pytest.mark.parametrize("mhz", [800, 1100, 1242])
def test_rows_of_a_bank_tell_the_memory_clock(mhz: int) -> None:
    assert probes.memory_mhz(cards.card().replace(dram_khz=1000 * mhz)) == pytest.approx(mhz, rel=0.002)
