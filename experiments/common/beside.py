"""The software approaches on the simulated card, beside HW with as many blocks: runs and a table for Figure 14.

Two virtual blocks in each of the K thread blocks that fit make 2 K; HW has as many with K more. What both wait for is
counted alike: the time that warps spend at barriers until the last one arrives, and that blocks wait for shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.common import cards, tables
from experiments.common.cards import CAMPING, GPU, HASHED
from experiments.common.runs import by_key
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import LIMITED, MEAN, OTHERS, baseline_and, is_default
from experiments.common.stalls import at_barriers, for_memory
from experiments.common.variants import APPROACHES
from smmux import benchmarks
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = ["compared", "doubling", "in_flight", "means", "points", "table"]

HEAD = IN_SIMULATION.head


def points(size: str, names: Iterable[str] = (*LIMITED, *OTHERS)) -> list[Record]:
    """What to run: HW with 2 K blocks, and the software approaches with two virtual blocks in each of K.

    Benchmarks that camp on a partition also run on the card that hashes addresses.
    """
    todo: list[Record] = []
    for name in names:
        benchmark = benchmarks.get(name)
        common: Any = {"benchmark": name, "build": benchmark.builds[0], "schedule": HEAD, "size": size}
        for gpu in (cards.card(), cards.hashed()) if name in CAMPING else (cards.card(),):
            extras = [doubling(name)] if name in LIMITED else []
            todo += baseline_and(extras, gpu=gpu, **common)
            alone = {"gpu": gpu, "management": "static", "extra_blocks": 0, "n": 2, "budgeted": True}
            todo += [{**common, **alone, "variant": v} for v in APPROACHES if v in benchmark.variants]
    return todo


def doubling(name: str) -> int:
    """The number of blocks beyond K with which HW has 2 K: K itself."""
    return benchmarks.get(name).table1.blocks


def in_flight(record: Record) -> float:
    """How many thread blocks, or virtual ones, an SM runs at a time on average."""
    return float((record.get("n") or 1) * record["block_cycles"] / (record["cycles"] * cards.card().sm_count))


def compared(own: Sequence[Record], gpu: str = GPU) -> dict[str, list[Record]]:
    """The records of HW, VTB and VTB_pipe with 2 K blocks, of each benchmark that has all three."""
    head = [r for r in own if (r["gpu"], r["schedule"]) == (gpu, HEAD) and is_default(r)]
    points = by_key(head, "benchmark", "variant", "extra_blocks")
    keys = {name: [(name, "hw", doubling(name)), (name, "vtb", 0), (name, "vtb_pipe", 0)] for name in LIMITED}
    return {name: [points[key] for key in row] for name, row in keys.items() if all(key in points for key in row)}


def means(triples: dict[str, list[Record]]) -> list[float]:
    """Geometric means of the speedups of HW, VTB and VTB_pipe."""
    return [geometric_mean(row[i]["speedup"] for row in triples.values()) for i in range(3)]


def table(own: Sequence[Record]) -> str:
    """A table of speedups and waits of HW, VTB and VTB_pipe with 2 K blocks; empty where nothing was run."""
    rows: list[tuple[Any, ...]] = []
    for gpu in (GPU, HASHED):
        triples = compared(own, gpu)
        rows += [_row(name, row, gpu) for name, row in triples.items()]
        if len(triples) > 1:
            rows.append((MEAN, *means(triples), *[None] * 6, ""))
    header = ("HW at 2 K blocks beside software", "HW", "VTB", "VTB_pipe", "in flight HW", "VTB",
              "% at barriers HW", "VTB", "VTB_pipe", "% for memory HW", "")  # fmt: skip
    return tables.table(header, rows) if rows else ""


def _row(name: str, row: Sequence[Record], gpu: str) -> tuple[Any, ...]:
    return (
        name,
        *(r["speedup"] for r in row),
        *(f"{in_flight(r):.2f}" for r in row[:2]),
        *(f"{100 * at_barriers(r):.0f}" for r in row),
        f"{100 * for_memory(row[0]):.0f}",
        gpu.removeprefix(GPU).lstrip(", "),
    )
