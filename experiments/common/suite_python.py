"""Kernels of `experiments.suites` that stand in Python too, through this package's compiler, on a simulated machine.

The numeric suite's are the very text that Numba compiled for the card; those of other suites have counterparts.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments import suites
from experiments.common.card_sources import module_of
from experiments.common.suite_runs import NOMINAL_MHZ, machine_at
from experiments.suites import WORKLOADS, counterparts
from smmux import cuda
from smmux.gpus import Gpu
from smmux.sweep import Record

__all__ = ["in_python", "kernels"]

SOURCE = Path(suites.__file__).parent / "numeric_kernels.py"


@lru_cache
def kernels() -> dict[str, Any]:
    """The kernels by `suite.name`, in the order of the suites."""
    text = SOURCE.read_text("utf-8").replace("from numba import", "from smmux import")
    numeric = vars(module_of(text, SOURCE.stem))
    found = {f"numeric.{name}": cuda.jit(numeric[name]) for name in numeric["SIGNATURES"]}
    found |= counterparts.KERNELS
    return {name: found[name] for name in WORKLOADS if name in found}


def in_python(machine: Gpu, kernel: str, size: str, mhz: int = NOMINAL_MHZ) -> Record:
    """Run a kernel on a machine; raises AssertionError if its results are wrong. What is a pointer in CUDA C++ is a
    flat array here."""
    launch = WORKLOADS[kernel].launch(size)
    values = launch.values()
    flat = not kernel.startswith("numeric.")
    passed = tuple(v.reshape(-1) if flat and isinstance(v, np.ndarray) else v for v in values)
    result = kernels()[kernel].simulate(launch.grid, launch.block, passed, gpu=machine_at(machine, mhz))
    wrong = [text for index in launch.results if (text := launch.wrong(index, np.asarray(values[index])))]
    assert not wrong, f"{kernel} {size} in Python: {'; '.join(wrong)}"
    return {
        "python_cycles": result.cycles,
        "python_instructions": result.counters["instructions"],
        "python_registers": result.program.nregs,
    }
