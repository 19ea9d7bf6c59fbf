"""Measure the kernels of `experiments.suites` on a card: `python -m experiments.hardware.measure_suites --out FOLDER`.

Every launch is checked, then repeated under the profiler, once for its cycles alone (in one pass, three times) and once
for all counters; the profiler flushes the caches before each pass. FOLDER gets NAME_cycles.csv and NAME_counters.csv
with a row per launch, and NAME.json, which says where and how they were measured. This needs a card, its profiler (ncu)
and NumPy; the GPU code is that of the folder `suites` beside this file. Continuous integration does not run it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import json
import multiprocessing
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.suites import SIZES, SUITES, WORKLOADS, Launch, Workload
from smmux.base import whole_files

from .hopper.cuda_driver import MAX_DYNAMIC_SHARED, Card

BINARIES = Path(__file__).parent / "suites"
CYCLES = (
    "sm__cycles_elapsed.max", "gpc__cycles_elapsed.max", "gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second", "lts__cycles_elapsed.avg.per_second", "sm__cycles_active.avg",
    "sm__inst_executed.sum",
)  # fmt: skip
STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
COUNTERS = (
    *CYCLES, "sm__cycles_active.max", "sm__cycles_active.min", "smsp__inst_executed.sum", "smsp__inst_issued.sum",
    "smsp__thread_inst_executed.sum", "smsp__issue_active.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors.sum", "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum", "lts__t_sectors_op_red.sum", "lts__t_sectors_op_atom.sum",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum",
    "lts__t_requests.sum", "lts__t_sector_hit_rate.pct", "lts__t_sectors_srcnode_gpc.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "l1tex__t_sectors.sum", "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors_lookup_miss.sum",
    "l1tex__t_requests.sum", "l1tex__t_sector_hit_rate.pct",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__m_xbar2l1tex_read_sectors.sum",
    "sm__inst_executed_pipe_alu.sum", "sm__inst_executed_pipe_fma.sum", "sm__inst_executed_pipe_fp64.sum",
    "sm__inst_executed_pipe_lsu.sum", "sm__inst_executed_pipe_xu.sum", "sm__inst_executed_pipe_tensor.sum",
    "gcc__cache_requests.sum", "sm__icc_requests.sum", "sm__icc_requests_lookup_miss.sum", "idc__requests.sum",
    "idc__requests_lookup_miss.sum",
    *(f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio" for name in STALLS),
    "launch__registers_per_thread", "launch__shared_mem_config_size", "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic", "launch__occupancy_limit_registers", "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps", "launch__occupancy_limit_blocks", "launch__waves_per_multiprocessor",
)  # fmt: skip
"""What is asked for; what this profiler and card do not have is left out."""
REPEATS = 3
LONGEST = 240.0
"""Seconds for the launches of a suite that are checked: blocks that wait for each other may wait for ever."""


def symbol(binary: bytes) -> str:
    """The name of the only kernel of a file of GPU code."""
    (name,) = set(re.findall(rb"\.text\.([^\0]+)\0", binary))
    return str(name.decode())


def prepare(work: tuple[str, str, Path]) -> None:
    """Write the launch of a kernel to a file, since making its data takes longer than running it."""
    name, size, folder = work
    path = folder / f"{name}.{size}"
    if not path.exists():
        path.write_bytes(pickle.dumps(WORKLOADS[name].launch(size)))


def of_suite(suite: str) -> list[Workload]:
    """Its kernels."""
    return [one for one in WORKLOADS.values() if one.suite == suite]


class Runner:
    """Runs kernels on the card."""

    def __init__(self, data: Path) -> None:
        self.card, self.data = Card(), data
        self.modules: dict[str, Any] = {}

    def run(self, one: Workload, size: str, repeats: int, check: bool) -> list[str]:
        """Launch a kernel so often with fresh data; what is wrong with its results."""
        launch: Launch = pickle.loads((self.data / f"{one.suite}.{one.name}.{size}").read_bytes())
        binary = (BINARIES / one.binary).read_bytes()
        module = self.modules[one.binary] = self.modules.get(one.binary) or self.card.load(binary)
        function = module[symbol(binary) if one.alone else one.name]
        if launch.dynamic:
            function.set(MAX_DYNAMIC_SHARED, launch.dynamic)
        values = launch.values()
        arrays = {n: self.card.alloc(value.nbytes) for n, value in enumerate(values) if isinstance(value, np.ndarray)}
        arguments = one.passed(values, arrays.__getitem__)
        for _ in range(repeats):
            for n, address in arrays.items():
                self.card.put(address, values[n])
            self.card.sync()
            function(launch.grid, launch.block, *arguments, shared=launch.dynamic)
            self.card.sync()
        wrong = []
        if check:
            for n in launch.results:
                got = self.card.get(arrays[n], values[n].size, values[n].dtype).reshape(values[n].shape)
                wrong.append(launch.wrong(n, got))
        for address in arrays.values():
            self.card.free(address)
        return [text for text in wrong if text]


def rows_of(path: Path) -> list[dict[str, str]]:
    """The profiler's rows, without that of units."""
    if not path.exists():
        return []
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    return [row for row in rows if row.get("ID", "").isdigit()]


def profile(
    suite: str, metrics: Sequence[str], repeats: int, options: argparse.Namespace, limit: float
) -> list[dict[str, Any]]:
    """The profiler's rows of a suite, each with kernel, size and repeat."""
    log = options.data / f"{suite}.{repeats}.csv"
    log.unlink(missing_ok=True)
    command = [
        "ncu", "--clock-control", options.clock, "--cache-control", "all", "--csv", "--page", "raw",
        "--print-units", "base",
        "--metrics", ",".join(metrics), "--log-file", str(log), sys.executable, "-m", __spec__.name, "--here", suite,
        "--repeats", str(repeats), "--data", str(options.data), "--out", str(options.out),
    ]  # fmt: skip
    command += [f"--sizes={','.join(options.sizes)}"]
    try:
        subprocess.run(command, timeout=limit, capture_output=True)
    except subprocess.TimeoutExpired:
        print(f"{suite}: too long", flush=True)
    rows = rows_of(log)
    if not rows and log.exists():
        print(log.read_text(errors="replace")[-1500:])
    labels = [(one, size, n) for one in of_suite(suite) for size in options.sizes for n in range(repeats)]
    found = []
    for row, (one, size, n) in zip(rows, labels, strict=False):
        assert one.name in row["Kernel Name"], (one.name, row["Kernel Name"])
        label = {"suite": suite, "kernel": one.name, "size": size, "repeat": n}
        found.append(label | {name: row[name].replace(",", "") for name in metrics if name in row})
    return found


def written(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A table of all that rows have."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with whole_files.replacing(path) as (draft,), draft.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def output_of(*command: str) -> str:
    """What a program prints, or nothing if it is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def provenance(card: Card, options: argparse.Namespace) -> dict[str, Any]:
    """Card, driver, profiler, date, clocks, and the GPU code that ran."""
    fields = "name,driver_version,vbios_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu"
    values = output_of("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", "-i", "0").split(", ")
    return {
        "card": card.name(), "driver_cuda": card.driver(), "attributes": card.attributes(),
        "nvidia_smi": dict(zip(fields.split(","), values, strict=False)),
        "profiler": output_of("ncu", "--version").splitlines()[-1:],
        "command": f"ncu --clock-control {options.clock} --cache-control all",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"), "numpy": np.__version__,
        "suites": options.suites.split(","),
        "code": {p.name: hashlib.sha256(p.read_bytes()).hexdigest()[:16] for p in sorted(BINARIES.glob("*.cubin"))},
    }  # fmt: skip


def known_metrics() -> list[str]:
    """Of `COUNTERS`, those that the profiler knows."""
    names = set(re.findall(r"^(\w+__\w+)", output_of("ncu", "--query-metrics", "--chips", "gh100"), re.MULTILINE))
    return [name for name in COUNTERS if not names or name.startswith("launch__") or name.partition(".")[0] in names]


def main() -> int:
    """Prepare, check, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--name", default="suites", help="of the files (%(default)s)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="for the launches' data (OUT/data)")
    parser.add_argument("--clock", choices=("none", "base"), default="none", help="the profiler's clock control")
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument(
        "--seconds", type=float, default=480, help="after which no further suite is begun (%(default)s)"
    )
    parser.add_argument("--here", metavar="SUITE", help="run a suite's kernels in this process")
    parser.add_argument("--check", action="store_true", help="check their results")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    options.sizes, options.data = options.sizes.split(","), options.data or options.out / "data"
    began = time.monotonic()
    if options.here:
        runner, bad = Runner(options.data), 0
        for one in of_suite(options.here):
            for size in options.sizes:
                wrong = runner.run(one, size, options.repeats, options.check)
                bad += bool(wrong)
                if wrong:
                    print(f"{one.suite}.{one.name} {size}: {'; '.join(wrong)}", flush=True)
        return bool(bad)
    options.out.mkdir(parents=True, exist_ok=True)
    options.data.mkdir(parents=True, exist_ok=True)
    suites = options.suites.split(",")
    work = [
        (name, size, options.data) for name, one in WORKLOADS.items() if one.suite in suites for size in options.sizes
    ]
    with multiprocessing.get_context("fork").Pool() as pool:
        pool.map(prepare, work, chunksize=1)
    print(f"data: {time.monotonic() - began:.0f} s", flush=True)
    faulty = {}
    for suite in suites:
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            "--here",
            suite,
            "--check",
            "--repeats",
            "1",
            "--data",
            str(options.data),
        ]
        try:
            done = subprocess.run(
                [*command, "--out", str(options.out), f"--sizes={','.join(options.sizes)}"],
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired as error:
            faulty[suite] = f"not ended after {error.timeout:.0f} s"
        else:
            if done.returncode:
                faulty[suite] = (done.stdout + done.stderr[-600:]).strip()
        if suite in faulty:
            print(f"wrong: {suite}: {faulty[suite]}", flush=True)
    print(f"checked: {time.monotonic() - began:.0f} s", flush=True)
    about = provenance(Card(), options) | {"wrong": faulty}
    metrics = known_metrics()
    about["left out"] = [name for name in COUNTERS if name not in metrics]
    tables: dict[str, list[dict[str, Any]]] = {"cycles": [], "counters": []}
    for kind, names, repeats in (("cycles", CYCLES, options.repeats), ("counters", metrics, 1)):
        for suite in suites:
            left = options.seconds - (time.monotonic() - began)
            if left < 5:
                print(f"{suite} {kind}: no time", flush=True)
                continue
            tables[kind] += profile(suite, names, repeats, options, left)
            written(options.out / f"{options.name}_{kind}.csv", tables[kind])
        print(f"{kind}: {time.monotonic() - began:.0f} s, {len(tables[kind])} rows", flush=True)
    about["nvidia_smi after"] = output_of(
        "nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,temperature.gpu", "--format=csv,noheader", "-i", "0"
    )
    whole_files.write_text(options.out / f"{options.name}.json", json.dumps(about, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
