"""The card that the paper simulates for Figures 1, 14 and 15, and what it becomes when one assumption changes."""

from __future__ import annotations

from smmux import gpus
from smmux.gpus import Gpu

__all__ = ["GPU", "PERFECT_FETCH", "ROOMY", "card", "perfect_fetch", "roomy", "sensitivities"]

GPU = "GTX285-1100"
PERFECT_FETCH = f"{GPU}, perfect fetch"
ROOMY = f"{GPU}, roomy"

NS_SCALED = {
    "t_rrd": 11, "t_rcd": 17, "t_ras": 35, "t_rp": 14, "t_rc": 49, "t_cl": 14, "t_wl": 10, "t_wtr": 9, "t_wr": 16,
}  # fmt: skip
"""DRAM timing of the 800 MHz part kept in nanoseconds at 1100 MHz, not in cycles (hw-parameters 8)."""


def card() -> Gpu:
    """The simulated card."""
    return gpus.get(GPU)


def perfect_fetch() -> Gpu:
    """The card without an instruction cache: every instruction is there."""
    return card().replace(name=PERFECT_FETCH, icache_bytes=0)


def roomy() -> Gpu:
    """The card with registers, warps and block slots for K + 8 blocks: shared memory is the only limit."""
    return card().replace(name=ROOMY, regs_sm=65536, max_blocks_sm=16, max_warps_sm=64, max_threads_sm=2048)


def sensitivities() -> list[Gpu]:
    """The card with one assumption changed, for each that the sources leave open."""
    own = card()
    changes: dict[str, dict[str, int]] = {
        "ns-scaled DRAM": NS_SCALED,
        "flat memory": {"mem_model": 0},
        "single issue": {"issue_width": 1},
        "OCC21 occupancy": {"reg_unit": 512, "reg_alloc_warp": 0, "warp_gran": 2, "smem_unit": 512},
        "block start 128 clk": {"block_start": 128},
        "block start 1000 clk": {"block_start": 1000},
        "memory 60 clk farther": {"mem_pipeline": own.mem_pipeline + 60},
    }
    return [own.replace(name=f"{GPU}, {name}", **values) for name, values in changes.items()]
