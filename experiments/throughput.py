"""Throughput of a kernel over the size of its problem on GTX480, for Figures 12 and 13."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from experiments import harness, stalls
from experiments.cards import MEASURED
from experiments.runs import by_key, simulate_all
from experiments.software import HEAD, SCHEDULES
from experiments.speedups import with_speedups
from smmux import benchmarks, gpus
from smmux.gpus import Gpu
from smmux.sweep import Record

__all__ = ["SERIES", "curve", "machines", "mean", "plot", "ratios", "run", "stall_table", "table"]

SERIES = {
    "16K_BL": ("GTX480-16K", "baseline"),
    "48K_BL": ("GTX480-48K", "baseline"),
    "16K_VTB_pipe": ("GTX480-16K", "vtb_pipe"),
    "48K_VTB_pipe": ("GTX480-48K", "vtb_pipe"),
}
"""The paper's labels: card and variant."""
LOOKS = dict(zip(SERIES, ("o--", "s--", "o-", "s-"), strict=True))


def machines() -> list[Gpu]:
    """The two cards."""
    return [gpus.get(name) for name in MEASURED[1:]]


def run(
    name: str,
    sizes: Mapping[int, Mapping[str, float]],
    operations: Callable[[int], float],
    jobs: int | None,
    figure: str,
) -> list[Record]:
    """Both variants on both cards in both schedules; every record has `size`, a key of sizes, `gflops` and `speedup`.

    operations: floating-point operations of the problem of a size.
    """
    build = benchmarks.get(name).builds[0]
    todo = [
        {"benchmark": name, "build": build, "variant": variant, "gpu": gpu, "schedule": schedule, "size": sizes[key]}
        for key, schedule, (gpu, variant) in product(sizes, SCHEDULES, SERIES.values())
    ]
    records = simulate_all(todo, jobs, figure)
    keys = [key for key in sizes for _ in range(len(SCHEDULES) * len(SERIES))]
    sized = [{**r, "size": key} for r, key in zip(records, keys, strict=True)]
    rates = [{**r, "gflops": operations(r["size"]) / r["time_us"] / 1e3} for r in sized]
    return [r for key in sizes for r in with_speedups(r for r in rates if r["size"] == key)]


def curve(records: Sequence[Record], series: str, schedule: str = HEAD) -> dict[int, float]:
    """GFLOPS by size."""
    found = by_key((r for r in records if r["schedule"] == schedule), "gpu", "variant", "size")
    gpu, variant = SERIES[series]
    return {size: r["gflops"] for (g, v, size), r in found.items() if (g, v) == (gpu, variant)}


def mean(records: Sequence[Record], series: str, schedule: str = HEAD) -> float:
    """The arithmetic mean over the sizes, as the paper's averages of rates are."""
    rates = curve(records, series, schedule).values()
    return sum(rates) / len(rates)


def ratios(records: Sequence[Record], series: str, over: str, schedule: str = HEAD) -> dict[int, float]:
    """Rate of one series over that of another, by size."""
    below = curve(records, over, schedule)
    return {size: rate / below[size] for size, rate in curve(records, series, schedule).items()}


def plot(records: Sequence[Record], ax: Any, schedule: str, label: str, name: Callable[[int], str] = str) -> Any:
    """A line per series over the size, `label` on the axis, sizes written as `name` gives them."""
    for series, look in LOOKS.items():
        rates = curve(records, series, schedule)
        ax.plot(range(len(rates)), list(rates.values()), look, label=series, color="C0" if "BL" in series else "C1")
    ax.set_xticks(range(len(rates)), [name(size) for size in rates])
    ax.set_ylim(0)
    ax.set_ylabel("GFLOPS")
    ax.set_xlabel(label)
    ax.set_title(f"schedule: {schedule}", loc="left", fontsize=7, pad=2)
    return ax


def table(records: Sequence[Record], label: str) -> str:
    """GFLOPS and gains by size, in both schedules."""
    parts = []
    for schedule in SCHEDULES:
        columns = [curve(records, series, schedule) for series in SERIES]
        columns += [ratios(records, f"{kb}_VTB_pipe", f"{kb}_BL", schedule) for kb in ("16K", "48K")]
        sizes = list(columns[0])
        rows = [(f"{size}", *(column[size] for column in columns)) for size in sizes]
        rows.append(("mean", *(sum(column.values()) / len(column) for column in columns)))
        header = (f"{label}, {schedule}", *SERIES, "16K gain", "48K gain")
        parts.append(harness.table(header, rows))
    return "\n\n".join(parts)


def stall_table(records: Sequence[Record]) -> str:
    """The stall breakdown of every point."""
    header = ("", "machine", "schedule", "variant", "GFLOPS")
    return stalls.table(records, lambda r: (str(r["size"]), r["gpu"], r["schedule"], r["variant"], r["gflops"]), header)
