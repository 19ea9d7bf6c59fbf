"""Types kernel files for Numba's real CUDA target; lines "path kernel benchmark" on standard input.

Run as a script, since the simulator must not have been chosen in the same process.
"""

from __future__ import annotations

import contextlib
import runpy
import sys


def main() -> None:
    """Type all kernels."""
    import numba
    from numba.cuda.compiler import compile_cuda
    from numba.cuda.cudadrv.error import CudaSupportError

    from smmux import benchmarks

    for line in sys.stdin.read().splitlines():
        path, name, benchmark = line.split()
        kernel = runpy.run_path(path)[name]
        arguments = benchmarks.get(benchmark).problem("tiny").arguments()
        types = tuple(numba.typeof(argument) for argument in arguments)
        with contextlib.suppress(CudaSupportError):
            compile_cuda(kernel.py_func, numba.void, types, cc=(7, 0))
        sys.stdout.write(f"{path}: ok\n")


if __name__ == "__main__":
    main()
