"""One simulated point of a workload beside Table 1: outputs checked, counters, how busy the machine's parts were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from experiments import programs
from experiments.common.runs import problem_of
from smmux import Result, _core
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

__all__ = ["LOAD_STORE", "PARTS", "busy", "simulate", "simulate_all"]

LOAD_STORE = "load/store units"
PARTS = ("arithmetic lanes", LOAD_STORE, "shared banks", "DRAM")
"""Keys of `busy`."""
GLOBAL = ("ld.global", "st.global")
LINE = 128
"""Bytes of the lines that a load/store unit takes one after the other where a line is not more than one request."""


def simulate(
    *,
    workload: str,
    build: str,
    gpu: str | Gpu,
    schedule: str,
    size: str | Mapping[str, float] = "default",
    **options: Any,
) -> Record:
    """Run one kernel, check its outputs, and return a flat record of what it took, with all counters.

    size: a name of `Workload.sizes`, or what such a name stands for. options: of `Kernel.simulate`. Raises
    `smmux.benchmarks.WrongOutputError` when the outputs differ from the reference.
    """
    row = programs.workload(workload)
    problem = problem_of(row, size, build)
    arguments = problem.arguments()
    result = row.kernels[build].simulate(
        problem.grid, problem.block, arguments, gpu=gpu, schedule=schedule, profile=True, **options
    )
    problem.check(arguments)
    return {
        "threads": math.prod(problem.block),
        "time_us": result.time_us,
        "residency": result.residency,
        "registers": result.program.nregs,
        "shared_array_bytes": result.program.shared_bytes,
        "requests": requests(result),
        **busy(result),
        **result.counters,
    }


def requests(result: Result) -> int:
    """What a profiled run's loads and stores ask of global memory: its transactions without those of instructions."""
    return sum(row["transactions"] for row in result.instructions() if row["op"] in GLOBAL)


def busy(result: Result) -> dict[str, float]:
    """The share of a profiled run's time in which each of `PARTS` works, on average over all of its kind.

    Load/store units work on shared memory while its banks do, and on global memory for one request after the other;
    shared banks count in proportion to the bytes that they deliver.
    """
    gpu = result.gpu
    clocks = result.cycles * gpu.sm_count
    lanes = asked = 0.0
    for row in result.instructions():
        _, traits, kind, _ = _core.OPS[row["op"]]
        # A multiplication may be the special-function units', and counts for neither.
        if getattr(gpu, f"unit_{kind.lower()}") == "sp" and "control" not in traits and kind != "FMUL":
            lanes += row["issued"] * getattr(gpu, f"issue_{kind.lower()}")
        elif row["op"] in GLOBAL:
            asked += _clocks_of_requests(gpu, row)
    passes = result["shared_passes"] * gpu.smem_clk_per_way
    per_pass = gpu.smem_banks * (8 if gpu.smem_rule == 3 else 4)
    dram = result.cycles * gpu.dram_khz / gpu.shader_khz * gpu.partitions
    shares = (
        lanes / (clocks * gpu.sp_units),
        (passes + asked) / (clocks * gpu.lsu_units),
        result["shared_bytes"] / (clocks / gpu.smem_clk_per_way * per_pass),
        result["dram_busy"] / dram,
    )
    return dict(zip(PARTS, shares, strict=True))


def _clocks_of_requests(gpu: Gpu, row: Mapping[str, Any]) -> float:
    """For how long an instruction's accesses hold the load/store unit; of lines as many as its bytes fill."""
    if gpu.replay_global == gpu.issue_global:
        return float(row["transactions"] * gpu.issue_global)
    lines = max(row["issued"], row["moved"] / LINE)
    return float(row["issued"] * gpu.issue_global + (lines - row["issued"]) * gpu.replay_global)


def simulate_all(
    points: Sequence[Record], jobs: int | None, description: str, labels: Sequence[str] = ()
) -> list[Record]:
    """Run `simulate` for points that have its keywords, and labels beside them that only their records bear.

    Points of one problem should follow each other.
    """

    return sweep(partial(_labelled, tuple(labels)), points, jobs=jobs, description=description)


def _labelled(labels: Sequence[str], **point: Any) -> Record:
    return simulate(**{name: value for name, value in point.items() if name not in labels})
