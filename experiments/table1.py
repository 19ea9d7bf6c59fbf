"""Table 1: shared memory and threads per block, blocks per SM, computed from the kernels' declarations.

A block's bytes are its arrays, 16 bytes for built-in variables, and the kernel's parameters, which live in shared
memory on compute capability 1.x. MM and RD have the paper's bytes if their pointers have 32 bits (DEVIATIONS D1).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import runs, tables
from experiments.common.harness import Experiment
from experiments.common.runs import program
from experiments.common.speedups import is_limited
from experiments.common.verdicts import judged
from smmux import benchmarks, gpus, models
from smmux.benchmarks import Benchmark
from smmux.gpus import Gpu
from smmux.sweep import Record

GPU = "GTX285"
check = partial(judged, "table1")


def row(benchmark: Benchmark, gpu: Gpu) -> Record:
    """The row of one benchmark, with the parts that its bytes consist of."""
    compiled = program(benchmark)
    params = compiled.param_bytes(benchmark.pointer_bytes)
    threads = benchmark.problem("tiny").threads
    fit = models.occupancy(threads, 0, compiled.shared_bytes, gpu, params)
    unlimited = models.occupancy(threads, 0, 0, gpu.replace(smem_reserved=0))
    size = compiled.shared_bytes + gpu.smem_reserved + params
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "gpu": gpu.name,
        "array_bytes": compiled.shared_bytes,
        "parameter_bytes": params,
        "pointer_bytes": benchmark.pointer_bytes,
        "bytes": size,
        "threads": threads,
        "blocks": fit.blocks,
        "limiter": fit.limiter,
        "blocks_without_shared": unlimited.blocks,
        "used": size * fit.blocks,
        "capacity": gpu.smem_bytes,
    }


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Compute a record per benchmark; nothing is simulated, so quick and jobs change nothing."""
    gpu = gpus.get(GPU)
    return [row(benchmarks.get(name), gpu) for name in benchmarks.names()]


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw how the blocks that fit fill an SM's shared memory."""
    colors = {True: "#0072B2", False: "#56B4E9"}
    for i, record in enumerate(records):
        for k in range(record["blocks"]):
            ax.bar(
                i, record["bytes"] / 1024, 0.7, bottom=k * record["bytes"] / 1024,
                color=colors[is_limited(record)], edgecolor="black",
            )  # fmt: skip
        threads = record["blocks"] * record["threads"]
        ax.annotate(
            str(threads), (i, record["used"] / 1024), xytext=(0, 1), textcoords="offset points",
            ha="center", va="bottom", fontsize=6,
        )  # fmt: skip
    ax.axhline(records[0]["capacity"] / 1024, color="black", linewidth=0.7)
    ax.set_xticks(range(len(records)), [record["benchmark"] for record in records])
    ax.tick_params(axis="x", length=0)
    ax.set_yticks(range(0, 17, 4))
    ax.set_ylim(0, 18)
    ax.set_ylabel("Shared memory (kB)")
    return ax


def table(records: Sequence[Record]) -> str:
    """A table of the paper's numbers beside those computed here."""
    rows = []
    for record in records:
        paper = benchmarks.get(record["benchmark"]).table1
        rows.append(
            (
                record["benchmark"],
                *(paper.bytes, record["bytes"]),
                *(paper.threads, record["threads"]),
                *(paper.blocks, record["blocks"]),
                *(paper.bytes * paper.blocks, record["used"]),
                f"{record['array_bytes']} + 16 + {record['parameter_bytes']}",
            )
        )
    header = ("", "bytes", "ours", "threads", "ours", "blocks", "ours", "used", "ours", "arrays + 16 + parameters")
    return tables.table(header, rows)


def caption(records: Sequence[Record]) -> str:
    """A sentence on what is drawn, and on how many rows are the paper's."""
    exact = sum(r["bytes"] == benchmarks.get(r["benchmark"]).table1.bytes for r in records)
    return (
        f"Table 1. The blocks that fit on an SM with 16 kB, with their threads above: shared memory limits the dark "
        f"ones. {exact} of {len(records)} sizes are the paper's to the byte."
    )


def summary(records: Sequence[Record]) -> Record:
    """Whether every row is the paper's."""
    return {"exact": all(r["bytes"] == benchmarks.get(r["benchmark"]).table1.bytes for r in records)}


def machines() -> list[Gpu]:
    """The card of the table."""
    return [gpus.get(GPU)]


EXPERIMENT = Experiment.of(globals(), plots=[plot], sizes=partial(runs.sizes, ()))
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
