"""The machines: the card that the paper simulates, the cards it measures on, and these with one thing changed."""

from __future__ import annotations

from smmux import gpus
from smmux.gpus import Gpu

__all__ = [
    "CAMPING", "GPU", "HASHED", "MEASURED", "PERFECT_FETCH", "ROOMY", "budgeted", "card", "half_lanes", "hashed",
    "measured", "perfect_fetch", "roomy", "sensitivities", "table1_bytes", "unbounded",
]  # fmt: skip

GPU = "GTX285-1100"
"""The card that the paper simulates, for Figures 1, 14 and 15."""
PERFECT_FETCH = f"{GPU}, perfect fetch"
HASHED = f"{GPU}, hashed partitions"
ROOMY = f"{GPU}, roomy"

MEASURED = ("GTX285", "GTX480-16K", "GTX480-48K")
"""The cards of Figure 11; Figures 12 and 13 have the last two."""

NS_SCALED = {
    "t_rrd": 11, "t_rcd": 17, "t_ras": 35, "t_rp": 14, "t_rc": 49, "t_cl": 14, "t_wl": 10, "t_wtr": 9, "t_wr": 16,
}  # fmt: skip
"""DRAM timing in clocks of 1100 MHz if it takes as many nanoseconds as on the part for 800 MHz, not as many clocks."""

ARITHMETIC = ("alu", "shift", "cvt", "imul", "imad", "idiv", "irem", "fadd", "fmul", "fmad", "bra")
"""Classes of operations that hold a group of lanes."""


def card() -> Gpu:
    """The simulated card."""
    return gpus.get(GPU)


def perfect_fetch(gpu: str = GPU) -> Gpu:
    """A card without an instruction cache: every instruction is there."""
    return gpus.get(gpu).replace(name=f"{gpu}, perfect fetch", icache_bytes=0)


CAMPING = ("MV",)
"""Benchmarks whose rows lie a multiple of all partitions apart: blocks in step read from one (DEVIATIONS D4)."""


def hashed(gpu: str = GPU) -> Gpu:
    """A card that hashes blocks of addresses over its partitions, as Fermi does: no stride camps on one."""
    return gpus.get(gpu).replace(name=f"{gpu}, hashed partitions", partition_hash=1)


def budgeted(gpu: str) -> Gpu:
    """A card under another name, for kernels with the registers that K+3 blocks of the baseline leave."""
    return gpus.get(gpu).replace(name=f"{gpu}, K+3 registers")


def unbounded(gpu: str) -> Gpu:
    """A card on which no request waits for room in a queue, with as many transactions under way as a Kepler's SM has:
    queues are the other reason why software approaches gain little there (DEVIATIONS D14)."""
    return gpus.get(gpu).replace(name=f"{gpu}, no bounds of queues", port_room=0, credits=gpus.get("K20c").credits)


def roomy() -> Gpu:
    """The card with registers, warps and block slots for K+8 blocks, so that shared memory is the only limit."""
    return card().replace(name=ROOMY, regs_sm=65536, max_blocks_sm=16, max_warps_sm=64, max_threads_sm=2048)


def sensitivities() -> list[Gpu]:
    """The card with one assumption changed, a machine for each one that the card's documents leave open."""
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


def measured() -> list[Gpu]:
    """The cards of Figure 11."""
    return [gpus.get(name) for name in MEASURED]


def table1_bytes(gpu: str) -> Gpu:
    """A Fermi card on which a block holds its parameters and 16 bytes in shared memory, as in Table 1.

    That is so on compute capability 1.x; on Fermi they lie in constant memory, and the arrays alone count.
    """
    old = gpus.get("GTX285")
    return gpus.get(gpu).replace(name=f"{gpu}, Table 1 bytes", param_in_smem=1, smem_reserved=old.smem_reserved)


def half_lanes(gpu: str = "GTX480-16K") -> Gpu:
    """A Fermi card whose groups of lanes are half as wide: an instruction holds one for 4 clocks, as on GTX285."""
    own = gpus.get(gpu)
    twice = {name: 2 * getattr(own, f"issue_{name}") for name in ARITHMETIC}
    return own.replace(
        name=f"{gpu}, half the lanes",
        issue_interval=2 * own.issue_interval,
        **{f"issue_{name}": clocks for name, clocks in twice.items()},
    )
