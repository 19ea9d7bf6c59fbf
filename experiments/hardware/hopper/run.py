"""Run microbenchmarks on a Hopper card: `python -m experiments.hardware.hopper.run --out FOLDER [NAME...]`.

Each probe writes FOLDER/NAME.csv (or NAME.npz) and runs in a process of its own, so that one that fails or hangs costs
only itself; FOLDER/provenance.json says on what card, when, and how long each took. Kernels are compiled by nvcc
(`nvcc -arch=sm_90 -cubin FILE.cu`) unless --cubins names a folder that has them. What each probe asks stands in its
docstring, what it answered in `docs/hopper.md`. Continuous integration does not run this.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from smmux.base import whole_files

from . import (
    instruction_vectors,
    integer_vectors,
    probe_bursts,
    probe_caches,
    probe_calls,
    probe_code,
    probe_contended,
    probe_frames,
    probe_grid,
    probe_issue,
    probe_l2,
    probe_lanes,
    probe_latency,
    probe_loaded,
    probe_memory,
    probe_panel,
    probe_pipe,
    probe_polled,
    probe_refresh,
    probe_scatter,
    probe_sets,
    probe_shared_lines,
    probe_stored,
    probe_supply,
    probe_turns,
    special_functions,
)
from .bench import FOLDER, Bench, Row
from .cuda_driver import Card

MODULES = (
    probe_grid, probe_latency, probe_issue, probe_code, probe_pipe, probe_caches, probe_memory, probe_scatter,
    probe_loaded, probe_panel, probe_bursts, probe_sets, probe_l2, probe_turns, probe_refresh,
    probe_lanes, probe_calls, probe_contended, probe_polled, probe_supply, probe_shared_lines, probe_frames,
    probe_stored,
)  # fmt: skip
PROBES: dict[str, Any] = {name: probe for module in MODULES for name, probe in module.PROBES.items()}
ARRAYS: dict[str, Any] = {
    **probe_grid.ARRAYS,
    **probe_memory.ARRAYS,
    **probe_refresh.ARRAYS,
    **instruction_vectors.ARRAYS,
    **integer_vectors.ARRAYS,
    **special_functions.ARRAYS,
}


def rounded(value: Any) -> Any:
    """A number as it is written: four digits behind the point."""
    return round(value, 4) if isinstance(value, float) else value


def measure(name: str, bench: Bench, out: Path) -> None:
    """Run one probe and write its file, row by row."""
    if name in ARRAYS:
        result = ARRAYS[name](bench)
        with whole_files.replacing(out / f"{name}.npz") as (draft,):
            np.savez_compressed(draft, **(result if isinstance(result, dict) else {name: result}))
        return
    path = out / f"{name}.csv"
    rows: list[Row] = []
    columns: dict[str, None] = {}
    try:
        for row in PROBES[name](bench):
            rows.append({key: rounded(value) for key, value in row.items()})
            columns |= dict.fromkeys(row)
    finally:
        if rows:
            with whole_files.replacing(path) as (draft,), draft.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(columns), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


def output_of(*command: str) -> str:
    """What a program prints, or nothing if it is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    except OSError:
        return ""


def provenance(card: Card) -> dict[str, Any]:
    """Card, driver and compiler, date."""
    fields = (
        "name,driver_version,vbios_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,clocks.applications.graphics,"
        "clocks.default_applications.graphics,power.limit,temperature.gpu,ecc.mode.current,mig.mode.current"
    )
    values = output_of("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", "-i", "0").split(", ")
    compiler = output_of("nvcc", "--version").splitlines()
    return {
        "card": card.name(), "driver_cuda": card.driver(), "compiler": compiler[-1] if compiler else "",
        "command": "nvcc -arch=sm_90 -cubin; python -m experiments.hardware.hopper.run",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "attributes": card.attributes(), "nvidia_smi": dict(zip(fields.split(","), values, strict=False)),
    }  # fmt: skip


def main() -> int:
    """Run all probes that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="probes (all)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--cubins", type=Path, default=FOLDER.parents[2] / "build" / "hopper", metavar="FOLDER")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="of one probe (%(default)s)")
    parser.add_argument(
        "--patience", type=int, default=3, metavar="N", help="stop after N that took too long (%(default)s)"
    )
    parser.add_argument("--here", action="store_true", help="run the one probe in this process")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.names or [*PROBES, *ARRAYS]
    if options.here:
        measure(names[0], Bench(options.cubins), options.out)
        return 0
    record = options.out / "provenance.json"
    known = json.loads(record.read_text()) if record.exists() else {**provenance(Card()), "seconds": {}}
    for name in names:
        begin = time.monotonic()
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            "--here",
            "--out",
            options.out,
            "--cubins",
            options.cubins,
            name,
        ]
        try:
            done = subprocess.run(command, timeout=options.limit, capture_output=True, text=True)
            fault = done.stderr.strip().splitlines()[-1] if done.returncode else ""
        except subprocess.TimeoutExpired:
            fault = "too long"
            options.patience -= 1
        known["seconds"][name] = round(time.monotonic() - begin, 1)
        print(f"{name}: {known['seconds'][name]} s {fault}", flush=True)
        whole_files.write_text(record, json.dumps(known, indent=1) + "\n")
        if options.patience == 0:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
