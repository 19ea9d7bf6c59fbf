"""How many thread blocks VTB should combine: N = 2, 3 and 4 on the cards of Figure 11 (claim P23).

All benchmarks that shared memory limits, in both schedules; `list` heads. Grids hold eight waves of the largest N.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from experiments.common import approaches, cards, harness, runs
from experiments.common.approaches import HEAD, SCHEDULES
from experiments.common.cards import MEASURED
from experiments.common.harness import MARGIN, Verdict, exceeds, verdict
from experiments.common.runs import simulate_all
from experiments.common.speedups import LIMITED, MEAN, SOME, by_problem, with_speedups
from smmux import benchmarks
from smmux import plot as figures
from smmux.plot import geometric_mean
from smmux.sweep import Record

COMBINED = (2, 3, 4)
LARGE = {"GTX285": ("MV", "SP"), "GTX480-48K": ("MC", "SP", "HG")}
"""Of which the default size has no eight waves for N = 4 (tests/experiments/test_vtb_n.py)."""


def size(name: str, gpu: str, quick: bool = False) -> str:
    """The size of a benchmark's problem on a card."""
    return "large" if name in LARGE.get(gpu, ()) and not quick else runs.size(quick)


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has its speedup over the baseline. quick: some, on GTX480-16K, in schedule `list`."""
    todo: list[Record] = []
    places = [(MEASURED[1], HEAD)] if quick else product(MEASURED, SCHEDULES)
    for (gpu, schedule), name in product(places, SOME if quick else LIMITED):
        common = {"benchmark": name, "build": benchmarks.get(name).builds[0], "schedule": schedule, "gpu": gpu}
        common |= {"size": size(name, gpu, quick)}
        todo.append({**common, "variant": "baseline", "n": 1})
        todo += [{**common, "variant": "vtb", "n": n} for n in COMBINED]
    return with_speedups(simulate_all(by_problem(todo), jobs, "vtb_n"))


def speedups(records: Sequence[Record], gpu: str, schedule: str = HEAD) -> dict[str, dict[int, float]]:
    """Speedups by benchmark and N, and their geometric means."""
    found: dict[str, dict[int, float]] = {}
    for r in records:
        if (r["gpu"], r["schedule"], r["variant"]) == (gpu, schedule, "vtb"):
            found.setdefault(r["benchmark"], {})[r["n"]] = r["speedup"]
    if not found:
        return {}
    return {**found, MEAN: {n: geometric_mean(row[n] for row in found.values()) for n in COMBINED}}


def plot(records: Sequence[Record], ax: Any, gpu: str) -> Any:
    """Grouped bars of one card, the other schedule as marks."""
    other = speedups(records, gpu, SCHEDULES[1])
    shown = [
        {"benchmark": name, "series": f"N = {n}", "speedup": value, SCHEDULES[1]: other.get(name, {}).get(n)}
        for name, row in speedups(records, gpu).items()
        for n, value in row.items()
    ]
    approaches.plot_bars(ax, shown, gpu, {SCHEDULES[1]: approaches.MARK}, series=[f"N = {n}" for n in COMBINED])
    if gpu == next(name for name in MEASURED if speedups(records, name)):
        figures.legend(ax, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Speedups, blocks resident and registers, card by card."""
    parts = []
    for gpu in MEASURED:
        found = [speedups(records, gpu, schedule) for schedule in SCHEDULES]
        held = {(r["benchmark"], r["n"]): r for r in records if (r["gpu"], r["schedule"]) == (gpu, HEAD)}
        rows = []
        for name in found[0]:
            own = [held[name, n] for n in (1, *COMBINED)] if name != MEAN else []
            virtual = " ".join(str(r["n"] * r["residency"]) for r in own)
            registers = " ".join(str(r["registers"]) for r in own)
            rows.append((name, *(s.get(name, {}).get(n) for s in found for n in COMBINED), virtual, registers))
        columns = [f"{schedule} N={n}" for schedule, n in product(SCHEDULES, COMBINED)]
        if rows:
            parts.append(harness.table((gpu, *columns, "virtual blocks of an SM, N=1..4", "registers"), rows))
    return "\n\n".join(parts)


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claim P23, for schedule `list`."""
    gains: dict[str, dict[str, float]] = {}
    for gpu in MEASURED:
        for name, row in speedups(records, gpu).items():
            if name != MEAN:
                gains.setdefault(name, {})[gpu] = round(max(row[3], row[4]) / row[2], 3)
    overall = {name: geometric_mean(row.values()) for name, row in gains.items()}
    gaining = [name for name, value in overall.items() if exceeds(value, 1)]
    return [
        verdict(
            "P23",
            gains,
            gaining == ["MC"] if set(gains) == set(LIMITED) else None,
            f"the better of N = 3 and 4 over N = 2; on average over the cards more by {MARGIN:.0%} for "
            + (", ".join(f"{name} {overall[name]:.2f}" for name in gaining) or "none")
            + " (DEVIATIONS D19)",
        )
    ]


def caption(records: Sequence[Record]) -> str:
    """The means by number of virtual blocks."""
    found = {gpu: speedups(records, gpu).get(MEAN) for gpu in MEASURED}
    means = "; ".join(gpu + " " + ", ".join(f"{row[n]:.2f}" for n in COMBINED) for gpu, row in found.items() if row)
    return (
        f"VTB of {', '.join(map(str, COMBINED))} thread blocks gains, in the geometric mean: {means} (schedule {HEAD})."
    )


def summary(records: Sequence[Record]) -> Record:
    """Speedups by card, schedule, benchmark and N."""
    return {gpu: {schedule: speedups(records, gpu, schedule) for schedule in SCHEDULES} for gpu in MEASURED}


EXPERIMENT = harness.Experiment(
    name="vtb_n",
    description=__doc__,
    run=run,
    table=table,
    summary=summary,
    check=check,
    caption=caption,
    plots=[partial(plot, gpu=gpu) for gpu in MEASURED],
    machines=cards.measured,
    sizes=lambda quick: {
        f"{name}, {gpu}": benchmarks.get(name).sizes[size(name, gpu, quick)] for name in LIMITED for gpu in MEASURED
    },
    options={"stalls": approaches.stall_table},
    figsize=(3.33, 4.2),
    drawable=lambda records, panel: bool(speedups(records, MEASURED[panel])),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
