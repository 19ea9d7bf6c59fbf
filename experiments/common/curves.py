"""Speedups and waiting times over the number of blocks that an SM may hold, for Figure 15."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.cards import GPU, HASHED, ROOMY
from experiments.common.runs import by_key
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import LIMITED, MEAN
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = ["BEYOND", "PRINTED", "curves", "without_camping"]

PRINTED = (1, 2, 3)
"""Blocks beyond K in the paper's figure."""
BEYOND = (4, 5, 6, 7, 8)
"""Blocks beyond K that only a roomier card can hold."""


def curves(records: Sequence[Record], schedule: str = IN_SIMULATION.head) -> dict[str, list[Record]]:
    """The records of each benchmark with 0, 1, ..., 8 extra blocks, and under MEAN those of their means."""
    own = [r for r in records if r["schedule"] == schedule and r["gpu"] in (GPU, ROOMY)]
    points = by_key((r for r in own if r["gpu"] == GPU or r["extra_blocks"]), "benchmark", "extra_blocks")
    names = [name for name in LIMITED if (name, 0) in points]
    rows = {name: [points[name, n] for n in (0, *PRINTED, *BEYOND) if (name, n) in points] for name in names}
    return {**rows, MEAN: [_mean(row) for row in zip(*rows.values(), strict=True)]}


def _mean(row: Sequence[Record]) -> Record:
    """The record of the means over the benchmarks, with the same number of extra blocks."""
    return {
        "benchmark": MEAN,
        "extra_blocks": row[0]["extra_blocks"],
        "speedup": geometric_mean(r["speedup"] for r in row),
        "wait": sum(r["wait"] for r in row) / len(row),
    }


def without_camping(records: Sequence[Record]) -> list[float]:
    """Means with K+1 to K+3 where benchmarks that camp on a partition run with hashed addresses (DEVIATIONS D4)."""
    hashed = by_key((r for r in records if r["gpu"] == HASHED), "benchmark", "extra_blocks")
    rows = [row for name, row in curves(records).items() if name != MEAN]
    return [geometric_mean(hashed.get((row[n]["benchmark"], n), row[n])["speedup"] for row in rows) for n in PRINTED]
