"""Throughput of a kernel over the size of its problem on GTX480, for Figures 12 and 13."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

from experiments.common import cards, stalls, tables
from experiments.common.cards import MEASURED
from experiments.common.runs import simulate_all
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import with_speedups
from smmux import benchmarks, gpus
from smmux.gpus import Gpu
from smmux.sweep import Record

__all__ = [
    "BATCHES", "BUDGETED", "DRAWN", "FETCHED", "HEIGHTS", "SERIES", "SETTINGS", "curve", "machines", "mean",
    "mean_ratio", "plot", "ran", "ratios", "run", "stall_table", "summary", "table",
]  # fmt: skip

HEIGHTS = tuple(1024 * k for k in (8, 16, 32, 64, 128))
"""Heights of MV's matrix in Figure 12."""
BATCHES = (128, 256, 512, 1024, 2048)
"""Numbers of transforms of FFT in Figure 13."""
HEAD = ON_CARDS.head
SERIES = {
    "16K_BL": ("GTX480-16K", "baseline"),
    "48K_BL": ("GTX480-48K", "baseline"),
    "16K_VTB_pipe": ("GTX480-16K", "vtb_pipe"),
    "48K_VTB_pipe": ("GTX480-48K", "vtb_pipe"),
}
"""Card and variant by the paper's label: BL is the baseline."""
FETCHED = f"{HEAD}, perfect fetch"
BUDGETED = f"{HEAD}, K+3 registers"
SETTINGS: dict[str, tuple[str, Callable[[str], Gpu]]] = {
    **{schedule: (schedule, gpus.get) for schedule in ON_CARDS},
    FETCHED: (HEAD, cards.perfect_fetch),
    BUDGETED: (HEAD, cards.budgeted),
}
"""What is printed in a table: a schedule, and the card or what becomes of it."""
DRAWN = (*ON_CARDS, FETCHED)
"""The settings that have a panel, too."""
LOOKS = dict(zip(SERIES, ("o--", "s--", "o-", "s-"), strict=True))


def machines(sensitivities: bool = True) -> list[Gpu]:
    """The two cards, with sensitivities the same with perfect fetch, and for kernels of other registers."""
    makers: list[Callable[[str], Gpu]] = [gpus.get, *[cards.perfect_fetch] * sensitivities, cards.budgeted]
    return [make(name) for make in makers for name in MEASURED[1:]]


def run(
    name: str,
    sizes: Mapping[int, Mapping[str, float]],
    operations: Callable[[int], float],
    jobs: int | None,
    figure: str,
    settings: Sequence[str] = tuple(SETTINGS),
) -> list[Record]:
    """Run both variants on both cards in the settings; a record also has `size`, a key of sizes, `gflops`, `speedup`.

    operations: floating-point operations of the problem of a size.
    """
    build = benchmarks.get(name).builds[0]
    places = list(product(sizes, [SETTINGS[setting] for setting in settings], SERIES.values()))
    todo = [
        {
            "benchmark": name,
            "build": build,
            "variant": variant,
            "gpu": card(gpu),
            "schedule": schedule,
            "size": sizes[key],
            "budgeted": card is cards.budgeted,
        }
        for key, (schedule, card), (gpu, variant) in places
    ]
    records = [
        {**record, "size": key, "gflops": operations(key) / record["time_us"] / 1e3}
        for record, (key, _, _) in zip(simulate_all(todo, jobs, figure), places, strict=True)
    ]
    return [r for key in sizes for r in with_speedups(r for r in records if r["size"] == key)]


def curve(records: Sequence[Record], series: str, setting: str = HEAD) -> dict[int, float]:
    """GFLOPS by size, in one of `SETTINGS`."""
    gpu, variant = SERIES[series]
    schedule, card = SETTINGS[setting]
    wanted = (card(gpu).name, variant, schedule)
    return {r["size"]: r["gflops"] for r in records if (r["gpu"], r["variant"], r["schedule"]) == wanted}


def ran(records: Sequence[Record]) -> list[str]:
    """The settings of which there are records."""
    return [setting for setting in SETTINGS if curve(records, next(iter(SERIES)), setting)]


def mean(records: Sequence[Record], series: str, setting: str = HEAD) -> float:
    """The arithmetic mean of the rates over the sizes, as the paper averages them."""
    rates = curve(records, series, setting).values()
    return sum(rates) / len(rates)


def ratios(records: Sequence[Record], series: str, over: str, setting: str = HEAD) -> dict[int, float]:
    """The rate of one series over that of another, by size."""
    below = curve(records, over, setting)
    return {size: rate / below[size] for size, rate in curve(records, series, setting).items()}


def mean_ratio(records: Sequence[Record], series: str, over: str, setting: str = HEAD) -> float:
    """The arithmetic mean of these ratios."""
    values = ratios(records, series, over, setting).values()
    return sum(values) / len(values)


def plot(
    records: Sequence[Record],
    ax: Any,
    setting: str,
    label: str,
    name: Callable[[int], str] = str,
    levels: Mapping[str, float] = MappingProxyType({}),
) -> Any:
    """A line per series over the size, `label` on the axis, sizes written as `name` gives them.

    setting: of `SETTINGS`. levels: rates that are drawn as dotted lines, by their label.
    """
    for series, look in LOOKS.items():
        rates = curve(records, series, setting)
        ax.plot(range(len(rates)), list(rates.values()), look, label=series, color="C0" if "BL" in series else "C1")
    for (level, rate), color in zip(levels.items(), ("C0", "C1", "black"), strict=False):
        ax.plot((0, len(rates) - 1), (rate, rate), ":", linewidth=0.9, color=color, label=level)
    ax.set_xticks(range(len(rates)), [name(size) for size in rates])
    ax.set_ylim(0, 1.08 * max(rate for line in ax.lines for rate in line.get_ydata()))
    ax.set_ylabel("GFLOPS")
    ax.set_xlabel(label)
    ax.set_title(f"schedule: {setting}", loc="left", fontsize=7, pad=2)
    if setting == HEAD:
        ax.legend(
            ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6, handlelength=2.5, columnspacing=0.7
        )
    return ax


def table(records: Sequence[Record], label: str) -> str:
    """Tables of GFLOPS and gains by size, one for each setting that ran."""
    parts = []
    for setting in ran(records):
        columns = [curve(records, series, setting) for series in SERIES]
        columns += [ratios(records, f"{kb}_VTB_pipe", f"{kb}_BL", setting) for kb in ("16K", "48K")]
        rows = [(f"{size}", *(column[size] for column in columns)) for size in columns[0]]
        rows.append(("mean", *(sum(column.values()) / len(column) for column in columns)))
        parts.append(tables.table((f"{label}, {setting}", *SERIES, "16K gain", "48K gain"), rows))
    return "\n\n".join(parts)


def summary(records: Sequence[Record]) -> Record:
    """The rates by setting, series and size."""
    return {s: {name: curve(records, name, s) for name in SERIES} for s in ran(records)}


def stall_table(records: Sequence[Record]) -> str:
    """Where the schedulers' time goes, for every run."""
    header = ("", "machine", "schedule", "variant", "GFLOPS")
    return stalls.table(records, lambda r: (str(r["size"]), r["gpu"], r["schedule"], r["variant"], r["gflops"]), header)
