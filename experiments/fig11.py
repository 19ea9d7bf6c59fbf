"""Figure 11: speedup of VTB, VTB_pipe and CO-VTB over the baseline on GTX285 and GTX480 with 16 and 48 kB.

`smmux.multiplex` makes the kernels from the baselines: VTB combines two thread blocks (four for MC, as in the paper),
VTB_pipe two, and CO-VTB two where the paper has it. The bars are of schedule `list`, since the paper measured on cards;
`source` is a mark over each bar.

A kernel has the registers that it needs, up to the card's limit, as nvcc gives them.

Printed beside the figure are runs that differ in one thing: GTX480 with Table 1's bytes, where SP and HG fit more often
without them; perfect instruction fetch; kernels compiled for the registers that K+3 blocks of the baseline leave, as
those that the paper simulates; MV on a GTX285 that hashes addresses over its partitions; a GTX285 whose queues have no
bounds; and a GTX480 with half the lanes, which the paper gives as the reason why threads matter more there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from experiments.common import approaches, cards, measured, runs, tables
from experiments.common.approaches import BEST, bars, means, substituted
from experiments.common.cards import CAMPING, MEASURED
from experiments.common.harness import Experiment
from experiments.common.runs import simulate_all
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import LIMITED, MEAN, SOME, by_problem, with_speedups
from experiments.common.variants import APPROACHES
from experiments.common.verdicts import judged, paper
from smmux import benchmarks, gpus, models, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record

BESIDE = ("Table 1 bytes", "K+3 registers", "hashed partitions")
"""Runs beside those on a card, by what follows the card's name in the name of their machine."""
HEAD, OTHER = ON_CARDS
check = partial(judged, "fig11")


def machines() -> list[Gpu]:
    """The cards, and the machines of the runs beside them."""
    return [
        *cards.measured(),
        *map(cards.perfect_fetch, MEASURED),
        *map(cards.table1_bytes, MEASURED[1:]),
        *map(cards.budgeted, MEASURED),
        cards.hashed(MEASURED[0]),
        cards.unbounded(MEASURED[0]),
        cards.half_lanes(),
    ]


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has its speedup over the baseline. quick: some benchmarks, in schedule `list`."""
    if quick:
        todo = [p for gpu in MEASURED for p in approaches.points(gpu, HEAD, quick, SOME)]
    else:
        todo = [p for gpu, schedule in product(MEASURED, ON_CARDS) for p in approaches.points(gpu, schedule, quick)]
        for name in MEASURED[1:]:
            todo += approaches.points(cards.table1_bytes(name), HEAD, quick, table1_matters(name))
        for name in MEASURED:
            todo += approaches.points(cards.budgeted(name), HEAD, quick, budgeted=True)
        todo += approaches.points(cards.hashed(MEASURED[0]), HEAD, quick, CAMPING)
        for machine in (cards.unbounded(MEASURED[0]), cards.half_lanes(), *map(cards.perfect_fetch, MEASURED)):
            todo += approaches.points(machine, HEAD, quick)
    return with_speedups(simulate_all(by_problem(todo), jobs, "fig11"))


def table1_matters(gpu: str) -> list[str]:
    """The benchmarks of which fewer blocks fit on a Fermi card if Table 1's bytes count, not the arrays alone."""

    def blocks(name: str, machine: Gpu) -> int:
        benchmark = benchmarks.get(name)
        program = runs.program(benchmark)
        parameters = program.param_bytes(benchmark.pointer_bytes) if machine.param_in_smem else 0
        return models.occupancy(benchmark.table1.threads, 0, program.shared_bytes, machine, parameters).blocks

    return [name for name in LIMITED if blocks(name, cards.table1_bytes(gpu)) < blocks(name, gpus.get(gpu))]


def plot(records: Sequence[Record], ax: Any, gpu: str) -> Any:
    """Draw the bars of one card, with the other schedule and the paper's means as marks."""
    from matplotlib.patheffects import withStroke

    dash = {"marker": "_", "color": "black", "markersize": 6, "markeredgewidth": 1.4, "label": "paper", "zorder": 5}
    dash["path_effects"] = [withStroke(linewidth=3, foreground="white")]
    approaches.plot_bars(ax, bars(records, gpu), gpu, {OTHER: approaches.MARK, "paper": dash})
    if gpu == MEASURED[0]:
        figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Tables of speedups card by card, with the paper's means beside ours."""
    parts = []
    for gpu in MEASURED:
        theirs = approaches.paper(gpu)
        rows = [*_rows(records, gpu), ("paper", None, "", *(theirs.get(a) for a in (*APPROACHES, BEST)), *[None] * 4)]
        for other in BESIDE:
            there = [(f"{row[0]}, {other}", *row[1:]) for row in _rows(records, f"{gpu}, {other}") if row[0] != MEAN]
            if there:
                mixed = means(substituted(records, gpu, f"{gpu}, {other}"), gpu)
                mean = (f"{MEAN}, {other}", None, "", *(mixed.get(a) for a in (*APPROACHES, BEST)), *[None] * 4)
                rows += [*there, mean]
        columns = [*APPROACHES.values(), BEST]
        parts.append(tables.table((gpu, "K", "registers", *columns, *(f"{OTHER}: {c}" for c in columns)), rows))
    variations = [(name, means(records, name)) for name in _variations()]
    if variations[0][1]:
        rows = [(name, *(of_machine.get(a) for a in (*APPROACHES, BEST))) for name, of_machine in variations]
        parts.append(tables.table(("means on", *APPROACHES.values(), BEST), rows))
    on_card = measured.load()
    return "\n\n".join([*parts, measured.table(on_card)] if on_card else parts)


def _variations() -> list[str]:
    """The names of the machines beside the cards on which all benchmarks run."""
    machines = (*map(cards.perfect_fetch, MEASURED), cards.unbounded(MEASURED[0]), cards.half_lanes())
    return [machine.name for machine in machines]


def _rows(records: Sequence[Record], gpu: str) -> list[tuple[Any, ...]]:
    """K, registers of all variants, and speedups in both schedules, of each benchmark and in the mean."""
    both = [approaches.speedups(records, gpu, schedule) for schedule in ON_CARDS]
    own = [r for r in records if (r["gpu"], r["schedule"]) == (gpu, HEAD)]
    rows = []
    for name in both[0]:
        speedups = [row.get(a) for s in both for row in [s.get(name, {})] for a in APPROACHES]
        tops = [max(s[name].values()) if name in s else None for s in both]
        held = [r for r in own if r["benchmark"] == name]
        registers = " ".join(_registers(r) for r in held)
        rows.append((name, held[0]["residency"], registers, *speedups[:3], tops[0], *speedups[3:], tops[1]))
    if rows:
        both_means = [means(records, gpu, schedule) for schedule in ON_CARDS]
        rows.append((MEAN, None, "", *(m.get(a) for m in both_means for a in (*APPROACHES, BEST))))
    return rows


def _registers(record: Record) -> str:
    """Registers of a thread, and its bytes of local memory where they do not suffice."""
    spilled = record["local_bytes"]
    return f"{record['registers']}+{spilled}B" if spilled else str(record["registers"])


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means of the best approach, and on the marks."""
    ours = ", ".join(f"{means(records, gpu)[BEST]:.2f} on {gpu}" for gpu in MEASURED)
    theirs = ", ".join(f"{mean:.2f}" for mean in paper("P1"))
    budgeted = [means(records, cards.budgeted(gpu).name).get(BEST) for gpu in MEASURED]
    former = ", ".join(f"{mean:.2f}" for mean in budgeted if mean)
    return (
        f"Figure 11. Speedup over the baseline. The best approach of each benchmark gains {ours} in the geometric mean "
        f"(GM; schedule {HEAD}; paper {theirs})"
        + (f", {former} in kernels with the registers that K+3 blocks leave" if former else "")
        + f". Diamonds: schedule {OTHER}; dashes: the paper's means."
        + measured.caption(measured.load())
    )


def summary(records: Sequence[Record]) -> Record:
    """The bars of each card, means in both schedules and on the machines beside them, and the paper's means."""
    return {
        "speedups": {gpu: bars(records, gpu) for gpu in MEASURED},
        "means": {gpu: {schedule: means(records, gpu, schedule) for schedule in ON_CARDS} for gpu in MEASURED},
        "beside": {
            other: means(substituted(records, gpu, other), gpu)
            for gpu, kind in product(MEASURED, BESIDE)
            for other in [f"{gpu}, {kind}"]
            if approaches.speedups(records, other)
        },
        "half_lanes": means(records, cards.half_lanes().name),
        "unbounded": means(records, cards.unbounded(MEASURED[0]).name),
        "perfect_fetch": {gpu: means(records, cards.perfect_fetch(gpu).name) for gpu in MEASURED},
        "paper": {gpu: approaches.paper(gpu) for gpu in MEASURED},
        "hardware": measured.load(),
    }


def plot_measured(records: Sequence[Record], ax: Any) -> Any:
    """Draw what was measured on a real card."""
    return measured.plot(measured.load(), ax)


def drawable(records: Sequence[Record], panel: int) -> bool:
    """Whether there is something to draw: in the last panel only if a real card was measured."""
    return panel < len(MEASURED) or bool(measured.load())


def sizes(quick: bool) -> Record:
    """The sizes of the problems by benchmark."""
    return {name: benchmarks.get(name).sizes[approaches.size(name, quick)] for name in LIMITED}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[*(partial(plot, gpu=gpu) for gpu in MEASURED), plot_measured],
    options={"stalls": approaches.stall_table},
    figsize=(3.33, 5.8),
    drawable=drawable,
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
