"""The H100 and the H200, as microbenchmarks have measured them (docs/hopper.md); compiled code obeys its control bits.

Each sub-core issues for itself and has units, register banks and a queue of memory accesses of its own. What is marked
FIT was chosen so that microbenchmarks come out, and no kernel. What is an older machine's says MODEL.
"""

from __future__ import annotations

from smmux.gpus import caches, memory, units
from smmux.gpus.machine import Value
from smmux.gpus.sources import keys
from smmux.gpus.tiles_memory import TELEPORT

__all__ = ["CARVEOUTS", "H100", "H200"]


def _older(values: dict[str, Value]) -> dict[str, Value]:
    """Values of older machines, whose sources do not speak of this one."""
    own = {"EST", "MODEL", "NA"}
    return {
        name: (value, source if own.intersection(keys(source)) else f"{source}; MODEL")
        for name, (value, source) in values.items()
    }


_CORE: dict[str, Value] = {
    **_older(units.ONE_KIND_OF_LANES),
    "int_units": (4, "HOPPER"),
    "fp64_units": (4, "HOPPER"),
    "tensor_units": (4, "HOPPER"),
    "mul_units": (4, "HOPPER"),  # interval_pairs.csv: multiplies go on beside FFMA and IADD3
    "uniform_units": (4, "HOPPER"),
    "unit_imul": ("mul", "HOPPER"),
    "unit_imad": ("mul", "HOPPER"),
    "unit_fcmp": ("int", "HOPPER"),
    "unit_half": ("sp", "HOPPER"),  # not beside FFMA
    "unit_wide": ("mul", "HOPPER"),
    "unit_bits": ("sfu", "HOPPER"),
    "unit_special": ("int", "EST"),
    "unit_matrix": ("tensor", "HOPPER"),
    "unit_matrix8": ("tensor", "HOPPER"),
    "unit_dmatrix": ("tensor", "EST"),
    "unit_alu": ("int", "HOPPER"),
    "unit_shift": ("int", "HOPPER"),
    "unit_f64": ("fp64", "HOPPER"),
    "unit_cvt": ("sfu", "HOPPER"),
    "unit_cvt64": ("sfu", "HOPPER"),
    "shader_khz": (1_980_000, "HOPPER"),
    "compute_capability": (90, "HOPPER"),
    "sm_count": (132, "HOPPER"),
    "sms_per_tpc": (2, "HOPPER"),
    "gpc_tpcs": (0x9988_8884, "HOPPER"),
    "gpc_sides": (0xCA, "HOPPER"),  # l2_lines.npz
    "max_threads_sm": (2048, "HOPPER"),
    "max_warps_sm": (64, "HOPPER"),
    "max_blocks_sm": (32, "HOPPER"),
    "max_threads_block": (1024, "HOPPER"),
    "regs_sm": (65536, "HOPPER"),
    "max_regs_thread": (255, "HOPPER"),
    "reg_unit": (256, "HOPPER"),
    "reg_alloc_warp": (1, "HOPPER"),
    "warp_gran": (4, "HOPPER"),
    "smem_bytes": (233_472, "HOPPER"),
    "max_smem_block": (0, "HOPPER"),
    "smem_unit": (128, "HOPPER"),
    "smem_reserved": (1024, "HOPPER"),
    "param_in_smem": (0, "HOPPER"),
    "pointer_bytes": (8, "HOPPER"),
    "smm_unit": (128, "HOPPER; MODEL"),  # as smem_unit
    "schedulers": (4, "HOPPER"),
    "warp_turns": (1, "HOPPER"),  # warp_turns.csv: all of 2,284 blocks
    "sched_policy": ("gty", "HOPPER"),
    "sched_group": (8, "NA"),
    "issue_interval": (1, "HOPPER"),
    "warp_interval": (1, "HOPPER"),
    "issue_width": (1, "HOPPER"),
    "sp_units": (4, "HOPPER"),
    "sfu_units": (4, "HOPPER"),
    "lsu_units": (4, "HOPPER"),  # a queue for each sub-core in front of one pipe
    "lsu_queue": (9, "HOPPER; FIT"),  # with the next three: queue_depth.csv
    "lsu_front": (7, "HOPPER; FIT"),
    "drain_shared": (2, "HOPPER; FIT"),
    "drain_global": (4, "HOPPER; FIT"),
    "drain_data": (2, "HOPPER; FIT"),
    "pass_least": (4, "HOPPER"),  # shared_phases.csv: a warp alone
    "pass_late": (2, "HOPPER"),
    "word_late": (1, "HOPPER; DER"),  # release.csv: 26 and 32 clk of wider loads in two and four passes
    "pipe_queue": (16, "HOPPER; FIT"),  # 28 accesses with conflicts wait of one sub-core, 17 each of four
    "sfu_slots": (0, "NA"),
    "fmul_on_sfu": (0, "NA"),
    "dependence": ("control", "HOPPER"),
    "wide_stall": (2, "HOPPER"),  # fixed_chains.csv: IMAD.WIDE and IMAD.HI, with all stall counts
    "read_ports": (3, "HOPPER; DER"),  # what mixed_banks.csv shows
    "read_shared": (8, "HOPPER"),  # release.csv has a clock more, in which the next instruction issues
    "read_global": (10, "HOPPER"),
    "read_sfu": (14, "HOPPER"),
    "read_data": (3, "HOPPER; DER"),  # 12 clk of STS, 14 of STG
    "read_more": (2, "HOPPER; DER"),
    "schedule": ("list", "MODEL"),
    "list_registers": (32, "PTXAS; DER"),  # of 2,048 threads: fewer make room for no other block
    "code_registers": (10, "PTXAS; FIT"),  # hardware/registers_sm90.csv
    "fused_mad": (1, "HOPPER"),
}

_MEMORY: dict[str, Value] = {
    **TELEPORT,
    **_older(memory.FERMI),
    **_older(caches.KEPLER),
    "smem_rule": (9, "HOPPER"),
    "smem_atomic_passes": (1, "HOPPER"),
    "smem_cas_passes": (2, "HOPPER"),
    "smem_cast_late": (24, "H200; DER"),  # shared_sums.csv
    "smem_banks": (32, "HOPPER"),
    "smem_bank_bytes": (4, "HOPPER"),
    "smem_clk_per_way": (1, "HOPPER"),
    "const_clk_per_way": (2, "H200; DER"),  # constant_lanes.csv: 2.2 of 16 warps
    "const_late_per_way": (11, "H200"),
    "const_line_clk": (12, "H200"),  # constant_supply.csv: one multiprocessor, 32 warps
    "match_late": (11, "HOPPER"),  # counted_chains.csv: 369 clk for 32 values, 28 for one
    "match_late_wide": (13, "H200"),
    "match_clk": (2, "HOPPER"),  # intervals.csv: 63 clk for 32 values
    "fence_least": (548, "HOPPER"),  # fences.csv
    "fence_stores": (548, "HOPPER"),
    "fence_system": (1255, "HOPPER"),
    "fence_clk": (27, "H200; DER"),  # fence_rounds.csv: stores and fences of 32 warps in turn
    "errbar_clk": (59, "HOPPER"),
    "jump_clk": (30, "H200; DER"),  # calls.csv
    "bsync_clk": (13, "H200"),  # branch_rates.csv
    "bsync_restored": (51, "H200; DER"),  # kept_barriers.csv
    "bmov_late": (13, "H200; DER"),
    "warpsync_clk": (35, "H200; DER"),  # meets.csv
    "warpsync_more": (20, "H200"),
    "cbu_clk": (1, "H200; DER"),  # branch_rates.csv
    "cbu_jump": (4, "H200; DER"),  # calls.csv
    "cbu_warpsync": (2, "H200; DER"),  # meets.csv
    "cbu_warpsync_more": (3, "H200; DER"),  # 2.85
    "yield_clk": (41, "H200; DER"),  # branches.csv
    "sleep_least": (50, "H200; DER"),  # naps.csv
    "bar_interval": (2, "H200"),  # barrier_rounds.csv
    "bar_result": (36, "H200; DER"),
    "launch_start": (4295, "HOPPER; FIT"),  # empty_kernels.csv, behind a flush of the caches
    "launch_behind": (3225, "HOPPER; FIT"),  # queued_launches.csv
    "dispatch_chip": (1200, "HOPPER"),
    # short_launches.csv: medians of 264 to 347 clk outside of the time in which SMs are active, with 16 to 264 blocks.
    "launch_end": (320, "H200; DER"),
    "exit_posted": (1, "HOPPER"),  # block_order.npz: 260 clk from an end with stores to the next start
    "block_start": (259, "HOPPER"),  # from a block's end to the next one's first instruction
    # block_order.npz: blocks of 1, 8 and 32 warps are 24, 31.5 and 98 clk apart on an SM that has slots to issue.
    "dispatch_interval": (24, "HOPPER"),
    "dispatch_block": (9, "HOPPER; DER"),
    "dispatch_warp": (277, "HOPPER; DER"),
    "grid_sync": (1982, "HOPPER"),
    "credits": (1024, "EST"),  # no limit was seen, and some 600 in flight
    "coalesce_rule": (90, "HOPPER"),  # a line a clock, of which sectors of 32 bytes come
    "store_bytes": (32, "HOPPER"),
    "store_mask": (1, "HOPPER"),  # scattered.csv: 2, 3 and 5 clk for one, two and four sectors in part, 4 for a line
    "store_flights": (512, "HOPPER; EST"),
    "store_queue": (28, "HOPPER"),  # h200: store_stay.csv
    # A card has 10 (store_stay.csv), but there sub-cores take turns at the way to memory, which parts the stores of a
    # warp; here what they have queued goes out in the order in which it was issued, and all of it would join.
    "store_linger": (0, "HOPPER; EST"),
    "replay_global": (1, "EST"),
    "coalesce_l1": (1, "HOPPER"),
    "l1_bytes": (21_504, "HOPPER"),  # as CARVEOUTS says of 228 kB
    "l1_ways": (4, "HOPPER"),  # h200: l1_sets.csv
    "l1_hashed": (0, "NA"),
    "l1_shared": (1, "HOPPER"),  # h200: l1_sets.csv, l1_rounds.csv, l1_stay.csv
    "l1_sector": (32, "HOPPER"),
    "l1_updates": (1, "HOPPER"),
    "l1_keeps_local": (1, "HOPPER"),  # local_memory.csv, local_sectors.csv
    "l1_tag_banks": (4, "HOPPER"),  # l1_phases.csv
    "l1_mshrs": (224, "HOPPER"),  # as CARVEOUTS says: with 768 places some 600 in flight were seen, and no limit
    "lat_l1": (31, "HOPPER"),  # and a clock to who reads the value
    "local_early": (2, "H200"),  # own_words.csv: addresses of one register
    "insn_bytes": (16, "HOPPER"),
    "fetch_bytes": (128, "HOPPER; EST"),
    "fetch_control": (0, "HOPPER"),
    # Jumps show one more level in front, of 4 kB, which costs 10 clk where it misses.
    "icache_bytes": (32_768, "HOPPER"),
    "icache_line": (128, "HOPPER; EST"),
    "icache_ways": (4, "HOPPER; DER"),  # misses rise over 32 to 40 kB: 64 sets
    "icache_prefetch": (2, "HOPPER; FIT"),
    "icache2_bytes": (131_072, "HOPPER"),
    "icache2_line": (256, "HOPPER; DER"),
    "icache2_ways": (8, "HOPPER; DER"),  # and over 128 to 144 kB: 64 sets
    "icache2_sms": (18, "H200"),  # supply_groups.csv: those of a GPC
    "icache2_bursts": (1, "HOPPER"),  # cold_code.csv: six to eight lines, then a wait
    "icache2_clk": (2, "H200"),  # constant_supply.csv, code_supply.csv: whatever is asked for
    "icache2_port_clk": (4, "H200; DER"),  # code_supply.csv: eight warps of one multiprocessor at several places
    "icache_twins": (1, "H200; DER"),  # supply_requests.csv
    "icache2_fills": (8, "HOPPER; FIT"),
    # code_ladder.csv: the first round goes at the second level's speed for 64 kB (a launch's descriptor names a size).
    "icache2_launch": (65_536, "HOPPER; QMD"),
    "icache2_prefetch": (3, "HOPPER; DER"),  # eight lines of 128 bytes in a burst
    "lat_icache2": (61, "HOPPER; FIT"),  # straight code of 64 kB takes 20 clk a line, jumps 50 to 65
    "const_bytes": (2048, "HOPPER"),
    "const_miss": (79, "HOPPER; DER"),  # 107 clk against 28
    "operand_miss": (64, "EST"),  # 9 clk more than an H200, as lines that LDC misses
    # h200/operand_lines.csv
    "operand_line": (64, "H200"),
    "mem_model": (1, "MODEL"),
    "flat_latency": (660, "HOPPER"),
    "flat_bytes_per_kclk": (1_555_000, "HOPPER; DER"),  # 3,079 GB/s
    "icnt_khz": (1_710_000, "HOPPER"),
    "packet_header": (0, "EST"),
    "port_bytes": (64, "HOPPER; MODEL"),  # a TPC writes 63 B/clk; of a slice, all together read 3,871 of the SMs
    # 64.5 bytes in each clock of the SMs: one SM alone takes 68, a GPC of eight or nine TPCs 541.
    "reply_bytes": (74_700, "HOPPER; FIT"),
    "write_bytes": (32, "HOPPER; DER"),  # 2,110 B/clk of the SMs' clock over 80 slices are 30.5 here
    "request_pairs": (1, "HOPPER"),  # scattered.csv: both SMs of a TPC send a load a clock
    "port_room": (0, "EST"),
    "partitions": (40, "HOPPER"),
    "partition_bytes": (512, "HOPPER"),  # l2_slices.npz
    "partition_pairs": (1, "HOPPER"),
    # slice_hash.py: all 2,672 lines of l2_slices.npz have the pair of slices that these say.
    "partition_hash": (2, "HOPPER"),
    "group_mask_0": (0x6229_1800, "HOPPER"),
    "group_mask_1": (0x1878_A000, "HOPPER"),
    "group_mask_2": (0x4DCC_4000, "HOPPER"),
    "turn_mask_0": (0x103A_1100, "HOPPER"),
    "turn_mask_1": (0x47C6_2400, "HOPPER"),
    "turn_mask_2": (0x699A_4800, "HOPPER"),
    "rop_latency": (120, "EST"),
    "mem_pipeline": (132, "HOPPER; DER"),  # what is left of 287 clk for an L2 hit
    # atomics.csv: by all SMs, one word takes 45.1 clk of theirs for 32 lanes (sums of floats 108), two lines with four
    # words in each sector 11.6; a line per lane, four of which a slice has then, 5.8.
    "atom_unit": (122, "HOPPER; DER"),
    # atomic_lanes.csv: all words of two sectors for two lanes each, or of one for four, take 4.6 clk of the SMs.
    "atom_whole": (100, "HOPPER; DER"),
    # scattered.csv: 2 clk for each of 524,288 sectors; so long with 50 for each slice (atomic_lanes.csv).
    "atom_sector": (78, "HOPPER; DER"),
    "atom_interval": (1, "HOPPER"),
    "atom_float": (3, "HOPPER; DER"),
    "l2_slices": (2, "HOPPER"),
    # cold_streams.csv: a copy from DRAM into the L2 moves 1,920 B/clk of the SMs both ways together, though DRAM gives
    # 1,570 alone and the L2 takes 2,110 alone. The length is between none, with which l2_rates.csv's copies lose 10 %,
    # and 256, with which nothing changes any more.
    "l2_write_queue": (32, "HOPPER; EST"),
    "l2_sides": (2, "HOPPER"),
    "side_mask": (0x000B_3000, "HOPPER"),  # l2_lines.npz, all of 1 MB
    "side_latency": (95, "HOPPER; FIT"),  # atomics in the far half take 193 clk of the SMs more, loads from there 242
    "l2_bytes": (52_428_800, "HOPPER"),
    "l2_ways": (20, "EST"),
    "l2_fetch": (64, "HOPPER; EST"),
    "l2_mshrs": (512, "EST"),
    "l2_merge": (512, "EST"),
    # written_parts.csv: up to 1,400 lines of each slice have been read, but not written yet, when a launch ends.
    "l2_writebacks": (2048, "H200; EST"),
    "l2_atom_posted": (1, "H200; DER"),  # short_launches.csv: reductions of a block cost it 250 clk, DRAM some 700
    "l2_words": (1, "HOPPER"),  # fft_counters.csv: its stores write sectors in four parts, and DRAM is not read
    # written_parts.csv: a quarter of a set, all of which goes once there is one more, makes an eighth of the lines in
    # the mean: 45,000 to 61,000 of 481,000. Whole sectors stay dirty in 0.45 to 0.5 of the lines.
    "l2_parts": (5, "H200; DER"),
    "l2_dirty": (10, "H200; DER"),
    "l2_clean_pages": (0, "MODEL"),  # a window that is this long finds the rows
    "dram_latency": (121, "HOPPER; DER"),  # 686 clk for a miss, of which half cross the chip, and 34 are refresh
    "dram_return": (44, "HOPPER; DER"),
    # Two channels of a stack, of two pseudo channels each, as one of 64 bytes in two clocks, 3,352 GB/s in all. Pseudo
    # channels are groups, which move 64 bytes in eight clocks.
    "dram_khz": (2_619_000, "HOPPER"),  # that of the driver
    "dram_window": (256, "EST"),
    "dram_banks": (64, "HBM3"),  # 16 of each pseudo channel; what a taller stack has more is left out
    "dram_groups": (4, "HBM3"),
    "dram_pseudo": (1, "HBM3"),
    "dram_row_slots": (1, "HBM3"),  # row and column commands have wires of their own
    "dram_burst_bytes": (64, "HOPPER"),
    "dram_burst_clk": (2, "HOPPER; DER"),
    "dram_bank_mask": (0x0000_F180, "HBM3; EST"),  # lines in turn over pseudo channels; a row has 1 kB
    "dram_row_mask": (0xFFFF_0000, "HBM3; EST"),
    "t_ccd": (2, "HBM3; DER"),
    "t_ccdl": (8, "HBM3; DER"),
    "t_rcd": (51, "HBM3; DER"),
    "t_rp": (43, "HBM3; DER"),
    "t_ras": (74, "HBM3; DER"),
    "t_rc": (118, "HBM3; DER"),
    "t_rrd": (4, "HOPPER; EST"),  # as the H200; dram_patterns.csv has too few accesses on their way to say
    "t_faw": (0, "MODEL"),
    "t_cl": (33, "HBM3; DER"),
    "t_wl": (16, "HBM3; DER"),
    "t_wtr": (16, "HBM3; DER"),
    "t_wr": (54, "HBM3; DER"),
    "t_rtp": (15, "HBM3; DER"),
    "t_rtpl": (0, "MODEL"),
    "dram_refresh_single": (1, "H200"),  # refresh.csv, refreshed_lines.npz
    "t_refi": (5_141, "H200; EST"),  # 1.963 us, as an H200: no H100 was there to ask
    "t_rfc": (681, "H200; EST"),  # 260 ns
}

_LATENCY: dict[str, Value] = {
    **{f"lat_{name}": (4, "HOPPER") for name in "alu shift imul imad fadd fmul fmad".split()},
    **{f"lat_{name}": (4, "HOPPER") for name in "fcmp half wide".split()},
    **{f"lat_{name}": (17, "HOPPER") for name in "cvt sfu bits".split()},
    "lat_special": (23, "HOPPER"),
    "lat_matrix": (24, "HOPPER"),  # what ptxas allows; 12 to 17 are enough
    "lat_matrix8": (16, "HOPPER; EST"),
    "lat_dmatrix": (24, "EST"),
    "lat_cvt64": (19, "HOPPER"),  # from 64 bits
    "lat_f64": (8, "HOPPER"),
    "lat_cmp64": (8, "HOPPER; DER"),
    **{f"lat_{name}": (120, "EST") for name in "idiv irem fdiv fsqrt f64div f64sqrt idiv64 irem64".split()},
    "lat_shfl": (30, "HOPPER"),
    "lat_shared": (23, "HOPPER"),
    "lat_const": (28, "HOPPER"),
    "lat_global": (3, "EST"),
    "lat_bra": (10, "HOPPER"),
    "lat_bar": (13, "H200; DER"),
}

_ISSUE: dict[str, Value] = {
    **{f"issue_{name}": (1, "HOPPER") for name in "fadd fmul fmad bra shared global".split()},
    **{f"issue_{name}": (1, "EST") for name in "const bar".split()},
    "issue_shfl": (4, "HOPPER; MODEL"),  # in all sub-cores at once; 2 in one, with a queue of its own
    **{f"issue_{name}": (2, "HOPPER") for name in "alu shift imul imad f64 fcmp half special".split()},
    **{f"issue_{name}": (4, "HOPPER") for name in "wide matrix8".split()},
    "issue_matrix": (6, "HOPPER"),
    "issue_dmatrix": (16, "HOPPER"),
    "issue_cmp64": (2, "EST"),
    **{f"issue_{name}": (8, "HOPPER") for name in "cvt sfu bits".split()},
    "issue_cvt64": (9, "HOPPER"),  # 8 from 32 bits
    **{f"issue_{name}": (16, "EST") for name in "idiv irem fdiv fsqrt f64div f64sqrt idiv64 irem64".split()},
}

H100: dict[str, Value] = {**_CORE, **_MEMORY, **_LATENCY, **_ISSUE}

# The same multiprocessors beside another L2 and another DRAM.
H200: dict[str, Value] = {
    **H100,
    "launch_start": (2870, "H200; FIT"),
    "launch_behind": (2870, "EST"),  # not measured there
    "block_start": (258, "H200"),
    "fence_least": (147, "H200"),  # fences.csv
    "fence_stores": (437, "H200"),
    "fence_system": (916, "H200"),
    "grid_sync": (1846, "H200"),
    "const_miss": (70, "H200; DER"),  # 98 clk against 28
    "operand_miss": (55, "H200; DER"),  # operand_lines.csv: 57 clk against 2
    "flat_latency": (640, "H200"),
    "flat_bytes_per_kclk": (2_272_000, "H200; DER"),  # 4,499 GB/s
    "mem_pipeline": (125, "H200; DER"),  # 280 clk for an L2 hit
    "partitions": (47, "H200"),
    "partition_hash": (1, "EST"),  # l2_slices.npz, which no formula is known for
    **dict.fromkeys(memory.SUMS, (0, "NA")),
    "side_mask": (0x000A_B000, "H200"),
    "l2_bytes": (61_603_840, "H200; DER"),  # 94 slices of 640 kB, as the H100 has 80
    "dram_latency": (103, "H200; DER"),  # 658 clk for a miss, of which 34 are refresh
    "dram_khz": (3_201_000, "H200"),
    "t_rcd": (62, "HBM3; DER"),
    "t_rp": (52, "HBM3; DER"),
    "t_ras": (90, "HBM3; DER"),
    "t_rc": (144, "HBM3; DER"),
    "t_rrd": (4, "H200; FIT"),  # random_chunks.csv: chunks of 64 bytes, 1,687 to 1,877 GB/s
    "t_cl": (40, "HBM3; DER"),
    "t_wl": (20, "HBM3; DER"),
    "t_wtr": (20, "HBM3; DER"),
    "t_wr": (66, "HBM3; DER"),
    "t_rtp": (18, "HBM3; DER"),
    "t_refi": (6_284, "H200; DER"),  # 1.963 us
    "t_rfc": (832, "H200; DER"),  # 260 ns
}

CARVEOUTS: dict[int, dict[str, Value]] = {
    size: {
        "smem_bytes": (size * 1024, "HOPPER"),
        "l1_bytes": ((256 - size - 7) * 1024, "HOPPER"),  # h200: l1_rounds.csv
        "l1_ways": (4, "HOPPER"),
        "l1_mshrs": (min(768, (256 - size) * 8), "HOPPER"),  # h200: asked_again.csv; a line on its way has its place
    }
    for size in (8, 16, 32, 64, 100, 132, 164, 196, 228)
}
