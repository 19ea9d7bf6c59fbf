"""Figure 12: throughput of MV on GTX480, baseline and VTB_pipe with 16 and 48 kB, over the height of the matrix.

With --sensitivities all is run with perfect instruction fetch, too.

The width is 1024. The paper also draws CUBLAS, which is not modelled. It says that CUBLAS is as fast as its baseline
with 48 kB and its VTB_pipe with 16 kB, so that ratios to that baseline stand for ratios to CUBLAS.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import throughput
from experiments.common.harness import Experiment
from experiments.common.schedules import ON_CARDS
from experiments.common.throughput import BUDGETED, DRAWN, HEIGHTS, SETTINGS, mean_ratio
from experiments.common.verdicts import judged, paper
from smmux.sweep import Record

WIDTH = 1024
QUICK_HEIGHTS = (2048, 4096)
check = partial(judged, "fig12")


def sizes(quick: bool = False) -> dict[int, dict[str, int]]:
    """The sizes of the problems by height."""
    return {height: {"width": WIDTH, "height": height} for height in (QUICK_HEIGHTS if quick else HEIGHTS)}


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate; every record has `size`, the height."""
    settings = [*SETTINGS] if sensitivities else [*ON_CARDS, BUDGETED]
    return throughput.run("MV", sizes(quick), lambda height: 2 * WIDTH * height, jobs, "fig12", settings)


def plot(records: Sequence[Record], ax: Any, setting: str) -> Any:
    """Draw rates over the height."""
    return throughput.plot(records, ax, setting, "Height of the matrix", lambda height: f"{height // 1024}K")


def caption(records: Sequence[Record]) -> str:
    """A sentence with the mean ratios to the baseline with 48 kB."""
    small, large = (mean_ratio(records, f"{kb}_VTB_pipe", "48K_BL") for kb in ("16K", "48K"))
    return (
        f"Figure 12. MV of width {WIDTH} on GTX480: VTB_pipe reaches {small:.2f} of the rate of the "
        f"baseline with 48 kB if it has 16 kB, and {large:.2f} with 48 kB (means, schedule "
        f"{ON_CARDS.head}; paper about 1 and {paper('P35')[1]})."
    )


EXPERIMENT = Experiment.of(
    globals(),
    table=partial(throughput.table, label="height"),
    summary=throughput.summary,
    plots=[partial(plot, setting=setting) for setting in DRAWN],
    machines=throughput.machines,
    options={"stalls": throughput.stall_table, "sensitivities": None},
    figsize=(3.33, 4.6),
    drawable=lambda records, panel: DRAWN[panel] in throughput.ran(records),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
