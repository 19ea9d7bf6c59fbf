"""Figure 13: throughput of the 1024-point FFT on GTX480, baseline and VTB_pipe with 16 and 48 kB, over the batch.

The paper also draws CUFFT, which is not modelled; its average stands in the picture as the paper gives it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import throughput
from experiments.common.harness import Experiment
from experiments.common.schedules import ON_CARDS
from experiments.common.throughput import BATCHES, DRAWN, FETCHED, mean
from experiments.common.verdicts import judged, paper
from smmux.sweep import Record

QUICK_BATCHES = (128, 256)
FLOPS = 5 * 1024 * 10
"""Operations of one transform as they are usually counted, 5 n log2 n."""
check = partial(judged, "fig13")


def averages() -> dict[str, float]:
    """The averages that the paper gives, in GFLOPS."""
    base, cufft = paper("P38")
    return {"48K_BL": base, "48K_VTB_pipe": paper("P39")[1], "CUFFT": cufft}


def sizes(quick: bool = False) -> dict[int, dict[str, int]]:
    """The sizes of the problems by batch."""
    return {batch: {"batch": batch} for batch in (QUICK_BATCHES if quick else BATCHES)}


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has `size`, the batch."""
    return throughput.run("FFT", sizes(quick), lambda batch: FLOPS * batch, jobs, "fig13")


def plot(records: Sequence[Record], ax: Any, setting: str) -> Any:
    """Draw rates over the batch, with the paper's averages."""
    levels = {f"paper, {name}": rate for name, rate in averages().items()}
    return throughput.plot(records, ax, setting, "Batch", levels=levels)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the mean rates."""
    names = ("16K_BL", "16K_VTB_pipe", "48K_BL", "48K_VTB_pipe")
    rates = ", ".join(f"{name} {mean(records, name):.0f}" for name in names)
    theirs = ", ".join(f"{name} {rate:.0f}" for name, rate in averages().items())
    return (
        f"Figure 13. 1024-point FFTs on GTX480: {rates} GFLOPS on average (schedule {ON_CARDS.head}; paper {theirs}); "
        f"with perfect instruction fetch 48K_BL {mean(records, '48K_BL', FETCHED):.0f}."
    )


def summary(records: Sequence[Record]) -> Record:
    """The rates by setting and series, beside the paper's averages."""
    return {**throughput.summary(records), "paper": averages()}


EXPERIMENT = Experiment.of(
    globals(),
    table=partial(throughput.table, label="batch"),
    plots=[partial(plot, setting=setting) for setting in DRAWN],
    machines=throughput.machines,
    options={"stalls": throughput.stall_table},
    figsize=(3.33, 4.8),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
