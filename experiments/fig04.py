"""Figure 4: how thread blocks of FFT share one SM, as recorded: baseline, VTB, VTB_pipe, and HW beside them.

Each row is a warp of a place for blocks on one SM of the paper's simulated card; below stand the SM's instructions per
clock, resident blocks and shared memory in use, and the row hits of the chip's DRAM, over time. The paper draws the
first exchange by hand; this is what the simulated blocks did, from their start to their end.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import cards, timelines
from experiments.common.harness import Experiment
from experiments.common.schedules import IN_SIMULATION
from experiments.common.variants import LABELS
from experiments.common.verdicts import judged
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

HEAD, _ = IN_SIMULATION
SIZE = {"batch": 120}
"""Transforms: four for each SM."""
VARIANTS: dict[str, Record] = {
    "baseline": {},
    "vtb": {},
    "vtb_pipe": {},
    "hw": {"management": "dynamic", "extra_blocks": 1},
}
"""What is drawn, with the options of its run."""
check = partial(judged, "fig04")


def machines() -> list[Gpu]:
    """The paper's simulated card."""
    return [cards.card()]


def sizes() -> Record:
    """Transforms of the run."""
    return {"FFT": SIZE}


def run(jobs: int | None = None) -> list[Record]:
    """Simulate the variants."""
    [gpu] = machines()
    common = {"benchmark": "FFT", "gpu": gpu, "schedule": HEAD, "size": SIZE, "budgeted": True}
    points = [common | {"variant": variant} | options for variant, options in VARIANTS.items()]
    return sweep(timelines.simulate, points, jobs=jobs, description="fig04")


def _longest(records: Sequence[Record]) -> float:
    return float(1.02 * max(r["time_us"] for r in records))


def plot(records: Sequence[Record], ax: Any, variant: str = "baseline") -> Any:
    """Draw the warps of one variant."""
    [record] = (r for r in records if r["variant"] == variant)
    timelines.plot_warps(record, ax, LABELS[variant], _longest(records))
    if variant == "baseline":
        ax.legend(ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.98), fontsize=6)
    ax.tick_params(labelbottom=False)
    return ax


def plot_series(records: Sequence[Record], ax: Any, name: str = "ipc") -> Any:
    """Draw one curve of all variants."""
    labels = [LABELS[r["variant"]] for r in records]
    timelines.plot_series(records, ax, name, labels, _longest(records))
    if name == "ipc":
        ax.legend(ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.95), fontsize=6)
    last = name == list(timelines.SERIES)[-1]
    ax.tick_params(labelbottom=last)
    if last:
        ax.set_xlabel("us", fontsize=6, labelpad=1)
    return ax


def table(records: Sequence[Record]) -> str:
    """Times, residency, and for what share of their lives warps wait."""
    return timelines.table_of(records, [LABELS[r["variant"]] for r in records])


def caption(records: Sequence[Record]) -> str:
    """A sentence with the times."""
    base, *others = records
    faster = ", ".join(f"{LABELS[r['variant']]} {base['time_us'] / r['time_us']:.2f}" for r in others)
    return (
        f"Figure 4. Warps of one SM during {SIZE['batch']} transforms on {base['gpu']}: one block of the baseline has "
        f"its shared memory from start to end, and the next waits for it. Speedups: {faster}."
    )


def summary(records: Sequence[Record]) -> Record:
    """Times by variant."""
    return {LABELS[r["variant"]]: r["time_us"] for r in records}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[
        *(partial(plot, variant=variant) for variant in VARIANTS),
        *(partial(plot_series, name=name) for name in timelines.SERIES),
    ],
    figsize=(6.8, 7.2),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
