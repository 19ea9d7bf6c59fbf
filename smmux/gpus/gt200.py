"""GeForce GTX 285 (GT200b, compute capability 1.3), as measured on the card and as GPGPU-Sim 3.0.2 models it.

Latencies and issue intervals are in shader clocks. Where sources conflict the recommended value is taken and the
comment says what else is known.
"""

from __future__ import annotations

from smmux.gpus import caches, memory, units
from smmux.gpus.machine import Value
from smmux.gpus.tiles_memory import TELEPORT

__all__ = ["GTX285", "GTX285_1100"]

_CORE: dict[str, Value] = {
    **units.ONE_KIND_OF_LANES,
    **units.AS_OPERANDS_COME,
    "shader_khz": (1_476_000, "REV285; DQ285"),
    "compute_capability": (13, "PG55 G.3; DQ285"),
    "sm_count": (30, "DQ285"),
    "sms_per_tpc": (3, "PG55 G.3.1; GS302"),
    "max_threads_sm": (1024, "PG55 T12"),
    "max_warps_sm": (32, "PG55 T12"),
    "max_blocks_sm": (8, "PG55 T12"),
    "max_threads_block": (512, "PG55 T12"),
    "regs_sm": (16384, "PG55 T12; P000"),
    "max_regs_thread": (124, "OCC21"),  # 128 in PG55 T12; 124 usable
    "reg_unit": (512, "OCC21"),
    "reg_alloc_warp": (0, "OCC21"),
    "warp_gran": (2, "OCC21"),
    "smem_bytes": (16384, "PG55 T12; DQ285"),
    "max_smem_block": (0, "PG55 T12"),
    "smem_unit": (512, "OCC21"),
    "smem_reserved": (16, "PG55 5.2.3; GS302"),  # parameters start at 0x10
    "param_in_smem": (1, "PG55 E.2.5.2"),
    "pointer_bytes": (8, "P000 Table 1; DER"),  # what makes the seven target kernels' bytes fit
    "smm_unit": (16, "MODEL"),
    "schedulers": (1, "PG55 G.3.1"),
    "warp_turns": (0, "NA"),
    "sched_policy": ("lrr", "GS302"),
    "sched_group": (8, "MEM Narasiman et al., MICRO 2011"),  # of no card: two_level alone
    "issue_interval": (4, "PG55 G.3.1"),
    "warp_interval": (1, "NA"),
    "issue_width": (1, "PG55 G.3.1"),
    "sp_units": (1, "PG55 G.3.1"),
    "sfu_units": (1, "PG55 G.3.1"),
    "lsu_units": (1, "GS302"),
    # By issuing to SP and SFU in turn the scheduler keeps both busy; measured on directed tests: 93 to 94 % of that.
    "sfu_slots": (1, "TB200 p.15; MEM Lindholm et al., IEEE Micro 2008"),
    # Each of the two SFUs multiplies about twice per clock: 11.2 multiplications per clock on SP and SFU together.
    "fmul_on_sfu": (8, "PG55 G.3.1; MEM Wong; DER"),
    "schedule": ("list", "MEM ptxas; MODEL"),  # the assembler hides latencies; how is ours
    "fused_mad": (0, "MEM"),
}

_MEMORY: dict[str, Value] = {
    **TELEPORT,
    **memory.GT200,
    **caches.GT200,
    "smem_rule": (1, "PG55 G.3.3"),
    "smem_banks": (16, "PG55 G.3.3"),
    "smem_bank_bytes": (4, "PG55 G.3.3"),
    "smem_clk_per_way": (2, "PG55 G.3.3; GS302"),
    "const_clk_per_way": (4, "EST"),
    "block_start": (150, "EST"),  # 201 clk on GK104, 150 on GM107 [MERPSYS]; none known for GT200
    "dispatch_interval": (4, "GS302"),  # at most one block per TPC and core cycle
    "grid_sync": (1900, "MEM Xiao and Feng, IPDPS 2010; EST"),  # 1.3 us by flags in global memory, on a GTX280
    # Little: 21 x 64 bytes hide the idle latency at full speed; under load it is two to three times as long.
    "credits": (64, "SHOC; MERPSYS T4.2; DER"),
    "coalesce_rule": (13, "PG55 G.3.2"),
    "replay_global": (2, "GS302"),  # as the first: every transaction takes half a core cycle
    "coalesce_l1": (0, "PG55 G.3.1"),
    "mem_model": (1, "MODEL"),
    # Idle latency 440 clk [MERPSYS T4.2] = lat_global + flat_latency.
    "flat_latency": (428, "MERPSYS T4.2; DER"),
    "flat_bytes_per_kclk": (107_707, "REV285; DER"),  # 8 x 64 bit x 2 x 1242 MHz = 159.0 GB/s
}

_LATENCY: dict[str, Value] = {
    "lat_alu": (24, "MERPSYS T4.1"),
    "lat_shift": (24, "MERPSYS T4.1"),
    "lat_cvt": (24, "MERPSYS T4.1"),
    "lat_imul": (96, "MERPSYS T4.1; GS302"),
    "lat_imad": (120, "MERPSYS T4.1; GS302"),
    "lat_idiv": (684, "MERPSYS T4.1"),
    "lat_irem": (784, "MERPSYS T4.1"),
    "lat_fadd": (24, "MERPSYS T4.1"),
    "lat_fmul": (24, "MERPSYS T4.1"),
    "lat_fmad": (24, "MERPSYS T4.1"),
    "lat_fdiv": (137, "MERPSYS T4.1"),
    "lat_fsqrt": (137, "EST"),  # as the division, also an inlined sequence
    "lat_f64": (48, "MEM"),
    "lat_f64div": (480, "EST"),  # ten dependent multiply-adds
    "lat_f64sqrt": (480, "EST"),
    "lat_cvt64": (48, "EST"),  # as the other operations of the float64 unit
    "lat_cmp64": (48, "EST"),  # two dependent integer instructions
    "lat_idiv64": (2052, "EST"),  # three 32-bit divisions
    "lat_irem64": (2352, "EST"),
    "lat_sfu": (48, "MEM Wong"),  # sin, cos, ex2; rsqrt and lg2 28, sqrt 56
    "lat_shfl": (24, "NA"),
    "lat_shared": (38, "MERPSYS T4.2"),
    "lat_const": (32, "EST"),  # the pipeline's 24 and a first-level hit of 8 [MEM Wong]
    "lat_global": (12, "GS302"),  # LD/ST pipeline of three core cycles
    "lat_bra": (24, "EST"),  # as the ALU
    "lat_bar": (20, "MEM Wong"),  # __syncthreads of one warp
}

_ISSUE: dict[str, Value] = {
    "issue_alu": (4, "PG55 G.3.1"),  # T2's 10 per clock for integer add is not explained
    "issue_shift": (4, "PG55 T2"),
    "issue_cvt": (4, "PG55 T2"),
    "issue_imul": (20, "GS302"),  # 16 in GS32; 1.7 per clock [MEM Wong]
    "issue_imad": (24, "GS302"),  # 16 in GS32; 1.4 per clock [MEM Wong]
    "issue_idiv": (128, "GS32"),  # 32 core cycles
    "issue_irem": (128, "GS32"),
    "issue_fadd": (4, "PG55 T2"),
    "issue_fmul": (4, "PG55 T2"),
    "issue_fmad": (4, "PG55 T2"),
    "issue_fdiv": (20, "GS32"),  # 5 core cycles
    "issue_fsqrt": (20, "EST"),
    "issue_f64": (32, "PG55 G.3.1"),  # 1 per clock and SM
    "issue_f64div": (320, "EST"),  # ten multiply-adds
    "issue_f64sqrt": (320, "EST"),
    "issue_cvt64": (32, "MEM PG55 T2"),
    "issue_cmp64": (8, "EST"),  # two integer instructions
    "issue_idiv64": (384, "EST"),  # three 32-bit divisions
    "issue_irem64": (384, "EST"),
    "issue_sfu": (16, "PG55 G.3.1"),
    "issue_shfl": (4, "NA"),
    "issue_shared": (4, "PG55 G.3.3"),
    "issue_const": (4, "EST"),
    "issue_global": (2, "GS302"),  # the LD/ST unit is clocked twice per core cycle of 4 clk
    "issue_bra": (4, "PG55 G.3.1"),
    "issue_bar": (4, "PG55 5.4.3"),
}

GTX285: dict[str, Value] = units.with_compiled({**_CORE, **_MEMORY, **_LATENCY, **_ISSUE})

# The same chip at lower clocks; SHOC's measurements of it are the most that there are of a GT200.
C1060: dict[str, Value] = {
    **GTX285,
    **memory.C1060,
    "shader_khz": (1_296_000, "SHOC"),
    "flat_bytes_per_kclk": (79_012, "SHOC; DER"),  # 8 x 64 bit x 2 x 800 MHz = 102.4 GB/s
}

# The card that the paper simulates: GPGPU-Sim 3.0.2, shader 4 x 369 MHz, memory at 1100 MHz.
GTX285_1100: dict[str, Value] = {
    **GTX285,
    **memory.GT200_1100,
    **caches.GT200_1100,
    "shader_khz": (4 * 369_000, "GS302; DER"),
    # 16384 / (padded threads * registers rounded up to 4), no granularity of warps or bytes.
    "reg_unit": (128, "GS302"),
    "reg_alloc_warp": (1, "GS302"),
    "warp_gran": (1, "GS302"),
    "smem_unit": (1, "GS302"),
    "issue_width": (2, "GS302"),  # two instructions of one warp per core cycle, to different pipes
    "sfu_slots": (0, "GS302"),
    "fmul_on_sfu": (4, "GS302"),  # a core cycle, as on the SP
    "schedule": ("source", "GS302"),  # it runs PTX, which no assembler has put in another order
    "lat_bar": (4, "GS302"),  # released in the core cycle of the last arrival
    "flat_bytes_per_kclk": (95_393, "P000; DER"),  # 140.8 GB/s at 1100 MHz
}
