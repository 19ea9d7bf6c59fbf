"""Figure 11: speedup of VTB, VTB_pipe and CO-VTB over the baseline on GTX285 and GTX480 with 16 and 48 kB.

Kernels are made by `smmux.multiplex` from the baselines: VTB combines two thread blocks (MC: four, as in the paper),
VTB_pipe two, CO-VTB two where the paper has it. Schedule `list` heads, since the paper measured on cards; `source` is
a mark over each bar. Where SP and HG hold more blocks on GTX480 than Table 1's bytes allow, a card on which those bytes
count stands beside it; so do the cards with perfect instruction fetch, kernels compiled for the registers of their own
residency instead of K+3 of the baseline (also MV on a GTX285 that hashes addresses over its partitions), and a GTX480
with half the lanes, for the paper's reason why threads matter more there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import Any

from experiments.claims import virtual_blocks
from experiments.common import approaches, cards, harness, measured, runs
from experiments.common.approaches import APPROACHES, BEST, CLAIMS, HEAD, SCHEDULES, bars, best, means, substituted
from experiments.common.cards import CAMPING, MEASURED
from experiments.common.harness import MARGIN, Verdict, exceeds, verdict
from experiments.common.runs import simulate_all
from experiments.common.speedups import LIMITED, MEAN, SOME, by_problem, with_speedups
from smmux import benchmarks, gpus, models
from smmux import plot as figures
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.sweep import Record

BESIDE = ("Table 1 bytes", "own registers", "hashed partitions")
"""What stands beside a card, as its machines are named."""
MUCH = 2 * MARGIN
"""More by this share is "much better"."""


def machines() -> list[Gpu]:
    """The cards, and what the further runs are made on."""
    return [
        *cards.measured(),
        *map(cards.perfect_fetch, MEASURED),
        *map(cards.table1_bytes, MEASURED[1:]),
        *map(cards.own_registers, MEASURED),
        cards.hashed(MEASURED[0]),
        cards.half_lanes(),
    ]


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has its speedup over the baseline. quick: some benchmarks, in schedule `list`."""
    if quick:
        todo = [p for gpu in MEASURED for p in approaches.points(gpu, HEAD, quick, SOME)]
    else:
        todo = [p for gpu, schedule in product(MEASURED, SCHEDULES) for p in approaches.points(gpu, schedule, quick)]
        for name in MEASURED[1:]:
            todo += approaches.points(cards.table1_bytes(name), HEAD, quick, table1_matters(name))
        for name in MEASURED:
            todo += approaches.points(cards.own_registers(name), HEAD, quick, own_registers=True)
        todo += approaches.points(cards.hashed(MEASURED[0]), HEAD, quick, CAMPING, own_registers=True)
        for machine in (cards.half_lanes(), *map(cards.perfect_fetch, MEASURED)):
            todo += approaches.points(machine, HEAD, quick)
    return with_speedups(simulate_all(by_problem(todo), jobs, "fig11"))


def table1_matters(gpu: str) -> list[str]:
    """The benchmarks of which fewer blocks fit a Fermi card if Table 1's bytes count, not those of arrays alone."""

    def blocks(name: str, machine: Gpu) -> int:
        benchmark = benchmarks.get(name)
        program = runs.program(benchmark)
        parameters = program.param_bytes(benchmark.pointer_bytes) if machine.param_in_smem else 0
        return models.occupancy(benchmark.table1.threads, 0, program.shared_bytes, machine, parameters).blocks

    return [name for name in LIMITED if blocks(name, cards.table1_bytes(gpu)) < blocks(name, gpus.get(gpu))]


def plot(records: Sequence[Record], ax: Any, gpu: str) -> Any:
    """Grouped bars of one card; the other schedule and the paper's means are marks."""
    from matplotlib.patheffects import withStroke

    paper = {"marker": "_", "color": "black", "markersize": 6, "markeredgewidth": 1.4, "label": "paper", "zorder": 5}
    paper["path_effects"] = [withStroke(linewidth=3, foreground="white")]
    approaches.plot_bars(ax, bars(records, gpu), gpu, {SCHEDULES[1]: approaches.MARK, "paper": paper})
    if gpu == MEASURED[0]:
        figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Speedups card by card, the paper's means beside ours."""
    parts = []
    for gpu in MEASURED:
        paper = approaches.paper(gpu)
        rows = [*_rows(records, gpu), ("paper", None, "", *(paper.get(a) for a in (*APPROACHES, BEST)), *[None] * 4)]
        for other in BESIDE:
            theirs = [(f"{row[0]}, {other}", *row[1:]) for row in _rows(records, f"{gpu}, {other}") if row[0] != MEAN]
            if theirs:
                mixed = means(substituted(records, gpu, f"{gpu}, {other}"), gpu)
                mean = (f"{MEAN}, {other}", None, "", *(mixed.get(a) for a in (*APPROACHES, BEST)), *[None] * 4)
                rows += [*theirs, mean]
        columns = [*APPROACHES.values(), BEST]
        parts.append(harness.table((gpu, "K", "registers", *columns, *(f"{SCHEDULES[1]}: {c}" for c in columns)), rows))
    variations = [(name, means(records, name)) for name in _variations()]
    if variations[0][1]:
        rows = [(name, *(found.get(a) for a in (*APPROACHES, BEST))) for name, found in variations]
        parts.append(harness.table(("means on", *APPROACHES.values(), BEST), rows))
    on_card = measured.load()
    return "\n\n".join([*parts, measured.table(on_card)] if on_card else parts)


def _variations() -> list[str]:
    """Machines on which all benchmarks run, beside the cards."""
    return [*(cards.perfect_fetch(gpu).name for gpu in MEASURED), cards.half_lanes().name]


def _rows(records: Sequence[Record], gpu: str) -> list[tuple[Any, ...]]:
    """K, registers of all variants, and speedups in both schedules, of each benchmark and in the mean."""
    found = [approaches.speedups(records, gpu, schedule) for schedule in SCHEDULES]
    own = [r for r in records if (r["gpu"], r["schedule"]) == (gpu, HEAD)]
    rows = []
    for name in found[0]:
        speedups = [row.get(a) for s in found for row in [s.get(name, {})] for a in APPROACHES]
        tops = [max(s[name].values()) if name in s else None for s in found]
        held = [r for r in own if r["benchmark"] == name]
        registers = " ".join(_registers(r) for r in held)
        rows.append((name, held[0]["residency"], registers, *speedups[:3], tops[0], *speedups[3:], tops[1]))
    if rows:
        both = [means(records, gpu, schedule) for schedule in SCHEDULES]
        rows.append((MEAN, None, "", *(m.get(a) for m in both for a in (*APPROACHES, BEST))))
    return rows


def _registers(record: Record) -> str:
    """Registers of a thread, and bytes of local memory where they do not suffice."""
    spilled = record["local_bytes"]
    return f"{record['registers']}+{spilled}B" if spilled else str(record["registers"])


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P1, P2, P28 to P33, P46 and P60, and those on the transformed kernels, for schedule `list`."""
    complete = all(set(best(records, gpu)) == set(LIMITED) for gpu in MEASURED)
    return [
        _best_means(records, complete),
        _maxima(records, complete),
        _order(records),
        _exception(records, complete),
        *(_means_of(claim, records, gpu, complete) for gpu, claim in CLAIMS.items()),
        _cards_in_order(records, complete),
        _lanes(records, complete),
        _collaborative(records),
        _selection(records, complete),
        *virtual_blocks.check(records),
    ]


def _best_means(records: Sequence[Record], complete: bool) -> Verdict:
    ours = [means(records, gpu)[BEST] for gpu in MEASURED]
    close, note = harness.close(ours, harness.paper("P1"))
    return verdict("P1", [round(v, 3) for v in ours], close if complete else None, note + " (DEVIATIONS D14, D15)")


def _maxima(records: Sequence[Record], complete: bool) -> Verdict:
    tops = {gpu: max(best(records, gpu).items(), key=lambda item: item[1]) for gpu in MEASURED}
    fermi = max((tops[gpu] for gpu in MEASURED[1:]), key=lambda item: item[1])
    ours = [tops[MEASURED[0]], fermi]
    close, note = harness.close([v for _, v in ours], harness.paper("P2"))
    return verdict(
        "P2", [f"{v:.3f} ({name})" for name, v in ours], close if complete else None, note + " (DEVIATIONS D14)"
    )


def _means_of(claim: str, records: Sequence[Record], gpu: str, complete: bool) -> Verdict:
    found = means(records, gpu)
    columns = approaches.paper(gpu)
    close, note = harness.close([found[a] for a in columns], list(columns.values()))
    mixed = means(substituted(records, gpu, f"{gpu}, Table 1 bytes"), gpu)
    more = ", ".join(f"{mixed[a]:.3f}" for a in columns)
    return verdict(
        claim,
        [round(found[a], 3) for a in columns],
        close if complete else None,
        f"{note}; CO-VTB over the three that have it; with Table 1's bytes: {more} (DEVIATIONS D14 to D18)",
    )


def _order(records: Sequence[Record]) -> Verdict:
    """The approaches in the mean; the paper's own means of CO-VTB and VTB_pipe are less than the margin apart."""
    gpu = "GTX480-16K"
    found = means(records, gpu)
    steps = {(high, low): approaches.step(high, low, gpu) for low, high in pairwise(APPROACHES)}
    return verdict(
        "P28",
        {APPROACHES[a]: round(found[a], 3) for a in APPROACHES},
        all(exceeds(found[high], found[low], step) for (high, low), step in steps.items()),
        f"{gpu}; "
        + ", ".join(f"{APPROACHES[a]} above {APPROACHES[b]} from {step:.1%} on" for (a, b), step in steps.items())
        + " (as far apart as the paper's where these are closer); CO-VTB over the three that have it, as in the paper "
        "(DEVIATIONS D17, D18)",
    )


def _exception(records: Sequence[Record], complete: bool) -> Verdict:
    """MC, and no other: one of several would be no exception."""
    ratios = {
        gpu: {name: round(row["vtb_pipe"] / row["vtb"], 3) for name, row in approaches.speedups(records, gpu).items()}
        for gpu in MEASURED
    }
    found = {gpu: [name for name, ratio in row.items() if not exceeds(ratio, 1)] for gpu, row in ratios.items()}
    return verdict(
        "P29",
        found,
        all(names == ["MC"] for names in found.values()) if complete else None,
        f"those of which VTB_pipe is not better than VTB by {MARGIN:.0%}; VTB_pipe over VTB: "
        + "; ".join(
            gpu + " " + ", ".join(f"{name} {ratio}" for name, ratio in row.items()) for gpu, row in ratios.items()
        )
        + " (VTB of MC combines four blocks; DEVIATIONS D18)",
    )


def _cards_in_order(records: Sequence[Record], complete: bool) -> Verdict:
    """Every approach in the mean, and the best ones."""
    found = {gpu: means(records, gpu) for gpu in MEASURED}
    shown = {gpu: {APPROACHES.get(a, a): round(mean, 3) for a, mean in row.items()} for gpu, row in found.items()}
    small = found.pop("GTX480-16K")
    highest = all(exceeds(small[a], mean) for row in found.values() for a, mean in row.items())
    note = f"means, each of them higher on GTX480-16K by {MARGIN:.0%} at least"
    return verdict("P32", shown, highest if complete else None, note)


def _lanes(records: Sequence[Record], complete: bool) -> Verdict:
    """The same card and memory with groups of lanes half as wide."""
    machines = ("GTX480-16K", cards.half_lanes().name)
    wide, narrow = (means(records, name).get(BEST) for name in machines)
    if not wide or not narrow:
        return verdict("P33", None, None, "not in quick runs")
    other = MEASURED[0]
    fetched = [means(records, cards.perfect_fetch(gpu).name).get(BEST) for gpu in (machines[0], other)]
    own, theirs = (best(records, name) for name in machines)
    more = ", ".join(f"{name} {own[name]:.3f} {theirs[name]:.3f}" for name in own)
    return verdict(
        "P33",
        [round(wide, 3), round(narrow, 3)],
        exceeds(wide, narrow) if complete else None,
        "best mean on GTX480-16K, and on one whose instructions hold their lanes 4 clocks, all else equal; less there "
        f"by {MARGIN:.0%} counts as the reason. {more}. On {other} {means(records, other)[BEST]:.3f}"
        + "; with perfect fetch {1}, and {0} on GTX480-16K".format(*(f and f"{f:.3f}" for f in fetched))
        + " (DEVIATIONS D21)",
    )


def _collaborative(records: Sequence[Record]) -> Verdict:
    """CO-VTB over the better of the two others."""
    ratios: dict[str, dict[str, float]] = {}
    for gpu in MEASURED:
        for name, row in approaches.speedups(records, gpu).items():
            if "co_vtb" in row:
                ratio = row["co_vtb"] / max(row["vtb"], row["vtb_pipe"])
                ratios.setdefault(name, {})[gpu] = round(ratio, 3)
    values = [ratio for row in ratios.values() for ratio in row.values()]
    better = sum(exceeds(ratio, 1, MUCH) for ratio in values)
    return verdict(
        "P46",
        ratios,
        better > len(values) / 2 if values else None,
        f"CO-VTB over the better of VTB and VTB_pipe; {better} of {len(values)} more by {MUCH:.0%}, which counts as "
        "much better, and more than half of them as typical (DEVIATIONS D17)",
    )


def _selection(records: Sequence[Record], complete: bool) -> Verdict:
    """The best approach per benchmark against each single one, both over the benchmarks that have the single one.

    It cannot be worse: only by how much it is better says anything.
    """
    found: dict[str, dict[str, float]] = {}
    above = True
    for gpu in MEASURED:
        rows = approaches.speedups(records, gpu).values()
        for approach, name in APPROACHES.items():
            having = [max(row.values()) / row[approach] for row in rows if approach in row]
            if having:
                ratio = geometric_mean(having)
                found.setdefault(gpu, {})[name] = round(ratio, 3)
                above = above and exceeds(ratio, 1, approaches.step(BEST, approach, gpu))
    return verdict(
        "P60",
        found,
        above if complete else None,
        "mean of the best over that of each single one, both of the benchmarks that have the single one; "
        f"{MARGIN:.0%} counts, or as much as the paper's means differ where that is less (DEVIATIONS D14, D18)",
    )


def caption(records: Sequence[Record]) -> str:
    """The means of the best approach, and what the marks are."""
    ours = ", ".join(f"{means(records, gpu)[BEST]:.2f} on {gpu}" for gpu in MEASURED)
    paper = ", ".join(f"{mean:.2f}" for mean in harness.paper("P1"))
    return (
        f"Figure 11. Speedup over the baseline. The best approach of each benchmark gains {ours} in the geometric mean "
        f"(GM; schedule {HEAD}; paper {paper}). Diamonds: schedule {SCHEDULES[1]}; dashes: the paper's means."
        + measured.caption(measured.load())
    )


def summary(records: Sequence[Record]) -> Record:
    """Bars of each card, means in both schedules, beside the paper's."""
    return {
        "speedups": {gpu: bars(records, gpu) for gpu in MEASURED},
        "means": {gpu: {schedule: means(records, gpu, schedule) for schedule in SCHEDULES} for gpu in MEASURED},
        "beside": {
            other: means(substituted(records, gpu, other), gpu)
            for gpu, kind in product(MEASURED, BESIDE)
            for other in [f"{gpu}, {kind}"]
            if approaches.speedups(records, other)
        },
        "half_lanes": means(records, cards.half_lanes().name),
        "perfect_fetch": {gpu: means(records, cards.perfect_fetch(gpu).name) for gpu in MEASURED},
        "paper": {gpu: approaches.paper(gpu) for gpu in MEASURED},
        "hardware": measured.load(),
    }


EXPERIMENT = harness.Experiment(
    name="fig11",
    description=__doc__,
    run=run,
    table=table,
    summary=summary,
    check=check,
    caption=caption,
    plots=[partial(plot, gpu=gpu) for gpu in MEASURED],
    machines=machines,
    sizes=lambda quick: {name: benchmarks.get(name).sizes[approaches.size(name, quick)] for name in LIMITED},
    options={"stalls": approaches.stall_table},
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    panels = [*EXPERIMENT.plots, *measured.panels()]
    return harness.main(replace(EXPERIMENT, plots=panels, figsize=(3.33, 1.45 * len(panels))), argv)


if __name__ == "__main__":
    sys.exit(main())
