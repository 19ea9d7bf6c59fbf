"""The caches inside the SMs of the machines: L1, texture, instruction and constant caches."""

from __future__ import annotations

from smmux.gpus.machine import Value

__all__ = ["FERMI_16K_L1", "FERMI_48K_L1", "GT200", "KEPLER"]

_ALL: dict[str, Value] = {
    "insn_bytes": (8, "GS302"),
    "const_bytes": (8192, "PG55 T12; GS302"),
    "const_line": (64, "GS302; GS-480"),
    "const_ways": (2, "GS302; GS-480"),
    "const_miss": (212, "MEM Wong"),  # third-level hit 220 against 8 of the first
    "icache_ways": (4, "GS302; GS-480"),
    "tex_line": (128, "GS302; GS-480"),
    "tex_mshrs": (64, "GS302; MODEL"),  # 128 entries there; more than 64 lines an SM cannot have in flight here
    "l1_line": (128, "PG55 G.4.2"),
}

GT200: dict[str, Value] = {
    **_ALL,
    "l1_bytes": (0, "PG55 G.3.1"),
    "l1_ways": (1, "NA"),
    "l1_hashed": (0, "NA"),
    "l1_mshrs": (1, "NA"),
    "lat_l1": (1, "NA"),
    "tex_bytes": (5120, "GS302"),  # per SM: the card has one of about three times that per TPC (D3)
    "tex_ways": (5, "GS302"),
    "lat_tex": (261, "MEM Wong"),
    "icache_bytes": (4096, "GS302"),
    "icache_line": (256, "GS302"),
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
    "icache_bytes": (2048, "GS-480"),
    "icache_line": (128, "GS-480"),
}

FERMI_48K_L1: dict[str, Value] = {
    **FERMI_16K_L1,
    "l1_bytes": (49152, "PG55 G.4.1"),
    "l1_ways": (6, "GS-480"),
}

KEPLER: dict[str, Value] = {
    **FERMI_16K_L1,  # 16 kB beside 48 kB of shared memory; local loads only, as coalesce_l1 is 0
    "lat_l1": (32, "PPT; MERPSYS T4.2"),
    "tex_bytes": (49152, "PG55 G.5.1"),
    "lat_tex": (112, "PPT"),
    "icache_bytes": (4096, "GS-KEP"),
}
