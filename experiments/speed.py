"""Speed of the simulator: warp instructions per second of host time, benchmark by benchmark.

The baselines of all benchmarks run at their default size with one host thread and with two, on the machines that --gpu
names. Compiling and checking outputs is not counted. The best of five rounds counts, with --quick the best of two at
the quick size. Each measurement has a process of its own, whose peak memory is recorded, interpreter, arrays and
reference included. Two threads must give the same bits as one: cycles, counters and outputs are compared.

`speedup_2_threads` is the geometric mean of what a second host thread gains inside one simulation, over the runs of at
least three million warp instructions; `speedup_2_threads_all` is the mean over all runs. The summary is that of the
first machine; those of all machines are in its `machines`.

With --beside FILE the table says how many times as fast as another simulator each benchmark is on one host thread: a
CSV with the columns simulator, benchmark and mwips, whose numbers someone has measured on the same host.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import multiprocessing
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import runs, tables
from experiments.common.cards import GPU
from experiments.common.harness import Experiment, name_of_machine
from experiments.common.verdicts import judged
from smmux import benchmarks, gpus, plot as figures
from smmux.base.counted import counted
from smmux.base.jobs import available_processors
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.results.result import Result
from smmux.sweep import Record, product, sweep, sweeping

ROUNDS = {"default": 5, "quick": 2, "tiny": 1}
"""Rounds by size of the problem; the fastest counts."""

LARGE = 3_000_000
"""Warp instructions from which on a run counts as a larger one."""

check = partial(judged, "speed")


def measure(benchmark: str, host_threads: int, size: str, gpu: str = GPU) -> Record:
    """Measure one benchmark's baseline in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(measure_here, benchmark, host_threads, size, gpu).result()


def measure_here(benchmark: str, host_threads: int, size: str, gpu: str = GPU) -> Record:
    """Measure one benchmark's baseline in this process; the fastest of several rounds counts."""
    row = benchmarks.get(benchmark)
    problem = row.problem(size)
    kernel = row.kernel()
    kernel.simulate(1, problem.block, problem.arguments(), gpu=gpu)  # compiles; a block alone takes no time
    seconds = []
    for _ in range(ROUNDS[size]):
        arguments = problem.arguments()
        start = time.perf_counter()
        result = kernel.simulate(problem.grid, problem.block, arguments, gpu=gpu, host_threads=host_threads)
        seconds.append(time.perf_counter() - start)
        problem.check(arguments)
    best = min(seconds)
    counted = result.counters
    return {
        "instructions": counted["instructions"],
        "cycles": result.cycles,
        "transactions": counted["transactions"],
        "seconds": best,
        "mwips": counted["instructions"] / best / 1e6,
        "ns_per_instruction": best / counted["instructions"] * 1e9,
        "cycles_per_second": result.cycles / best,
        "transactions_per_second": counted["transactions"] / best,
        "peak_memory_mb": peak_memory() / 1e6,
        "bits": digest(result, arguments),
    }


def peak_memory() -> int:
    """The most bytes that this process has had in memory; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def digest(result: Result, arguments: Sequence[Any]) -> str:
    """A digest of what must not depend on the number of host threads: cycles, counters and every array."""
    bits = hashlib.sha256(json.dumps([result.cycles, dict(result.counters)], sort_keys=True).encode())
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            bits.update(np.ascontiguousarray(argument).tobytes())
    return bits.hexdigest()[:16]


def measured_elsewhere(path: str) -> dict[str, Record]:
    """The rates of a file by benchmark, for `argparse`: the simulator, and its million warp instructions per second."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = [(row["simulator"], row["benchmark"], float(row["mwips"])) for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError) as error:
        message = f"{path}: no rows of simulator, benchmark and mwips ({error})"
        raise argparse.ArgumentTypeError(message) from None
    unknown = {name for _, name, _ in rows} - set(benchmarks.names())
    if unknown or not rows or not all(rate > 0 for _, _, rate in rows):
        raise argparse.ArgumentTypeError(f"{path}: rates are above 0, of {', '.join(benchmarks.names())}")
    return {name: {"other": simulator, "other_mwips": rate} for simulator, name, rate in rows}


def run(
    quick: bool = False,
    jobs: int | None = None,
    gpu: Sequence[str] = (GPU,),
    beside: Mapping[str, Record] | None = None,
) -> list[Record]:
    """Measure one at a time, whatever jobs says; with two host threads only where there are two processors.

    gpu: names of machines. beside: rates of another simulator, as `measured_elsewhere` reads them. Raises
    AssertionError if two threads gave other bits than one.
    """
    threads = (1, 2) if available_processors() > 1 else (1,)
    points = product(
        gpu=dict.fromkeys(gpu), benchmark=benchmarks.names(), host_threads=threads, size=[runs.size(quick)]
    )
    with sweeping():  # a time is measured, and neither looked up nor shared with other processes
        records = sweep(measure, points, jobs=1, description="speed")
    different = [f"{r['benchmark']} on {r['gpu']}" for r in records if r["bits"] != _single(records, r)["bits"]]
    assert not different, f"two host threads change the result of {', '.join(different)}"
    return [{**r, **(beside or {}).get(r["benchmark"], {})} for r in records]


def _single(records: Sequence[Record], record: Record) -> Record:
    """The record of the same run on one host thread."""
    same = ("gpu", "benchmark")
    return next(r for r in records if r["host_threads"] == 1 and all(r[name] == record[name] for name in same))


def gain(records: Sequence[Record], record: Record) -> float:
    """How many times as fast a run is as on one host thread."""
    return float(_single(records, record)["seconds"] / record["seconds"])


def by_machine(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each machine, in their order."""
    return {name: [r for r in records if r["gpu"] == name] for name in dict.fromkeys(r["gpu"] for r in records)}


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """The numbers to watch from version to version: those of the first machine, and of each."""
    summaries = {name: _summary(own) for name, own in by_machine(records).items()}
    return {**next(iter(summaries.values())), "machines": summaries}


def _summary(records: Sequence[Record]) -> dict[str, Any]:
    """Of one machine."""
    single = [r for r in records if r["host_threads"] == 1]
    double = [r for r in records if r["host_threads"] == 2]
    larger = [r for r in double if r["instructions"] >= LARGE]
    return {
        "mwips_geomean": geometric_mean(r["mwips"] for r in single),
        "mwips_min": min(r["mwips"] for r in single),
        "speedup_2_threads": geometric_mean(gain(records, r) for r in larger) if larger else None,
        "speedup_2_threads_all": geometric_mean(gain(records, r) for r in double) if double else None,
        "speedup_2_threads_of": ", ".join(r["benchmark"] for r in larger),
        "same_bits": all(r["bits"] == _single(records, r)["bits"] for r in double) if double else None,
        "peak_memory_mb": max(r["peak_memory_mb"] for r in records),
    }


def caption(records: Sequence[Record]) -> str:
    """A sentence with the rates to watch."""
    summaries = summary(records)["machines"]
    return (
        "Speed of the simulator, in millions of warp instructions per second of host time: "
        + "; ".join(f"{name} {_rates(own)}" for name, own in summaries.items())
        + "."
    )


def _rates(own: Record) -> str:
    second = own["speedup_2_threads"]
    return (
        f"{own['mwips_geomean']:.1f} in the geometric mean, {own['mwips_min']:.1f} at least"
        + (f", larger runs {second:.2f} times as fast with a second host thread" if second else "")
    )  # fmt: skip


def plot(records: Sequence[Record], ax: Any, panel: int = 0) -> Any:
    """Draw millions of warp instructions per second on one machine, by its number."""
    name, own = list(by_machine(records).items())[panel]
    named = [{**r, "threads": counted(r["host_threads"], "host thread")} for r in own]
    figures.grouped_bars(ax, named, x="benchmark", hue="threads", y="mwips", labels="inside", number="{:.1f}".format)
    ax.set_ylabel("Warp instructions (M/s)")
    ax.set_title(name, loc="left", fontsize=7, pad=2)
    if panel == 0:
        ax.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Tables of the rates of each benchmark, machine by machine; gain is over one host thread."""
    heads = ("threads", "instructions", "seconds", "M/s", "ns each", "Mcycles/s", "Mtrans/s", "MB", "gain")
    parts = []
    for name, own in by_machine(records).items():
        rows = [
            (
                r["benchmark"],
                r["host_threads"],
                r["instructions"],
                r["seconds"],
                r["mwips"],
                r["ns_per_instruction"],
                r["cycles_per_second"] / 1e6,
                r["transactions_per_second"] / 1e6,
                r["peak_memory_mb"],
                gain(own, r),
            )
            for r in own
        ]
        parts.append(tables.table((name, *heads), rows))
        parts.append("\n".join(f"{key}: {_shown(value)}" for key, value in _summary(own).items()))
        parts += times_as_fast(own)
    return "\n\n".join(parts)


def times_as_fast(records: Sequence[Record]) -> list[str]:
    """A sentence for each other simulator that has rates: how many times as fast one host thread is here."""
    single = [r for r in records if r["host_threads"] == 1 and "other" in r]
    sentences = []
    for other in dict.fromkeys(r["other"] for r in single):
        times = {r["benchmark"]: r["mwips"] / r["other_mwips"] for r in single if r["other"] == other}
        each = ", ".join(f"{name} {ratio:.0f}" for name, ratio in times.items())
        sentences.append(f"times as fast as {other}: {each}; geometric mean {geometric_mean(times.values()):.0f}")
    return sentences


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def machines(gpu: Sequence[str]) -> list[Gpu]:
    """The machines that were named."""
    return [gpus.get(name) for name in dict.fromkeys(gpu)]


EXPERIMENT = Experiment.of(
    globals(),
    plots=[partial(plot, panel=panel) for panel in range(len(gpus.names()))],
    sizes=partial(runs.sizes, benchmarks.names()),
    arguments={
        "gpu": {
            "nargs": "+",
            "type": name_of_machine,
            "default": [GPU],
            "metavar": "NAME",
            "help": f"machines to simulate, of {', '.join(gpus.names())} ({GPU})",
        },
        "beside": {
            "type": measured_elsewhere,
            "metavar": "FILE",
            "help": "rates of another simulator on this host: a CSV of simulator, benchmark, mwips",
        },
    },
    figsize=(3.33, 2.0 * len(gpus.names())),
    drawable=lambda records, panel: panel < len(by_machine(records)),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
