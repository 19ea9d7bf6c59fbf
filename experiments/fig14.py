"""Figure 14: speedup of dynamic shared-memory management in hardware (HW, CO-HW) over static allocation.

Under static allocation K blocks fit on an SM. Under HW up to K+2 and K+3 blocks run, which hold shared memory only
inside their regions, under CO-HW up to K+1 blocks, which hold part of it for good. All run on the card that the paper
simulates. Its simulator runs PTX in program order (schedule `source`), which the bars have; crosses show the same with
instructions in the order that an assembler gives them for a card (schedule `list`). `smmux.multiplex` makes the HW and
CO-HW kernels.

Runs with schedule `source` are repeated with perfect instruction fetch, for MV with addresses hashed over the memory
partitions, and with --sensitivities on machines that differ in one other assumption. VTB and VTB_pipe stand beside HW
with as many blocks.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import beside, cards, runs, tables
from experiments.common.cards import CAMPING, GPU, HASHED, PERFECT_FETCH
from experiments.common.harness import Experiment
from experiments.common.runs import simulate_all
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import (
    CO_EXTRA,
    EXTRA,
    LIMITED,
    MEAN,
    OTHERS,
    SERIES,
    bars,
    baseline_and,
    by_problem,
    drawn,
    is_default,
    means,
    stall_table,
    with_speedups,
)
from experiments.common.variants import LABELS
from experiments.common.verdicts import judged, paper
from smmux import benchmarks, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record

HEAD = IN_SIMULATION.head
check = partial(judged, "fig14")
OTHER_BUILDS = {"MV": ("x_hoisted",), "STO": ("sha1_ring",), "CV": ("radius32",)}
QUICK_BESIDE = ("FFT",)  # has the software approaches in quick runs, most of whose time goes into compiling
PAPER = {"hw": "P3", "co_hw": "P44"}
"""Claims that give mean and maximum of a variant."""
LISTED = next(schedule for schedule in IN_SIMULATION if schedule != HEAD)
"""The schedule that stands beside."""
COLUMNS = tuple(itertools.product(IN_SIMULATION, SERIES))
"""Columns of the table: schedule and bar."""
FETCH_MARK = {
    "marker": "D",
    "color": "black",
    "markerfacecolor": "white",
    "markersize": 2.2,
    "markeredgewidth": 0.6,
    "label": "perfect fetch",
}
LIST_MARK = {"marker": "x", "color": "black", "markersize": 2.4, "markeredgewidth": 0.7, "label": "ordered for a card"}


def means_and_maxima() -> dict[str, tuple[float, ...]]:
    """The mean and maximum of each variant that the paper gives."""
    return {variant: paper(claim) for variant, claim in PAPER.items()}


def points(gpu: Gpu, schedules: Sequence[str], size: str, builds: Sequence[str] | None = None) -> list[Record]:
    """What to run on a machine: HW of the default builds or of those named, and CO-HW of the default builds."""
    todo: list[Record] = []
    for name, schedule in itertools.product(LIMITED, schedules):
        benchmark = benchmarks.get(name)
        for build in builds or benchmark.builds[:1]:
            if build in benchmark.builds:
                common: Any = {"benchmark": name, "build": build, "schedule": schedule, "gpu": gpu, "size": size}
                todo += baseline_and(EXTRA, **common)
                if build == benchmark.builds[0] and benchmark.divided:
                    todo += baseline_and((CO_EXTRA,), variant="co_hw", **common)
    return todo


def machines(sensitivities: bool) -> list[Gpu]:
    """The machines of a run, the card first, then the one for the benchmarks that camp on a partition."""
    return [cards.card(), cards.hashed(), cards.perfect_fetch(), *(cards.sensitivities() if sensitivities else [])]


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate; every record has its speedup over the baseline."""
    size = runs.size(quick)
    card, hashed, *others = machines(sensitivities)
    todo = points(card, IN_SIMULATION, size)
    todo += points(card, [HEAD], size, [build for builds in OTHER_BUILDS.values() for build in builds])
    for name in OTHERS:
        build = benchmarks.get(name).builds[0]
        todo += baseline_and(EXTRA[:1], benchmark=name, build=build, schedule=HEAD, gpu=card, size=size)
    for gpu in others:
        todo += points(gpu, [HEAD], size)
    todo += beside.points(size, QUICK_BESIDE) if quick else beside.points(size)
    for name in () if quick else CAMPING:
        build = benchmarks.get(name).builds[0]
        todo += baseline_and(EXTRA, benchmark=name, build=build, schedule=HEAD, gpu=hashed, size=size)
    return with_speedups(simulate_all(by_problem(todo), jobs, "fig14"))


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the bars of the schedule that heads, marks for the other one and for perfect fetch, and the paper's means as
    lines over ours."""
    order = {(variant, extra): i for i, (variant, extra) in enumerate(SERIES)}
    found = bars(drawn(records))
    shown = [b for b in found if b["schedule"] == HEAD]
    shown.sort(key=lambda b: ([*LIMITED, MEAN].index(b["benchmark"]), order[b["variant"], b["extra_blocks"]]))
    fetched = {(b["benchmark"], b["series"]): b["speedup"] for b in bars(drawn(records), PERFECT_FETCH)}
    listed = {(b["benchmark"], b["series"]): b["speedup"] for b in found if b["schedule"] == LISTED}
    places = [(b["benchmark"], b["series"]) for b in shown]
    shown = [b | {"fetched": fetched.get(p), "listed": listed.get(p)} for b, p in zip(shown, places, strict=True)]
    marks = {"fetched": FETCH_MARK, "listed": LIST_MARK}
    figures.grouped_bars(ax, shown, x="benchmark", hue="series", y="speedup", labels="above", marks=marks)
    last = len({b["benchmark"] for b in shown}) - 1
    end = last + 0.9  # room to see the lines beside the bars
    hw, co_hw = (mean for mean, _ in means_and_maxima().values())
    figures.reference_line(ax, hw, "paper, HW (GM of 7)", between=(last - 0.45, end))
    ax.plot((last - 0.45, end), [co_hw] * 2, ":", color="black", lw=0.9, label="paper, CO-HW (GM of 3)")
    ax.axvline(last - 0.5, color="0.6", linewidth=0.5)
    ax.set_xlim(-0.5, end)
    ax.set_ylabel("Speedup over static")
    highest = max(value for b in shown for value in (b["speedup"], b["fetched"], b["listed"]) if value is not None)
    ax.set_ylim(0, 1.1 * max(hw, highest))
    figures.legend(ax, ncols=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """A table of speedups with resident blocks and registers; the paper gives means and maxima, but no single bar."""
    rows = []
    for gpu, build in itertools.product((GPU, HASHED, PERFECT_FETCH), ("", *sum(OTHER_BUILDS.values(), ()))):
        rows += [row for name in (*LIMITED, *OTHERS) for row in _row(records, name, gpu, build)]
        if not build and gpu != HASHED:
            said = ", ".join(f"{LABELS[v]} {mean}" for v, (mean, _) in means_and_maxima().items())
            note = f"paper: {said}" if gpu == GPU else "perfect fetch"
            rows.append((MEAN, *_in_columns(means(drawn(records), gpu)), None, None, "", note))
    header = ("", *(f"{s} {LABELS[v]} K+{n}" for s, (v, n) in COLUMNS), "K", "blocks", "registers", "")
    return "\n\n".join(part for part in (tables.table(header, rows), beside.table(records)) if part)


def _row(records: Sequence[Record], name: str, gpu: str, build: str) -> list[tuple[Any, ...]]:
    """The row of a benchmark's build on a machine, if it ran; build: "" for the default one."""
    own = [
        r
        for r in records
        if (r["benchmark"], r["gpu"]) == (name, gpu) and (r["build"] == build if build else is_default(r))
    ]
    if not own:
        return []
    speedups = {(r["schedule"], r["variant"], r["extra_blocks"]): r["speedup"] for r in own}
    registers = ", ".join(str(r["registers"]) for r in own if r["variant"] == "baseline")
    label, note = f"{name} {build}".rstrip(), gpu.removeprefix(GPU).lstrip(", ")
    return [(label, *_in_columns(speedups), own[0]["residency"], own[0]["blocks"], registers, note)]


def _in_columns(speedups: dict[tuple[Any, ...], float]) -> list[float | None]:
    return [speedups.get((schedule, *series)) for schedule, series in COLUMNS]


def sensitivity_table(records: Sequence[Record]) -> str:
    """A table of the means on the machines that differ in one assumption."""
    rows = []
    for name in dict.fromkeys(r["gpu"] for r in records if r["gpu"] != HASHED):
        of_machine = means(drawn(records), name)
        rows.append((name, *(of_machine[HEAD, *series] for series in SERIES)))
    return tables.table(("mean speedup on", *(f"{LABELS[v]} K+{n}" for v, n in SERIES)), rows)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means."""
    own, fetched = (means(drawn(records), gpu) for gpu in (GPU, PERFECT_FETCH))
    k2, k3 = ((HEAD, "hw", extra) for extra in EXTRA)
    (mean, _), (co_mean, _) = means_and_maxima().values()
    co_hw = own.get((HEAD, "co_hw", CO_EXTRA), math.nan)
    return (
        "Figure 14. Speedup over static allocation, with which K blocks fit on an SM. Holding shared memory only while "
        f"it is used (HW) gains {own[k2]:.2f} with two and {own[k3]:.2f} with three more blocks (paper {mean}), "
        f"holding part of it for good (CO-HW) {co_hw:.2f} with one more (paper {co_mean}); geometric means, schedule "
        f"{HEAD}. With perfect instruction fetch (diamonds) HW gains {fetched[k2]:.2f} and {fetched[k3]:.2f}; crosses: "
        f"instructions in the order that an assembler gives them for a card (schedule {LISTED})."
    )


def summary(records: Sequence[Record]) -> Record:
    """The bars and their means, beside the paper's means and maxima."""
    (mean, most), (co_mean, co_most) = means_and_maxima().values()
    return {
        "speedups": bars(drawn(records)),
        "perfect_fetch": bars(drawn(records), PERFECT_FETCH),
        "paper": {"mean": mean, "maximum": most, "co_mean": co_mean, "co_maximum": co_most},
    }


EXPERIMENT = Experiment.of(
    globals(),
    plots=[plot],
    sizes=partial(runs.sizes, (*LIMITED, *OTHERS)),
    options={"stalls": stall_table, "sensitivities": sensitivity_table},
    figsize=(6.9, 2.5),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
