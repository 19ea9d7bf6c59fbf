"""Speed of the simulator: warp instructions per second of host time, benchmark by benchmark.

Baselines of all benchmarks at their default size, functional and timed, on one processor; compiling and checking
outputs is not counted. The best of five rounds counts, with --quick of two at the quick size.
`speedup_2_threads` is the geometric mean of what a second host thread gains inside one simulation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments import harness, runs
from experiments.harness import Verdict
from smmux import benchmarks, gpus
from smmux.plot import geometric_mean
from smmux.sweep import Record, available_processors, product, sweep

GPU = "GTX285-1100"
ROUNDS = {"default": 5, "quick": 2}
"""Rounds by size."""


def measure(benchmark: str, host_threads: int, size: str) -> Record:
    """The best of several rounds of one benchmark's baseline."""
    found = benchmarks.get(benchmark)
    problem = found.problem(size)
    kernel = found.kernel()
    kernel.simulate(1, problem.block, problem.arguments(), gpu=GPU)  # compiles; a block alone takes no time
    seconds = []
    for _ in range(ROUNDS[size]):
        arguments = problem.arguments()
        start = time.perf_counter()
        result = kernel.simulate(problem.grid, problem.block, arguments, gpu=GPU, host_threads=host_threads)
        seconds.append(time.perf_counter() - start)
        problem.check(arguments)
    best = min(seconds)
    return {
        "instructions": result.counters["instructions"],
        "cycles": result.cycles,
        "seconds": best,
        "cycles_per_second": result.cycles / best,
        "transactions_per_second": result.counters["transactions"] / best,
        "mwips": result.counters["instructions"] / best / 1e6,
        "ns_per_instruction": best / result.counters["instructions"] * 1e9,
    }


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Measure one at a time, whatever jobs says; with two host threads only where there are two processors."""
    threads = (1, 2) if available_processors() > 1 else (1,)
    points = product(benchmark=benchmarks.names(), host_threads=threads, size=[runs.size(quick)])
    return sweep(measure, points, jobs=1, description="speed")


def summary(records: Sequence[Record]) -> dict[str, float | None]:
    """The figures to watch from version to version."""
    single = [r for r in records if r["host_threads"] == 1]
    double = {r["benchmark"]: r for r in records if r["host_threads"] == 2}
    gains = [r["seconds"] / double[r["benchmark"]]["seconds"] for r in single if r["benchmark"] in double]
    return {
        "mwips_geomean": geometric_mean(r["mwips"] for r in single),
        "mwips_min": min(r["mwips"] for r in single),
        "speedup_2_threads": geometric_mean(gains) if gains else None,
    }


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Millions of warp instructions per second."""
    from smmux.plot import grouped_bars

    named = [{**r, "threads": f"{r['host_threads']} host thread{'s' * (r['host_threads'] > 1)}"} for r in records]
    grouped_bars(ax, named, x="benchmark", hue="threads", y="mwips")
    ax.set_ylabel("Warp instructions (M/s)")
    ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def table(records: Sequence[Record]) -> str:
    """Rates per benchmark."""
    rows = [
        (r["benchmark"], r["host_threads"], r["instructions"], r["seconds"], r["mwips"], r["ns_per_instruction"])
        for r in records
    ]
    lines = (f"{name}: {'-' if value is None else format(value, '.3f')}" for name, value in summary(records).items())
    rates = harness.table(("", "threads", "instructions", "seconds", "M/s", "ns each"), rows)
    return rates + "\n\n" + "\n".join(lines)


def check(records: Sequence[Record]) -> list[Verdict]:
    """The paper says nothing about our speed."""
    return []


EXPERIMENT = harness.Experiment(
    name="speed",
    description=__doc__,
    run=run,
    table=table,
    summary=summary,
    check=check,
    plots=[plot],
    machines=lambda: [gpus.get(GPU)],
    sizes=partial(runs.sizes, benchmarks.names()),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
