"""Kepler's bank modes: a filter of 21 taps with 32- and 64-bit loads from banks of 4 and 8 bytes.

Version 1 makes one output per thread and loads words; version 2 makes two per thread and loads pairs of words, in the
4-byte mode that a K20c starts with; version 3 is version 2 in the 8-byte mode. The article that this repeats gives
their times on a Tesla K20c for 2^24 points, which are simulated here, beside smaller sizes; the other schedule of the
compiler and a GTX480, which has no modes, run at a quarter of that size.

The second panel is made by the model of the banks alone: how often the banks are used for one access of a warp.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import tables, workloads
from experiments.common.filtering import (
    FERMI,
    KEPLER,
    MODES,
    PAPER_US,
    SIZES,
    STRIDES,
    VERSIONS,
    WIDTHS,
    largest,
    passes_of_strides,
    ratios,
    runs_of,
)
from experiments.common.harness import Experiment
from experiments.common.schedules import ON_CARDS
from experiments.common.verdicts import judged
from smmux import gpus, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record

HEAD, OTHER = ON_CARDS
check = partial(judged, "bank_modes")
QUICK = (1 << 16, 1 << 18)
SENSITIVE = 1 << 20
"""Points of the runs on machines that differ in one assumption."""
LABELS = ("kind", "version", "points")
"""What a record says of a run that the run itself does not ask for."""


def points_of(quick: bool) -> tuple[int, ...]:
    """Points of the signal in the runs, the largest last."""
    return QUICK if quick else SIZES


def machines(sensitivities: bool) -> list[Gpu]:
    """The machines, Kepler first; with sensitivities those that differ from it in one assumption, too."""
    kepler = gpus.get(KEPLER)
    changed: dict[str, Record] = {
        "perfect fetch": {"icache_bytes": 0},
        "one instruction per slot": {"issue_width": 1},
        "a warp issues in every slot": {"warp_interval": 1},
        "round robin": {"sched_policy": "lrr"},
        "a clock per line, not per sector": {"replay_global": 2},
    }
    others = [kepler.replace(name=f"{KEPLER}, {name}", **change) for name, change in changed.items()]
    return [kepler, gpus.get(FERMI), *(others if sensitivities else [])]


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate the versions, then add the passes of the model; `kind` tells the records apart."""
    sizes = points_of(quick)
    kepler, fermi, *others = machines(sensitivities)
    todo: list[Record] = []

    def add(gpu: Gpu, points: int, schedule: str, versions: Sequence[str] = tuple(VERSIONS)) -> None:
        for name in versions:
            build, bank_bytes = VERSIONS[name]
            common = {"kind": "run", "version": name, "points": points, "workload": "FIR", "build": build, "gpu": gpu}
            width = bank_bytes if gpu is not fermi else None
            todo.append(common | {"bank_bytes": width, "size": {"points": points}, "schedule": schedule})

    for points in reversed(sizes):  # the longest first
        add(kepler, points, HEAD)
    add(kepler, sizes[-2], OTHER)
    add(fermi, sizes[-2], HEAD, ["v1", "v2"])
    for gpu in others:
        add(gpu, SENSITIVE, HEAD)
    return [*workloads.simulate_all(todo, jobs, "bank_modes", LABELS), *passes_of_strides()]


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the time of each version per 2^24 points, the article's beside ours."""
    points = largest(records)
    shown = []
    for name, (own,) in runs_of(records, points=points).items():
        shown.append({"version": name, "series": "K20c, measured", "ms": PAPER_US[name] / 1000})
        shown.append({"version": name, "series": "K20c, simulated", "ms": own["time_us"] / 1000 * SIZES[-1] / points})
    figures.grouped_bars(ax, shown, x="version", hue="series", y="ms", labels=True, number="{:.2f}".format)
    labels = ["32-bit loads,\n4-byte banks", "64-bit loads,\n4-byte banks", "64-bit loads,\n8-byte banks"]
    ax.set_xticks(range(len(labels)), labels)
    ax.set_ylim(0, 2.75)
    ax.set_ylabel("ms")
    figures.legend(ax, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_passes(records: Sequence[Record], ax: Any) -> Any:
    """Draw the passes of one access as a map: machine, mode and element size over the stride."""
    found = {(r["mode"], r["width"], r["stride"]): r["passes"] for r in records if r["kind"] == "model"}
    rows = list(itertools.product(MODES, WIDTHS))
    cells = [[found[mode, width, stride] for stride in STRIDES] for mode, width in rows]
    ax.imshow([[min(value, 32) ** 0.5 for value in row] for row in cells], cmap="Blues", aspect="auto", vmax=8)
    for y, row in enumerate(cells):
        for x, value in enumerate(row):
            ax.text(x, y, value, ha="center", va="center", fontsize=5)
    ax.set_xticks(range(len(STRIDES)), STRIDES)
    ax.set_yticks(range(len(rows)), [f"{width} B" for _, width in rows])
    ax.tick_params(length=0)
    for i, mode in enumerate(MODES):
        ax.text(-0.13, (i + 0.5) * len(WIDTHS) - 0.5, mode, rotation=90, va="center", ha="center", fontsize=6,
                transform=ax.get_yaxis_transform())  # fmt: skip
        if i:
            ax.axhline(i * len(WIDTHS) - 0.5, color="black", linewidth=0.7)
    ax.grid(visible=False)
    ax.set_xlabel("stride (elements)")
    ax.set_title("passes of one access of a warp", loc="left", fontsize=7, pad=2)
    return ax


def table(records: Sequence[Record]) -> str:
    """Times beside the article's, what a warp does, how busy the parts are, the ratios by size, and the model's map."""
    parts = [_of_warps(records), _by_size(records), _by_stride(records)]
    return "\n\n".join(parts)


def _of_warps(records: Sequence[Record]) -> str:
    rows = []
    for r in (r for r in records if r["kind"] == "run"):
        measured = PAPER_US[r["version"]] if (r["gpu"], r["points"]) == (KEPLER, SIZES[-1]) else None
        per_warp = (r[name] / r["warps"] for name in ("shared_accesses", "shared_passes", "shared_conflicts"))
        busy = (f"{100 * r[part]:.0f}" for part in workloads.PARTS)
        where = (r["version"], r["gpu"], r["points"], r["schedule"])
        rows.append((*where, measured, r["time_us"], r["instructions"] / r["warps"], *per_warp, *busy))
    return tables.table(
        ("", "machine", "points", "schedule", "measured us", "us", "instructions of a warp", "accesses", "passes",
         "conflicts", *(f"{part} %" for part in workloads.PARTS)),
        rows,
    )  # fmt: skip


def _by_size(records: Sequence[Record]) -> str:
    rows: list[tuple[Any, ...]] = [("measured", SIZES[-1], *ratios(PAPER_US))]
    for gpu, schedule in dict.fromkeys((r["gpu"], r["schedule"]) for r in records if r["kind"] == "run"):
        for points in sorted({r["points"] for r in records if r["kind"] == "run"}):
            own = runs_of(records, gpu, schedule, points)
            if len(own) == len(VERSIONS):
                times = {name: r["time_us"] for name, (r,) in own.items()}
                rows.append((f"{gpu}, {schedule}", points, *ratios(times)))
    return tables.table(("times", "points", "v1 / v2", "v2 / v3", "v1 / v3"), rows)


def _by_stride(records: Sequence[Record]) -> str:
    found = {(r["mode"], r["width"], r["stride"]): r["passes"] for r in records if r["kind"] == "model"}
    rows = [
        (mode, width, *(found[mode, width, stride] for stride in STRIDES))
        for mode, width in itertools.product(MODES, WIDTHS)
    ]
    return tables.table(("passes of one access", "bytes", *(f"x{stride}" for stride in STRIDES)), rows)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the times and the passes of a warp."""
    own = {name: r for name, (r,) in runs_of(records, points=largest(records)).items()}
    passes = ", ".join(f"{r['shared_passes'] / r['warps']:.1f}" for r in own.values())
    first, second, _ = ratios({name: r["time_us"] for name, r in own.items()})
    measured, exponent = ratios(PAPER_US), largest(records).bit_length() - 1
    return (
        f"21 taps over 2^{exponent} points on a K20c. Pairs of words are {first:.3f} times as fast as words"
        f" (measured {measured[0]:.3f}), and banks of 8 bytes {second:.3f} times as fast again ({measured[1]:.3f}): a "
        f"warp's shared accesses take {passes} passes. Below: passes by element size and stride."
    )


def summary(records: Sequence[Record]) -> Record:
    """Times and passes of a warp of each version at the largest size, and the article's times."""
    own = {name: r for name, (r,) in runs_of(records, points=largest(records)).items()}
    return {
        "points": largest(records),
        "us": {name: r["time_us"] for name, r in own.items()},
        "passes": {name: r["shared_passes"] / r["warps"] for name, r in own.items()},
        "measured us": PAPER_US,
    }


def sizes(quick: bool) -> Record:
    """Points of the signal."""
    return {"FIR": points_of(quick)}


EXPERIMENT = Experiment.of(globals(), plots=[plot, plot_passes], options={"sensitivities": None}, figsize=(3.33, 4.6))
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
