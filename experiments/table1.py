"""Table 1: shared memory and threads per block, blocks per SM, computed from the kernels' declarations.

A block's bytes are its arrays, 16 for the built-ins, and the kernel's parameters, which live in shared memory on
compute capability 1.x. MM and RD come out with 32-bit pointers (DEVIATIONS D1).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import harness, runs
from experiments.common.harness import Verdict, verdict
from experiments.common.runs import program
from experiments.common.speedups import LIMITED
from smmux import benchmarks, gpus, models
from smmux.benchmarks import Benchmark
from smmux.gpus import Gpu
from smmux.sweep import Record

GPU = "GTX285"
COLUMNS = {"P5": "bytes", "P6": "threads", "P7": "blocks", "P8": "used"}
"""Claims on columns of the table."""


def row(benchmark: Benchmark, gpu: Gpu) -> Record:
    """One benchmark's row, with what the row is made of."""
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


def is_limited(record: Record) -> bool:
    """Whether more blocks would fit if shared memory were unlimited."""
    return bool(record["blocks_without_shared"] > record["blocks"])


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """A record per benchmark; nothing is simulated, so quick and jobs change nothing."""
    gpu = gpus.get(GPU)
    return [row(benchmarks.get(name), gpu) for name in benchmarks.names()]


def plot(records: Sequence[Record], ax: Any) -> Any:
    """How the blocks that fit fill an SM's shared memory."""
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
    """Paper and simulation side by side."""
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
    return harness.table(header, rows)


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P5 to P11, P15, P16 and P34."""
    found = {record["benchmark"]: record for record in records}

    limited = [name for name, record in found.items() if is_limited(record)]
    idle = {name: 1 - record["used"] / record["capacity"] for name, record in found.items()}
    fft, cv = found["FFT"], benchmarks.get("CV")
    arrays = program(cv).shared_bytes
    fermi = [models.occupancy(128, 0, arrays, name).blocks for name in ("GTX480-16K", "GTX480-48K")]
    return [
        *(_column(claim, [record[name] for record in records]) for claim, name in COLUMNS.items()),
        verdict(
            "P9",
            limited,
            set(limited) == set(LIMITED),
            "benchmarks with more blocks if shared memory were unlimited (DEVIATIONS D24)",
        ),
        verdict(
            "P10",
            {name: round(idle[name], 3) for name in LIMITED},
            all(idle[name] >= 0.2 for name in LIMITED if name != "STO") and idle["STO"] < 0.01,
            "unused share of 16 kB; severe taken as a fifth, and less than a hundredth of STO",
        ),
        verdict("P11", *_nine_kilobytes()),
        verdict("P15", *_capacities()),
        verdict("P16", fft["bytes"], (fft["bytes"],) == harness.paper("P16") and fft["array_bytes"] == 8192 + 512),
        verdict("P34", fermi, tuple(fermi) == harness.paper("P34")),
    ]


def _column(claim: str, ours: list[int]) -> Verdict:
    note = "MM, RD with 32-bit pointers (DEVIATIONS D1)" if claim == "P5" else ""
    return verdict(claim, ours, tuple(ours) == harness.paper(claim), note)


def _nine_kilobytes() -> tuple[list[int], bool, str]:
    """Blocks of 9 kB on 16 kB, and what they leave."""
    card = gpus.get(GPU).replace(smem_reserved=0)
    blocks = models.occupancy(32, 0, 9 * 1024, card).blocks
    found = [blocks, card.smem_bytes // 1024 - 9 * blocks]
    return found, found == [1, 7], "blocks, kB wasted"


def _capacities() -> tuple[dict[str, list[int]], bool, str]:
    """Shared memory and registers of an SM, and the L1 that shares its storage on Fermi, in kB."""
    names = (GPU, "GTX480-16K", "GTX480-48K")
    cards = {name: gpus.get(name) for name in names}
    found = {name: [g.smem_bytes >> 10, g.regs_sm >> 8, g.l1_bytes >> 10] for name, g in cards.items()}
    expected = dict(zip(names, ([16, 64, 0], [16, 128, 48], [48, 128, 16]), strict=True))
    return found, found == expected, "kB of shared memory, registers, L1; GTX680 and HD5870 are not modelled"


def caption(records: Sequence[Record]) -> str:
    """What is drawn, and how many rows are the paper's."""
    exact = sum(r["bytes"] == benchmarks.get(r["benchmark"]).table1.bytes for r in records)
    return (
        f"Table 1. The blocks that fit on an SM with 16 kB, with their threads above: shared memory limits the dark "
        f"ones. {exact} of {len(records)} sizes are the paper's to the byte."
    )


def summary(records: Sequence[Record]) -> Record:
    """Whether every row is the paper's."""
    return {"exact": all(r["bytes"] == benchmarks.get(r["benchmark"]).table1.bytes for r in records)}


EXPERIMENT = harness.Experiment(
    name="table1",
    description=__doc__,
    run=run,
    table=table,
    summary=summary,
    check=check,
    caption=caption,
    plots=[plot],
    machines=lambda: [gpus.get(GPU)],
    sizes=partial(runs.sizes, ()),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
