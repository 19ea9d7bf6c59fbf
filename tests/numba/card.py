"""Kernels for a card: the front half of Numba's compiler types them, without a card.

Typing runs as a script, in a process of its own, since the simulator must not have been chosen in it. Without NVIDIA's
libraries the compiler ends where code would be generated, and that is all that is wanted.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from smmux import benchmarks


def check_types(kernels: Iterable[tuple[Path, str, str, str]]) -> None:
    """Type kernels, each given by its file and name, and by the program and build whose tiny problem it takes."""
    lines = ["\t".join(map(str, kernel)) for kernel in kernels]
    done = subprocess.run(
        [sys.executable, __file__],
        input="\n".join(lines),
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "NUMBA_ENABLE_CUDASIM": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert lines
    assert done.stdout.splitlines() == lines


def _named(program: str) -> Any:
    """A benchmark, or else a program of the experiments, which only a checkout has."""
    if program in benchmarks.names():
        return benchmarks.get(program)
    from experiments import programs

    return programs.workload(program)


def main() -> None:
    """Type the kernels that the lines of the standard input name; repeat the lines."""
    import numba
    from numba.cuda.compiler import compile_cuda
    from numba.cuda.cudadrv.error import CudaSupportError

    for line in sys.stdin.read().splitlines():
        path, name, program, build = line.split("\t")
        arguments = _named(program).problem("tiny", build).arguments()
        types = tuple(numba.typeof(argument) for argument in arguments)
        with contextlib.suppress(CudaSupportError):
            compile_cuda(runpy.run_path(path)[name].py_func, numba.void, types, cc=(7, 0))
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
