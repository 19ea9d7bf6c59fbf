"""Perfetto's own trace processor reads of a file what the time line has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from smmux import benchmarks
from smmux.trace import Trace

from .trace_processor import TraceProcessor

pytestmark = pytest.mark.slow  # some seconds until the trace processor runs

SLICES = """
select slice.id, slice.name, slice.ts, slice.dur, process.pid, thread.tid
from slice join thread_track on slice.track_id = thread_track.id
join thread using (utid) join process using (upid)
"""
COUNTERS = """
select process.pid, counter.ts, counter.value, track.name
from counter join process_counter_track track on counter.track_id = track.id join process using (upid)
order by counter.ts, counter.id
"""


def traced(name: str) -> Trace:
    row = benchmarks.get(name)
    variant = "hw" if "hw" in row.variants else "baseline"
    options: dict[str, Any] = {"management": "dynamic", "extra_blocks": 3} if variant == "hw" else {}
    problem = row.problem("tiny")
    kernel, grid, block = row.launch(problem, variant)
    trace = kernel.simulate(grid, block, problem.arguments(), gpu="GTX285-1100", trace=True, **options).trace
    assert trace is not None
    return trace


@pytest.mark.parametrize("name", benchmarks.names())
def test_the_trace_processor_finds_what_the_time_line_has(name: str, tmp_path: Path) -> None:
    trace = traced(name)
    trace.to_perfetto(tmp_path / "run.json")
    found = TraceProcessor((tmp_path / "run.json").read_bytes())

    def ns(cycle: float) -> int:
        return int(1000 * trace.gpu.time_us(cycle) + 1e-6)

    assert not list(found.query("select * from stats where severity in ('error', 'data_loss') and value != 0"))
    stays, allocations, waits = trace.blocks(), trace.allocations(), trace.waits()
    assert stays
    sms = {stay.sm for stay in stays}
    names = {row.name for row in found.query("select name from process where name is not null")}
    assert names >= {"DRAM", *(f"SM {sm}" for sm in sms)}

    # Slices, each on its track and of its time.
    slices = list(found.query(SLICES))
    blocks = {(row.name, row.pid): (row.ts, row.dur) for row in slices if row.name.startswith("block ")}
    assert len(blocks) == len(stays)
    for stay in stays:
        begin, length = blocks[f"block {stay.block}", stay.sm]
        assert abs(begin - ns(stay.start)) <= 1
        assert abs(length - ns(stay.end - stay.start)) <= 2
    kinds = Counter(row.name.split(" ")[0] for row in slices)
    assert kinds["warp"] == trace.kinds()["warp_exit"]
    assert kinds["holds"] == len(allocations)
    assert sum(n for kind, n in kinds.items() if kind.startswith("bar.sync")) == sum(
        wait.complete > wait.arrive for wait in waits
    )
    assert all(row.dur > 0 for row in slices)

    # Counters.
    counters = list(found.query(COUNTERS))
    for sm in sms:
        held = [row.value for row in counters if (row.pid, row.name) == (sm, "shared memory in use bytes")]
        assert held == trace.shared(sm)[1].tolist()
        resident = [row.value for row in counters if (row.pid, row.name) == (sm, "resident resident")]
        assert resident == trace.samples[trace.samples["sm"] == sm]["resident"].tolist()
    activates = sum(row.value for row in counters if "activates bank" in row.name)
    assert activates == trace.channels["activates"].sum()

    # Arrows from the slice that ends to the allocation that it made room for.
    by_id = {row.id: row for row in slices}
    flows = [(by_id[row.slice_out], by_id[row.slice_in]) for row in found.query("select slice_out, slice_in from flow")]
    granted = Counter((a.sm, ns(a.grant)) for a in allocations if a.granted_by is not None)
    assert Counter((into.pid, into.ts) for _, into in flows) == granted
    for out, into in flows:
        assert into.name == "holds an allocation"
        assert out.ts < into.ts <= out.ts + out.dur + 1
