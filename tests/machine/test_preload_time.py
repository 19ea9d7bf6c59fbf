"""When preloaded tiles are there, and how long loads from them take."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from smmux import gpus, policies
from tests.machine.preloaded import FIRST, MACHINES, SIZE, THREADS, at, roomy, rows, run
from tests.reference import banks
from tests.reference.preload import Entry, Tags, tile

from .assembler import TID_X, Assembler, variant

# ---- time -----------------------------------------------------------------------------------------


def test_a_block_is_held_until_its_last_line_has_come() -> None:
    """Flat memory serves one line after another, 2.56 clocks each, from the cycle in which the block has its place."""
    gpu = roomy("GTX285", flat_bytes_per_kclk=50_000, flat_latency=300)
    for lines in (1, 2, 40):
        found = run(gpu, [(0, 0, 4, 0)], [at(0, 128 * lines - 1)], (1, 1))
        assert found["preload_held_cycles"] == 300 - (lines - 1) * 128 * 1000 // -50_000


def test_loads_from_a_tile_take_as_long_as_those_of_shared_memory() -> None:
    """A chain of dependent loads, from a tile that is there and from shared memory: the same cycles."""
    for gpu in MACHINES:
        machine = roomy(gpu, preload_policy="ideal")
        cycles = []
        for space in ("ld.global", "ld.shared"):
            a = Assembler()
            a("shl.b32", d=0, a=TID_X, b=a.imm(2))
            a("add.s32", d=0, a=0, b=a.param(0) if space == "ld.global" else a.imm(0))
            for turn in range(6):
                a(space, d=1, a=0, imm=256 * turn, width=4, aux=0)
                a("add.s32", d=2, a=2, b=1)
            a("exit")
            x = np.zeros(2048, np.int32)
            found = a.run(machine, buffers=(x,), shared=4096, preload=rows([at(0, 4095)]))
            cycles.append(found["counters"]["cycles"])
        assert cycles[0] == cycles[1]


@pytest.mark.parametrize("gpu", MACHINES)
def test_bank_conflicts_are_those_of_the_lines_places(gpu: str) -> None:
    machine = roomy(gpu, preload_policy="ideal", preload_line=64)
    entries = [at(0, 63), at(640, 1300), at(4000, 9000)]
    held, _ = tile(entries, [(FIRST, SIZE)], (0, 0, 0), 64, 16384)
    tags = Tags(held, 64)
    for stride, start in ((4, 4032), (32, 4096), (64, 4032), (128, 4100), (4, 8988)):
        found = run(machine, [(0, 0, stride, start)], entries, (1, 1))
        total = conflicts = 0
        for warp in range(THREADS // 32):
            places = [tags.find(FIRST + start + stride * t) for t in range(32 * warp, 32 * warp + 32)]
            lanes = [lane for lane, place in enumerate(places) if place is not None]
            if not lanes:
                continue
            took, ideal = banks.passes(
                [place or 0 for place in places],
                lanes,
                4,
                machine.smem_rule,
                machine.smem_banks,
                machine.smem_bank_bytes,
            )
            total, conflicts = total + took, conflicts + took - ideal
        assert (found["preload_passes"], found["preload_conflicts"]) == (total, conflicts)


def slow_start(policy: str, **changes: Any) -> dict[str, Any]:
    """Blocks whose tile has 30 lines; all of it is loaded."""
    loads = [(3840, 0, 4, 256 * i) for i in range(15)]
    entries: list[Entry] = [(0, (3840, 0, 0, 0), (3840, 0, 0, 3839))]
    machine = roomy("GTX480-48K", mem_model=1, sm_count=2, icache_bytes=0, preload_policy=policy, **changes)
    return run(machine, loads, entries, (5, 1))


def test_the_less_there_is_to_wait_for_the_faster() -> None:
    found = {policy: slow_start(policy) for policy in policies.names("preload")}
    cycles = {policy: counters["cycles"] for policy, counters in found.items()}
    assert cycles["ideal"] <= cycles["traffic"] <= cycles["lines"] < cycles["hold"]
    assert found["lines"]["preload_waits"]
    assert found["hold"]["preload_held_cycles"] >= 5 * 600
    assert found["hold"]["idle_preload"]
    assert not any(value for name, value in found["off"].items() if name.startswith("preload"))


def test_a_slow_dispatcher_holds_blocks_longer() -> None:
    held = [slow_start("hold", preload_interval=n)["preload_held_cycles"] for n in (0, 10, 40)]
    assert held[0] < held[1] < held[2]
    assert held[2] >= 40 * (30 * 29 // 2)  # all lines of five blocks one after another; the first block waits for 29


def test_a_look_at_the_l2_saves_the_dram_what_another_block_has_fetched() -> None:
    """All blocks have the same tile: past the L2 each fetches it from DRAM, through it one does."""
    entries, loads = [at(0, 3839)], [(0, 0, 4, 0)]
    reads = {}
    for gpu, lookup in product(("GTX480-48K", "K20c", "GTX285"), (0, 1)):
        machine = roomy(gpu, mem_model=1, preload_lookup=lookup)
        reads[gpu, lookup] = run(machine, loads, entries, (8, 1))["dram_reads"]
    for gpu in ("GTX480-48K", "K20c"):
        burst = gpus.get(gpu).dram_burst_bytes
        assert reads[gpu, 0] - reads[gpu, 1] == 7 * 3840 // burst
    assert reads["GTX285", 0] == reads["GTX285", 1]  # its L2 serves textures alone


def test_preloads_go_in_front_of_what_tpcs_have_sent() -> None:
    """Loads that scatter over the memory fill its queues; tiles come as soon as on an idle machine."""
    x, y = np.zeros(1 << 18, np.int32), np.zeros(4096, np.int32)
    machine = variant("GTX480-48K", mem_model=1, sm_count=8, max_blocks_sm=2, replay_global=1)
    found = {}
    for loads in (0, 16):
        a = Assembler()
        a("mad.lo.s32", d=0, a=TID_X, b=a.imm(4096), c=a.param(0))
        for turn in range(loads):
            a("ld.global", d=1 + turn % 4, a=0, imm=64 * turn, width=4, aux=0)
        a("exit")
        table = [[1, 256, 0, 0, 0, 256, 0, 0, 1023]]
        outcome = a.run(machine, grid=(48, 1, 1), block=(256, 1, 1), buffers=(x, y), preload=table)
        found[loads] = outcome["counters"]
    held = {loads: counters["preload_held_cycles"] / 48 for loads, counters in found.items()}
    assert held[16] < 1.05 * held[0]
    assert found[16]["flight_cycles"] / found[16]["transactions"] > 1.3 * held[0]
