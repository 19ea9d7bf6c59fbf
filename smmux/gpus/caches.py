"""The caches inside the SMs of the machines: L1, texture, instruction and constant caches."""

from __future__ import annotations

from smmux.gpus.machine import Value

__all__ = ["FERMI_16K_L1", "FERMI_CARVEOUTS", "GT200", "GT200_1100", "KEPLER", "KEPLER_CARVEOUTS"]

_ALL: dict[str, Value] = {
    "insn_bytes": (8, "GS302"),
    "fetch_bytes": (64, "MEM Wong"),  # eight instructions into the instruction buffer
    "const_line": (64, "JIA18; MEM Wong"),
    "const_ways": (4, "JIA18; MEM Wong"),
    "const_miss": (0, "JIA18; MEM Wong"),
    "const_late_per_way": (0, "MODEL"),
    "const_line_clk": (0, "MODEL"),
    # Only code whose control bits are obeyed has such, on machines that are newer.
    "operand_miss": (0, "NA"),
    "operand_line": (64, "NA"),
    "icache_ways": (4, "MEM Wong; DER"),  # K80: misses rise over 7.2 to 9.4 KiB [JIA18 Fig 3.3]
    "icache_prefetch": (1, "MEM Wong; PAT-PF"),
    "icache2_line": (256, "MEM Wong; JIA18"),
    "icache2_launch": (0, "MODEL"),
    # Times of requests were not looked for on machines that old.
    "icache2_clk": (0, "MODEL"),
    "icache2_port_clk": (0, "MODEL"),
    "icache_twins": (0, "MODEL"),
    "icache2_bursts": (0, "MODEL"),
    "icache2_fills": (1, "JIA18; DER"),  # 256 bytes every 210 clk beyond K80's L1.5: one line at a time
    "tex_line": (128, "GS302; GS-480"),
    "tex_mshrs": (64, "GS302; MODEL"),  # 128 entries there; more than 64 lines an SM cannot have in flight here
    "l1_line": (128, "PG55 G.4.2"),
    # Lines of these caches come whole; sets are numbered by the lowest bits of the line.
    "l1_sector": (0, "PG55 G.4.2"),
    "l1_updates": (0, "PG55 G.4.2; GS-480"),
    "l1_keeps_local": (0, "MODEL"),
    "local_early": (0, "NA"),
    "l1_shared": (0, "MODEL"),
    "l1_tag_banks": (0, "MODEL"),
    "tex_sector": (0, "GS302"),
    "tex_hashed": (0, "MODEL"),
    "icache_hashed": (0, "MODEL"),
    "icache2_hashed": (0, "MODEL"),
    "icache3_hashed": (0, "MODEL"),
    "icache3_line": (256, "MEM Wong"),
    "const_hashed": (0, "MODEL"),
}

GT200: dict[str, Value] = {
    **_ALL,
    "l1_bytes": (0, "PG55 G.3.1"),
    "l1_ways": (1, "NA"),
    "l1_hashed": (0, "NA"),
    "l1_mshrs": (1, "NA"),
    "lat_l1": (1, "NA"),
    "tex_bytes": (5120, "GS302"),  # per SM: the card has one of about three times that per TPC (D3)
    "tex_line": (32, "MEM Wong"),
    "tex_ways": (20, "MEM Wong; CUDABMK"),
    "lat_tex": (261, "MEM Wong"),
    "const_bytes": (2048, "MEM Wong"),  # the 8 kB of PG55 T12 are those of the second level
    "icache_bytes": (4096, "WIKI; GS302"),
    "icache_line": (256, "MEM Wong; GS302"),
    "fetch_control": (0, "ENVY"),
    "icache2_bytes": (8192, "WIKI; WONG2"),
    "icache2_ways": (4, "MEM Wong"),
    "icache2_sms": (3, "WIKI; ENVY"),  # a TPC's
    "icache2_prefetch": (0, "NA"),  # its lines are those of the first level, which asks for the next one
    "lat_icache2": (73, "MEM Wong"),  # hits of the levels 8, 81 and 220 clk
    "icache3_bytes": (32768, "WIKI; WONG2"),
    "icache3_ways": (8, "MEM Wong"),
    "lat_icache3": (212, "MEM Wong"),
    "icache3_miss": (440, "MERPSYS T4.2; EST"),  # idle global memory
}

# GPGPU-Sim has one cache of instructions, without prefetch, and constant misses in a fixed time.
GT200_1100: dict[str, Value] = {
    **GT200,
    "tex_line": (128, "GS302"),
    "tex_ways": (5, "GS302"),
    "fetch_bytes": (0, "GS302; MODEL"),  # a buffer of two instructions: every other one is looked up
    "const_bytes": (8192, "PG55 T12; GS302"),
    "const_ways": (2, "GS302"),
    "const_miss": (212, "MEM Wong"),  # third-level hit 220 against 8 of the first
    "icache_prefetch": (0, "GS302"),
    "icache2_bytes": (0, "GS302"),
    "icache3_bytes": (0, "GS302"),
}

FERMI_16K_L1: dict[str, Value] = {
    **_ALL,
    "l1_bytes": (16384, "PG55 G.4.1"),
    "l1_ways": (4, "GS-480"),
    "l1_hashed": (1, "GS-480"),
    "l1_mshrs": (64, "GS-480 4.0"),  # with the 32 of 3.x one SM cannot cover the latency under load
    "lat_l1": (48, "MERPSYS T4.2"),  # 45 measured on GF106; 45-50 recommended
    "tex_bytes": (12288, "PG55 T12; GS-480"),
    "tex_ways": (24, "GS-480"),
    "lat_tex": (261, "EST"),  # no Fermi source: as on GT200
    "const_bytes": (2048, "EST"),  # as on GT200 and Kepler
    # No measurement of a Fermi's instruction supply is known: structure as documented, sizes of a K80.
    "icache_bytes": (8192, "JIA18; EST"),
    "icache_line": (64, "PAT-PF; JIA18; EST"),
    "fetch_control": (0, "NA"),
    "icache2_bytes": (32768, "JIA18; EST"),
    "icache2_ways": (8, "JIA18; EST"),
    "icache2_sms": (4, "ENVY; PAT-SPM; NSIGHT-GCC"),  # a GPC's: 4, 4, 4 and 3
    "icache2_prefetch": (1, "PAT-PF; EST"),
    "lat_icache2": (70, "EST"),  # 73 on GT200, 62 on K80
    "icache3_bytes": (0, "ENVY"),  # the L2 of all data
    "icache3_ways": (1, "NA"),
    "lat_icache3": (1, "NA"),
    "icache3_miss": (1, "NA"),
}

FERMI_CARVEOUTS: dict[int, dict[str, Value]] = {
    16: {"smem_bytes": (16384, "PG55 G.4.1"), "l1_bytes": (49152, "PG55 G.4.1"), "l1_ways": (6, "GS-480")},
    48: {"smem_bytes": (49152, "PG55 G.4.1"), "l1_bytes": (16384, "PG55 G.4.1"), "l1_ways": (4, "GS-480")},
}
"""What kernels may choose: kB of shared memory of the 64 that it has together with the L1."""

KEPLER: dict[str, Value] = {
    **FERMI_16K_L1,  # 16 kB beside 48 kB of shared memory; local loads only, as coalesce_l1 is 0
    "lat_l1": (32, "PPT; MERPSYS T4.2"),
    "tex_bytes": (49152, "PG55 G.5.1"),
    "lat_tex": (112, "PPT"),
    "const_bytes": (2048, "JIA18"),
    "icache_bytes": (8192, "JIA18"),
    "icache_line": (64, "PAT-PF; JIA18; DER"),
    "fetch_control": (8, "JIA18"),  # one word of 8 bytes for every seven instructions
    "icache2_bytes": (32768, "JIA18"),
    "icache2_ways": (8, "JIA18; DER"),  # misses rise over 31 to 35 KiB
    "icache2_sms": (1, "JIA18"),
    "icache2_prefetch": (1, "PAT-PF"),
    "lat_icache2": (62, "JIA18; DER"),  # constants: 30 and 92 clk
}

KEPLER_CARVEOUTS: dict[int, dict[str, Value]] = {
    **FERMI_CARVEOUTS,
    32: {"smem_bytes": (32768, "PG55 G.5.1"), "l1_bytes": (32768, "PG55 G.5.1"), "l1_ways": (4, "EST")},
}
