"""The memory systems of the machines, behind the SMs' ports: crossbar, L2, partitions and DRAM (`mem_model` 1).

GPGPU-Sim gives its ROP and DRAM path latencies in core cycles, which are a quarter (GT200) or half (Fermi) of the
shader clock. On Fermi that is the interconnect clock. On GT200 85 + 30 core cycles alone would be 460 shader clocks,
more than the 440 measured for a whole access, so there they are taken in interconnect clocks. What then is missing to
the measured idle latency is `mem_pipeline` (and `dram_return`, where an L2 hit and a miss were both measured).

DRAM timings are in command clocks. The GT200 set is that of a GDDR3 at 800 MHz; the card as measured scales it in
nanoseconds to 1242 MHz, the paper's simulated card keeps the counts at 1100 MHz, as its simulator would.
"""

from __future__ import annotations

from smmux.gpus.machine import Value

__all__ = ["C1060", "FERMI", "GT200", "GT200_1100", "KEPLER"]

SUMS = tuple(f"{what}_mask_{bit}" for what in ("group", "turn") for bit in range(3))
"""Parameters that only partition_hash = 2 uses."""

_PORTS: dict[str, Value] = {
    "port_bytes": (32, "GS302; GS-480"),  # flit of 32 bytes
    "xbar_latency": (4, "GS32; GS-480; DER"),  # injection, VC allocation, switch allocation, ejection: 1 each
    "partition_bytes": (256, "SDK-T; GS302"),
    "write_bytes": (32, "GS302; GS-480"),  # the flit
    "reply_bytes": (0, "GS302; GS-480"),  # flits
    "dram_bank_hash": (1, "PAT-BANK; ENVY; EST"),  # that banks are permuted is documented, the function is not
    "dram_pseudo": (0, "NA"),
    "dram_row_slots": (0, "NA"),
    "dram_refresh_single": (0, "NA"),
    "atom_float": (0, "MODEL"),
    "request_pairs": (0, "MODEL"),
    "atom_unit": (0, "MODEL"),
    "atom_whole": (0, "MODEL"),
    "atom_sector": (0, "MODEL"),
    "l2_write_queue": (0, "MODEL"),
    "l2_words": (0, "MODEL"),
    "l2_parts": (0, "NA"),
    "l2_dirty": (0, "NA"),
    "l2_atom_posted": (0, "MODEL"),
    "partition_pairs": (0, "NA"),
    **dict.fromkeys(SUMS, (0, "NA")),
    "l2_sides": (1, "MODEL"),
    "side_mask": (0, "NA"),
    "side_latency": (0, "NA"),
    "dram_burst_clk": (2, "GS302; GS-480"),
    "dram_policy": ("fr_fcfs", "GS302; GS-480"),
    "dram_age_cap": (500, "EST"),  # of no card: about as long as a full window of conflicts takes
    "dram_page": ("open", "GS302; GS-480"),
    "t_faw": (0, "GS302"),  # not in the sets used; 23 of RAM1 at 4000 is below four times tRRD
    "t_ccd": (2, "GS302; GS-480; RAM1"),
    "t_rtp": (2, "RAM1"),  # one burst, as on GDDR3
}

GT200: dict[str, Value] = {
    **_PORTS,
    "icnt_khz": (648_000, "REV285; GS302"),  # core clock; 650 in GS302
    # With GS302's 8-byte header a 64-byte reply is 3 flits: 69 % of peak for reads, which reach 84 % on a G80 [SDK-R].
    "packet_header": (0, "SDK-R; DER"),
    "port_room": (32, "GS32"),  # 8 + 8 + 16: the queues before and behind the L2, and the DRAM's
    "write_bytes": (16, "SHOC; DER"),  # a C1060 writes 77.7 GB/s: 8 partitions x 16 B x 602 MHz are 77.1
    "mem_pipeline": (102, "MERPSYS T4.2; DER"),  # 440 clk
    "partitions": (8, "SDK-T; GS302"),
    "partition_hash": (0, "SDK-T"),
    "rop_latency": (85, "GS302"),
    "atom_interval": (22, "EST"),  # read to write and back at the pins: CL + WL + two bursts + WTR = 41 command clk
    "l2_slices": (1, "GS302"),
    "l2_bytes": (262_144, "GS302"),  # 8 x 32 kB
    "l2_texture_only": (1, "PG55 G.3.1; GS302"),
    "l2_line": (256, "GS302"),
    "l2_ways": (8, "GS302"),
    "l2_hashed": (0, "GS302"),
    "l2_sector": (32, "GS302"),
    "l2_fetch": (256, "GS302"),
    "l2_mshrs": (16, "GS32"),
    "l2_merge": (4, "GS32"),
    "l2_writebacks": (4, "GS32"),  # miss queue; texture lines are never dirty
    "l2_clean_pages": (0, "NA"),
    "dram_latency": (30, "GS302"),
    "dram_return": (0, "MODEL"),
    "dram_khz": (1_242_000, "REV285; DQ285"),
    "dram_window": (16, "GS302"),
    "dram_banks": (8, "GS302"),
    "dram_groups": (1, "GS302"),
    "dram_burst_bytes": (32, "GS302"),
    "dram_bank_mask": (0x0000_3800, "GS302"),  # RRRR.RRRRRRRR.RRBBBCCC.CCCSSSSS
    "dram_row_mask": (0xFFFF_C000, "GS302"),
    "t_rcd": (19, "GS302; DER"),
    "t_rp": (16, "GS302; DER"),
    "t_ras": (39, "GS302; DER"),
    "t_rc": (55, "GS302; DER"),
    "t_rrd": (13, "GS302; DER"),
    "t_cl": (16, "GS302; DER"),
    "t_wl": (11, "GS302; DER"),
    "t_ccdl": (0, "GS302"),
    "t_wtr": (10, "GS302; DER"),
    "t_wr": (18, "GS302; DER"),
    "t_rtpl": (0, "GS302"),
    "t_refi": (4844, "RAM1; DER"),  # 3.9 us of a GDDR5
    "t_rfc": (81, "GEM5; DER"),  # 65 ns of a GDDR5
}

GT200_1100: dict[str, Value] = {
    **GT200,
    "packet_header": (8, "GS302 READ_PACKET_SIZE"),
    "write_bytes": (32, "GS302"),
    "dram_bank_hash": (0, "GS302"),
    "dram_khz": (1_100_000, "P000"),
    "t_rcd": (12, "GS302"),
    "t_rp": (10, "GS302"),
    "t_ras": (25, "GS302"),
    "t_rc": (35, "GS302"),
    "t_rrd": (8, "GS302"),
    "t_cl": (10, "GS302"),
    "t_wl": (7, "GS302"),
    "t_wtr": (6, "GS302"),
    "t_wr": (11, "GS302"),
    "t_refi": (0, "GS302"),  # no refresh in GPGPU-Sim
    "t_rfc": (0, "GS302"),
}

# The set's own clock, and the refresh of a GDDR5 as on the GTX285.
C1060: dict[str, Value] = {
    **GT200,
    **{name: value for name, value in GT200_1100.items() if name.startswith("t_")},
    "icnt_khz": (602_000, "SHOC"),
    "dram_khz": (800_000, "SHOC"),
    "t_refi": (3120, "RAM1; DER"),  # 3.9 us
    "t_rfc": (52, "GEM5; DER"),  # 65 ns
}

FERMI: dict[str, Value] = {
    **_PORTS,
    "icnt_khz": (700_000, "GS-480 3.2.2; SHOC"),
    # GS-480 4.0 has flits of 40 bytes: 32 of data beside the header of 8. With the header in front a line is 5 flits,
    # and the L2 gives 215 GB/s instead of the 238 to 247 measured [GMB].
    "packet_header": (0, "GS-480 4.0; GMB; DER"),
    "port_room": (192, "GS-480 4.0"),  # 64 + 64 + 64; 8 + 8 + 16 in 3.2.2
    "mem_pipeline": (37, "MERPSYS T4.2; DER"),  # L2 hit 310 clk
    "partitions": (6, "GS-480; DQ480"),
    "partition_hash": (1, "SDK-T"),
    "rop_latency": (120, "GS-480"),
    "atom_interval": (9, "MEM"),
    "l2_slices": (2, "GS-480 3.2.2"),
    "l2_bytes": (786_432, "DQ480; PG55 G.4.1"),
    "l2_texture_only": (0, "PG55 G.4.1"),
    "l2_line": (128, "GS-480"),
    "l2_ways": (8, "GS-480 3.2.2"),
    "l2_hashed": (1, "GS-KEP"),  # linear in GS-480
    "l2_sector": (32, "PG55 G.4.2; GS-480 4.0"),
    "l2_fetch": (64, "GS-480 4.0; DER"),  # sectored, at least one DRAM access
    "l2_mshrs": (256, "GS-480 4.0"),
    "l2_merge": (4, "GS-480"),
    "l2_writebacks": (256, "EST"),  # as many as misses
    # The mechanism is documented, sizes are not. With one or two rows the stores of SHOC's strided test go to DRAM word
    # by word, at 6.5 and 7.0 GB/s (6.6 measured); with eight the L2 joins them, and 18.6 GB/s come out.
    "l2_clean_pages": (2, "PAT-CLEAN; SHOC"),
    "dram_latency": (100, "GS-480"),
    "dram_return": (48, "MERPSYS T4.2; DER"),  # global 650 clk
    "dram_khz": (924_000, "GS-480; DQ480"),
    "dram_window": (64, "GS-480 4.0"),
    "dram_banks": (16, "GS-480"),
    "dram_groups": (4, "GS-480"),
    "dram_burst_bytes": (64, "GS-480"),
    "dram_bank_mask": (0x0000_E100, "GS-480"),  # RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS
    "dram_row_mask": (0xFFFF_0000, "GS-480"),
    "t_rcd": (12, "GS-480"),
    "t_rp": (12, "GS-480"),
    "t_ras": (28, "GS-480"),
    "t_rc": (40, "GS-480"),
    "t_rrd": (6, "GS-480"),
    "t_cl": (12, "GS-480"),
    "t_wl": (4, "GS-480"),
    "t_ccdl": (3, "GS-480"),
    "t_wtr": (5, "GS-480"),
    "t_wr": (12, "GS-480"),
    "t_rtpl": (2, "GS-480"),
    "t_refi": (3604, "RAM1; DER"),  # 3.9 us
    "t_rfc": (61, "GEM5; DER"),  # 65 ns
}

KEPLER: dict[str, Value] = {
    **FERMI,
    "icnt_khz": (706_000, "GS-KEP; BD-K20"),  # GS-KEP runs it at the core clock
    "packet_header": (0, "GS-KEP; DER"),  # flits of 40 bytes there: 32 of data beside the header of 8
    "port_room": (128, "GS-KEP"),  # 32 + 32 + 64
    "mem_pipeline": (55, "PPT; DER"),  # L2 hit 188 clk
    "partitions": (5, "BD-K20; DER"),
    "atom_interval": (1, "MEM"),
    "l2_bytes": (1_310_720, "MEM"),
    "l2_ways": (16, "GS-KEP"),
    "l2_merge": (64, "GS-KEP"),
    "dram_return": (25, "PPT; DER"),  # global 331 clk
    "dram_khz": (1_300_000, "BD-K20; DER"),
    "dram_window": (64, "GS-KEP"),
    "t_rcd": (15, "RAM1"),  # GDDR5_5000, tCK 0.8 ns
    "t_rp": (15, "RAM1"),
    "t_ras": (35, "RAM1"),
    "t_rc": (50, "RAM1"),
    "t_rrd": (7, "RAM1"),
    "t_cl": (15, "RAM1"),
    "t_wl": (4, "RAM1"),
    "t_wtr": (7, "RAM1"),
    "t_wr": (15, "RAM1"),
    "t_refi": (4875, "RAM1"),
    "t_rfc": (85, "GEM5; DER"),
}
