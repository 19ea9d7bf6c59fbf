"""Figure 1: for how much of a thread block's lifetime its shared memory is in use.

`smmux.multiplex.isolate` marks regions by barriers before the first store to shared memory and after the last load from
it. The share is the time in regions over the time from block start to block end, of all blocks together. Beside the
default builds stand those as published, where loads from global memory lie inside the regions.

Without isolation (claim P14) the time from a block's first shared store to its last load is counted instead, in the
kernel as written. All runs are on the paper's simulated card under static management. Those with schedule `source` are
repeated with perfect instruction fetch and, with --sensitivities, on machines that differ in one other assumption.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import cards, runs, stalls, tables
from experiments.common.cards import GPU, PERFECT_FETCH
from experiments.common.harness import Experiment
from experiments.common.lifetimes import PUBLISHED, SLOW_SHARED, series, with_shares
from experiments.common.runs import simulate_all
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import LIMITED, MEAN, by_problem
from experiments.common.verdicts import judged, paper
from smmux import benchmarks, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record

HEAD, OTHER = IN_SIMULATION
check = partial(judged, "fig01")


def paper_mean() -> float:
    """The share that the paper gives."""
    [share] = paper("P4")
    return share


def machines(sensitivities: bool) -> list[Gpu]:
    """The machines of a run, the card first."""
    card = cards.card()
    slow = card.replace(name=SLOW_SHARED, lat_shared=2 * card.lat_shared)
    return [card, cards.perfect_fetch(), slow, *(cards.sensitivities() if sensitivities else [])]


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate; every record has the shares of block lifetime that `with_shares` computes."""
    size = runs.size(quick)
    card, perfect, slow, *others = machines(sensitivities)
    todo: list[Record] = []

    def add(name: str, variant: str, gpu: Gpu, schedules: Sequence[str], build: str | None = None) -> None:
        common: Record = {"benchmark": name, "build": build or benchmarks.get(name).builds[0], "variant": variant}
        common |= {"gpu": gpu, "size": size, "budgeted": True}
        todo.extend({**common, "schedule": schedule} for schedule in schedules)

    for name in benchmarks.names():
        add(name, "isolated", card, IN_SIMULATION)
        add(name, "baseline", card, [OTHER])
        if name in PUBLISHED:
            add(name, "isolated", card, [HEAD], PUBLISHED[name])
            add(name, "baseline", card, [OTHER], PUBLISHED[name])
        for gpu in (perfect, *others):
            add(name, "isolated", gpu, [HEAD])
    add("RD", "baseline", card, [HEAD])
    add("RD", "baseline", slow, [HEAD])
    return [with_shares(r) for r in simulate_all(by_problem(todo), jobs, "fig01")]


PANELS: dict[str, dict[str, tuple[str, str, str]]] = {
    f"isolated, schedule: {HEAD}": {
        "staged": ("isolated", HEAD, "default"),
        "as published": ("isolated", HEAD, "published"),
    },
    f"schedule: {OTHER}": {
        "isolated": ("isolated", OTHER, "default"),
        "not isolated": ("baseline", OTHER, "default"),
        "not isolated, as published": ("baseline", OTHER, "published"),
    },
}
"""What is drawn: the panels by title, their series by name, each of a variant, a schedule and a build."""


def plot(records: Sequence[Record], ax: Any, panel: str = next(iter(PANELS))) -> Any:
    """Draw the shares of each benchmark, with the paper's mean."""
    shown = []
    columns = {label: series(records, *key) for label, key in PANELS[panel].items()}
    for name in [*benchmarks.names(), MEAN]:
        shown += [
            {"benchmark": name, "series": label, "share": 100 * shares[name]}
            for label, shares in columns.items()
            if name in shares
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
    """The shares in percent of block lifetime, side by side, after what the paper says of them."""
    columns = {
        HEAD: series(records, "isolated", HEAD),
        "as published": series(records, "isolated", HEAD, "published"),
        OTHER: series(records, "isolated", OTHER),
        f"{OTHER}, not isolated": series(records, "baseline", OTHER),
        "and as published": series(records, "baseline", OTHER, "published"),
        f"{HEAD}, perfect fetch": series(records, "isolated", HEAD, gpu=PERFECT_FETCH),
    }
    said = {"HG": "high", "MM": "often", "TP": "often", "RD": "idle mostly", MEAN: f"{100 * paper_mean():.1f}"}
    said |= dict.fromkeys(set(LIMITED) - {"HG"}, "very limited")
    rows = [
        (name, said[name], *(f"{100 * shares[name]:.1f}" if name in shares else None for shares in columns.values()))
        for name in [*benchmarks.names(), MEAN]
    ]
    return "percent of block lifetime\n" + tables.table(("", "paper", *columns), rows)


def sensitivity_table(records: Sequence[Record]) -> str:
    """A table of the means on the machines that differ in one assumption."""
    names = [name for name in dict.fromkeys(r["gpu"] for r in records) if name != SLOW_SHARED]
    rows = [(name, f"{100 * series(records, 'isolated', HEAD, gpu=name)[MEAN]:.1f}") for name in names]
    return tables.table(("mean share on", "percent"), rows)


def stall_table(records: Sequence[Record]) -> str:
    """Where the schedulers' time goes, for every run."""
    return stalls.table(
        records,
        lambda r: (r["benchmark"], r["build"], r["schedule"], r["gpu"].removeprefix(GPU).lstrip(", ") or "-",
                   r["variant"], f"{100 * r['share']:.1f}"),
        ("", "build", "schedule", "machine", "variant", "region"),
    )  # fmt: skip


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means, and the benchmarks with the largest and smallest share."""
    own, published = (series(records, "isolated", HEAD, build) for build in ("default", "published"))
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
    return {**drawn, "perfect fetch": series(records, "isolated", HEAD, gpu=PERFECT_FETCH), "paper": paper_mean()}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[partial(plot, panel=panel) for panel in PANELS],
    sizes=partial(runs.sizes, benchmarks.names()),
    options={"stalls": stall_table, "sensitivities": sensitivity_table},
    figsize=(3.33, 3.2),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
