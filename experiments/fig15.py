"""Figure 15: how many thread blocks an SM should run at most under dynamic shared-memory management.

Under static allocation K blocks fit on an SM. The figure shows the speedup of up to K+1, K+2 and K+3 blocks, as in the
paper, and goes on to K+8, with the time that blocks wait for shared memory. From K+4 on the runs are on a card with
registers, warps and block slots enough (`cards.roomy`), so that shared memory is the only limit, as in the paper's
argument; where the card itself would stop is in the table.

Beyond K+3 the schedule is `source` alone, unless --everything is given. The runs up to K+3 are repeated with perfect
instruction fetch, for MV with addresses hashed over the memory partitions, and with --sensitivities on machines that
differ in one other assumption.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from experiments.common import cards, runs, tables
from experiments.common.cards import CAMPING, GPU, HASHED, PERFECT_FETCH, ROOMY
from experiments.common.curves import BEYOND, PRINTED, curves, without_camping
from experiments.common.harness import Experiment
from experiments.common.runs import simulate_all
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import LIMITED, MEAN, bars, baseline_and, by_problem, means, stall_table, with_speedups
from experiments.common.stalls import for_memory
from experiments.common.tables import listed
from experiments.common.verdicts import judged
from smmux import benchmarks, models, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record

HEAD = IN_SIMULATION.head
check = partial(judged, "fig15")


def points(
    gpu: Gpu, schedules: Sequence[str], extras: Sequence[int], size: str, names: Iterable[str] = LIMITED
) -> list[Record]:
    """What to run on a machine: baseline and HW of benchmarks, compiled for the registers of the card."""
    todo: list[Record] = []
    for name, schedule in itertools.product(names, schedules):
        build = benchmarks.get(name).builds[0]
        rest: dict[str, Any] = {"size": size, "registers_of": cards.card()} if gpu.name == ROOMY else {"size": size}
        todo += baseline_and(extras, benchmark=name, build=build, schedule=schedule, gpu=gpu, **rest)
    return todo


def machines(sensitivities: bool) -> list[Gpu]:
    """The machines: the card, the roomy one, the one for benchmarks that camp on a partition, and others."""
    return [
        cards.card(),
        cards.roomy(),
        cards.hashed(),
        cards.perfect_fetch(),
        *(cards.sensitivities() if sensitivities else []),
    ]


def run(
    quick: bool = False, jobs: int | None = None, sensitivities: bool = False, everything: bool = False
) -> list[Record]:
    """Simulate; every record has its speedup over the baseline, and `wait`, the share of the blocks' lives that they
    wait for shared memory.

    everything: run both schedules beyond K+3.
    """
    size = runs.size(quick)
    card, roomy, hashed, *others = machines(sensitivities)
    todo = points(card, IN_SIMULATION, PRINTED, size)
    # K blocks fit either card, and static management does not see the difference: one baseline serves both
    beyond = points(roomy, IN_SIMULATION if everything else [HEAD], BEYOND, size)
    todo += [p for p in beyond if p["variant"] != "baseline"]
    todo += points(hashed, [HEAD], PRINTED, size, CAMPING)
    for gpu in others:
        todo += points(gpu, [HEAD], PRINTED, size)
    records = simulate_all(by_problem(todo), jobs, "fig15")
    alone = [r for r in records if r["variant"] == "baseline" and r["gpu"] == GPU]
    records += [{**r, "gpu": ROOMY} for r in alone]
    return [{**r, "wait": for_memory(r)} for r in with_speedups(records)]


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the paper's bars, K+1 to K+3."""
    names = [*LIMITED, MEAN]
    shown = [b for b in bars(records) if b["schedule"] == HEAD]
    shown.sort(key=lambda b: (names.index(b["benchmark"]), b["extra_blocks"]))
    for bar in shown:
        bar["series"] = f"K+{bar['extra_blocks']}"
    figures.grouped_bars(ax, shown, x="benchmark", hue="series", y="speedup", labels="inside")
    last = len({b["benchmark"] for b in shown}) - 1
    ax.axvline(last - 0.5, color="0.6", linewidth=0.5)
    ax.set_xlim(-0.5, last + 0.5)
    ax.set_ylim(0, 1.2 * max(b["speedup"] for b in shown))
    ax.set_ylabel("Speedup over static")
    figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return ax


def plot_curve(records: Sequence[Record], ax: Any, column: str = "speedup") -> Any:
    """Draw a line per benchmark over the number of blocks beyond K."""
    markers = dict(zip([*LIMITED, MEAN], "osD^vX*P", strict=True))
    for name, rows in curves(records).items():
        bold: dict[str, Any] = {"color": "black", "linewidth": 1.6} if name == MEAN else {}
        x, y = [r["extra_blocks"] for r in rows], [r[column] for r in rows]
        ax.plot(x, y, marker=markers[name], label=name, markersize=3, **bold)
    ax.set_xticks(range(max(BEYOND) + 1), ["K", *(f"+{n}" for n in (*PRINTED, *BEYOND))])
    ax.set_ylim(0)
    ax.set_ylabel("Speedup over static" if column == "speedup" else "Waiting for shared mem. (%)")
    if column == "speedup":
        ax.legend(ncols=4, loc="lower center", fontsize=6)
    else:
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
        ax.set_xlabel("Blocks allowed on an SM")
    return ax


def table(records: Sequence[Record]) -> str:
    """Tables of speedups and waits up to K+8, one for each schedule."""
    parts = []
    for schedule in IN_SIMULATION:
        rows = []
        for name, (static, *more) in curves(records, schedule).items():
            waits = " ".join(f"{100 * r['wait']:.0f}" for r in more)
            missing = [None] * (len(PRINTED) + len(BEYOND) - len(more))
            speedups = [r["speedup"] for r in more]
            rows.append((name, static.get("residency"), *speedups, *missing, waits, limit(static)))
        ideal = means(records, PERFECT_FETCH)
        if (schedule, "hw", PRINTED[0]) in ideal:
            fetched = [ideal[schedule, "hw", n] for n in PRINTED]
            hashed = without_camping(records)
            for label, row in (("perfect fetch", fetched), (f"{listed(CAMPING)} hashed", hashed)):
                rows.append((f"{MEAN}, {label}", None, *row, *[None] * len(BEYOND), "", ""))
        header = (schedule, "K", *(f"K+{n}" for n in (*PRINTED, *BEYOND)), "% of time waiting, K+1..", "card stops at")
        parts.append(tables.table(header, rows))
    return "\n\n".join(parts)


def limit(record: Record) -> str:
    """How many blocks fit on the card itself by registers, warps or block slots, and which of these limits them."""
    if "registers" not in record:
        return ""
    fit = models.occupancy(record["threads"], record["registers"], 0, cards.card().replace(smem_reserved=0))
    return f"K+{fit.blocks - record['residency']} ({fit.limiter})"


def sensitivity_table(records: Sequence[Record]) -> str:
    """A table of the means on the machines that differ in one assumption."""
    rows = []
    for name in dict.fromkeys(r["gpu"] for r in records if r["gpu"] not in (ROOMY, HASHED)):
        of_machine = means(records, name)
        rows.append((name, *(of_machine[HEAD, "hw", extra] for extra in PRINTED)))
    return tables.table(("mean speedup on", *(f"K+{n}" for n in PRINTED)), rows)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means, up to the largest number of blocks."""
    first, *others = curves(records)[MEAN][1:]
    last = others[-1]
    printed = ", ".join(f"{r['speedup']:.2f} with K+{r['extra_blocks']}" for r in (first, *others)[: len(PRINTED)])
    return (
        f"Figure 15. Speedup over static allocation with K blocks on an SM, geometric mean: {printed}; with "
        f"K+{last['extra_blocks']} it is {last['speedup']:.2f}, and blocks wait for shared memory for "
        f"{last['wait']:.0%} of their time on average (K+1: {first['wait']:.0%}). Schedule {HEAD}."
    )


def summary(records: Sequence[Record]) -> Record:
    """The bars, and the means and waiting times of the curves."""
    return {
        "speedups": bars(records),
        "perfect_fetch": bars(records, PERFECT_FETCH),
        "means": {s: [r["speedup"] for r in curves(records, s)[MEAN]] for s in IN_SIMULATION},
        "waits": {s: [r["wait"] for r in curves(records, s)[MEAN]] for s in IN_SIMULATION},
    }


EXPERIMENT = Experiment.of(
    globals(),
    plots=[plot, plot_curve, partial(plot_curve, column="wait")],
    sizes=partial(runs.sizes, LIMITED),
    options={"stalls": stall_table, "sensitivities": sensitivity_table, "everything": None},
    figsize=(3.33, 5.0),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
