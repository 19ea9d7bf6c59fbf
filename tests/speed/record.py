"""Launches as files, for replay.c: everything that smmux._core.launch was given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from smmux import _core, benchmarks


class _Recorded(Exception):
    """Ends a launch whose arguments have been seen."""


def words(*numbers: int) -> bytes:
    """32-bit words as the core has them in memory."""
    return np.array(numbers, np.uint32).tobytes()


def record(path: Path, benchmark: str, size: str | dict[str, int], gpu: str, **options: Any) -> None:
    """Write the launch of a benchmark's kernel to a file; options as for `Benchmark.kernel`."""
    found = benchmarks.get(benchmark)
    problem = found.problem(size)
    kernel = found.kernel(**options)
    _record(path, lambda: kernel.simulate(problem.grid, problem.block, problem.arguments(), gpu=gpu))


def record_compiled(path: Path, kernel: str, size: str, gpu: str) -> None:
    """Write a launch of `experiments.suites` to a file, of the vendor's code."""
    from experiments.common.suite_runs import compiled  # which an installed package lacks
    from experiments.suites import WORKLOADS

    work = WORKLOADS[kernel]
    launch = work.launch(size)
    values = launch.values()
    arguments = work.passed(values, values.__getitem__)
    _record(path, lambda: compiled(kernel).simulate(launch.grid, launch.block, arguments, gpu, launch.dynamic))


def _record(path: Path, simulate: Callable[[], object]) -> None:
    """Write down what a simulation would launch."""
    seen: dict[str, Any] = {}

    def launch(**arguments: Any) -> None:
        seen.update(arguments)
        raise _Recorded

    with mock.patch.object(_core, "launch", launch):
        try:
            simulate()
        except _Recorded:
            pass
    path.write_bytes(_serialised(seen))


def _serialised(launch: dict[str, Any]) -> bytes:
    code, uniforms, const = (bytes(launch[name]) for name in ("code", "uniforms", "const"))
    meta, options, buffers = launch["meta"], launch["options"], launch["buffers"]
    fields = ("nregs", "npreds", "uniform_regs", "shared_bytes", "dynamic_bytes", "local_bytes")
    fields += ("static_reserved", "smem_size", "launched_bytes")
    parts = [
        words(len(launch["code"]), len(launch["uniforms"]), len(launch["params"]), len(buffers), len(const)),
        words(options["management"], options["extra_blocks"], *(meta[name] for name in fields)),
        words(*launch["grid"], *launch["block"]),
        words(*launch["config"]),
        code,
        uniforms,
        words(*launch["params"]),
        const,
    ]
    for memory, address, size, writable in buffers:
        parts += [words(address, size, int(writable)), bytes(memory[:size])]
    return b"".join(parts)
