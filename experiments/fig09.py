"""Figure 9: two thread blocks of FFT on one SM under dynamic management of shared memory, as recorded.

Each of them needs more than half of the 16 kB. Both run at once: each asks for its memory only for an exchange, and
waits only while the other one has it. The second panel is the SMM table over time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import cards, timelines
from experiments.common.harness import Experiment
from experiments.common.schedules import IN_SIMULATION
from experiments.common.verdicts import judged
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

HEAD, _ = IN_SIMULATION
SIZE = {"batch": 60}
"""Transforms: two for each SM."""
check = partial(judged, "fig09")


def machines() -> list[Gpu]:
    """The paper's simulated card."""
    return [cards.card()]


def sizes() -> Record:
    """Transforms of the run."""
    return {"FFT": SIZE}


def run(jobs: int | None = None) -> list[Record]:
    """Simulate one more block than fits with static management."""
    [gpu] = machines()
    point = {"benchmark": "FFT", "variant": "hw", "gpu": gpu, "schedule": HEAD, "size": SIZE, "budgeted": True}
    options = {"management": "dynamic", "extra_blocks": 1}
    return sweep(timelines.simulate, [point | options], jobs=jobs, description="fig09")


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the warps of both blocks."""
    [record] = records
    timelines.plot_warps(record, ax, "two blocks", record["time_us"])
    ax.legend(ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.98), fontsize=6)
    ax.tick_params(labelbottom=False)
    return ax


def plot_memory(records: Sequence[Record], ax: Any) -> Any:
    """Draw the SMM table."""
    [record] = records
    timelines.plot_memory(record, ax, record["time_us"])
    ax.tick_params(labelbottom=False)
    return ax


def plot_series(records: Sequence[Record], ax: Any, name: str = "ipc") -> Any:
    """Draw one curve."""
    [record] = records
    timelines.plot_series(records, ax, name, ["HW"], record["time_us"])
    last = name == list(timelines.SERIES)[-1]
    ax.tick_params(labelbottom=last)
    if last:
        ax.set_xlabel("us", fontsize=6, labelpad=1)
    return ax


def table(records: Sequence[Record]) -> str:
    """Times, residency, and for what share of their lives warps wait."""
    return timelines.table_of(records, ["HW"])


def caption(records: Sequence[Record]) -> str:
    """A sentence with the numbers of allocations and waits."""
    [r] = records
    waited = r["allocation_wait_cycles"] / (r["allocation_waits"] or 1)
    return (
        f"Figure 9. Two blocks of FFT on one SM of {r['gpu']}, each of which needs more than half of the shared "
        f"memory: {r['allocation_waits']} of the grid's {r['allocations']} allocations wait, {waited:.0f} clocks on "
        "average."
    )


def summary(records: Sequence[Record]) -> Record:
    """Time, allocations and waits."""
    [r] = records
    return {name: r[name] for name in ("time_us", "residency", "allocations", "allocation_waits")}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[plot, plot_memory, *(partial(plot_series, name=name) for name in timelines.SERIES)],
    figsize=(6.8, 5.4),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
