"""The preload table: what tiles hold, who waits for them, what loads find in them, and where they lie."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, gpus, policies
from tests.machine.preloaded import (
    FETCHING,
    FIRST,
    MACHINES,
    SIZE,
    THREADS,
    Load,
    at,
    entry,
    expected,
    loads_of,
    reader,
    roomy,
    rows,
    run,
)
from tests.reference.preload import Entry

from .assembler import Assembler, variant


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
    meta = {
        "nregs": 8,
        "npreds": 2,
        "shared_bytes": 0,
        "dynamic_bytes": 0,
        "local_bytes": 0,
        "static_reserved": 0,
        "smem_size": 0,
        "launched_bytes": 0,
        "uniform_regs": 0,
    }
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
