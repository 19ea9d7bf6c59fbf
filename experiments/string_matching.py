"""String matching: Aho-Corasick on GTX285, with the text in global memory (GM) and in shared memory (SM-1, SM-2).

A thread looks for all patterns in 64 bytes of the text, by a table of next states in texture memory. GM reads each byte
from global memory. SM-1 and SM-2 copy the text to shared memory first, half-warps reading words side by side; in SM-1
the words of a thread follow one another, so that 16 threads read from one bank, in SM-2 each thread has a bank of its
own. Beside them stand two layouts without any conflict, threads that copy their own bytes, the table in global memory,
random text, and the card with one thing changed.

Texts beyond 16 MB, and beyond 3.2 MB with 20,000 patterns, are not simulated: their times follow from a straight line
through those of two sizes, which is tested on a third one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import scans, tables
from experiments.common.harness import Experiment
from experiments.common.scans import BEYOND, EXAMPLE, GPU, LAYOUTS, MAIN, QUICK_LOOKUPS, ROOMY
from experiments.common.verdicts import judged, paper
from experiments.programs import ac
from experiments.programs.automaton import BYTES
from smmux import plot as figures
from smmux.sweep import Record, sweep

check = partial(judged, "string_matching")
COLORS = dict(zip(MAIN, ("#D55E00", "#E69F00", "#0072B2"), strict=True))


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate the seed's example, its figures, and all that stands beside them."""
    todo: list[Record] = [{"text": EXAMPLE, "approach": name} for name in ac.APPROACHES]
    todo += scans.main_points(quick)
    todo += scans.other_points(quick)
    return sweep(scans.point, todo, jobs=jobs, description="string_matching")


def sizes(quick: bool) -> Record:
    """The numbers of patterns, and the sizes of the texts in bytes."""
    if quick:
        return {"patterns": scans.QUICK_COUNTS, "bytes": scans.QUICK_SIZES, "further bytes": scans.QUICK_LONGEST}
    return {"patterns": scans.COUNTS, "bytes": scans.SIZES, "further bytes": scans.LONGEST}


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw run times over the size of the text, for the fewest and the most patterns, and where the law leads."""
    found = scans.times(records)
    counts = sorted({n for _, n, _ in found})
    for name in MAIN:
        for count, line in ((counts[0], "-"), (counts[-1], ":")):
            xs = sorted(size for a, n, size in found if (a, n) == (name, count))
            look = {
                "color": COLORS[name],
                "markersize": 4.6 if name == "SM-1" else 3,
                "linewidth": 0.9,
            }  # SM-2 hides it
            ax.plot(
                xs, [found[name, count, x] for x in xs], "o" if line == "-" else "s", linestyle=line,
                label=f"{name}, {count:,} patterns", **look,
            )  # fmt: skip
            far = [xs[-1], *(x for x in BEYOND if x > xs[-1])]
            if (name, count) not in scans.law_errors(found):
                continue
            law = [scans.predicted(found, name, count, x) for x in far]
            ax.plot(far, law, linestyle=(0, (4, 2)), color=COLORS[name], linewidth=0.7)
            ax.plot(far[1:], law[1:], "o" if line == "-" else "s", **look | {"markerfacecolor": "white"}, linestyle="")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("Bytes of text (hollow: by the linear law)")
    ax.set_ylabel("Run time (µs)")
    figures.legend(ax, loc="upper left", fontsize=5.5)
    return ax


def plot_speedups(records: Sequence[Record], ax: Any) -> Any:
    """Draw how many times as fast the approaches are, by number of patterns, with the ranges that the paper gives."""
    found = scans.times(records)
    size = scans.common_size(found)
    pairs = {"SM-1 over GM": MAIN[1::-1], "SM-2 over GM": MAIN[2::-2], "SM-2 over SM-1": MAIN[:0:-1]}
    shown = [
        {"patterns": f"{count:,}", "series": label, "speedup": value}
        for label, (one, other) in pairs.items()
        for (count, of), value in sorted(scans.speedup(found, one, other).items())
        if of == size
    ]
    figures.grouped_bars(ax, shown, x="patterns", hue="series", y="speedup", labels="inside")
    for claim, color in (("A3", "0.85"), ("A4", "0.7")):
        low, high = paper(claim)
        ax.axhspan(low, high, color=color, alpha=0.45, linewidth=0, zorder=0)
        what = "SM over GM" if claim == "A3" else "SM-2 over SM-1"
        ax.annotate(f"paper, {what}", (1, high), xycoords=("axes fraction", "data"), ha="right", va="top", fontsize=5.5)
    ax.set_ylim(0, 10.2)
    ax.set_xlabel(f"Patterns ({size / 1e6:g} MB of text)")
    ax.set_ylabel("Times as fast")
    figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=5.5)
    return ax


def plot_passes(records: Sequence[Record], ax: Any) -> Any:
    """Draw the bank passes of the seed's example, by layout."""
    rows = {r["approach"]: r for r in records if r["text"] == EXAMPLE}
    for i, name in enumerate(LAYOUTS):
        stores, reads = rows[name]["store_passes"], rows[name]["read_passes"]
        parts = [("stores", stores, 0, "#E69F00", "////"), ("reads", reads, stores, "#0072B2", "")]
        for label, passes, below, color, hatch in parts:
            ax.bar(i, passes, 0.6, bottom=below, color=color, hatch=hatch, edgecolor="black", label="" if i else label)
        ax.annotate(
            f"{stores} + {reads}", (i, stores + reads), xytext=(0, 1.5), textcoords="offset points", ha="center",
            fontsize=6,
        )  # fmt: skip
    ax.set_xticks(range(len(LAYOUTS)), LAYOUTS)
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(0, 1180)
    ax.set_ylabel("Bank passes, 1 kB")
    figures.legend(ax, fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Tables of the example, of the run times, of what stands beside them, and of the law."""
    return "\n\n".join([_example_table(records), _times_table(records), _beside_table(records), _law_table(records)])


def _example_table(records: Sequence[Record]) -> str:
    columns = ("copies", "copy_transactions", "store_passes", "reads", "read_passes")
    rows = [(r["approach"], *(r[c] for c in columns)) for r in records if r["text"] == EXAMPLE]
    header = ("1024 bytes, 16 threads", "loads", "transactions", "passes of stores", "reads", "passes of reads")
    return tables.table(header, rows)


def _times_table(records: Sequence[Record]) -> str:
    rows = []
    for text in ("english", "random"):
        found = scans.times(records, text=text)
        for count, size in sorted({(n, size) for _, n, size in found}):
            gm, one, two = (found[name, count, size] for name in MAIN)
            row = scans.measured(records, text=text)["SM-2", count, size]
            share = row["matches"] / size
            rows.append((text, count, size, row["states"], f"{share:.2%}", gm, one, two, gm / one, gm / two, one / two))
    ratios = ("GM/SM-1", "GM/SM-2", "SM-1/SM-2")
    return tables.table(("text", "patterns", "bytes", "states", "matches", *(f"{n} us" for n in MAIN), *ratios), rows)


def _beside_table(records: Sequence[Record]) -> str:
    settings: dict[str, Record] = {
        "as above": {},
        "table in global memory": {"table": "global"},
        f"rows of the table {BYTES} words apart": {"pitch": BYTES},
        "64 kB of shared memory": {"gpu": ROOMY},
        "texture hits at once": {"gpu": QUICK_LOOKUPS},
    }
    names = (*MAIN, *LAYOUTS[2:], "own copy")
    own = scans.times(records)
    size, rows = scans.common_size(own), []
    for label, setting in settings.items():
        found = scans.times(records, **setting)
        for count in sorted({n for _, n, of in found if of == size}):
            rows.append((label, count, *(found.get((name, count, size)) for name in names)))
    return tables.table((f"us for {size:,} bytes", "patterns", *names), rows)


def _law_table(records: Sequence[Record]) -> str:
    found, rows = scans.times(records), []
    for (name, count), error in scans.law_errors(found).items():
        start, slope = scans.law(found, name, count)
        far = [scans.predicted(found, name, count, size) / 1000 for size in BEYOND]
        longest = scans.sizes_of(found, count)[-1]
        rows.append((name, count, start, 1e3 * slope, f"{error:+.1%} at {longest:,}", *far))
    far_columns = [f"{size // 1_000_000} MB, ms" for size in BEYOND]
    return tables.table(("law", "patterns", "us", "us per kB", "off", *far_columns), rows)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the ratios and passes."""
    found = scans.times(records)
    ratios = {}
    for pair in (("SM-1", "GM"), ("SM-2", "GM"), ("SM-2", "SM-1")):
        values = scans.speedup(found, *pair).values()
        ratios[pair] = f"{min(values):.2f} to {max(values):.2f}"
    gm, sm = (f"{a:g} to {b:g}" for a, b in (paper("A3"), paper("A4")))
    return (
        f"String matching on {GPU}. The text in shared memory is {ratios['SM-1', 'GM']} (SM-1) and "
        f"{ratios['SM-2', 'GM']} (SM-2) times as fast as in global memory (paper {gm}), SM-2 {ratios['SM-2', 'SM-1']} "
        f"times as fast as SM-1 (paper {sm}). Below: bank passes of the paper's example of 1024 bytes."
    )


def summary(records: Sequence[Record]) -> Record:
    """The times that are drawn, measured and by the law, how far the law is off, and the passes of the example."""
    found = scans.times(records)
    return {
        "time_us": [{"approach": a, "patterns": n, "bytes": size, "us": us} for (a, n, size), us in found.items()],
        "by_the_law_us": [
            {"approach": name, "patterns": n, "bytes": size, "us": scans.predicted(found, name, n, size)}
            for name, n in scans.law_errors(found)
            for size in BEYOND
        ],
        "law_errors": [{"approach": a, "patterns": n, "error": e} for (a, n), e in scans.law_errors(found).items()],
        "example": [r for r in records if r["text"] == EXAMPLE],
        "paper": {claim: paper(claim) for claim in ("A3", "A4")},
    }


EXPERIMENT = Experiment.of(
    globals(), plots=[plot, plot_speedups, plot_passes], machines=scans.machines, figsize=(3.33, 6.0)
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
