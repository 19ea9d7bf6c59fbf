"""A recorded time line as a file in the trace event format, which ui.perfetto.dev and chrome://tracing open."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from smmux import _core
from smmux.base.whole_files import write_text

if TYPE_CHECKING:
    from smmux.results.trace import Residence, Trace

__all__ = ["text", "write"]

Event = dict[str, Any]
DRAM = 1_000_000
"""The process of the DRAM channels."""
STATES = ("resident", "queued", "outstanding")
"""What is drawn of an SM at the end of each interval, each as a counter of its own."""


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write the file."""
    write_text(path, text(trace))


def text(trace: Trace, sms: Collection[int] | None = None) -> str:
    """What the file says, of all SMs or of some; that of DRAM is always there."""
    events = sorted((e for e in _all(trace) if sms is None or e["pid"] in (*sms, DRAM)), key=_order)
    about = {"kernel": trace.kernel, "gpu": trace.gpu.name, "schedule": trace.schedule, "cycles": trace.cycles}
    about["events_left_out"] = trace.lost
    whole = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    return json.dumps(whole, separators=(",", ":"))


def _order(event: Event) -> tuple[float, int]:
    """By time. Of one time an arrow leaves the slice that ends, and arrives at the one that begins; others stay."""
    return event.get("ts", -1.0), {"s": 0, "f": 2}.get(event["ph"], 1)


def _all(trace: Trace) -> Iterator[Event]:
    used = sorted(
        {int(sm) for sm in np.unique(trace.events["sm"])} | {int(sm) for sm in np.unique(trace.samples["sm"])}
    )
    for sm in used:
        yield _name("process_name", f"SM {sm}", sm)
        yield {"ph": "M", "name": "process_sort_index", "pid": sm, "tid": 0, "args": {"sort_index": sm}}
        for cycle, held in zip(*trace.shared(sm), strict=True):
            yield _counter(trace, sm, "shared memory in use", int(cycle), {"bytes": int(held)})
    stays = trace.blocks()
    yield from _blocks(trace, stays)
    yield from _warps(trace, stays)
    yield from _allocations(trace, stays)
    yield from _samples(trace)
    yield from _channels(trace)


def _name(kind: str, name: str, pid: int, tid: int = 0) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _time(trace: Trace, cycle: float) -> float:
    """Microseconds."""
    return trace.gpu.time_us(cycle)


def _span(trace: Trace, name: str, pid: int, tid: int, begin: int, end: int, args: Event | None = None) -> list[Event]:
    """Begin and end of a slice; none for one without length."""
    if begin == end:
        return []
    common: Event = {"name": name, "cat": "smmux", "pid": pid, "tid": tid}
    first = common | {"ph": "B", "ts": _time(trace, begin)} | ({"args": args} if args else {})
    return [first, common | {"ph": "E", "ts": _time(trace, end)}]


def _counter(trace: Trace, pid: int, name: str, cycle: float, values: Mapping[str, float]) -> Event:
    return {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": _time(trace, cycle), "args": values}


def _track(slot: int, warp: int | None = None) -> int:
    """The number of a track: of a place for blocks, or of a warp in it."""
    return 100 * (slot + 1) + (0 if warp is None else warp + 1)


def _blocks(trace: Trace, stays: list[Residence]) -> Iterator[Event]:
    for sm, slot in sorted({(stay.sm, stay.slot) for stay in stays}):
        yield _name("thread_name", f"block place {slot}", sm, _track(slot))
    for stay in sorted(stays, key=lambda stay: stay.come):
        track = _track(stay.slot)
        args = {"block": stay.block, "static bytes": stay.bytes, "address": stay.address, "cycle": stay.start}
        yield from _span(trace, "waits for shared memory", stay.sm, track, stay.come, stay.place)
        yield from _span(trace, "waits for its tile", stay.sm, track, stay.place, stay.start)
        yield from _span(trace, f"block {stay.block}", stay.sm, track, stay.start, stay.end, args)


def _warps(trace: Trace, stays: list[Residence]) -> Iterator[Event]:
    of_block = {stay.block: stay for stay in stays}
    named = set()
    for row in trace.of("warp_exit"):
        stay, warp = of_block[int(row["block"])], int(row["warp"])
        track = _track(stay.slot, warp)
        if (stay.sm, track) not in named:
            named.add((stay.sm, track))
            yield _name("thread_name", f"place {stay.slot} warp {warp}", stay.sm, track)
        yield from _span(trace, f"warp {warp} of block {stay.block}", stay.sm, track, stay.start, int(row["cycle"]))
    for wait in trace.waits():
        track = _track(of_block[wait.block].slot, wait.warp)
        yield from _span(trace, f"bar.sync{wait.kind}", wait.sm, track, wait.arrive, wait.complete)


def _allocations(trace: Trace, stays: list[Residence]) -> Iterator[Event]:
    slots = {stay.block: stay.slot for stay in stays}
    for number, a in enumerate(trace.allocations()):
        track = _track(slots[a.block])
        args = {"bytes": a.bytes, "address": a.address}
        yield from _span(trace, "waits for an allocation", a.sm, track, a.ask, a.grant, args)
        yield from _span(trace, "holds an allocation", a.sm, track, a.grant, a.release, args)
        if a.granted_by is None or a.granted_by not in slots:
            continue
        flow = {"name": "makes room", "cat": "allocation", "id": number, "pid": a.sm, "ts": _time(trace, a.grant)}
        yield flow | {"ph": "s", "tid": _track(slots[a.granted_by])}
        yield flow | {"ph": "f", "bp": "e", "tid": track}


def _samples(trace: Trace) -> Iterator[Event]:
    for row in trace.samples:
        sm, begin = int(row["sm"]), max(int(row["cycle"]) - int(row["interval"]), 0)
        length = int(row["cycle"]) - begin or 1
        yield _counter(trace, sm, "instructions per clock", begin, {"ipc": int(row["instructions"]) / length})
        for name in STATES:
            yield _counter(trace, sm, name, int(row["cycle"]), {name: int(row[name])})
        idle = {name.removeprefix("idle_"): int(row[name]) for _, name, _ in _core.WAITS}
        yield _counter(trace, sm, "scheduler clocks", begin, {"issue": int(row["issue_cycles"])} | idle)


def _channels(trace: Trace) -> Iterator[Event]:
    if len(trace.channels):
        yield _name("process_name", "DRAM", DRAM)
    for row in trace.channels:
        channel = f"channel {row['channel']}"
        found = {name: int(row[name]) for name in ("row_hits", "row_misses", "row_conflicts")}
        yield _counter(trace, DRAM, f"{channel}: requests", float(row["begin"]), found)
        banks = {f"bank {bank}": int(count) for bank, count in enumerate(row["activates"])}
        yield _counter(trace, DRAM, f"{channel}: activates", float(row["begin"]), banks)
