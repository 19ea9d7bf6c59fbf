"""The software approaches on the cards that the paper measures (Figures 11 to 13): runs, speedups, means, bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.common import runs, stalls, verdicts
from experiments.common.cards import MEASURED
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import LIMITED, MEAN, is_default
from experiments.common.variants import APPROACHES
from smmux import benchmarks, plot as figures
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = [
    "BEST", "COMBINED", "MARK", "bars", "best", "by_number", "means", "paper", "plot_bars", "points", "size",
    "speedups", "stall_table", "step", "substituted",
]  # fmt: skip

HEAD, OTHER = ON_CARDS
MARK = {
    "marker": "D", "color": "black", "markersize": 2.2, "markeredgecolor": "white", "markeredgewidth": 0.3, "zorder": 6,
    "label": f"schedule {OTHER}",
}  # fmt: skip
"""How the other schedule's values are drawn."""
BEST = "best"
"""The series of each benchmark's best approach."""
COMBINED = (2, 3, 4)
"""Numbers of thread blocks that VTB combines where they are compared."""

CLAIMS = {"GTX480-16K": "P30", "GTX480-48K": "P31"}
"""Claims that give the means of each approach on a card."""


def size(name: str, quick: bool) -> str:
    """The size of a benchmark's problem: large where VTB combines more than two blocks, so that enough are left."""
    return "large" if benchmarks.get(name).combined > 2 and not quick else runs.size(quick)


def paper(gpu: str) -> dict[str, float]:
    """The means that the paper gives for a card; that of CO-VTB is over MC, STO and HG, which alone have it."""
    if gpu in CLAIMS:
        return dict(zip((*APPROACHES, BEST), verdicts.paper(CLAIMS[gpu]), strict=True))
    return {BEST: verdicts.paper("P1")[MEASURED.index(gpu)]}


def step(high: str, low: str, gpu: str) -> float:
    """How far one mean has to be above another to count as more: `MARGIN`, or less if the paper's own are closer."""
    theirs = paper(gpu)
    own = theirs[high] / theirs[low] - 1 if {high, low} <= set(theirs) else verdicts.MARGIN
    return min(verdicts.MARGIN, own)


def points(gpu: str | Gpu, schedule: str, quick: bool, names: Iterable[str] = LIMITED, **rest: Any) -> list[Record]:
    """What to run on a machine: the baseline of each benchmark, and every approach that the paper has for it."""
    todo = []
    for name in names:
        benchmark = benchmarks.get(name)
        common = {"benchmark": name, "build": benchmark.builds[0], "schedule": schedule, "gpu": gpu}
        common |= {"size": size(name, quick), **rest}
        todo.append({**common, "variant": "baseline", "n": 1})
        for approach in APPROACHES:
            if approach in benchmark.variants:
                todo.append({**common, "variant": approach, "n": benchmark.combined if approach == "vtb" else 2})
    return todo


def speedups(records: Iterable[Record], gpu: str, schedule: str = HEAD) -> dict[str, dict[str, float]]:
    """Speedups by benchmark and approach, of the default builds of the benchmarks that shared memory limits."""
    rows: dict[str, dict[str, float]] = {}
    for r in records:
        wanted = (r["gpu"], r["schedule"]) == (gpu, schedule) and r["variant"] in APPROACHES
        if wanted and r["benchmark"] in LIMITED and is_default(r):
            rows.setdefault(r["benchmark"], {})[r["variant"]] = r["speedup"]
    return rows


def by_number(records: Iterable[Record], gpu: str, schedule: str = HEAD) -> dict[str, dict[int, float]]:
    """Speedups of VTB by benchmark and number of blocks combined, and their geometric means."""
    rows: dict[str, dict[int, float]] = {}
    for r in records:
        if (r["gpu"], r["schedule"], r["variant"]) == (gpu, schedule, "vtb"):
            rows.setdefault(r["benchmark"], {})[r["n"]] = r["speedup"]
    if not rows:
        return {}
    return {**rows, MEAN: {n: geometric_mean(row[n] for row in rows.values()) for n in COMBINED}}


def best(records: Iterable[Record], gpu: str, schedule: str = HEAD) -> dict[str, float]:
    """The speedup of each benchmark's best approach."""
    return {name: max(row.values()) for name, row in speedups(records, gpu, schedule).items()}


def means(records: Iterable[Record], gpu: str, schedule: str = HEAD) -> dict[str, float]:
    """Geometric means by approach, over the benchmarks that have it, and of the best ones."""
    rows = speedups(records, gpu, schedule).values()
    single = {a: [row[a] for row in rows if a in row] for a in APPROACHES}
    all_of = {**single, BEST: [max(row.values()) for row in rows]}
    return {name: geometric_mean(values) for name, values in all_of.items() if values}


def substituted(records: Iterable[Record], gpu: str, other: str) -> list[Record]:
    """The records of a machine, in which benchmarks that also ran on another machine have the records from there."""
    records = list(records)
    theirs = [{**r, "gpu": gpu} for r in records if r["gpu"] == other]
    there = {(r["benchmark"], r["schedule"]) for r in theirs}
    return [r for r in records if r["gpu"] == gpu and (r["benchmark"], r["schedule"]) not in there] + theirs


def bars(records: Sequence[Record], gpu: str) -> list[Record]:
    """The bars of a panel: a record per benchmark and approach, and the means, each with the other schedule's value."""
    other, other_means = speedups(records, gpu, OTHER), means(records, gpu, OTHER)
    own = [
        _bar(name, a, row[a], other.get(name, {}).get(a))
        for name, row in speedups(records, gpu).items()
        for a in APPROACHES
        if a in row
    ]
    theirs = paper(gpu)
    own += [
        _bar(MEAN, a, value, other_means.get(a)) | {"paper": theirs.get(a)} for a, value in means(records, gpu).items()
    ]
    return own


def _bar(name: str, approach: str, speedup: float, other: float | None) -> Record:
    label = APPROACHES.get(approach, approach)
    return {"benchmark": name, "variant": approach, "series": label, "speedup": speedup, OTHER: other}


def plot_bars(
    ax: Any, shown: Sequence[Record], title: str, marks: Mapping[str, Mapping[str, Any]], series: Sequence[str] = ()
) -> Any:
    """Grouped bars of speedups with marks over them; the last group, of the means, is set apart.

    series: those to be drawn, in their order; by default the approaches.
    """
    figures.grouped_bars(
        ax,
        shown,
        x="benchmark",
        hue="series",
        y="speedup",
        labels="inside",
        marks=marks,
        series=series or [*APPROACHES.values()],
    )
    last = len({b["benchmark"] for b in shown}) - 1
    ax.axhline(1, color="black", linewidth=0.5)
    ax.axvline(last - 0.5, color="0.6", linewidth=0.5)
    ax.set_xlim(-0.5, last + 0.5)
    ax.set_ylabel("Speedup")
    ax.set_title(title, loc="left", fontsize=7, pad=2)
    return ax


def stall_table(records: Iterable[Record]) -> str:
    """Where the schedulers' time goes, for every run."""
    header = ("", "machine", "schedule", "variant", "speedup")
    return stalls.table(
        records, lambda r: (*(r[name] for name in ("benchmark", "gpu", "schedule")), label(r), r["speedup"]), header
    )


def label(record: Record) -> str:
    """The approach of a record, with the number of blocks combined where that is not two."""
    variant: str = record["variant"]
    name = APPROACHES.get(variant, variant)
    return name if record["n"] <= 2 else f"{name} {record['n']}"
