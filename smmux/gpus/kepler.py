"""Tesla K20c (GK110, compute capability 3.5), one SM clock, banks of 4 or 8 bytes.

Latencies and issue intervals are in SM clocks. Each of the four schedulers has a group of 32 lanes of its own. The two
other groups of the 192 lanes take the second of two arithmetic instructions of a warp, which the machine does not pair:
128 multiply-adds per clock are what code without pairs reaches on a card (127.5 measured, and 186 with pairs made by
hand [PPOPP17]). An operation at a lower rate holds each of the four groups in proportion: 64 per clock is 2 clocks on a
group, 32 per clock is 4.
"""

from __future__ import annotations

from smmux.gpus import caches, memory, units
from smmux.gpus.machine import Value
from smmux.gpus.tiles_memory import TELEPORT

__all__ = ["K20C"]

_CORE: dict[str, Value] = {
    **units.ONE_KIND_OF_LANES,
    **units.AS_OPERANDS_COME,
    "shader_khz": (706_000, "BD-K20; SHOC"),
    "compute_capability": (35, "PG55 G.5"),
    "sm_count": (13, "BD-K20"),
    "sms_per_tpc": (1, "GS-KEP"),
    "max_threads_sm": (2048, "PG55 T12"),
    "max_warps_sm": (64, "PG55 T12"),
    "max_blocks_sm": (16, "PG55 T12"),
    "max_threads_block": (1024, "PG55 T12"),
    "regs_sm": (65536, "PG55 T12"),
    "max_regs_thread": (255, "PG55 T12; OCC51"),
    "reg_unit": (256, "OCC51"),
    "reg_alloc_warp": (1, "OCC51"),
    "warp_gran": (4, "OCC51"),
    "smem_bytes": (49152, "PG55 G.5.1"),
    "max_smem_block": (0, "PG55 T12"),
    "smem_unit": (256, "OCC51"),
    "smem_reserved": (0, "PG55 E.2.5.2"),
    "param_in_smem": (0, "PG55 E.2.5.2"),
    "pointer_bytes": (8, "PG55 E.2.5.2"),
    # Which words share a 64-word segment depends on where a block's memory starts: at a multiple of the unit.
    "smm_unit": (256, "OCC51"),
    "schedulers": (4, "PG55 G.5.1"),
    "warp_turns": (0, "MODEL"),
    "sched_policy": ("gto", "GS-KEP"),
    "sched_group": (8, "MEM Narasiman et al., MICRO 2011"),  # of no card: two_level alone
    "issue_interval": (1, "PG55 G.5.1"),
    "warp_interval": (2, "JIA18 Fig 3.3"),
    "issue_width": (2, "PG55 G.5.1"),
    "sp_units": (4, "PG55 G.5.1; PPOPP17; DER"),
    "sfu_units": (1, "PG55 G.5.1; DER"),
    "lsu_units": (1, "PPT; DER"),
    "sfu_slots": (0, "PG55 G.5.1"),
    "fmul_on_sfu": (0, "GS-KEP"),
    "schedule": ("list", "MEM ptxas; MODEL"),
    "fused_mad": (1, "MEM"),
}

_MEMORY: dict[str, Value] = {
    **TELEPORT,
    **memory.KEPLER,
    **caches.KEPLER,
    "smem_rule": (3, "PG55 G.5.3"),
    "smem_banks": (32, "PG55 G.5.3"),
    "smem_bank_bytes": (4, "S001"),
    "smem_clk_per_way": (1, "PG55 G.5.3"),
    "const_clk_per_way": (1, "EST"),
    "block_start": (150, "EST"),  # 201 clk on GK104 [MERPSYS]
    "dispatch_interval": (1, "GS302"),
    "grid_sync": (900, "MEM Xiao and Feng, IPDPS 2010; EST"),  # 1.3 us by flags in global memory, on a GTX280
    # Little: 194 x 32 bytes hide the idle latency at full speed; under load it is two to three times as long.
    "credits": (512, "PPT; DER"),
    "coalesce_rule": (35, "PG55 G.5.2"),
    "replay_global": (1, "EST"),  # as the first
    "coalesce_l1": (0, "PG55 G.5.2"),
    "mem_model": (1, "MODEL"),
    # Idle latency 331 clk [PPT] = lat_global + flat_latency; 300 on GK104 [MERPSYS].
    "flat_latency": (328, "PPT; DER"),
    "flat_bytes_per_kclk": (294_618, "BD-K20; DER"),  # 208 GB/s
}

_LATENCY: dict[str, Value] = {
    "lat_alu": (9, "MERPSYS T4.1"),  # 11 is NVIDIA's conservative figure
    "lat_shift": (9, "MERPSYS T4.1"),
    "lat_cvt": (9, "MERPSYS T4.1"),
    "lat_imul": (9, "MERPSYS T4.1"),
    "lat_imad": (9, "MERPSYS T4.1"),
    "lat_idiv": (168, "MERPSYS T4.1"),  # 149 in PPT
    "lat_irem": (163, "MERPSYS T4.1"),  # 132 in PPT
    "lat_fadd": (9, "MERPSYS T4.1"),
    "lat_fmul": (9, "MERPSYS T4.1"),
    "lat_fmad": (9, "MERPSYS T4.1"),
    "lat_fdiv": (418, "PPT"),  # 758 measured on GK104
    "lat_fsqrt": (418, "EST"),
    "lat_f64": (10, "PPT"),
    "lat_f64div": (418, "EST"),  # as float32
    "lat_f64sqrt": (418, "EST"),
    "lat_cvt64": (10, "EST"),
    "lat_cmp64": (18, "EST"),  # two dependent integer instructions
    "lat_idiv64": (504, "EST"),  # three 32-bit divisions
    "lat_irem64": (489, "EST"),
    "lat_sfu": (40, "PPT"),  # rsqrt, lg2; sin and cos 18, ex2 49
    "lat_shfl": (28, "EST"),  # as a shared load
    "lat_shared": (28, "PPOPP17"),
    "lat_const": (30, "JIA18"),  # measured on a K80; 16 in PPT
    "lat_global": (3, "EST"),
    "lat_bra": (9, "EST"),
    "lat_bar": (20, "EST"),
}

_ISSUE: dict[str, Value] = {
    "issue_alu": (1, "PG55 T2"),  # 160 per clock with pairs of instructions
    "issue_shift": (2, "PG55 T2; DER"),
    "issue_cvt": (4, "PG55 T2; DER"),
    "issue_imul": (4, "PG55 T2; DER"),
    "issue_imad": (4, "PG55 T2; DER"),
    "issue_idiv": (4, "GS-KEP"),
    "issue_irem": (4, "GS-KEP"),
    "issue_fadd": (1, "PG55 T2"),
    "issue_fmul": (1, "PG55 T2"),
    "issue_fmad": (1, "PG55 T2"),
    "issue_fdiv": (4, "GS-KEP"),
    "issue_fsqrt": (4, "EST"),
    "issue_f64": (2, "PG55 T2; DER"),  # 64 per clock
    "issue_f64div": (20, "EST"),  # ten multiply-adds
    "issue_f64sqrt": (20, "EST"),
    "issue_cvt64": (4, "MEM PG55 T2; DER"),  # 32 per clock
    "issue_cmp64": (2, "EST"),  # two integer instructions
    "issue_idiv64": (12, "EST"),  # three 32-bit divisions
    "issue_irem64": (12, "EST"),
    "issue_sfu": (1, "PG55 T2"),
    "issue_shfl": (1, "PG55 T2"),
    "issue_shared": (1, "PG55 G.5.3"),
    "issue_const": (1, "EST"),
    "issue_global": (1, "EST"),
    "issue_bra": (1, "EST"),
    "issue_bar": (1, "PG55 5.4.3; DER"),  # 128 per clock
}

K20C: dict[str, Value] = units.with_compiled({**_CORE, **_MEMORY, **_LATENCY, **_ISSUE})
