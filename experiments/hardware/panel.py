"""Figure 11's last panel as a simulated card has it, beside the bars that were measured.

    python -m experiments.hardware.panel --out results [--quick] [--through ptxas smmux] [--benchmarks NAME...]
    python -m experiments.hardware.panel --forms foreign --out results
    python -m experiments.hardware.panel --forms tiles --out results

simulates the kernels of `multiplex_CARD.csv`, the Baseline, VTB and VTB_pipe of the benchmarks that shared memory
limits, of `foreign_CARD.csv`, those of foreign kernels, or of `tiles_CARD.csv`, programs with tiles in shared memory:
at the sizes and carve-outs of the measurement, on its card. They go through the vendor's compiler (`smmux.from_numba`:
the same text as on the card, in the spelling that was fastest there) and, unless they have tiles, through this
package's own. A gain is the time of the Baseline over that of a form, as measured: of a launch behind the same one.
Printed are the bars, and of those with each compiler: how many gains and losses of more than 5 % have the right sign,
the rank correlation with the measured ones, and the median and largest distance.

What was not measured is predicted all the same, and printed alone. Records are kept in OUT/panel.sqlite as soon as they
are there, so that a run that was stopped goes on. The files are OUT/panel.csv, with a row per kernel and carve-out, and
OUT/panel.png; those of other forms are called panel_foreign and panel_tiles.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from experiments.common import measured, tables
from experiments.common.card_sources import FORMS, RANGED, WRITTEN, Source, load, program
from experiments.common.preloading import BASELINE
from experiments.common.speedups import LIMITED, SOME
from experiments.common.variants import APPROACHES
from smmux import gpus, multiplex
from smmux.base import whole_files
from smmux.plot import geometric_mean
from smmux.sweep import Cache, Record, sweep

THROUGH = ("ptxas", "smmux")
SETS = {
    "multiplex": ("panel", THROUGH),
    "foreign": ("panel_foreign", THROUGH),
    "tiles": ("panel_tiles", THROUGH[:1]),
}
"""The sets of forms: how their files are named, and through which compilers they can go."""
COLUMNS = (
    "benchmark", "variant", "spelling", "through", "carveout_kb", "taken_kb", "cycles", "time_us", "registers",
    "residency", "instructions", "speedup", "measured_us", "measured",
)  # fmt: skip
FAR = 0.05
"""Of gains and losses above that the sign has to be right."""
TALLEST = 3.0
"""Where an axis ends, for speedups beyond it: they are written instead."""


def taken(gpu: gpus.Gpu, wanted_kb: int, held: int) -> int:
    """The carve-out that the driver takes: the smallest that is as large as what is wanted, and holds a block."""
    sizes = sorted(size for size, _ in gpu.carveouts)
    return next(size for size in sizes if size >= wanted_kb and 1024 * size >= held)


def source_of(name: str, variant: str, spelling: str, size: str, forms: str = "multiplex") -> Source:
    """The source that ran on the card; the default size is that of the measurement."""
    known = FORMS[forms]
    every = known.of(name, known.sizes.get(name, size) if size == "default" else size)
    return next(s for s in every if (s.variant, s.spelling) == (variant, spelling))


def through_ptxas(
    name: str, variant: str, spelling: str, size: str, forms: str = "multiplex"
) -> tuple[Any, Source, int]:
    """The kernel as Numba and ptxas compile it, its launch, and the bytes of a block."""
    import numba

    source = source_of(name, variant, spelling, size, forms)
    types = tuple(
        numba.typeof(np.array(value) if isinstance(value, np.ndarray) else value)
        for value in source.problem.arguments()
    )
    kernel = smmux.from_numba(load(source.text, source.kernel), types)
    return kernel, source, kernel.shared_bytes


def through_smmux(
    name: str, variant: str, spelling: str, size: str, forms: str = "multiplex"
) -> tuple[Any, Source, int]:
    """The same of the kernel as this package compiles it."""
    source, row = source_of(name, variant, spelling, size, forms), program(name)
    kernel = row.kernels[row.builds[0]]
    if variant != BASELINE:
        virtual: Any = multiplex.FORMS[variant].function(kernel)
        kernel = virtual.fitted(source.problem.grid, source.problem.block)
    arguments = source.problem.arguments()
    compiled = kernel.compile(arguments, gpus.COMPILED, grid=source.grid, block=source.block)
    return kernel, source, compiled.shared_bytes + gpus.get(gpus.COMPILED).smem_reserved


def simulate(
    *,
    benchmark: str,
    variant: str,
    spelling: str,
    through: str,
    carveout_kb: int | None,
    size: str,
    gpu: str,
    forms: str = "multiplex",
) -> Record:
    """Run one kernel under one carve-out, None for the driver's own choice, its outputs checked."""
    make = through_ptxas if through == "ptxas" else through_smmux
    kernel, source, held = make(benchmark, variant, spelling, size, forms)
    machine = gpus.get(gpu)
    kilobytes = None if carveout_kb is None else taken(machine, carveout_kb, held)
    arguments = tuple(np.array(v) if isinstance(v, np.ndarray) else v for v in source.problem.arguments())
    result = kernel.simulate(source.grid, source.block, arguments, gpu=machine, carveout=kilobytes, warm=True)
    source.problem.check(arguments)
    return {
        "taken_kb": result.gpu.smem_bytes >> 10,
        "cycles": result.cycles,
        "time_us": round(result.time_us, 3),
        "registers": result.program.nregs,
        "residency": result.residency,
        "instructions": result.counters["instructions"],
    }


def points(
    names: Sequence[str], through: Sequence[str], size: str, gpu: str, forms: str = "multiplex"
) -> Iterator[Record]:
    """What to simulate: of each form the spelling that was fastest on the card, one where none was measured."""
    rows = measured.load(forms)
    for way in through:
        for name in names:
            for kb in FORMS[forms].carveouts:
                for variant in (BASELINE, *FORMS[forms].variants):
                    here = measured_rows(rows, name, variant, kb)
                    if rows and not here:
                        continue
                    first = RANGED if variant == BASELINE else WRITTEN
                    yield {
                        "benchmark": name, "variant": variant, "spelling": here[0]["spelling"] if here else first,
                        "through": way, "carveout_kb": kb, "size": size, "gpu": gpu, "forms": forms,
                    }  # fmt: skip


def measured_rows(rows: Sequence[Record], name: str, variant: str, kb: int | None) -> list[Record]:
    """What was measured of a form under a carve-out, the fastest spelling first."""
    here = [r for r in rows if (r["benchmark"], r["variant"], r["carveout_kb"] or None) == (name, variant, kb)]
    return sorted(here, key=lambda row: row["median_us"])


def with_measured(records: Sequence[Record], forms: str = "multiplex") -> list[Record]:
    """The records with their speedups over the Baseline, and with what was measured, None for what was not."""
    rows = measured.load(forms)
    base = {(r["benchmark"], r["through"], r["carveout_kb"]): r["time_us"] for r in records if r["variant"] == BASELINE}
    result = []
    for r in records:
        card: Record = next(iter(measured_rows(rows, r["benchmark"], r["variant"], r["carveout_kb"])), {})
        speedup = base[r["benchmark"], r["through"], r["carveout_kb"]] / r["time_us"]
        beside = {"measured_us": card.get("median_us"), "measured": card.get("speedup")}
        result.append({**r, "speedup": round(speedup, 4), **beside})
    return result


def agreement(records: Sequence[Record]) -> dict[str, Any]:
    """How simulated speedups agree with the measured ones: signs of those beyond `FAR`, ranks, distances."""
    ours, theirs = (np.array([r[key] for r in records]) for key in ("speedup", "measured"))
    clear = np.abs(theirs - 1) > FAR
    distance = np.abs(ours / theirs - 1)
    a, b = _ranks(ours), _ranks(theirs)
    correlation = round(float(np.corrcoef(a, b)[0, 1]), 3) if np.ptp(a) and np.ptp(b) else None
    return {
        "bars": len(records),
        "clear": int(clear.sum()),
        "signs right": int((np.sign(ours - 1) == np.sign(theirs - 1))[clear].sum()),
        "rank correlation": correlation,
        "median distance": round(float(np.median(distance)), 3),
        "largest distance": round(float(distance.max()), 3),
    }


def _ranks(values: Any) -> Any:
    """The place of each value among all; equal ones share theirs."""
    below = (values[:, None] > values[None, :]).sum(axis=1)
    return below + ((values[:, None] == values[None, :]).sum(axis=1) - 1) / 2


def text(records: Sequence[Record]) -> str:
    """The bars beside one another, times beside one another, and how they agree."""
    forms = [r for r in records if r["variant"] != BASELINE]
    ways = list(dict.fromkeys(r["through"] for r in records))

    def value(key: str, name: str, variant: str, way: str, kb: int | None) -> Any:
        found = (r[key] for r in records if (r["benchmark"], r["variant"], r["through"]) == (name, variant, way)
                 and r["carveout_kb"] == kb)  # fmt: skip
        return next(found, None)

    places = list(dict.fromkeys((r["benchmark"], r["variant"]) for r in records))
    kbs = carveouts(records)
    parts = []
    for what, mine, card in (("gain", "speedup", "measured"), ("us", "time_us", "measured_us")):
        rows = []
        for name, variant in places:
            if what == "gain" and variant == BASELINE:
                continue
            cells: list[Any] = []
            for kb in kbs:
                cells.append(next((value(card, name, variant, way, kb) for way in ways), None))
                cells += [value(mine, name, variant, way, kb) for way in ways]
            rows.append((name, APPROACHES.get(variant, variant), *cells))
        head = [f"{size_of(kb)} {way}".strip() for kb in kbs for way in ("card", *ways)]
        parts.append(tables.table((what, "", *head), rows))
    rows = []
    for way in ways:
        for kb in dict.fromkeys((*kbs, None)):
            some = [r for r in forms if r["through"] == way and kb in (None, r["carveout_kb"]) and r["measured"]]
            if some:
                found = agreement(some)
                rows.append((way, size_of(kb) or "all", *found.values()))
    known = [r for r in records if r["measured"]]
    if not known:
        return "\n\n".join(parts)
    parts.append(tables.table(("through", "carve-out", *agreement(known)), rows))
    for way in ways:
        ratio = [r["time_us"] / r["measured_us"] for r in known if r["through"] == way]
        spread = float(np.exp(np.std(np.log(ratio))))
        parts.append(
            f"Times through {way}: {geometric_mean(ratio):.2f} of the card's in the mean, spread x{spread:.2f}."
        )
    return "\n\n".join(parts)


def carveouts(records: Sequence[Record]) -> list[int | None]:
    """Those of the records, the smallest first."""
    return sorted({r["carveout_kb"] for r in records}, key=lambda kb: kb or 0)


def size_of(kb: int | None) -> str:
    """A carve-out in words; nothing for the driver's own choice."""
    return f"{kb} kB" if kb else ""


def plot(records: Sequence[Record], axes: Any) -> None:
    """Bars of what was measured, marks for what is predicted, a panel per carve-out."""
    forms = [r for r in records if r["variant"] != BASELINE]
    ways = list(dict.fromkeys(r["through"] for r in records))
    for ax, kb in zip(axes, carveouts(forms), strict=True):
        here = [r for r in forms if r["carveout_kb"] == kb]
        places = list(dict.fromkeys((r["benchmark"], r["variant"]) for r in here))
        names = list(dict.fromkeys(name for name, _ in places))
        at = {place: i + names.index(place[0]) * 0.6 for i, place in enumerate(places)}
        for i, approach in enumerate(dict.fromkeys(r["variant"] for r in forms)):
            own = [r for r in here if r["variant"] == approach and r["measured"]]
            bars = {at[r["benchmark"], r["variant"]]: r["measured"] for r in own}
            if bars:
                label = f"{APPROACHES.get(approach, approach)}, measured"
                ax.bar(list(bars), list(bars.values()), 0.9, color=f"C{i}", alpha=0.75, label=label)
        for way, marker in zip(ways, "Dx", strict=False):
            mine = [r for r in here if r["through"] == way]
            x, y = [at[r["benchmark"], r["variant"]] for r in mine], [r["speedup"] for r in mine]
            ax.plot(x, y, marker, color="black", markersize=4, label=f"simulated, through {way}")
        middle = [np.mean([at[place] for place in places if place[0] == name]) for name in names]
        ax.set_xticks(middle, names, rotation=90 if len(names) > len(LIMITED) else 0)
        ax.axhline(1, color="gray", linewidth=0.6)
        for r in (r for r in here if max(r["speedup"], r["measured"] or 0) > TALLEST):
            ax.set_ylim(0, TALLEST)
            place = at[r["benchmark"], r["variant"]], TALLEST
            said = f"simulated {r['speedup']:.0f}" + (f", measured {r['measured']:.0f}" if r["measured"] else "")
            beside = {"textcoords": "offset points", "rotation": 90, "va": "top", "ha": "right", "fontsize": 5}
            ax.annotate(said, place, (-6, -3), **beside)
        ax.set_ylabel(", ".join(filter(None, ("speedup", size_of(kb)))))
    axes[0].legend(fontsize=6, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)


def write(records: Sequence[Record], out: Path, name: str = "panel") -> None:
    """The table and the picture."""
    with whole_files.replacing(out / f"{name}.csv") as (path,), path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(records)
    import matplotlib.pyplot as plt

    rows = len(carveouts(records))
    width = 5 if len({r["benchmark"] for r in records}) <= len(LIMITED) else 10
    size = width, 2.2 * rows
    figure, axes = plt.subplots(rows, 1, figsize=size, sharex=True, squeeze=False, layout="constrained")
    plot(records, axes[:, 0])
    with whole_files.replacing(out / f"{name}.png") as (path,):
        figure.savefig(path, format="png", dpi=150)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.hardware.panel",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="folder (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="small problems of some benchmarks: a test of the script")
    parser.add_argument("--through", nargs="+", choices=THROUGH, help="whose compiler (both; of tiles ptxas)")
    parser.add_argument("--forms", choices=SETS, default="multiplex", help="of which kernels (%(default)s)")
    parser.add_argument("--benchmarks", nargs="+", metavar="NAME", help="which of them (all)")
    parser.add_argument("--gpu", help="machine (that of the card which was measured)")
    parser.add_argument("--jobs", type=int, help="runs at a time")
    options = parser.parse_args(argv)
    forms, (file, ways) = options.forms, SETS[options.forms]
    programs = FORMS[forms].programs
    names = options.benchmarks or (SOME if options.quick and programs == LIMITED else programs)
    through = options.through or ways
    if not set(through) <= set(ways):
        parser.error(f"{forms} go through {' and '.join(ways)} alone")
    gpu = options.gpu or measured.card(measured.load(forms)) or gpus.COMPILED
    if ", " in gpu:
        parser.error(f"several cards were measured ({gpu}): say which one is --gpu")
    options.out.mkdir(parents=True, exist_ok=True)
    todo = list(points(names, through, "quick" if options.quick else "default", gpu, forms))
    with Cache(options.out / "panel.sqlite") as cache:
        found = sweep(simulate, todo, jobs=options.jobs, description="panel", cache=cache)
    records = with_measured(found, forms)
    write(records, options.out, file)
    sys.stdout.write(text(records) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
