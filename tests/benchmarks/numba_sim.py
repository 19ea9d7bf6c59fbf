"""Runs the benchmarks' kernels under Numba's CUDA simulator: the same source with another import.

Run as a script, `python numba_sim.py MODULE SIZE`, because the simulator must be chosen before Numba is imported.
`syncwarp`, which the simulator lacks, becomes a barrier: where the kernels use it, all other warps have left.
"""

from __future__ import annotations

import os
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

IMPORT = "from smmux import "


def for_numba(source: str) -> str:
    """The source of a kernel file with its import changed."""
    return source.replace(f"\n{IMPORT}", "\nfrom numba import ").replace("cuda.syncwarp()", "cuda.syncthreads()")


def load(path: Path) -> types.ModuleType:
    """A benchmark file as a module whose kernels are Numba's."""
    module = types.ModuleType(f"numba_{path.stem}")
    sys.modules[module.__name__] = module
    exec(compile(for_numba(path.read_text()), str(path), "exec"), vars(module))
    return module


def on_device(argument: Any) -> Any:
    """Read-only arrays as device arrays: the simulator copies any other array back after the kernel."""
    if isinstance(argument, np.ndarray) and not argument.flags.writeable:
        from numba import cuda

        return cuda.to_device(argument)
    return argument


def main(name: str, size: str) -> None:
    """Run every kernel of a benchmark file and check its outputs."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)
    warnings.filterwarnings("ignore", "divide by zero|invalid value", RuntimeWarning)
    import smmux.benchmarks.base

    path = Path(smmux.benchmarks.base.__file__).with_name(f"{name}.py")
    benchmark = load(path).BENCHMARK
    for build, kernel in benchmark.kernels.items():
        problem = benchmark.problem(size, build)
        arguments = problem.arguments()
        kernel[problem.grid, problem.block](*(on_device(a) for a in arguments))
        problem.check(arguments)
        sys.stdout.write(f"{benchmark.name} {build}: ok\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
