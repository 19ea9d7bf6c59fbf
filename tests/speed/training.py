"""Launches of all kinds, from whose counts gcc learns what the core does most (SMMUX_PROFILE, see setup.py). Those of
compiled code are left out where the vendor's tools are not there."""

from __future__ import annotations

import sys
from typing import Any

from smmux import ConfigError, benchmarks

BENCHMARKS: tuple[tuple[str, dict[str, int], str], ...] = (
    ("MM", {"height": 64, "inner": 64, "width": 64}, "GTX285-1100"),
    ("MV", {"width": 1024, "height": 256}, "GTX480-16K"),
    ("FFT", {"batch": 32}, "GTX285-1100"),
    ("TP", {"width": 512}, "GTX480-48K"),
    ("MC", {"n": 32}, "GTX285"),
    ("SP", {"vectors": 128, "elements": 4096, "blocks": 128}, "H100"),
)
"""Benchmark, size and machine."""
COMPILED = (
    ("dense.gemm_tiled", "small"),
    ("dense.transpose_plain", "small"),
    ("graphs.shortcuts", "small"),
    ("lattices.boltzmann", "small"),
    ("matrices.halves_ahead", "small"),
    ("strings.edit_distance", "small"),
    ("vectors.axpy", "middle"),
)
"""Kernel of `experiments.suites` and size."""


def run_benchmark(name: str, size: dict[str, int], gpu: str) -> None:
    """A launch of a Python kernel."""
    found = benchmarks.get(name)
    problem = found.problem(size)
    found.kernel().simulate(problem.grid, problem.block, problem.arguments(), gpu=gpu)


def run_compiled(name: str, size: str) -> None:
    """A launch of CUDA C++."""
    from experiments.common.suite_runs import compiled
    from experiments.suites import WORKLOADS

    work = WORKLOADS[name]
    launch = work.launch(size)
    values: Any = launch.values()
    arguments = work.passed(values, values.__getitem__)
    compiled(name).simulate(launch.grid, launch.block, arguments, "H100", launch.dynamic)


if __name__ == "__main__":
    for launch in BENCHMARKS:
        run_benchmark(*launch)
    try:
        for kernel in COMPILED:
            run_compiled(*kernel)
    except ConfigError as error:
        sys.stderr.write(f"without compiled code: {error}\n")
