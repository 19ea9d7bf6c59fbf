"""Execution units: which kind of them each class of instructions takes.

How many of each kind an SM has stands with the machine. On all cards here one kind of lanes computes everything but
special functions; that it takes float64 too, which on some of them has lanes of its own, is a choice of the model: no
card here issues float64 at a rate at which it matters.
"""

from __future__ import annotations

from smmux.gpus.machine import Value

__all__ = ["AS_OPERANDS_COME", "ONE_KIND_OF_LANES", "with_compiled"]

AS_OPERANDS_COME: dict[str, Value] = {
    "list_registers": (0, "MODEL"),
    "code_registers": (0, "NA"),
    "dependence": ("scoreboard", "NA"),
    "wide_stall": (0, "NA"),
    "read_ports": (0, "NA"),
    "read_shared": (0, "NA"),
    "read_global": (0, "NA"),
    "read_sfu": (0, "NA"),
    "read_data": (0, "NA"),
    "read_more": (0, "NA"),
    "match_late": (0, "NA"),
    "match_late_wide": (0, "NA"),
    "match_clk": (0, "NA"),
    "jump_clk": (0, "NA"),
    "bsync_clk": (0, "NA"),
    "bsync_restored": (0, "NA"),
    "bmov_late": (0, "NA"),
    "warpsync_clk": (0, "NA"),
    "warpsync_more": (0, "NA"),
    "cbu_clk": (0, "NA"),
    "cbu_jump": (0, "NA"),
    "cbu_warpsync": (0, "NA"),
    "cbu_warpsync_more": (0, "NA"),
    "yield_clk": (0, "NA"),
    **dict.fromkeys(
        ("fence_least", "fence_stores", "fence_system", "fence_clk", "errbar_clk", "sleep_least"), (0, "NA")
    ),
    "bar_interval": (0, "MODEL"),
    "bar_result": (0, "NA"),
    "launch_start": (0, "MODEL"),
    "launch_behind": (0, "MODEL"),
    "dispatch_chip": (0, "MODEL"),
    "dispatch_block": (0, "NA"),
    "dispatch_warp": (0, "NA"),
    "lsu_queue": (0, "MODEL"),
    "lsu_front": (0, "NA"),
    "pipe_queue": (1, "NA"),
    "pass_least": (1, "NA"),
    "pass_late": (1, "NA"),
    "word_late": (0, "NA"),
    "smem_atomic_passes": (2, "EST"),  # to read and to write
    "smem_cas_passes": (2, "EST"),
    "smem_cast_late": (0, "NA"),
    "drain_shared": (1, "NA"),
    "drain_global": (1, "NA"),
    "drain_data": (0, "NA"),
    "store_bytes": (0, "MODEL"),
    "exit_posted": (0, "MODEL"),
    "launch_end": (0, "MODEL"),
    "store_mask": (0, "MODEL"),
    "store_queue": (0, "MODEL"),
    "store_linger": (0, "MODEL"),
    "store_flights": (1, "NA"),
    "gpc_tpcs": (0, "MODEL"),
    "gpc_sides": (0, "NA"),
}
"""A machine without control bits, without queues in front of its memory pipe, whose clock begins with the first
block."""

ONE_KIND_OF_LANES: dict[str, Value] = {
    "int_units": (0, "NA"),
    "fp64_units": (0, "MODEL"),
    "tex_units": (0, "GS302; MODEL"),
    "tensor_units": (0, "NA"),
    "mul_units": (0, "NA"),
    "uniform_units": (0, "NA"),
    "unit_alu": ("sp", "PG55 G.3.1"),
    "unit_shift": ("sp", "PG55 G.3.1"),
    "unit_cvt": ("sp", "PG55 G.3.1"),
    "unit_imul": ("sp", "PG55 G.3.1"),
    "unit_imad": ("sp", "PG55 G.3.1"),
    "unit_idiv": ("sp", "GS302"),
    "unit_irem": ("sp", "GS302"),
    "unit_fadd": ("sp", "PG55 G.3.1"),
    "unit_fmul": ("sp", "PG55 G.3.1"),  # beside it the SFU, where fmul_on_sfu says so
    "unit_fmad": ("sp", "PG55 G.3.1"),
    "unit_fdiv": ("sfu", "GS302"),
    "unit_fsqrt": ("sfu", "GS302"),
    "unit_f64": ("sp", "MODEL"),
    "unit_f64div": ("sp", "MODEL"),
    "unit_f64sqrt": ("sp", "MODEL"),
    "unit_cvt64": ("sp", "MODEL"),
    "unit_cmp64": ("sp", "MODEL"),
    "unit_idiv64": ("sp", "MODEL"),
    "unit_irem64": ("sp", "MODEL"),
    "unit_sfu": ("sfu", "PG55 G.3.1"),
    "unit_shfl": ("lsu", "GS-KEP"),
    "unit_shared": ("lsu", "GS302"),
    "unit_const": ("lsu", "GS302"),
    "unit_global": ("lsu", "GS302"),
    "unit_tex": ("lsu", "GS302; MODEL"),
    "unit_bra": ("sp", "GS302"),
    "unit_bar": ("sp", "GS302"),
}

COMPILED = {
    "fcmp": "fadd",
    "half": "fadd",
    "wide": "imad",
    "bits": "alu",
    "special": "alu",
    "matrix": "fmad",
    "matrix8": "fmad",
    "dmatrix": "f64",
}
"""Classes of compiled code alone, and those that machines which are older than such code take for them."""


def with_compiled(values: dict[str, Value]) -> dict[str, Value]:
    """The values of a machine that knows no compiled code, with those of the classes that only such code has."""
    more: dict[str, Value] = {
        f"{what}_{new}": (values[f"{what}_{old}"][0], "NA")
        for new, old in COMPILED.items()
        for what in ("unit", "lat", "issue")
    }
    return {**values, **more}
