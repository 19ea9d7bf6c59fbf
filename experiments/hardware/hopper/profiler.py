"""Counts of the profiler (ncu) for a module of this folder that launches kernels when it is called with `--launch`."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["profiled"]


def profiled(
    module: str, out: Path, metrics: Sequence[str], control: str = "none", kernels: str = "", again: str = "kernel"
) -> list[list[float]]:
    """The metrics of each launch of `python -m MODULE --out OUT --launch`, with the clocks left alone.

    control: whether the profiler flushes the caches before each launch, "all" or "none". kernels: how the names begin
    of those that count. again: what runs again where one run does not count all metrics: "kernel", whose memory is
    restored before, or "application", in which launches find caches as those before them have left them.
    """
    log = out / f"{module.rpartition('.')[2]}_{control}_ncu.csv"
    command = (
        f"ncu --clock-control none --cache-control {control} --replay-mode {again} --csv --page raw "
        f"--kernel-name regex:^{kernels} --metrics {','.join(metrics)}"
    ).split()
    own = [sys.executable, "-m", module, "--out", str(out), "--launch"]
    subprocess.run([*command, "--log-file", str(log), *own], check=True)
    rows = list(csv.DictReader(line for line in log.read_text().splitlines() if line.startswith('"')))
    return [[float(row[name].replace(",", "")) for name in metrics] for row in rows[1:]]  # the first one has units
