"""What accesses at a pitch cost the whole chip, and how they are spread over the slices of the L2.

    python -m experiments.hardware.hopper.pitches --out DIR

needs a card and its profiler (ncu), and writes DIR/pitches.csv: launches of `pitches.cu`, each behind one like it, so
that the L2 has what it can hold, with what the profiler counts of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .bench import Bench
from .profiler import command_line, profiled, write

METRICS = (
    "sm__cycles_elapsed.max", "sm__cycles_active.max", "lts__t_requests.sum", "lts__t_requests.max",
    "lts__t_requests.min", "lts__t_sectors.sum", "lts__t_sectors.max", "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum", "lts__t_sectors_srcunit_ltcfabric.sum", "lts__t_sectors_lookup_miss.sum",
    "dram__sectors_read.sum", "dram__sectors_read.max", "dram__sectors_write.sum",
)  # fmt: skip
KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
REGION = 17 * GB
WHAT = {"load": 1, "store": 2, "both": 3}
Case = tuple[str, str, int, int, int, int]


def cases() -> Iterator[Case]:
    """Form, what, pitch, lines or rows, rounds (of a warp, or of a column), columns."""
    for power in range(7, 21):
        for lines in (16, 64, 160, 1024):
            if (lines * KB << power) > REGION:
                continue
            for what in ("load", "store"):
                if what == "load" or lines == 64 or power in (7, 12, 14, 18):
                    yield "lines", what, 1 << power, lines * KB, 8, 0
    for pitch in (4 * KB, 4 * KB + 128, 8 * KB, 16 * KB, 16 * KB + 128, 16 * KB + 512, 32 * KB, 64 * KB, 256 * KB):
        for rows, times in ((1024, 1), (32, 32)):
            for what in WHAT:
                if rows == 32 or pitch != 8 * KB:
                    yield "columns", what, pitch, rows, times, 1024
    for columns in (128, 256, 512):
        yield "columns", "both", 16 * KB, 1024, 1, columns


def launch_all(bench: Bench) -> None:
    """All launches, one after the other."""
    card, module = bench.card, bench.module("pitches")
    base, out = card.alloc(REGION), card.alloc(128)
    for form, what, pitch, count, times, columns in cases():
        grid, threads = (columns // 4, 128) if columns else (4 * card.multiprocessors, 256)
        for kernel in ("warm", "step"):
            given = np.uint32(count), pitch, np.uint32(WHAT[what]), np.uint32(times)
            module[f"{kernel}_{form}"](grid, threads, base, *given, out)
        card.sync()


def record(out: Path) -> None:
    """Have all launches counted."""
    counts = profiled(__spec__.name, out, METRICS, kernels="step", again="application")
    rows = ([*case, *map(int, row)] for case, row in zip(cases(), counts, strict=True))
    write(out / "pitches.csv", ["form", "what", "pitch", "count", "rounds", "columns", *METRICS], rows)


if __name__ == "__main__":
    command_line(__doc__, launch_all, record)
