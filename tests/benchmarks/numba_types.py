"""Types every kernel for Numba's real CUDA target, from the same source with only its import changed.

Run as a script, since the simulator must not have been chosen in the same process. Typing is the front half of Numba's
compiler; without NVIDIA's libraries it ends where code would be generated, and that is all that is wanted.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path


def main() -> None:
    """Type all kernels of all benchmark files."""
    import numba
    from numba.cuda.compiler import compile_cuda
    from numba.cuda.cudadrv.error import CudaSupportError
    from numba_sim import load

    import smmux.benchmarks.base

    directory = Path(smmux.benchmarks.base.__file__).parent
    for path in sorted([*directory.glob("??.py"), *directory.glob("???.py")]):
        benchmark = load(path).BENCHMARK
        for build, kernel in benchmark.kernels.items():
            arguments = benchmark.problem("tiny", build).arguments()
            types = tuple(numba.typeof(argument) for argument in arguments)
            with contextlib.suppress(CudaSupportError):
                compile_cuda(kernel.py_func, numba.void, types, cc=(7, 0))
            sys.stdout.write(f"{benchmark.name} {build}: ok\n")


if __name__ == "__main__":
    main()
