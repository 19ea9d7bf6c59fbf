"""GeForce GTX 480 (GF100, compute capability 2.0), with 48 or 16 kB of shared memory.

Latencies and issue intervals are in shader (hot) clocks. A scheduler drives one group of 16 lanes, so an ALU
instruction holds its group for 2 clocks while the SM sustains one warp instruction per clock. Operations at half rate
("16 per clock") hold a group for 4. The memory latencies are those of a GF106, the only Fermi with sourced ones.
"""

from __future__ import annotations

from smmux.gpus import caches, memory, units
from smmux.gpus.machine import Value
from smmux.gpus.tiles_memory import TELEPORT

__all__ = ["GTX480_16K", "GTX480_48K"]

_CORE: dict[str, Value] = {
    **units.ONE_KIND_OF_LANES,
    **units.AS_OPERANDS_COME,
    "shader_khz": (1_401_000, "DQ480"),
    "compute_capability": (20, "PG55 G.4; DQ480"),
    "sm_count": (15, "DQ480; GS-480"),
    "sms_per_tpc": (1, "GS-480"),
    "max_threads_sm": (1536, "PG55 T12"),
    "max_warps_sm": (48, "PG55 T12"),
    "max_blocks_sm": (8, "PG55 T12"),
    "max_threads_block": (1024, "PG55 T12"),
    "regs_sm": (32768, "PG55 T12"),
    "max_regs_thread": (63, "PG55 T12; OCC51"),
    "reg_unit": (64, "OCC21; OCC51"),
    "reg_alloc_warp": (1, "OCC21; OCC51"),
    "warp_gran": (2, "OCC51"),  # blank in OCC21
    "smem_bytes": (49152, "PG55 G.4.1"),
    "max_smem_block": (0, "PG55 T12"),
    "smem_unit": (128, "OCC21; OCC51"),
    "smem_reserved": (0, "PG55 E.2.5.2"),
    "param_in_smem": (0, "PG55 E.2.5.2"),
    "pointer_bytes": (8, "P000 Table 1; DER"),
    "smm_unit": (16, "MODEL"),
    "schedulers": (2, "PG55 G.4.1"),
    "warp_turns": (0, "MODEL"),
    # 3.2.1 went over to gto. There every warp sends all the loads it has before the next one sends its first, so that
    # hardly two lines that follow one another in a row of DRAM meet in the window: 12 % of row hits, 121 GB/s.
    "sched_policy": ("lrr", "GS-480 3.2.0"),
    "sched_group": (8, "MEM Narasiman et al., MICRO 2011"),  # of no card: two_level alone
    "issue_interval": (2, "PG55 G.4.1"),
    "warp_interval": (1, "NA"),
    "issue_width": (1, "GS-480"),
    "sp_units": (2, "PG55 G.4.1; GS-480"),
    "sfu_units": (1, "PG55 G.4.1; GS-480"),
    "lsu_units": (1, "GS-480"),
    "sfu_slots": (0, "PG55 G.4.1"),
    "fmul_on_sfu": (0, "GS-480"),
    "schedule": ("list", "MEM ptxas; MODEL"),
    "fused_mad": (1, "MEM"),
}

_MEMORY: dict[str, Value] = {
    **TELEPORT,
    **memory.FERMI,
    **caches.FERMI_16K_L1,
    "smem_rule": (2, "PG55 G.4.3"),
    "smem_banks": (32, "PG55 G.4.3"),
    "smem_bank_bytes": (4, "PG55 G.4.3"),
    "smem_clk_per_way": (2, "PG55 G.4.3; GMB"),
    "const_clk_per_way": (2, "EST"),
    "block_start": (150, "EST"),
    "dispatch_interval": (2, "GS302"),
    "grid_sync": (1800, "MEM Xiao and Feng, IPDPS 2010; EST"),  # 1.3 us by flags in global memory, on a GTX280
    # Little: 37 x 128 bytes hide the idle latency at full speed; under load it is two to three times as long.
    "credits": (128, "SHOC; MERPSYS T4.2; DER"),
    "coalesce_rule": (20, "PG55 G.4.2"),
    # Strided reads, a line for each lane, mostly L1 hits. SHOC's rates mean 4.3 clk a line on a C2050 (15.0 GB/s,
    # 14 SMs, 1150 MHz), 4.6 on a GTX480 under OpenCL (18.4 GB/s), and 5.7 under CUDA 3.2 on GTX480 (14.8 GB/s) and
    # GTX580 (17.3 GB/s, 16 SMs, 1544 MHz): 5.0 in the geometric mean. The faster two are then out of reach: with 4, the
    # most that they leave, the others come out 43 % too fast.
    "replay_global": (5, "SHOC; DER"),
    "coalesce_l1": (1, "PG55 G.4.2"),
    "mem_model": (1, "MODEL"),
    # Idle latency 650 clk, between 600 and the 685 of a GF106 [MERPSYS T4.2] = lat_global + flat_latency.
    "flat_latency": (644, "MERPSYS T4.2; VOLK10; DER"),
    "flat_bytes_per_kclk": (126_630, "SHOC; DER"),  # 6 x 64 bit x 2 x 1848 MHz = 177.4 GB/s
}

_LATENCY: dict[str, Value] = {
    "lat_alu": (18, "VOLK10; MERPSYS T4.1"),  # 16 measured on GF106; 22 is NVIDIA's rounded figure
    "lat_shift": (18, "VOLK10; MERPSYS T4.1"),
    "lat_cvt": (18, "VOLK10"),
    "lat_imul": (20, "MERPSYS T4.1"),
    "lat_imad": (22, "MERPSYS T4.1"),
    "lat_idiv": (322, "MERPSYS T4.1"),
    "lat_irem": (315, "MERPSYS T4.1"),
    "lat_fadd": (18, "VOLK10; MERPSYS T4.1"),
    "lat_fmul": (18, "VOLK10; MERPSYS T4.1"),
    "lat_fmad": (18, "VOLK10; MERPSYS T4.1"),
    "lat_fdiv": (1038, "MERPSYS T4.1"),
    "lat_fsqrt": (1038, "EST"),  # as the division, also an inlined sequence
    "lat_f64": (18, "EST"),  # as float32; 16 in GS-480
    "lat_f64div": (1038, "EST"),  # as float32
    "lat_f64sqrt": (1038, "EST"),
    "lat_cvt64": (18, "EST"),
    "lat_cmp64": (36, "EST"),  # two dependent integer instructions
    "lat_idiv64": (966, "EST"),  # three 32-bit divisions
    "lat_irem64": (945, "EST"),
    "lat_sfu": (40, "EST"),
    "lat_shfl": (18, "NA"),
    "lat_shared": (50, "MERPSYS T4.2"),
    "lat_const": (26, "EST"),
    "lat_global": (6, "GS302"),  # LD/ST pipeline of three core cycles
    "lat_bra": (32, "MERPSYS T4.1"),  # taken; 28 not taken
    "lat_bar": (20, "EST"),
}

_ISSUE: dict[str, Value] = {
    "issue_alu": (2, "PG55 G.4.1"),
    "issue_shift": (4, "PG55 T2; DER"),
    "issue_cvt": (4, "PG55 T2; DER"),
    "issue_imul": (4, "PG55 T2; GS-480"),
    "issue_imad": (4, "PG55 T2; DER"),
    "issue_idiv": (16, "GS-480"),  # 8 core cycles
    "issue_irem": (16, "GS-480"),
    "issue_fadd": (2, "PG55 G.4.1"),
    "issue_fmul": (2, "PG55 G.4.1"),
    "issue_fmad": (2, "PG55 G.4.1"),
    "issue_fdiv": (8, "GS-480"),  # 4 core cycles
    "issue_fsqrt": (8, "EST"),
    "issue_f64": (16, "SHOC; DER"),  # 4 per clock and SM: an eighth of float32's rate on a GeForce
    "issue_f64div": (160, "EST"),  # ten multiply-adds
    "issue_f64sqrt": (160, "EST"),
    "issue_cvt64": (16, "EST"),  # as the multiply-add
    "issue_cmp64": (4, "EST"),  # two integer instructions
    "issue_idiv64": (48, "EST"),  # three 32-bit divisions
    "issue_irem64": (48, "EST"),
    "issue_sfu": (8, "PG55 T2"),
    "issue_shfl": (2, "NA"),
    "issue_shared": (2, "PG55 G.4.3; GMB"),
    "issue_const": (2, "EST"),
    "issue_global": (2, "EST"),  # 16 address lanes
    "issue_bra": (2, "PG55 G.4.1"),
    "issue_bar": (2, "PG55 5.4.3"),
}

GTX480_48K: dict[str, Value] = units.with_compiled({**_CORE, **_MEMORY, **_LATENCY, **_ISSUE})

GTX480_16K: dict[str, Value] = {**GTX480_48K, **caches.FERMI_CARVEOUTS[16]}
