"""The preload table: what tiles hold, who waits for them, what loads find in them, and where they lie."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, gpus, policies
from smmux.gpus import Gpu
from tests.reference import banks
from tests.reference.preload import Entry, Tags, tile

from .assembler import CTAID_X, TID_X, Assembler, variant

CTAID_Y = CTAID_X - _core.SPECIALS["ctaid.x"] + _core.SPECIALS["ctaid.y"]
FETCHING = ("traffic", "hold", "lines")
MACHINES = ("GTX285", "GTX480-48K", "K20c")
THREADS = 64
SIZE = 24_000  # bytes of the array that blocks read
FIRST = 0x1000  # its device address

Load = tuple[int, int, int, int]
"""Bytes: the coefficients of blockIdx.x, blockIdx.y and threadIdx.x, and a constant."""


def reader(loads: list[Load], pause: int = 0, width: int = 1) -> Assembler:
    """Every thread adds the words that it loads, and stores the sum; before the loads it counts down. width: of the
    grid, in blocks."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_Y, b=a.imm(width), c=CTAID_X)
    a("mad.lo.s32", d=0, a=0, b=a.imm(THREADS), c=TID_X)
    a("mad.lo.s32", d=0, a=0, b=a.imm(4), c=a.param(1))
    a("mov.b32", d=1, a=a.imm(0))
    a("mov.b32", d=2, a=a.imm(pause))
    if pause:
        top = a("sub.s32", d=2, a=2, b=a.imm(1))
        a("setp.gt.s32", d=0, a=2, b=a.imm(0))
        a("bra", guard=0, imm=top, aux=top + 3)
    for x, y, t, constant in loads:
        a("mad.lo.s32", d=3, a=CTAID_X, b=a.imm(x), c=a.param(0))
        a("mad.lo.s32", d=3, a=CTAID_Y, b=a.imm(y), c=3)
        a("mad.lo.s32", d=3, a=TID_X, b=a.imm(t), c=3)
        a("ld.global", d=4, a=3, imm=constant, width=4, aux=0)
        a("add.s32", d=1, a=1, b=4)
    a("st.global", d=1, a=0, width=4, aux=1)
    a("exit")
    return a


def rows(entries: list[Entry]) -> list[list[int]]:
    return [[array, *low, *high] for array, low, high in entries]


def run(
    gpu: Gpu | str, loads: list[Load], entries: list[Entry], grid: tuple[int, int] = (2, 2), pause: int = 0, **more: Any
) -> dict[str, Any]:
    """Counters; the sums are those of NumPy."""
    x = np.random.default_rng(1).integers(0, 1 << 20, SIZE // 4, dtype=np.int32)
    y = np.zeros(grid[0] * grid[1] * THREADS, np.int32)
    found = reader(loads, pause, grid[0]).run(
        gpu, grid=(*grid, 1), block=(THREADS, 1, 1), buffers=(x, y), preload=rows(entries), **more
    )
    threads = np.arange(THREADS)
    expected = [
        np.sum([x[(cx * bx + cy * by + ct * threads + c) // 4] for cx, cy, ct, c in loads], axis=0)
        for by, bx in product(range(grid[1]), range(grid[0]))
    ]
    assert np.array_equal(y.reshape(-1, THREADS), expected)
    counters: dict[str, Any] = found["counters"]
    return counters


def roomy(gpu: str, **changes: Any) -> Gpu:
    """A machine on which all tiles fit."""
    return variant(gpu, **{"smem_bytes": 262144, "mem_model": 0, **changes})


def expected(
    loads: list[Load], entries: list[Entry], grid: tuple[int, int], line: int, longest: int
) -> tuple[int, int, int, int]:
    """Lines of all tiles, requests that find theirs, requests that do not, ranges too long."""
    lines = hits = misses = skipped = 0
    for block in product(range(grid[0]), range(grid[1]), (0,)):
        held, long = tile(entries, [(FIRST, SIZE)], block, line, longest)
        tags = Tags(held, line)
        lines, skipped = lines + len(held), skipped + long
        for (x, y, t, constant), warp in product(loads, range(THREADS // 32)):
            start = FIRST + x * block[0] + y * block[1] + constant
            found, missing = tags.requests(start + t * thread for thread in range(32 * warp, 32 * warp + 32))
            hits, misses = hits + found, misses + missing * bool(held)
    return lines, hits, misses, skipped


words = st.integers(0, 500).map(lambda word: 4 * word)
loads_of = st.lists(st.tuples(words, words, st.sampled_from((0, 4, 8, 36, 128)), words), min_size=1, max_size=3)
forms = st.tuples(words, words, st.just(0), st.integers(-700, 14_000))


@st.composite
def entry(draw: st.DrawFn) -> Entry:
    """A range of any length, now and then empty, far too long or beyond the array."""
    low = draw(forms)
    more = draw(st.sampled_from((-130, -1, 0, 1, 3, 60, 127, 128, 129, 1000, 20_000)))
    return 0, low, (*low[:3], low[3] + more)


@settings(max_examples=40)
@given(
    loads_of,
    st.lists(entry(), min_size=1, max_size=12),
    st.sampled_from((*FETCHING, "ideal")),
    st.sampled_from((32, 64, 128)),
    st.sampled_from((1, 500, 16384)),
)
def test_tiles_are_those_of_the_definition(
    loads: list[Load], entries: list[Entry], policy: str, line: int, longest: int
) -> None:
    """Each line once per block; every request of a load hits, waits or misses, as the definition has it."""
    grid = (2, 2)
    gpu = roomy("GTX480-48K", preload_policy=policy, preload_line=line, preload_range=longest)
    found = run(gpu, loads, entries, grid)
    lines, hits, misses, skipped = expected(loads, entries, grid, line, longest)
    assert found["preload_lines"] == lines
    assert found["preload_packets"] == (lines if policy in FETCHING else 0)
    assert found["preload_hits"] + found["preload_waits"] == hits
    assert found["preload_misses"] == misses
    assert found["preload_skipped"] == skipped
    assert policy == "lines" or not found["preload_waits"]
    assert policy == "hold" or not found["preload_held_cycles"]


def tile_of_one_block(entries: list[Entry], **changes: Any) -> dict[str, Any]:
    """Counters of a block that loads 64 words from the array's begin."""
    return run(roomy("GTX480-48K", **changes), [(0, 0, 4, 0)], entries, (1, 1))


def at(low: int, high: int) -> Entry:
    """The same bytes for every block."""
    return 0, (0, 0, 0, low), (0, 0, 0, high)


def test_a_range_that_begins_within_a_line_keeps_its_last_line() -> None:
    """Stepping by whole lines from its begin would pass over the line that holds its end."""
    assert tile_of_one_block([at(100, 300)])["preload_lines"] == 3
    assert tile_of_one_block([at(127, 128)])["preload_lines"] == 2


def test_lines_of_several_entries_are_fetched_once() -> None:
    assert tile_of_one_block([at(0, 255), at(0, 255), at(128, 300), at(290, 291)])["preload_lines"] == 3


def test_a_single_element_is_preloaded() -> None:
    assert tile_of_one_block([at(256, 256)])["preload_lines"] == 1
    assert tile_of_one_block([at(256, 259)])["preload_lines"] == 1


def test_an_empty_range_is_none() -> None:
    found = tile_of_one_block([at(256, 255)])
    assert found["preload_blocks"] == found["preload_lines"] == found["preload_skipped"] == 0


def test_ranges_end_where_the_array_does() -> None:
    assert tile_of_one_block([at(-1000, 130)])["preload_lines"] == 2
    assert tile_of_one_block([at(SIZE - 1, SIZE + 9000)])["preload_lines"] == 1
    assert tile_of_one_block([at(-300, -1), at(SIZE, SIZE + 500)])["preload_blocks"] == 0


def test_ranges_that_are_too_long_are_told_and_go_unpreloaded() -> None:
    found = tile_of_one_block([at(0, 16383), at(0, 16384), at(0, 100)])
    assert (found["preload_lines"], found["preload_skipped"]) == (128, 1)


def test_entries_beyond_the_table_are_told_and_go_unpreloaded() -> None:
    entries = [at(128 * i, 128 * i) for i in range(140)]
    found = tile_of_one_block(entries)
    assert (found["preload_lines"], found["preload_overflow"]) == (128, 12)
    found = tile_of_one_block(entries, preload_entries=5)
    assert (found["preload_lines"], found["preload_overflow"]) == (5, 135)


def test_an_array_that_the_kernel_writes_is_not_preloaded() -> None:
    """Another block may have written it, or this one; a view of written memory is no better."""
    for array in (0, 2):
        x, y = np.arange(4096, dtype=np.int32), np.zeros(64, np.int32)
        a = reader([(0, 0, 4, 0)])
        a.rows[-2]["aux"] = 0  # to the array that it loads from, of which array 2 is a view
        a.rows[2]["c"] = a.param(0)
        views = [(x.view(np.uint8), FIRST, x.nbytes, True), (y.view(np.uint8), 0x9000, 256, True)]
        views.append((x.view(np.uint8), FIRST, x.nbytes, True))
        found = launch(a, views, [[array, 0, 0, 0, 0, 0, 0, 0, 500]])
        assert (found["preload_refused"], found["preload_lines"]) == (1, 0)


@pytest.mark.parametrize("gap", [0, 16, 240, 256])
def test_it_does_not_matter_how_far_apart_the_host_keeps_arrays(gap: int) -> None:
    """At 240 bytes, by chance, that is as far as their device addresses; they are no views of each other."""
    host = np.zeros(4096, np.uint8)
    x, y = host[:1040], host[1040 + gap : 2064 + gap]
    views = [(x, FIRST, x.nbytes, True), (y, FIRST + 1280, y.nbytes, True)]
    found = launch(reader([(0, 0, 4, 0)]), views, [[0, 0, 0, 0, 0, 0, 0, 0, 500]])
    assert (found["preload_refused"], found["preload_lines"]) == (0, 4)


def launch(a: Assembler, views: Any, table: Any) -> dict[str, Any]:
    """Counters of one block, with arrays at given addresses."""
    meta = {"nregs": 8, "npreds": 2, "shared_bytes": 0, "dynamic_bytes": 0, "local_bytes": 0, "static_reserved": 0}
    options = {"management": 0, "extra_blocks": 0, "max_waiting": 0, "max_cycles": 1 << 20, "window": 0, "threads": 1}
    words = [view[1] for view in views]
    uniforms = np.array(a.uniforms, [("kind", np.uint32), ("value", np.uint32)])
    config = gpus.as_tuple(gpus.get("GTX285"))
    counters: dict[str, Any] = _core.launch(
        a.code(), uniforms, meta, config, (1, 1, 1), (64, 1, 1), words, views, b"",
        options | {"per_pc": 0, "check": 0, "accesses": 0, "trace": 0}, preload=np.array(table, np.int64),
    )["counters"]  # fmt: skip
    return counters


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([2, *[0] * 8], "entry 0 of the preload table names an array that the launch lacks"),
        ([-1, *[0] * 8], "names an array that the launch lacks"),
        ([0, 1 << 62, *[0] * 7], "beyond 62 bits"),
        ([0, *[0] * 7, -(1 << 63)], "beyond 62 bits"),
    ],
)
def test_a_table_of_another_launch_is_refused(row: list[int], message: str) -> None:
    a = reader([(0, 0, 4, 0)])
    with pytest.raises(Exception, match=message):
        a.run(grid=(3, 1, 1), buffers=(np.zeros(64, np.int32), np.zeros(4096, np.int32)), preload=[row])


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


# ---- shared memory --------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.sampled_from(MACHINES),
    st.integers(0, 20_000),
    st.lists(entry(), min_size=1, max_size=6),
    st.sampled_from((1, 16, 48, 256)),
    st.sampled_from((0, 1)),
)
def test_tiles_leave_no_trace_in_residency_or_time(
    gpu: str, shared: int, entries: list[Entry], unit: int, model: int
) -> None:
    """They lie in memory that nobody uses: were they there at once and never read, nothing would differ."""
    machine = variant(gpu, mem_model=model, sm_count=1, sms_per_tpc=1, preload_policy="ideal", smm_unit=unit)
    found = []
    for table in (None, rows([(1, low, high) for _, low, high in entries])):
        x, y, z = np.arange(4096, dtype=np.int32), np.zeros(20 * THREADS, np.int32), np.zeros(SIZE // 4, np.int32)
        a = reader([(0, 0, 4, 0)])
        for row in a.rows:
            row["aux"] = 2 if row["op"] == _core.OPS["st.global"][0] else row.get("aux", 0)
        a.rows[2]["c"] = a.param(2)
        more: dict[str, Any] = {"shared": min(shared, machine.smem_bytes - 1024), "preload": table}
        found.append(a.run(machine, grid=(20, 1, 1), block=(THREADS, 1, 1), buffers=(x, z, y), **more))
    counters = [{k: v for k, v in run["counters"].items() if not k.startswith("preload")} for run in found]
    assert counters[0] == counters[1]
    assert found[0]["residency"] == found[1]["residency"]


def test_a_tile_that_finds_no_room_is_told() -> None:
    """16 kB hold two tiles of 7 kB. Other blocks start without theirs, or wait for room; both find the right values."""
    loads, entries = [(0, 0, 4, 0)], [at(0, 7 * 1024 - 1)]
    for gpu in MACHINES:
        found = {}
        for wait in (0, 1):
            machine = variant(gpu, sm_count=1, sms_per_tpc=1, smem_bytes=16384, preload_wait=wait, max_blocks_sm=8)
            found[wait] = run(machine, loads, entries, (20, 1), pause=20)
            assert found[wait]["preload_blocks"] + found[wait]["preload_unfit"] == 20
        assert found[0]["preload_unfit"] >= 6
        assert found[1]["preload_unfit"] == 0
        assert found[1]["block_cycles"] / found[1]["cycles"] < 3


@pytest.mark.parametrize("wait", [0, 1])
def test_a_tile_larger_than_the_memory_is_told(wait: int) -> None:
    machine = variant("GTX285", preload_wait=wait, preload_range=262144)
    found = run(machine, [(0, 0, 4, 0)], [at(0, 20_000)], (5, 1))
    assert (found["preload_unfit"], found["preload_blocks"]) == (5, 0)


def test_no_window_or_host_thread_changes_anything() -> None:
    loads: list[Load] = [(256, 64, 4, 0), (128, 0, 36, 512), (0, 128, 4, 4096)]
    entries: list[Entry] = [
        (0, (256, 64, 0, 0), (256, 64, 0, 255)),
        (0, (128, 0, 0, 512), (128, 0, 0, 512 + 36 * 63 + 3)),
        (0, (0, 128, 0, 4096), (0, 128, 0, 4200)),
    ]
    for gpu, policy in product(MACHINES, policies.names("preload")[1:]):
        for model, changes in (
            (0, {"preload_wait": 1}),
            (1, {"preload_lookup": 1, "preload_interval": 3, "l2_mshrs": 2}),
            (1, {"port_room": 2, "preload_line": 32}),
        ):
            machine = variant(gpu, mem_model=model, sm_count=4, preload_policy=policy, **changes)
            first = run(machine, loads, entries, (6, 5), pause=9)
            for window, threads in ((1, 1), (13, 2), (0, 3)):
                again = run(machine, loads, entries, (6, 5), pause=9, window=window, threads=threads)
                assert again == first


@settings(max_examples=30)
@given(loads_of, st.lists(entry(), min_size=1, max_size=8), st.data())
def test_no_machine_loses_a_line_or_a_value(loads: list[Load], entries: list[Entry], data: st.DataObject) -> None:
    """Little memory, few credits and misses, full queues: lines add up, and no window matters."""
    choices = {
        "mem_model": (0, 1), "preload_policy": policies.names("preload"), "preload_line": (32, 64, 128),
        "preload_interval": (0, 7), "preload_lookup": (0, 1), "preload_wait": (0, 1), "smem_bytes": (1024, 4000, 16384),
        "credits": (1, 5, 64), "l1_mshrs": (1, 32), "l2_mshrs": (1, 32), "port_room": (0, 1), "sm_count": (1, 3),
        "smm_unit": (1, 16, 100), "icache_bytes": (0,), "block_start": (1, 150),
    }  # fmt: skip
    gpu = data.draw(st.sampled_from(MACHINES))
    machine = variant(gpu, **{name: data.draw(st.sampled_from(values), name) for name, values in choices.items()})
    found = run(machine, loads, entries, (3, 3), pause=3)
    assert found["preload_packets"] == found["preload_lines"] * (machine.preload_policy in FETCHING)
    assert found["preload_blocks"] + found["preload_unfit"] <= 9
    asked = expected(loads, entries, (3, 3), machine.preload_line, machine.preload_range)
    assert found["preload_hits"] + found["preload_waits"] <= asked[1]
    assert found["preload_unfit"] or machine.preload_policy == "off" or found["preload_lines"] == asked[0]
    assert run(machine, loads, entries, (3, 3), pause=3, window=data.draw(st.integers(1, 40)), threads=2) == found


# ---- dynamic management ---------------------------------------------------------------------------


def sharer(turns: int) -> Assembler:
    """Every thread loads two words of its block's tile, the second one if its warp is the first; then the block
    allocates, counts down, and adds what it finds in shared memory."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(THREADS), c=TID_X)
    a("mad.lo.s32", d=1, a=0, b=a.imm(4), c=a.param(0))
    a("mad.lo.s32", d=0, a=0, b=a.imm(4), c=a.param(1))
    a("ld.global", d=2, a=1, width=4, aux=0)
    a("setp.lt.s32", d=0, a=TID_X, b=a.imm(32))
    a("ld.global", d=3, a=1, imm=128, width=4, aux=0, guard=0)
    a("add.s32", d=2, a=2, b=3)
    a("shl.b32", d=4, a=TID_X, b=a.imm(2))
    a("bar.sync", sub=1, imm=256)
    a("st.shared", d=2, a=4, width=4, flags=16)
    a("mov.b32", d=5, a=a.imm(turns))
    top = a("sub.s32", d=5, a=5, b=a.imm(1))
    a("setp.gt.s32", d=1, a=5, b=a.imm(0))
    a("bra", guard=1, imm=top, aux=top + 3)
    a("ld.shared", d=6, a=4, width=4, flags=16)
    a("bar.sync", sub=2, imm=256)
    a("add.s32", d=2, a=2, b=6)
    a("st.global", d=2, a=0, width=4, aux=1)
    a("exit")
    return a


def shared_run(blocks: int = 40, turns: int = 60, management: str = "dynamic", **changes: Any) -> dict[str, Any]:
    machine = variant("GTX480-48K", **{"sm_count": 2, "smem_bytes": 2048, **changes})
    found = []
    for window, threads in ((0, 1), (5, 2)):
        x = np.arange(blocks * THREADS + 32, dtype=np.int32)
        y = np.zeros(blocks * THREADS, np.int32)
        table = [[0, 4 * THREADS, 0, 0, 0, 4 * THREADS, 0, 0, 4 * THREADS - 1]]
        more: dict[str, Any] = {"management": management, "window": window, "threads": threads, "dynamic_bytes": 256}
        more |= {"extra_blocks": 4 * (management != "static"), "nregs": 16, "npreds": 4, "preload": table}
        found.append(sharer(turns).run(machine, grid=(blocks, 1, 1), block=(THREADS, 1, 1), buffers=(x, y), **more))
        both = (x[: blocks * THREADS] + np.where(np.arange(blocks * THREADS) % THREADS < 32, x[32:], 0)).astype(
            np.int32
        )
        assert np.array_equal(y, 2 * both)
    assert found[0] == found[1]
    counters: dict[str, Any] = found[0]["counters"]
    assert counters["preload_blocks"] + counters["preload_unfit"] == blocks
    return counters


@pytest.mark.parametrize("policy", ["ideal", "hold", "lines"])
def test_under_dynamic_management_a_tile_goes_after_its_last_use(policy: str) -> None:
    """What the blocks that count down no longer need has room for the tiles of others."""
    early = shared_run(preload_policy=policy)
    late = shared_run(preload_policy=policy, preload_early=0)
    assert early["preload_released"] == early["preload_blocks"] > late["preload_blocks"]
    assert late["preload_released"] == 0
    assert early["cycles"] < late["cycles"]
    assert early["allocation_wait_cycles"] < late["allocation_wait_cycles"]
    assert shared_run(preload_policy=policy, management="static")["preload_released"] == 0


@pytest.mark.parametrize("management", ["dynamic", "aged", "throttled"])
def test_tiles_and_allocations_wait_for_each_other_and_end(management: str) -> None:
    for wait, size, turns in product((0, 1), (1024, 1280, 4096), (1, 90)):
        found = shared_run(24, turns, management, preload_wait=wait, smem_bytes=size, sm_count=1)
        assert found["allocations"] == 24
        assert not wait or not found["preload_unfit"]
