"""TELEPORT: tiles that hardware fetches before a block starts, against kernels that load them by hand.

Sums of matrices, stencils, neural networks, reductions and others run as they are written down (Baseline), with tiles
in shared memory written by hand, with tiles that smmux writes from the Baseline, and as the Baseline on a machine that
fetches tiles ahead. The upper panel is the paper's Figure 1; effort is lines of code. Below, all programs, and in the
last panel, those that were measured on a real card.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments import programs
from experiments.common import measured_tiles, tables
from experiments.common.effort import bits
from experiments.common.harness import Experiment
from experiments.common.preloading import (
    BASELINE,
    BYPASS,
    DEFAULT,
    FORMS,
    GHOST,
    GPU,
    HAND,
    OURS,
    PROGRAMS,
    TELEPORT,
    found,
    machines,
    mean_of,
    points,
    preloaded,
    ratios,
    simulate_all,
    speedups,
)
from experiments.common.verdicts import judged
from smmux import gpus, plot as figures
from smmux.preload.analysis import CLASSES
from smmux.sweep import Record

check = partial(judged, "teleport")
FIRST = ("MMA", "MMAC", "JAC")
"""Programs of the upper panel: MMA in both mappings of threads to elements."""


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate all programs in all forms; outputs are checked."""
    return simulate_all(points(quick, sensitivities), jobs)


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the kernel times of the paper's Figure 1 over the Baseline's, the effort below the bars."""
    own, shown, efforts = found(records), [], []
    for name in FIRST:
        forms, base = own[name], own[name][BASELINE]
        shown += [
            {"program": name, "form": form, "time": forms[form]["cycles"] / base["cycles"]}
            for form in FORMS
            if form in forms
        ]
        written = (forms[form]["lines of code"] / base["lines of code"] for form in (BASELINE, HAND))
        efforts.append(f"{name}\n" + " / ".join(f"{e:.2f}" for e in (*written, 1)))
    figures.grouped_bars(ax, shown, x="program", hue="form", y="time", labels=True, number="{:.2f}".format)
    figures.reference_line(ax, 1, "")
    ax.set_xticks(range(len(FIRST)), efforts)
    ax.set_ylim(0, 1.6)
    ax.set_xlabel("lines of code: baseline / hand-written / TELEPORT", fontsize=6)
    ax.set_ylabel("Time over baseline")
    figures.legend(ax, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_all(records: Sequence[Record], ax: Any) -> Any:
    """Draw the speed of every preloaded program over the Baseline's, and the geometric means."""
    shown = []
    for form in (HAND, OURS, TELEPORT):
        own = speedups(records, BASELINE, form)
        rows = own | {"mean": mean_of(own)}
        shown += [{"program": name, "form": form, "speed": value} for name, value in rows.items()]
    shown.sort(key=lambda r: [*PROGRAMS, "mean"].index(str(r["program"])))
    figures.grouped_bars(ax, shown, x="program", hue="form", y="speed", series=FORMS)  # the colours of the first panel
    figures.reference_line(ax, 1, "")
    ax.tick_params(axis="x", labelsize=5, rotation=60)
    ax.set_ylabel("Speedup over baseline")
    figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_memory(records: Sequence[Record], ax: Any) -> Any:
    """Draw row locality and DRAM reads of TELEPORT over the Baseline's, and the reads past the L2."""
    shown = []
    for label, counter, setting in (
        ("row locality", "row locality", DEFAULT),
        ("DRAM reads", "dram_reads", DEFAULT),
        ("DRAM reads, past the L2", "dram_reads", BYPASS),
    ):
        own = ratios(records, counter, TELEPORT, BASELINE, setting)
        shown += [{"program": n, "what": label, "ratio": v} for n, v in (own | {"mean": mean_of(own)}).items()]
    shown.sort(key=lambda r: [*PROGRAMS, "mean"].index(str(r["program"])))
    figures.grouped_bars(ax, shown, x="program", hue="what", y="ratio")
    figures.reference_line(ax, 1, "")
    ax.set_yscale("log", base=2)
    ax.set_yticks([0.5, 1, 2, 4, 8, 16], ["1/2", "1", "2", "4", "8", "16"])
    ax.tick_params(axis="x", labelsize=5, rotation=60)
    ax.set_ylabel("TELEPORT / baseline")
    figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_measured(records: Sequence[Record], ax: Any) -> Any:
    """Draw what was measured on a real card."""
    return measured_tiles.plot(measured_tiles.load(), ax)


def drawable(records: Sequence[Record], panel: int) -> bool:
    """Whether there is something to draw: in the last panel only if a real card was measured."""
    return panel < len(SIMULATED) or bool(measured_tiles.load())


def table(records: Sequence[Record]) -> str:
    """Every program in every form, the classes of indices, the settings, forms that were refused, the hardware, and
    what was measured on a real card."""
    parts = [part(records) for part in (_forms, _classes, _settings, _refused, _hardware)]
    on_card = measured_tiles.load()
    return "\n\n".join([*parts, measured_tiles.table(on_card)] if on_card else parts)


def _forms(records: Sequence[Record]) -> str:
    rows = []
    for name, forms in found(records).items():
        base = forms[BASELINE]
        for form, r in forms.items():
            rows.append(
                (name, form, r["lines of code"] / base["lines of code"], r["cycles"], base["cycles"] / r["cycles"],
                 r["instructions"] / base["instructions"], r["dram_reads"], r["dram_reads"] / base["dram_reads"],
                 r["row locality"], r["preload_hits"] or None, r["preload_unfit"] or None)
            )  # fmt: skip
    header = ("", "form", "effort", "cycles", "speed", "instructions", "DRAM reads", "over Baseline", "row locality",
              "hits", "blocks without")  # fmt: skip
    return tables.table(header, rows)


def _classes(records: Sequence[Record]) -> str:
    rows = [
        (name, *(forms[BASELINE][kind] for kind in CLASSES), forms[BASELINE]["entries"], forms[BASELINE]["dropped"])
        for name, forms in found(records).items()
    ]
    return tables.table(("loads", *CLASSES, "entries", "dropped"), rows)


def _settings(records: Sequence[Record]) -> str:
    """Geometric means over the preloaded programs, by setting."""
    rows = []
    for setting in dict.fromkeys(r["setting"] for r in records):
        rows.append((setting, *(mean_of(speedups(records, other, TELEPORT, setting)) for other in (BASELINE, HAND)),
                     *(mean_of(ratios(records, counter, TELEPORT, BASELINE, setting))
                       for counter in ("dram_reads", "row locality"))))  # fmt: skip
    return tables.table(
        ("TELEPORT, geometric means", "over Baseline", "over Hand-written", "DRAM reads", "row locality"), rows
    )


def _refused(records: Sequence[Record]) -> str:
    rows = [(r["workload"], r["refused"]) for r in records if r["setting"] == DEFAULT and r["refused"]]
    return tables.table(("not tiled", "because"), rows)


def _hardware(_: Sequence[Record]) -> str:
    own = bits(gpus.get(GPU))
    share = (own["table"] + own["tags"]) / own["on chip"]
    return tables.table(("bits of", ""), [*own.items(), ("share %", 100 * share)])


def caption(records: Sequence[Record]) -> str:
    """A sentence with the means, and what it costs in DRAM reads."""
    over_base, over_hand = (mean_of(speedups(records, other)) for other in (BASELINE, HAND))
    reads = mean_of(ratios(records, "dram_reads", TELEPORT, BASELINE))
    again = mean_of(ratios(records, "dram_reads", TELEPORT, BASELINE, BYPASS))
    past = [mean_of(speedups(records, other, TELEPORT, BYPASS)) for other in (BASELINE, HAND)]
    return (
        f"TELEPORT on a {GPU}, geometric means over {len(preloaded(records))} programs: {over_base:.2f} times as fast "
        f"as the Baseline and {over_hand:.2f} times as fast as kernels written by hand (paper 1.56, 1.32). It reads "
        f"{reads:.2f} times as much from DRAM. Where requests bypass the L2 it is {past[0]:.2f} and {past[1]:.2f} "
        f"times as fast, and reads {again:.2f} times as much." + measured_tiles.caption(measured_tiles.load())
    )


def summary(records: Sequence[Record]) -> Record:
    """Speeds over the Baseline by form, and what is drawn of the memory."""
    return {
        "speeds": {form: speedups(records, BASELINE, form) for form in (HAND, OURS, TELEPORT)},
        "means": {form: mean_of(speedups(records, BASELINE, form)) for form in (HAND, OURS, TELEPORT)},
        "ghost zone": found(records)["JAC"][GHOST]["cycles"] / found(records)["JAC"][BASELINE]["cycles"],
        "DRAM reads": ratios(records, "dram_reads", TELEPORT, BASELINE),
        "row locality": ratios(records, "row locality", TELEPORT, BASELINE),
        "bits": bits(gpus.get(GPU)),
        "on a card": measured_tiles.load(),
    }


def sizes(quick: bool) -> Record:
    """The sizes of the problems."""
    return {name: programs.workload(name).sizes["quick" if quick else "default"] for name in PROGRAMS}


SIMULATED = (plot, plot_all, plot_memory)
EXPERIMENT = Experiment.of(
    globals(),
    plots=[*SIMULATED, plot_measured],
    machines=machines,
    options={"sensitivities": None},
    figsize=(3.33, 7.2),
    drawable=drawable,
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
