"""How many thread blocks VTB should combine: N = 2, 3 and 4 on the cards of Figure 11 (claim P23).

All benchmarks that shared memory limits run in schedule `list`, and with --everything in `source`, too, which is drawn
as marks over the bars. The grids fill a card eight times with the largest N.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from experiments.common import approaches, cards, runs, tables
from experiments.common.approaches import COMBINED, by_number
from experiments.common.cards import MEASURED
from experiments.common.harness import Experiment
from experiments.common.runs import simulate_all
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import LIMITED, MEAN, SOME, by_problem, with_speedups
from experiments.common.verdicts import judged
from smmux import benchmarks, plot as figures
from smmux.sweep import Record

HEAD, OTHER = ON_CARDS
check = partial(judged, "vtb_n")
LARGE = {"GTX285": ("SP",), "GTX480-48K": ("MC", "SP", "HG")}
"""Benchmarks by card whose default size does not fill the card eight times with N = 4."""


def size(name: str, gpu: str, quick: bool = False) -> str:
    """The size of a benchmark's problem on a card."""
    return "large" if name in LARGE.get(gpu, ()) and not quick else runs.size(quick)


def run(quick: bool = False, jobs: int | None = None, everything: bool = False) -> list[Record]:
    """Simulate; every record has its speedup over the baseline.

    quick: some benchmarks on GTX480-16K alone. everything: run both schedules.
    """
    todo: list[Record] = []
    places = product(MEASURED[1:2] if quick else MEASURED, ON_CARDS if everything else [HEAD])
    for (gpu, schedule), name in product(places, SOME if quick else LIMITED):
        common = {"benchmark": name, "build": benchmarks.get(name).builds[0], "schedule": schedule, "gpu": gpu}
        common |= {"size": size(name, gpu, quick)}
        todo.append({**common, "variant": "baseline", "n": 1})
        todo += [{**common, "variant": "vtb", "n": n} for n in COMBINED]
    return with_speedups(simulate_all(by_problem(todo), jobs, "vtb_n"))


def plot(records: Sequence[Record], ax: Any, gpu: str) -> Any:
    """Draw the bars of one card, with the other schedule as marks if it ran."""
    other = by_number(records, gpu, OTHER)
    shown = [
        {"benchmark": name, "series": f"N = {n}", "speedup": value, OTHER: other.get(name, {}).get(n)}
        for name, row in by_number(records, gpu).items()
        for n, value in row.items()
    ]
    marks = {OTHER: approaches.MARK} if other else {}
    approaches.plot_bars(ax, shown, gpu, marks, series=[f"N = {n}" for n in COMBINED])
    if gpu == next(name for name in MEASURED if by_number(records, name)):
        figures.legend(ax, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Tables of speedups, resident blocks and registers, card by card."""
    parts = []
    for gpu in MEASURED:
        ran = {schedule: found for schedule in ON_CARDS if (found := by_number(records, gpu, schedule))}
        held = {(r["benchmark"], r["n"]): r for r in records if (r["gpu"], r["schedule"]) == (gpu, HEAD)}
        rows = []
        for name in ran.get(HEAD, {}):
            own = [held[name, n] for n in (1, *COMBINED)] if name != MEAN else []
            virtual = " ".join(str(r["n"] * r["residency"]) for r in own)
            registers = " ".join(str(r["registers"]) for r in own)
            rows.append((name, *(s.get(name, {}).get(n) for s in ran.values() for n in COMBINED), virtual, registers))
        columns = [f"{schedule} N={n}" for schedule, n in product(ran, COMBINED)]
        if rows:
            parts.append(tables.table((gpu, *columns, "virtual blocks of an SM, N=1..4", "registers"), rows))
    return "\n\n".join(parts)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means by number of virtual blocks."""
    rows = {gpu: by_number(records, gpu).get(MEAN) for gpu in MEASURED}
    means = "; ".join(gpu + " " + ", ".join(f"{row[n]:.2f}" for n in COMBINED) for gpu, row in rows.items() if row)
    return (
        f"VTB that combines {', '.join(map(str, COMBINED))} thread blocks gains in the geometric mean: {means} "
        f"(schedule {HEAD})."
    )


def summary(records: Sequence[Record]) -> Record:
    """The speedups by card, schedule, benchmark and N."""
    return {gpu: {schedule: by_number(records, gpu, schedule) for schedule in ON_CARDS} for gpu in MEASURED}


def sizes(quick: bool) -> Record:
    """The sizes of the problems by benchmark and card."""
    places = product(LIMITED, MEASURED)
    return {f"{name}, {gpu}": benchmarks.get(name).sizes[size(name, gpu, quick)] for name, gpu in places}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[partial(plot, gpu=gpu) for gpu in MEASURED],
    machines=cards.measured,
    options={"stalls": approaches.stall_table, "everything": None},
    figsize=(3.33, 4.2),
    drawable=lambda records, panel: bool(by_number(records, MEASURED[panel])),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
