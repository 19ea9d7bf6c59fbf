"""Speedups of multiplexed kernels over their baselines (Figures 14 and 15): runs, bars, means, tables.

K is the number of thread blocks that fit on an SM under static management; dynamic management allows more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.common import stalls
from experiments.common.cards import GPU
from experiments.common.runs import by_key
from experiments.common.schedules import IN_SIMULATION
from experiments.common.variants import LABELS, MANAGED
from smmux import benchmarks
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = [
    "CO_EXTRA", "EXTRA", "LIMITED", "MEAN", "OTHERS", "SERIES", "SOME", "bars", "baseline_and", "by_problem", "drawn",
    "is_default", "is_limited", "means", "on_card", "stall_table", "with_speedups",
]  # fmt: skip

LIMITED = benchmarks.names()[:7]
"""The paper's first category of benchmarks: shared memory limits how many blocks fit on an SM."""
OTHERS = benchmarks.names()[7:]
"""The paper's second category, MM, TP and RD, which it leaves out of its experiments (Section 6)."""
SOME = LIMITED[1::2]
"""The benchmarks of quick runs that would spend most of their time compiling all of the first category."""
MEAN = "GM"
"""The row of geometric means."""
EXTRA = (2, 3)
"""Blocks beyond K of HW in Figure 14."""
CO_EXTRA = 1
"""The same of CO-HW: as many as 16 kB allow."""
SERIES = (("hw", 2), ("hw", 3), ("co_hw", CO_EXTRA))
"""The bars of Figure 14: variant and blocks beyond K."""

SAME = ("benchmark", "build", "schedule", "gpu")
"""Columns in which a record and its baseline agree."""


def baseline_and(
    extras: Sequence[int], *, benchmark: str, build: str, schedule: str, gpu: Gpu, variant: str = "hw", **rest: Any
) -> list[Record]:
    """The baseline under static management, and a variant under dynamic management with each number of extra blocks,
    all with the registers that leave room for K+3 blocks."""
    common = {"benchmark": benchmark, "build": build, "schedule": schedule, "gpu": gpu, "budgeted": True, **rest}
    baseline = {**common, "variant": "baseline", "management": "static", "extra_blocks": 0}
    return [baseline, *({**common, "variant": variant, "management": "dynamic", "extra_blocks": n} for n in extras)]


def by_problem(points: Iterable[Record]) -> list[Record]:
    """Runs without repetitions, those of one problem next to each other."""
    names = benchmarks.names()
    kept = {tuple(getattr(v, "name", v) for v in point.values()): point for point in points}
    return sorted(kept.values(), key=lambda p: (names.index(p["benchmark"]), p["size"], p["build"]))


def is_default(record: Record) -> bool:
    """Whether a record is of its benchmark's default build, which alone goes into figures and means."""
    return bool(record["build"] == benchmarks.get(record["benchmark"]).builds[0])


def drawn(records: Iterable[Record]) -> list[Record]:
    """The records of the bars of Figure 14."""
    return [r for r in records if (r["variant"], r["extra_blocks"]) in SERIES]


def on_card(records: Iterable[Record]) -> list[Record]:
    """The records of default builds on the card that the paper simulates, in the schedule that heads."""
    return [r for r in records if (r["gpu"], r["schedule"]) == (GPU, IN_SIMULATION.head) and is_default(r)]


def is_limited(record: Record) -> bool:
    """Whether shared memory limits a benchmark, by its row of Table 1: without that limit more blocks would fit."""
    return bool(record["blocks_without_shared"] > record["blocks"])


def with_speedups(records: Iterable[Record]) -> list[Record]:
    """Records with `speedup`: cycles of the baseline of the same build, schedule and machine over their own."""
    records = list(records)
    baselines = by_key((r for r in records if r["variant"] == "baseline"), *SAME)
    return [{**r, "speedup": baselines[tuple(r[k] for k in SAME)]["cycles"] / r["cycles"]} for r in records]


def bars(records: Iterable[Record], gpu: str = GPU) -> list[Record]:
    """The bars of a figure: a record per benchmark and series, in the order of the records, and their means."""
    kept = [r for r in records if r["variant"] in MANAGED and r["gpu"] == gpu and is_default(r)]
    kept = [r for r in kept if r["benchmark"] in LIMITED]
    of_series: dict[tuple[Any, ...], list[Record]] = {}
    for r in kept:
        of_series.setdefault((r["schedule"], r["variant"], r["extra_blocks"]), []).append(r)
    own = [_bar(r["benchmark"], r, r["speedup"]) for r in kept]
    return own + [_bar(MEAN, row[0], geometric_mean(r["speedup"] for r in row)) for row in of_series.values()]


def _bar(name: str, record: Record, speedup: float) -> Record:
    variant, extra = record["variant"], record["extra_blocks"]
    return {
        "benchmark": name,
        "schedule": record["schedule"],
        "variant": variant,
        "extra_blocks": extra,
        "series": f"{LABELS[variant]} K+{extra}",
        "speedup": speedup,
    }


def means(records: Iterable[Record], gpu: str = GPU) -> dict[tuple[Any, ...], float]:
    """Geometric means by schedule, variant and extra blocks."""
    own = [bar for bar in bars(records, gpu) if bar["benchmark"] == MEAN]
    return {(bar["schedule"], bar["variant"], bar["extra_blocks"]): bar["speedup"] for bar in own}


def stall_table(records: Iterable[Record]) -> str:
    """Where the schedulers' time goes, for every run."""
    return stalls.table(
        records,
        lambda r: (r["benchmark"], r["build"], r["schedule"], r["gpu"].removeprefix(GPU).lstrip(", ") or "-",
                   f"{r['variant']} +{r['extra_blocks']}", r["speedup"]),
        ("", "build", "schedule", "machine", "variant", "speedup"),
    )  # fmt: skip
