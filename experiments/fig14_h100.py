"""Figures 14 and 15 on an H100: what hardware that multiplexes shared memory would bring, at each carve-out.

The benchmarks that shared memory limits, with 16, 32, 64 and 228 kB of shared memory on each multiprocessor, or the
next carve-out that holds a block. Speedups are over the kernel as it is, with all the registers that it wants; HW and
CO-HW have them too, or as many as K+3 blocks leave, whatever is faster. No card has this hardware: how far the machine
is off kernels that a card ran is what `experiments.modern` says.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from experiments.common import runs, stalls, tables
from experiments.common.harness import Experiment
from experiments.common.runs import by_key, simulate_all
from experiments.common.speedups import CO_EXTRA, LIMITED, MEAN, SOME
from experiments.common.variants import LABELS
from experiments.common.verdicts import Verdict
from smmux import benchmarks, gpus, plot as figures
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.sweep import Record

CARVEOUTS = (16, 32, 64, 228)
"""kB of shared memory on an SM; a card has more sizes between 64 and 228."""
EXTRAS = (1, 2, 3, 4, 6)
"""Blocks beyond K of HW."""
SHOWN = (2, 3)
"""Of these, the bars of Figure 14."""


def machine(name: str, kilobytes: int) -> Gpu:
    """The H100 with the smallest carve-out of at least so many kB that holds a block of a benchmark."""
    benchmark, card = benchmarks.get(name), gpus.get("H100")
    held = runs.program(benchmark).shared_bytes + card.smem_reserved
    size = next(kb for kb, _ in card.carveouts if kb >= kilobytes and 1024 * kb >= held)
    return card.with_carveout(size).replace(name=f"{card.name}, {kilobytes} kB")


def machines() -> list[Gpu]:
    """The machines of a benchmark whose block fits all of them."""
    return [machine("MV", kilobytes) for kilobytes in CARVEOUTS]


def points(name: str, kilobytes: int, size: str, extras: Sequence[int] = EXTRAS) -> list[Record]:
    """What to run of a benchmark at a carve-out: as it is, HW, and CO-HW where its shared memory is divided."""
    benchmark, gpu = benchmarks.get(name), machine(name, kilobytes)
    common = {"benchmark": name, "build": benchmark.builds[0], "schedule": gpu.schedule, "gpu": gpu, "size": size}
    series = [("hw", extra) for extra in extras] + [("co_hw", CO_EXTRA)] * bool(benchmark.divided)
    managed = [
        {**common, "management": "dynamic", "variant": variant, "extra_blocks": extra, "budgeted": budgeted}
        for variant, extra in series
        for budgeted in (False, True)
    ]
    return [{**common, "variant": "baseline"}, *managed]


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has its carve-out, and its speedup over the kernel as it is."""
    size, names = runs.size(quick), SOME if quick else LIMITED
    carveouts, extras = (CARVEOUTS[:2], SHOWN) if quick else (CARVEOUTS, EXTRAS)
    todo = [point for name in names for kb in carveouts for point in points(name, kb, size, extras)]
    records = simulate_all(todo, jobs, "fig14_h100")
    base = by_key((r for r in records if r["variant"] == "baseline"), "benchmark", "gpu")
    return [
        {
            "extra_blocks": 0,
            **r,
            "carveout_kb": int(r["gpu"].split()[-2]),
            "speedup": base[r["benchmark"], r["gpu"]]["cycles"] / r["cycles"],
        }
        for r in records
    ]


def gains(records: Sequence[Record], variant: str, extra: int) -> dict[int, dict[str, float]]:
    """Speedups of a variant by carve-out and benchmark, and their geometric mean."""
    found: dict[int, dict[str, float]] = {}
    for r in records:
        if (r["variant"], r["extra_blocks"]) == (variant, extra):
            row = found.setdefault(r["carveout_kb"], {})
            row[r["benchmark"]] = max(r["speedup"], row.get(r["benchmark"], 0))
    return {kb: row | {MEAN: geometric_mean(row.values())} for kb, row in found.items()}


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw Figure 14: the better of HW with K+2 and K+3 blocks, by benchmark and carve-out."""
    both = [gains(records, "hw", extra) for extra in SHOWN]
    shown = [
        {"benchmark": name, "carve-out": f"{kb} kB", "speedup": max(one[kb][name] for one in both)}
        for name in [*LIMITED, MEAN]
        for kb in CARVEOUTS
        if kb in both[0] and name in both[0][kb]
    ]
    figures.grouped_bars(ax, shown, x="benchmark", hue="carve-out", y="speedup", labels="above")
    figures.reference_line(ax, 1, "")
    ax.set_ylabel("Speedup of HW")
    figures.legend(ax, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_blocks(records: Sequence[Record], ax: Any) -> Any:
    """Draw Figure 15: the geometric mean by how many blocks may reside beyond K."""
    for kb in CARVEOUTS:
        means = {extra: found[kb][MEAN] for extra in EXTRAS if kb in (found := gains(records, "hw", extra))}
        if means:
            ax.plot([0, *means], [1, *means.values()], marker="o", markersize=3, label=f"{kb} kB")
    ax.set_xticks([0, *EXTRAS], ["K", *(f"K+{extra}" for extra in EXTRAS)])
    ax.set_ylabel("Speedup of HW (GM)")
    ax.set_xlabel("blocks that may reside on an SM")
    return ax


def table(records: Sequence[Record]) -> str:
    """Speedups by benchmark, carve-out and blocks, with K, the blocks that resided and the registers."""
    series = [("hw", extra) for extra in EXTRAS] + [("co_hw", CO_EXTRA)]
    found = {one: gains(records, *one) for one in series}
    base = by_key((r for r in records if r["variant"] == "baseline"), "carveout_kb", "benchmark")
    rows = []
    for kb in CARVEOUTS:
        for name in [*LIMITED, MEAN]:
            values = [found[one].get(kb, {}).get(name) for one in series]
            own = base.get((kb, name))
            if any(value is not None for value in values):
                facts = (own["residency"], own["limiter"], own["registers"]) if own else (None, "", None)
                rows.append((f"{kb} kB", name, *values, *facts))
    head = ("", "", *(f"{LABELS[variant]} K+{extra}" for variant, extra in series), "K", "limited by", "registers")
    return tables.table(head, rows)


def stall_table(records: Sequence[Record]) -> str:
    """Where the schedulers' time goes, for every run."""
    return stalls.table(
        records,
        lambda r: (r["benchmark"], f"{r['carveout_kb']} kB", f"{r['variant']} +{r['extra_blocks']}", r["speedup"]),
        ("", "carve-out", "variant", "speedup"),
    )


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means by carve-out."""
    both = [gains(records, "hw", extra) for extra in SHOWN]
    parts = [f"{max(one[kb][MEAN] for one in both):.2f} with {kb} kB" for kb in CARVEOUTS if kb in both[0]]
    return (
        "HW on an H100, where up to K+2 or K+3 blocks hold shared memory only while they use it, gains in the "
        f"geometric mean {', '.join(parts)}."
    )


def summary(records: Sequence[Record]) -> Record:
    """Speedups by variant, blocks, carve-out and benchmark."""
    series = [("hw", extra) for extra in EXTRAS] + [("co_hw", CO_EXTRA)]
    return {f"{variant} K+{extra}": gains(records, variant, extra) for variant, extra in series}


def check(_: Sequence[Record]) -> list[Verdict]:
    """No paper has claims about this."""
    return []


def sizes(quick: bool) -> Record:
    """The sizes of the problems."""
    return dict(runs.sizes(LIMITED, quick))


EXPERIMENT = Experiment.of(
    globals(), plots=[plot, plot_blocks], machines=machines, options={"stalls": stall_table}, figsize=(7.0, 4.8)
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
