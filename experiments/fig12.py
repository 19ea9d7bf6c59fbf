"""Figure 12: throughput of MV on GTX480, baseline and VTB_pipe with 16 and 48 kB, over the height of the matrix.

The width is 1024. CUBLAS, which the paper draws too, is not modelled: it says that its own baseline with 48 kB and
VTB_pipe with 16 kB are as fast as CUBLAS, so that ratios to that baseline stand for those to CUBLAS.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import harness, throughput
from experiments.common.approaches import SCHEDULES
from experiments.common.harness import Verdict, exceeds, verdict
from experiments.common.throughput import FETCHED, SETTINGS, ratios
from smmux.sweep import Record

WIDTH = 1024
HEIGHTS = tuple(1024 * k for k in (8, 16, 32, 64, 128))
QUICK_HEIGHTS = (2048, 4096)


def sizes(quick: bool = False) -> dict[int, dict[str, int]]:
    """Problems by height."""
    return {height: {"width": WIDTH, "height": height} for height in (QUICK_HEIGHTS if quick else HEIGHTS)}


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate; every record has `size`, the height."""
    return throughput.run("MV", sizes(quick), lambda height: 2 * WIDTH * height, jobs, "fig12")


def plot(records: Sequence[Record], ax: Any, setting: str) -> Any:
    """Rates over the height."""
    return throughput.plot(records, ax, setting, "Height of the matrix", lambda height: f"{height // 1024}K")


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P35 and P36, for schedule `list`."""
    over = {series: list(ratios(records, series, "48K_BL").values()) for series in throughput.SERIES}
    gains = over["48K_VTB_pipe"]
    small = sum(over["16K_VTB_pipe"]) / len(gains)
    ours = [max(gains), sum(gains) / len(gains)]
    complete = len(gains) == len(HEIGHTS)
    close, note = harness.close((*ours, small), (*harness.paper("P35"), 1))
    below = sum(over["16K_BL"]) / len(gains)
    perfect = [ratios(records, f"{kb}_VTB_pipe", "48K_BL", FETCHED).values() for kb in ("16K", "48K")]
    fetched = [sum(values) / len(values) for values in perfect]
    blocks = {r["size"]: r["blocks"] for r in records if r["variant"] == "baseline"}
    return [
        verdict(
            "P35",
            [round(value, 3) for value in ours],
            close and exceeds(1, below) if complete else None,
            f"maximum and mean over the 48K baseline; VTB_pipe with 16 kB {small:.3f} of it (the paper: as fast as "
            f"CUBLAS, as is the 48K baseline), the 16K baseline {below:.3f}: {note}. "
            f"With perfect fetch VTB_pipe with 16 and 48 kB {fetched[0]:.3f} and {fetched[1]:.3f} (DEVIATIONS D16)",
        ),
        verdict(
            "P36",
            blocks,
            all(count == height // 32 for height, count in blocks.items()),
            "blocks of 32 threads by height",
        ),
    ]


def caption(records: Sequence[Record]) -> str:
    """Mean ratios to the baseline with 48 kB."""
    small, large = (ratios(records, f"{kb}_VTB_pipe", "48K_BL").values() for kb in ("16K", "48K"))
    return (
        f"Figure 12. MV of width {WIDTH} on GTX480: VTB_pipe reaches {sum(small) / len(small):.2f} of the rate of the "
        f"baseline with 48 kB if it has 16 kB, and {sum(large) / len(large):.2f} with 48 kB (means, schedule "
        f"{SCHEDULES[0]}; paper about 1 and {harness.paper('P35')[1]})."
    )


EXPERIMENT = harness.Experiment(
    name="fig12",
    description=__doc__,
    run=run,
    table=partial(throughput.table, label="height"),
    summary=throughput.summary,
    check=check,
    caption=caption,
    plots=[partial(plot, setting=setting) for setting in SETTINGS],
    machines=throughput.machines,
    sizes=sizes,
    options={"stalls": throughput.stall_table},
    figsize=(3.33, 4.6),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
