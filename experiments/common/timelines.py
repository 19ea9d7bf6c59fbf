"""Recorded time lines of one SM: simulated points, and the panels that are drawn from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.common.runs import problem_of, register_budget
from experiments.common.tables import table
from smmux import benchmarks, gpus
from smmux.gpus import Gpu
from smmux.results.result import Result
from smmux.sweep import Record
from smmux.trace import Trace

__all__ = ["plot_memory", "plot_series", "plot_warps", "record_of", "simulate", "table_of"]

EVENTS = 1 << 16
"""Events that an SM may keep: more than any of these runs has."""
BINS = 60
"""Intervals of the curves."""
SERIES = {
    "ipc": "IPC",
    "resident": "blocks",
    "held": "shared kB",
    "hits": "row hits %",
}
"""Curves over time, with the label of their axis."""
BUSY, BARRIER, ALLOCATION, HELD = "#0072b2", "#d9d9d9", "#e69f00", "#009e73"


def simulate(
    *,
    benchmark: str,
    variant: str,
    gpu: str | Gpu,
    schedule: str,
    size: str | Mapping[str, float] = "quick",
    management: str = "static",
    extra_blocks: int = 0,
    n: int | None = None,
    budgeted: bool = False,
) -> Record:
    """Run a benchmark's kernel with a time line, check its outputs, and return the record of one SM.

    budgeted: whether a thread has at most the registers of `register_budget`.
    """
    row = benchmarks.get(benchmark)
    problem = problem_of(row, size, row.builds[0])
    arguments = problem.arguments()
    kernel, grid, block = row.launch(problem, variant, row.builds[0], n)
    result = kernel.simulate(
        grid,
        block,
        arguments,
        gpu=gpu,
        schedule=schedule,
        management=management,
        extra_blocks=extra_blocks,
        max_registers=register_budget(row, gpus.get(gpu), row.builds[0]) if budgeted else None,
        trace=EVENTS,
    )
    problem.check(arguments)
    return record_of(result)


def record_of(result: Result) -> Record:
    """The counters of a run, and the time line of the SM that had most blocks as JSON text: `timeline`."""
    trace = result.trace
    assert trace is not None
    stays = trace.blocks()
    sm = int(np.bincount([stay.sm for stay in stays]).argmax())
    slots = {stay.block: stay.slot for stay in stays if stay.sm == sm}
    starts = {stay.block: stay.start for stay in stays}
    exits = [row for row in trace.of("warp_exit") if int(row["sm"]) == sm]
    line = {
        "warps": [
            (slots[int(row["block"])], int(row["warp"]), starts[int(row["block"])], int(row["cycle"])) for row in exits
        ],
        "waits": [(slots[w.block], w.warp, w.arrive, w.complete) for w in trace.waits() if w.sm == sm],
        "allocations": [
            (slots[a.block], a.ask, a.grant, a.release, a.address, a.bytes) for a in trace.allocations() if a.sm == sm
        ],
        "blocks": [(s.slot, s.block, s.start, s.end, s.address, s.bytes) for s in stays if s.sm == sm],
        "series": _series(result, trace, sm),
    }
    return {
        "time_us": result.time_us,
        "residency": result.residency,
        "smem_bytes": result.gpu.smem_bytes,
        "sm": sm,
        "lost": trace.lost,
        **result.counters,
        "timeline": json.dumps(line),
    }


def _series(result: Result, trace: Trace, sm: int) -> dict[str, list[float]]:
    """Curves of `SERIES` over equal intervals of the run; row hits are those of all channels, in percent."""
    edges = np.linspace(0, result.cycles, BINS + 1)
    own = trace.samples[trace.samples["sm"] == sm]
    issued = np.histogram(own["cycle"] - own["interval"] / 2, edges, weights=own["instructions"])[0]
    stays = [(s.start, s.end) for s in trace.blocks() if s.sm == sm]
    cycles, held = trace.shared(sm)
    place = np.searchsorted(cycles, (edges[:-1] + edges[1:]) / 2) - 1
    middle = (trace.channels["begin"] + trace.channels["end"]) / 2
    hits = np.histogram(middle, edges, weights=trace.channels["row_hits"])[0]
    asked = sum(np.histogram(middle, edges, weights=trace.channels[f"row_{n}"])[0] for n in ("misses", "conflicts"))
    share = np.divide(100 * hits, hits + asked, out=np.full(BINS, np.nan), where=hits + asked > 0)
    resident = sum(
        np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None) for start, end in stays
    ) / np.diff(edges)
    return {
        "ipc": (issued / np.diff(edges)).tolist(),
        "resident": resident.tolist(),
        "held": [held[p] / 1024 if p >= 0 else 0.0 for p in place.tolist()],
        "hits": [None if np.isnan(value) else value for value in share.tolist()],
    }  # fmt: skip


@cache
def _parsed(text: str) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(text)
    return line


def plot_warps(record: Record, ax: Any, title: str, longest: float) -> Any:
    """Draw the life of each warp: it runs, or waits at a barrier or for shared memory; and who holds an allocation.

    longest: where the axis of time ends, in microseconds.
    """
    line, scale = _parsed(record["timeline"]), record["time_us"] / record["cycles"]
    each = 1 + max(warp for _, warp, _, _ in line["warps"])

    def bars(rows: list[tuple[int, float, float]], height: float, below: float, label: str, **look: Any) -> None:
        ax.broken_barh([(0, 0)], (0, 0), label=label, **look)
        for y in sorted({y for y, _, _ in rows}):
            spans = [(begin * scale, (end - begin) * scale) for at, begin, end in rows if at == y]
            ax.broken_barh(spans, (y + below, height), **look)

    waits = [(slot * (each + 1) + warp, a, b) for slot, warp, a, b in line["waits"]]
    asks = [(slot * (each + 1) + w, ask, grant) for slot, ask, grant, *_ in line["allocations"] for w in range(each)]
    lives = [(slot * (each + 1) + warp, start, end) for slot, warp, start, end in line["warps"]]
    holds = [(slot * (each + 1), grant, release) for slot, _, grant, release, *_ in line["allocations"]]
    bars(lives, 0.8, 0.1, facecolor=BUSY, linewidth=0, label="runs")
    bars(waits, 0.8, 0.1, facecolor=BARRIER, linewidth=0, label="at a barrier")
    bars(asks, 0.8, 0.1, facecolor=ALLOCATION, hatch="//////", edgecolor="white", linewidth=0, label="for memory")
    bars(holds, 0.35, each + 0.15, facecolor=HELD, linewidth=0, label="holds memory")
    for slot, block, start, end, *_ in line["blocks"]:
        y = slot * (each + 1) + each / 2
        if (end - start) * scale > longest / 20:
            ax.text((start + end) / 2 * scale, y, block, ha="center", va="center", fontsize=5, color="white",
                    bbox={"facecolor": "black", "pad": 0.6, "linewidth": 0})  # fmt: skip
    slots = 1 + max(slot for slot, *_ in line["blocks"])
    ax.set_ylim(slots * (each + 1), -0.3)
    ax.set_yticks([(slot + 0.5) * (each + 1) - 0.5 for slot in range(slots)], [str(slot) for slot in range(slots)])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    ax.set_xlim(0, longest)
    ax.set_ylabel("place", fontsize=6)
    ax.set_title(f"{title}: {record['time_us']:.1f} us", loc="left", fontsize=7, pad=2)
    return ax


def plot_memory(record: Record, ax: Any, longest: float) -> Any:
    """Draw the SMM table over time: which bytes of shared memory belong to which block, static and dynamic."""
    from matplotlib.patches import Rectangle

    line, scale = _parsed(record["timeline"]), record["time_us"] / record["cycles"]
    colours = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
    entries = [(slot, start, end, at, size, "") for slot, _, start, end, at, size in line["blocks"]]
    entries += [(slot, grant, release, at, size, "////") for slot, _, grant, release, at, size in line["allocations"]]
    for slot, begin, end, at, size, hatch in entries:
        corner, width = (begin * scale, at / 1024), (end - begin) * scale
        ax.add_patch(
            Rectangle(
                corner, width, size / 1024, facecolor=colours[slot % len(colours)], hatch=hatch, edgecolor="white"
            )
        )
    ax.set_ylim(0, record["smem_bytes"] / 1024)
    ax.set_xlim(0, longest)
    ax.set_ylabel("address (kB)", fontsize=6)
    ax.set_title("shared memory by place (hatched: allocated at a barrier)", loc="left", fontsize=7, pad=2)
    ax.grid(visible=False)
    return ax


def plot_series(records: Sequence[Record], ax: Any, name: str, labels: Sequence[str], longest: float) -> Any:
    """Draw one curve of `SERIES` for each record."""
    for record, label in zip(records, labels, strict=True):
        values = np.array(_parsed(record["timeline"])["series"][name], float)
        edges = np.linspace(0, record["time_us"], len(values) + 1)
        ax.stairs(values, edges, baseline=None, label=label, linewidth=0.9)
    ax.set_xlim(0, longest)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(SERIES[name], fontsize=6)
    return ax


def table_of(records: Sequence[Record], labels: Sequence[str]) -> str:
    """What the pictures show, in numbers."""
    rows = []
    for record, label in zip(records, labels, strict=True):
        line = _parsed(record["timeline"])
        lived = sum(end - start for _, _, start, end in line["warps"]) or 1
        waited = sum(end - start for _, _, start, end in line["waits"])
        asked = sum(grant - ask for _, ask, grant, *_ in line["allocations"])
        each = 1 + max(warp for _, warp, _, _ in line["warps"])
        row = (record["time_us"], record["residency"], len(line["blocks"]), len(line["allocations"]))
        rows.append((label, *row, 100 * waited / lived, 100 * asked * each / lived))
    return table(
        (
            "",
            "us",
            "blocks at a time",
            "blocks of the SM",
            "allocations",
            "warps at barriers %",
            "waiting for memory %",
        ),
        rows,
    )
