"""What `check="races"` costs: processor time of a run with the check over that of one without, the least of several
rounds that alternate, for every benchmark, variant and machine. At most 2 is allowed; cycles must not differ.

    python -m tests.speed.check_cost [--size quick] [--rounds 3] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from smmux import benchmarks, multiplex
from smmux.errors import Error

GPUS = ("GTX285-1100", "GTX480-16K")
PASSES = ("vtb", "vtb_pipe", "co_vtb")
VARIANTS = ("baseline", "hw", "co_hw", *PASSES)
DYNAMIC = {"management": "dynamic", "extra_blocks": 1}
BAR = 2.0


def kernel_of(name: str, variant: str, problem: Any) -> Any:
    """The variant's kernel; None where the benchmark declares no private part."""
    benchmark = benchmarks.get(name)
    if variant.startswith("co_") and not benchmark.divided:
        return None
    if variant not in PASSES:
        return benchmark.kernel(variant)
    declared = benchmark.divided if variant == "co_vtb" else {}
    return getattr(multiplex, variant)(benchmark.kernel(), grid=problem.grid, block=problem.block, **declared)


def seconds(kernel: Any, problem: Any, gpu: str, check: str | None, options: dict[str, Any]) -> tuple[float, int]:
    """Processor time and cycles of one run."""
    arguments = problem.arguments()
    grid, block = problem.grid, problem.block
    if hasattr(kernel, "geometry"):
        grid, block = kernel.geometry(grid, block)
    start = time.process_time()
    result = kernel.simulate(grid, block, arguments, gpu=gpu, check=check, **options)
    return time.process_time() - start, result.cycles


def ratio(name: str, variant: str, gpu: str, size: str, rounds: int) -> tuple[float, float] | None:
    """Least time with the check over the least without, and the latter; None where the variant does not exist."""
    problem = benchmarks.get(name).problem(size)
    kernel = kernel_of(name, variant, problem)
    if kernel is None:
        return None
    options = DYNAMIC if variant in ("hw", "co_hw") else {}
    try:
        seconds(kernel, problem, gpu, None, options)  # compiles
    except Error:
        return None  # too large for the machine
    plain, checked = [], []
    for _ in range(rounds):
        plain.append(seconds(kernel, problem, gpu, None, options))
        checked.append(seconds(kernel, problem, gpu, "races", options))
    assert len({cycles for _, cycles in plain + checked}) == 1, "the check changes cycles"
    return min(checked)[0] / min(plain)[0], min(plain)[0]


def measured(names: Sequence[str], size: str, rounds: int) -> Iterator[tuple[str, float]]:
    """Label and ratio of every point, printed as they come."""
    for name in names:
        for gpu in GPUS:
            for variant in VARIANTS:
                if (found := ratio(name, variant, gpu, size, rounds)) is None:
                    continue
                label = f"{name:4} {variant:9} {gpu:12}"
                print(f"{label} {found[0]:6.2f} of {found[1]:7.3f} s", flush=True)
                yield label, found[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; exit status 1 if a point is above the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=benchmarks.names())
    parser.add_argument("--size", default="quick")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    points = list(measured(options.names, options.size, options.rounds))
    worst, most = max(points, key=lambda point: point[1])
    print(f"most: {worst} {most:.2f}; allowed: {BAR}")
    return int(most > BAR)


if __name__ == "__main__":
    sys.exit(main())
