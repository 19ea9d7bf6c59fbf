"""Execution units: how many an SM has, who takes which, and which class of instructions runs where."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, _core, gpus

from .assembler import Assembler, variant
from .test_schedulers import compare, machine


@pytest.mark.quick(8)
@pytest.mark.parametrize("seed", range(24))
def test_any_number_of_units_serves_as_in_the_definition(seed: int) -> None:
    """There is one load/store unit: behind several, packets wait for the SM's port, which the definition lacks."""
    rng = Random(seed)
    units = {f"{name}_units": rng.randint(1, 8) for name in ("sp", "int", "sfu", "tensor")}
    gpu = machine(
        rng.choice(("lrr", "gto")),
        schedulers=rng.randint(1, 4),
        issue_interval=rng.choice((1, 2)),
        issue_alu=4,
        issue_imul=9,
        unit_alu=rng.choice(("sp", "int", "sfu")),
        unit_imul=rng.choice(("sp", "int", "tensor")),
        **units,
    )
    compare(gpu, seed, blocks=3, warps=6)


def cycles(gpu: gpus.Gpu, op: str, warps: int, length: int = 64) -> int:
    """Of independent instructions in each of so many warps."""
    a = Assembler()
    for _ in range(length):
        a(op, d=0, a=1, b=2, c=3) if op != "fma.rn.f64" else a(op, d=0, dh=1, a=2, ah=3, b=4, bh=5, c=6, ch=7)
        a.rows[-1]["d"] = len(a.rows) % 2 * 2 + 8
        a.rows[-1]["dh"] = a.rows[-1]["d"] + 1 if op == "fma.rn.f64" else a.rows[-1]["dh"]
    a("exit")
    found: dict[str, Any] = a.run(gpu, block=(32 * warps, 1, 1), nregs=16)
    return int(found["counters"]["cycles"])


def rate(gpu: gpus.Gpu, op: str) -> float:
    """Warp instructions a clock, of 32 warps."""
    more, less = cycles(gpu, op, 32, 96), cycles(gpu, op, 32, 32)
    return 32 * 64 / (more - less)


@pytest.mark.parametrize("count", range(1, 9))
def test_so_many_groups_of_lanes_take_so_many_instructions(count: int) -> None:
    """Four sub-cores of one instruction a clock, an operation that holds its lanes for four clocks. All sub-cores have
    as many warps, so that the one with the smallest share of lanes ends last."""
    own = [[unit for unit in range(count) if unit % 4 == core or core % count == unit] for core in range(4)]
    share = min(sum(1 / sum(unit in units for units in own) for unit in mine) for mine in own)
    gpu = variant(
        "K20c",
        sp_units=count,
        issue_width=1,
        warp_interval=1,
        issue_alu=4,
        icache_bytes=0,
        lat_alu=4,
        sched_policy="lrr",
    )
    assert rate(gpu, "add.s32") == pytest.approx(4 * share / 4, rel=0.01)


def test_two_instructions_of_a_warp_go_to_two_groups_of_lanes_if_there_are_two() -> None:
    one, two = (variant("K20c", sp_units=count, icache_bytes=0, lat_alu=2) for count in (4, 8))
    assert rate(one, "add.s32") == pytest.approx(4, rel=0.01)
    assert rate(two, "add.s32") == pytest.approx(8, rel=0.01)


def test_float64_runs_where_the_machine_says() -> None:
    """On lanes of their own doubles leave the others to integers."""
    shared = variant("GTX480-16K", icache_bytes=0, sm_count=1)
    own = shared.replace(unit_f64="fp64", fp64_units=1)
    assert rate(shared, "fma.rn.f64") == pytest.approx(shared.sp_units / shared.issue_f64, rel=0.01)
    assert rate(own, "fma.rn.f64") == pytest.approx(1 / own.issue_f64, rel=0.01)
    assert rate(own, "add.s32") == rate(shared, "add.s32")
    assert rate(own.replace(fp64_units=8), "fma.rn.f64") == pytest.approx(8 / own.issue_f64, rel=0.01)


def test_texture_loads_leave_the_load_store_unit_alone_where_they_have_their_own() -> None:
    table = np.zeros(64, np.uint32)
    table.flags.writeable = False
    a = Assembler()
    for register in range(8):
        a("tex.1d", d=register, a=a.param(0), width=4, aux=0)
        a("ld.shared", d=8 + register, a=a.imm(0), width=4)
    a("exit")
    gpu = variant("GTX480-16K", icache_bytes=0, issue_global=16, replay_global=16, issue_shared=16)
    found = {
        unit: a.run(gpu.replace(tex_units=1, unit_tex=unit), shared=256, buffers=(table,))["counters"]["idle_unit"]
        for unit in ("lsu", "tex")
    }
    slots = 15 * gpu.issue_interval  # of all but the last of 16 instructions
    assert found["lsu"] == 15 * 16 - slots
    assert found["tex"] == 7 * 16 + gpu.issue_interval - slots


def test_a_class_needs_units_of_its_kind() -> None:
    for name in _core.CLASSES:
        with pytest.raises(ConfigError, match=f"unit_{name} is tensor, of which there are none: tensor_units = 0"):
            variant("K20c", **{f"unit_{name}": "tensor"})
    with pytest.raises(ConfigError, match="unit_tex is tex, of which there are none"):
        variant("K20c", unit_tex="tex")
    with pytest.raises(ConfigError, match="unit_f64 must be one of sp, .*, not 'fp46'; did you mean 'fp64'"):
        variant("K20c", unit_f64="fp46")
    with pytest.raises(ConfigError, match="sp_units"):
        variant("K20c", sp_units=9)
