"""The kernels of `experiments.suites` on a simulated machine, and what a card measured of them."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from experiments.suites import WORKLOADS, Workload
from smmux.gpus import Gpu
from smmux.modules.module import CompiledKernel
from smmux.sweep import Record

__all__ = ["Measured", "compiled", "measured", "simulated"]

FOLDER = Path(__file__).parents[1] / "hardware"
CYCLES, INSTRUCTIONS, RATE = "sm__cycles_elapsed.max", "sm__inst_executed.sum", "sm__cycles_elapsed.avg.per_second"
NOMINAL_MHZ, STEADY = 1980, 0.96
"""The clock of the multiprocessors, and the share of it from which on a reading is taken for it: the profiler divides
by a time that holds some moments outside of the kernel."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a card said of one launch.

    cycles: the median of the repeats; lowest, highest: the least and the most of them. mhz: the clock of the
    multiprocessors, which the card lowers under some kernels. counters: the profiler's, by name."""

    cycles: float
    lowest: float
    highest: float
    mhz: int
    counters: Mapping[str, float]

    @property
    def instructions(self) -> int:
        """Of all warps."""
        return int(self.counters[INSTRUCTIONS])


def rows(card: str, kind: str) -> list[dict[str, str]]:
    """The rows of a table of a card, "cycles" or "counters": of all suites, those too that were measured later."""
    found = []
    for path in sorted(FOLDER.glob(f"suites_{card}_*{kind}.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found += list(csv.DictReader(file))
    return found


@lru_cache
def measured(card: str = "h100") -> Mapping[tuple[str, str], Measured]:
    """What was measured of each kernel and size."""
    runs = defaultdict(list)
    for row in rows(card, "cycles"):
        runs[f"{row['suite']}.{row['kernel']}", row["size"]].append((float(row[CYCLES]), float(row[RATE])))
    found = {}
    for row in rows(card, "counters"):
        key = f"{row['suite']}.{row['kernel']}", row["size"]
        counters = {name: float(value) for name, value in row.items() if "__" in name and value}
        cycles, mhz = [run[0] for run in runs[key]], statistics.median(run[1] for run in runs[key]) / 1e6
        clock = NOMINAL_MHZ if mhz > STEADY * NOMINAL_MHZ else round(mhz)
        found[key] = Measured(statistics.median(cycles), min(cycles), max(cycles), clock, counters)
    return found


def provenances(card: str = "h100") -> list[dict[str, Any]]:
    """Where and how it was measured: the first suites, then those of each later time."""
    first, *later = sorted(FOLDER.glob(f"suites_{card}*.json"), key=lambda path: (len(path.stem), path.stem))
    return [dict(json.loads(path.read_text("utf-8"))) for path in (first, *later)]


def provenance(card: str = "h100") -> dict[str, Any]:
    """Where and how the first suites were measured."""
    return provenances(card)[0]


@lru_cache
def compiled(one: str) -> CompiledKernel:
    """The code that ran on the card."""
    work = WORKLOADS[one]
    module = smmux.load(FOLDER / "suites" / work.binary)
    return next(iter(module)) if len(module) == 1 else module[work.name]


def machine_at(machine: Gpu, mhz: int) -> Gpu:
    """The machine with another clock of its multiprocessors; the rest keeps its own."""
    return machine if mhz * 1000 == machine.shader_khz else machine.replace(shader_khz=mhz * 1000)


def simulated(machine: Gpu, kernel: str, size: str, mhz: int = NOMINAL_MHZ) -> Record:
    """Run a kernel on a machine; raises AssertionError if its results are wrong."""
    work: Workload = WORKLOADS[kernel]
    launch = work.launch(size)
    values = launch.values()
    result = compiled(kernel).simulate(
        launch.grid, launch.block, work.passed(values, values.__getitem__), machine_at(machine, mhz), launch.dynamic
    )
    wrong = [text for index in launch.results if (text := launch.wrong(index, np.asarray(values[index])))]
    assert not wrong, f"{kernel} {size}: {'; '.join(wrong)}"
    counters = result.counters
    return {
        "cycles": result.cycles,
        "instructions": counters["instructions"],
        "dram_bytes": machine.dram_burst_bytes * (counters["dram_reads"] + counters["dram_writes"]),
        "l2_accesses": counters["l2_accesses"],
        "l1_hits": counters["l1_hits"],
        "l1_misses": counters["l1_misses"],
        "residency": result.residency,
        "shared_passes": counters["shared_passes"],
        "icache_misses": counters["icache_misses"],
    }
