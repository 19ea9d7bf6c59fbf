"""Figure 1: for how much of a thread block's lifetime its shared memory is in use.

Isolating barriers, inserted by `smmux.multiplex.isolate` before the first define and after the last use, mark the
regions; the share is the time in regions over the time from block start to block end, of all blocks together. The
build as published, where loads from global memory lie inside the regions, stands beside the default one.

Without isolation (claim P14) the time from a block's first shared store to its last load is counted instead, in the
kernel as written. All on the paper's simulated card, under static management; the schedule `source` also with perfect
instruction fetch, and with --sensitivities on machines that differ in one other assumption.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import cards, harness, runs, stalls
from experiments.common.cards import GPU, PERFECT_FETCH
from experiments.common.harness import MARGIN, Verdict, exceeds, verdict
from experiments.common.runs import SCHEDULES, by_key, simulate_all
from experiments.common.speedups import LIMITED, MEAN, by_problem
from smmux import benchmarks
from smmux import plot as figures
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.sweep import Record

PUBLISHED = {"STO": "sha1_ring", **dict.fromkeys(("MV", "SP", "HG", "CV", "MM", "TP"), "as_sdk")}
"""Builds as published, where they differ from the default ones."""
LIMITED_SHARE = 0.35  # "a very limited amount of time"
HIGH_SHARE = 0.5  # "high", "most of its time"
BUSY = 0.7  # of a DRAM bus: the rest is lost to rows, turnarounds and refresh
UNMOVED = 0.02  # of the time, by shared memory of twice the latency: shared memory does not limit
ENTIRE = 0.8  # "almost the entire lifetime"
SLOW_SHARED = f"{GPU}, shared memory twice as slow"


def paper_mean() -> float:
    """The share that the paper gives."""
    [share] = harness.paper("P4")
    return share


def machines(sensitivities: bool) -> list[Gpu]:
    """The machines of a run, the card first."""
    card = cards.card()
    slow = card.replace(name=SLOW_SHARED, lat_shared=2 * card.lat_shared)
    return [card, cards.perfect_fetch(), slow, *(cards.sensitivities() if sensitivities else [])]


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate; every record has `share`, of regions, and `span`, from first define to last use, of block lifetime."""
    size = runs.size(quick)
    card, perfect, slow, *others = machines(sensitivities)
    todo: list[Record] = []

    def add(name: str, variant: str, gpu: Gpu, schedules: Sequence[str], build: str | None = None) -> None:
        common = {"benchmark": name, "build": build or benchmarks.get(name).builds[0], "variant": variant}
        todo.extend({**common, "gpu": gpu, "schedule": schedule, "size": size} for schedule in schedules)

    for name in benchmarks.names():
        add(name, "isolated", card, SCHEDULES)
        add(name, "baseline", card, SCHEDULES[1:])
        if name in PUBLISHED:
            add(name, "isolated", card, SCHEDULES[:1], PUBLISHED[name])
            add(name, "baseline", card, SCHEDULES[1:], PUBLISHED[name])
        for gpu in (perfect, *others):
            add(name, "isolated", gpu, SCHEDULES[:1])
    add("RD", "baseline", card, SCHEDULES[:1])
    add("RD", "baseline", slow, SCHEDULES[:1])
    return [with_shares(r) for r in simulate_all(by_problem(todo), jobs, "fig01")]


def with_shares(record: Record) -> Record:
    """The record with the two shares of block lifetime."""
    lifetime = record["block_cycles"] or 1
    return {**record, "share": record["region_cycles"] / lifetime, "span": record["shared_span_cycles"] / lifetime}


def series(records: Sequence[Record], variant: str, schedule: str, build: str = "default", gpu: str = GPU) -> Record:
    """The shares by benchmark, and their mean; build "published" falls back to the default one where they agree."""
    column = "share" if variant == "isolated" else "span"
    found: Record = {}
    for name in benchmarks.names():
        wanted = PUBLISHED.get(name) if build == "published" else None
        wanted = wanted or benchmarks.get(name).builds[0]
        key = {"benchmark": name, "variant": variant, "schedule": schedule, "build": wanted, "gpu": gpu}
        own = [r for r in records if r.items() >= key.items()]
        if own:
            found[name] = own[0][column]
    return {**found, MEAN: geometric_mean(found.values())}


PANELS: dict[str, dict[str, tuple[str, str, str]]] = {
    "isolated, schedule: source": {
        "staged": ("isolated", "source", "default"),
        "as published": ("isolated", "source", "published"),
    },
    "schedule: list": {
        "isolated": ("isolated", "list", "default"),
        "not isolated": ("baseline", "list", "default"),
        "not isolated, as published": ("baseline", "list", "published"),
    },
}
"""What is drawn: title, and name of a series to variant, schedule and build."""


def plot(records: Sequence[Record], ax: Any, panel: str = next(iter(PANELS))) -> Any:
    """Shares per benchmark, with the paper's mean."""
    shown = []
    columns = {label: series(records, *key) for label, key in PANELS[panel].items()}
    for name in [*benchmarks.names(), MEAN]:
        shown += [
            {"benchmark": name, "series": label, "share": 100 * found[name]}
            for label, found in columns.items()
            if name in found
        ]
    figures.grouped_bars(ax, shown, x="benchmark", hue="series", y="share", labels=True, number="{:.0f}".format)
    last = len({s["benchmark"] for s in shown}) - 1
    end = last + 0.9  # room to see the line beside the bars
    figures.reference_line(ax, 100 * paper_mean(), "paper, GM", between=(last - 0.45, end))
    ax.axvline(last - 0.5, color="0.6", linewidth=0.5)
    ax.set_xlim(-0.5, end)
    ax.set_ylim(0, 112)
    ax.set_ylabel("Share of lifetime (%)")
    ax.set_title(panel, loc="left", fontsize=7, pad=2)
    figures.legend(ax, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Percent of block lifetime, side by side."""
    columns = {
        "source": series(records, "isolated", "source"),
        "as published": series(records, "isolated", "source", "published"),
        "list": series(records, "isolated", "list"),
        "list, not isolated": series(records, "baseline", "list"),
        "and as published": series(records, "baseline", "list", "published"),
        "source, perfect fetch": series(records, "isolated", "source", gpu=PERFECT_FETCH),
    }
    said = {"HG": "high", "MM": "often", "TP": "often", "RD": "idle mostly", MEAN: f"{100 * paper_mean():.1f}"}
    said |= dict.fromkeys(set(LIMITED) - {"HG"}, "very limited")
    rows = [
        (name, said[name], *(f"{100 * found[name]:.1f}" if name in found else None for found in columns.values()))
        for name in [*benchmarks.names(), MEAN]
    ]
    return "percent of block lifetime\n" + harness.table(("", "paper", *columns), rows)


def sensitivity_table(records: Sequence[Record]) -> str:
    """Means on the machines that differ in one assumption."""
    names = [name for name in dict.fromkeys(r["gpu"] for r in records) if name != SLOW_SHARED]
    rows = [(name, f"{100 * series(records, 'isolated', 'source', gpu=name)[MEAN]:.1f}") for name in names]
    return harness.table(("mean share on", "percent"), rows)


def stall_table(records: Sequence[Record]) -> str:
    """The stall breakdown of every point."""
    return stalls.table(
        records,
        lambda r: (r["benchmark"], r["build"], r["schedule"], r["gpu"].removeprefix(GPU).lstrip(", ") or "-",
                   r["variant"], f"{100 * r['share']:.1f}"),
        ("", "build", "schedule", "machine", "variant", "region"),
    )  # fmt: skip


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P4, P12, P13, P14 and P55."""
    head = series(records, "isolated", SCHEDULES[0])
    published = series(records, "isolated", SCHEDULES[0], "published")
    listed, bare = (series(records, variant, SCHEDULES[1]) for variant in ("isolated", "baseline"))
    raw = series(records, "baseline", SCHEDULES[1], "published")
    close, off = harness.close([head[MEAN]], harness.paper("P4"))
    order = sorted(benchmarks.names(), key=lambda name: -head[name])
    few = {name: head[name] for name in LIMITED if name != "HG"}
    wrong = [name for name, share in few.items() if share > LIMITED_SHARE]
    wrong += ["HG"] if head["HG"] < HIGH_SHARE else []
    wrong += [name for name in ("MM", "TP") if not exceeds(head[name], max(few.values()))]
    wrong += [] if order[-1] == "RD" else ["RD"]
    entire = [name for name in benchmarks.names() if raw[name] >= ENTIRE]
    return [
        verdict(
            "P4",
            round(head[MEAN], 3),
            close,
            f"{off}; as published {published[MEAN]:.3f}, list {listed[MEAN]:.3f} (DEVIATIONS D8)",
        ),
        verdict(
            "P12",
            order,
            not wrong,
            f"by share; 'very limited' taken as at most {LIMITED_SHARE:.0%}, 'high' as at least {HIGH_SHARE:.0%}, "
            f"'often' as more than all the limited ones by {MARGIN:.0%}, RD the least of all"
            + (f"; not so: {', '.join(f'{name} {head[name]:.0%}' for name in wrong)} (DEVIATIONS D8)" if wrong else ""),
        ),
        _global_memory(records),
        verdict(
            "P14",
            {"isolated": round(listed[MEAN], 3), "not": round(raw[MEAN], 3), "almost entire": entire},
            raw[MEAN] > 1.5 * listed[MEAN] and len(entire) > len(benchmarks.names()) / 2,
            f"schedule list; from first store to last load of a block, builds as published; {ENTIRE:.0%} of more than "
            f"half of the benchmarks taken as nearly the whole kernel (DEVIATIONS D9). Staged builds: {bare[MEAN]:.3f}",
        ),
        verdict("P55", round(head["HG"], 3), head["HG"] >= HIGH_SHARE, f"share of HG; most taken as {HIGH_SHARE:.0%}"),
    ]


def _global_memory(records: Sequence[Record]) -> Verdict:
    """RD: how busy the DRAM is, and what slower shared memory changes."""
    found = by_key(
        (r for r in records if r["benchmark"] == "RD" and r["variant"] == "baseline" and r["schedule"] == SCHEDULES[0]),
        "gpu",
    )
    card, own = cards.card(), found[(GPU,)]
    clocks = own["cycles"] * card.dram_khz / card.shader_khz * card.partitions
    busy, slower = own["dram_busy"] / clocks, found[(SLOW_SHARED,)]["cycles"] / own["cycles"] - 1
    return verdict(
        "P13",
        round(busy, 3),
        busy >= BUSY and abs(slower) <= UNMOVED,
        f"share of time in which the DRAM bus moves data ({BUSY:.0%} counts as limiting); with shared memory of twice "
        f"the latency RD takes {slower:+.2%} time (up to {UNMOVED:.0%} counts as none)",
    )


def caption(records: Sequence[Record]) -> str:
    """The means, and the benchmarks with the largest and smallest share."""
    own, published = (series(records, "isolated", SCHEDULES[0], build) for build in ("default", "published"))
    order = sorted(benchmarks.names(), key=own.__getitem__)
    return (
        f"Figure 1. Shared memory is in use for {own[MEAN]:.1%} of a block's life (geometric mean; paper "
        f"{paper_mean():.1%}), most in {order[-1]} and least in {order[0]}; with loads inside regions, as "
        f"published, for {published[MEAN]:.1%}."
    )


def summary(records: Sequence[Record]) -> Record:
    """The shares that are drawn, and their means."""
    drawn = {
        f"{panel}, {label}": series(records, *key) for panel, keys in PANELS.items() for label, key in keys.items()
    }
    return {**drawn, "perfect fetch": series(records, "isolated", "source", gpu=PERFECT_FETCH), "paper": paper_mean()}


EXPERIMENT = harness.Experiment(
    name="fig01",
    description=__doc__,
    run=run,
    table=table,
    summary=summary,
    check=check,
    caption=caption,
    plots=[partial(plot, panel=panel) for panel in PANELS],
    machines=machines,
    sizes=partial(runs.sizes, benchmarks.names()),
    options={"stalls": stall_table, "sensitivities": sensitivity_table},
    figsize=(3.33, 3.2),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
