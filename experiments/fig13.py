"""Figure 13: throughput of the 1024-point FFT on GTX480, baseline and VTB_pipe with 16 and 48 kB, over the batch.

CUFFT, which the paper draws too, is not modelled; its average stands in the picture as the paper gives it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import harness, throughput
from experiments.common.approaches import SCHEDULES
from experiments.common.harness import Verdict, exceeds, verdict
from experiments.common.throughput import FETCHED, SETTINGS, curve, mean, ratios
from smmux.sweep import Record

BATCHES = (128, 256, 512, 1024, 2048)
QUICK_BATCHES = (128, 256)
FLOPS = 5 * 1024 * 10
"""Of one transform, as the field counts them: 5 n log2 n."""


def paper() -> dict[str, float]:
    """The averages that the paper gives, in GFLOPS."""
    base, cufft = harness.paper("P38")
    return {"48K_BL": base, "48K_VTB_pipe": harness.paper("P39")[1], "CUFFT": cufft}


def sizes(quick: bool = False) -> dict[int, dict[str, int]]:
    """Problems by batch."""
    return {batch: {"batch": batch} for batch in (QUICK_BATCHES if quick else BATCHES)}


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has `size`, the batch."""
    return throughput.run("FFT", sizes(quick), lambda batch: FLOPS * batch, jobs, "fig13")


def plot(records: Sequence[Record], ax: Any, setting: str) -> Any:
    """Rates over the batch, with the paper's averages."""
    levels = {f"paper, {name}": rate for name, rate in paper().items()}
    return throughput.plot(records, ax, setting, "Batch", levels=levels)


def mean_gain(records: Sequence[Record], setting: str) -> float:
    """Of VTB_pipe over the baseline with 48 kB."""
    gains = ratios(records, "48K_VTB_pipe", "48K_BL", setting).values()
    return sum(gains) / len(gains)


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P37 to P39, for schedule `list`."""
    small, large = curve(records, "16K_BL"), curve(records, "48K_BL")
    complete = len(large) == len(BATCHES)
    growth = {batch: round(rate / next(iter(small.values())), 2) for batch, rate in small.items()}
    theirs = paper()
    base, pipe = mean(records, "48K_BL"), mean(records, "48K_VTB_pipe")
    largest = max(ratios(records, "48K_VTB_pipe", "48K_BL").values())
    average, in_order, fetched = (mean_gain(records, setting) for setting in SETTINGS)
    wanted = (harness.paper("P39")[0], theirs["48K_VTB_pipe"], theirs["48K_VTB_pipe"] / theirs["48K_BL"])
    as_fast, rate_note = harness.close([base], [theirs["48K_BL"]])
    gaining, gain_note = harness.close((largest, pipe, average), wanted)
    faster = all(exceeds(rate, small[batch]) for batch, rate in large.items())
    return [
        verdict("P37", growth, None, "CUFFT is not modelled; rate of the 16K baseline over that of the smallest batch"),
        verdict(
            "P38",
            [round(base, 1), None],
            faster and as_fast and exceeds(base, theirs["CUFFT"]) if complete else None,
            f"GFLOPS, {rate_note}; above 16K for "
            + ("every batch" if faster else "some batches only")
            + f"; {mean(records, '48K_BL', FETCHED):.1f} with perfect fetch. CUFFT is the paper's (DEVIATIONS D14)",
        ),
        verdict(
            "P39",
            [round(largest, 3), round(pipe, 1)],
            gaining if complete else None,
            f"largest gain, mean GFLOPS, and mean gain ({average:.3f}): {gain_note}; mean gain in schedule "
            f"{SCHEDULES[1]} {in_order:.3f}, with perfect fetch {fetched:.3f} (DEVIATIONS D14)",
        ),
    ]


def caption(records: Sequence[Record]) -> str:
    """Mean rates."""
    names = ("16K_BL", "16K_VTB_pipe", "48K_BL", "48K_VTB_pipe")
    rates = ", ".join(f"{name} {mean(records, name):.0f}" for name in names)
    theirs = ", ".join(f"{name} {rate:.0f}" for name, rate in paper().items())
    return (
        f"Figure 13. 1024-point FFTs on GTX480: {rates} GFLOPS on average (schedule {SCHEDULES[0]}; paper {theirs}); "
        f"with perfect instruction fetch 48K_BL {mean(records, '48K_BL', FETCHED):.0f}."
    )


def summary(records: Sequence[Record]) -> Record:
    """Rates by setting and series, beside the paper's averages."""
    return {**throughput.summary(records), "paper": paper()}


EXPERIMENT = harness.Experiment(
    name="fig13",
    description=__doc__,
    run=run,
    table=partial(throughput.table, label="batch"),
    summary=summary,
    check=check,
    caption=caption,
    plots=[partial(plot, setting=setting) for setting in SETTINGS],
    machines=throughput.machines,
    sizes=sizes,
    options={"stalls": throughput.stall_table},
    figsize=(3.33, 4.8),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
