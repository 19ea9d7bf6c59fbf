"""What `check="races"` costs: processor time of a run with the check over that of one without, the least of several
rounds that alternate, for every benchmark, variant and machine. At most 2.5 is allowed; cycles must not differ.

    python -m tests.speed.check_cost [--size quick] [--rounds 3] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from smmux import benchmarks
from smmux.benchmarks import Problem
from smmux.errors import Error

GPUS = ("GTX285-1100", "GTX480-16K")
DYNAMIC = {"management": "dynamic", "extra_blocks": 1}
BAR = 2.5


def seconds(launched: Any, problem: Problem, gpu: str, check: str | None, options: Any) -> tuple[float, int]:
    """Processor time and cycles of one run."""
    kernel, grid, block = launched
    arguments = problem.arguments()
    start = time.process_time()
    result = kernel.simulate(grid, block, arguments, gpu=gpu, check=check, **options)
    return time.process_time() - start, result.cycles


def ratio(name: str, variant: str, gpu: str, size: str, rounds: int) -> tuple[float, float] | None:
    """Least time with the check over the least without, and the latter; None where the machine cannot hold it."""
    problem = benchmarks.get(name).problem(size)
    launched = benchmarks.get(name).launch(problem, variant)
    options = DYNAMIC if variant in ("hw", "co_hw") else {}
    try:
        seconds(launched, problem, gpu, None, options)  # compiles
    except Error:
        return None  # too large for the machine
    plain, checked = [], []
    for _ in range(rounds):
        plain.append(seconds(launched, problem, gpu, None, options))
        checked.append(seconds(launched, problem, gpu, "races", options))
    assert len({cycles for _, cycles in plain + checked}) == 1, "the check changes cycles"
    return min(checked)[0] / min(plain)[0], min(plain)[0]


def measured(names: Sequence[str], size: str, rounds: int) -> Iterator[tuple[str, float]]:
    """Label and ratio of every point, printed as they come."""
    for name in names:
        for gpu in GPUS:
            for variant in benchmarks.get(name).variants:
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
