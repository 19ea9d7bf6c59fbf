"""Counts of the profiler (ncu) for a module of this folder that launches kernels when it is called with `--launch`."""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from smmux.base import whole_files

from .bench import Bench

__all__ = ["command_line", "profiled", "write"]


def command_line(doc: str | None, launch: Callable[[Bench], None], record: Callable[[Path], None]) -> None:
    """The command line of such a module: launch its kernels where it says so, else have them counted and recorded."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--launch", action="store_true", help="only launch the kernels")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.launch:
        launch(Bench(args.out / "cubins"))
    else:
        record(args.out)


def write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table, whole or not at all."""
    with whole_files.replacing(path) as (draft,), draft.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


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
