"""What a management of shared memory in Python costs: processor time of a run under `smmux.Management` over that of one
under "dynamic", which decides the same, the least of several rounds that alternate. At most 2 is allowed; counters must
not differ.

    python -m tests.speed.management_cost [--size quick] [--rounds 3] [--host-threads 1] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import smmux
from smmux import benchmarks

BAR = 2.0


def seconds(launched: Any, problem: benchmarks.Problem, management: Any, threads: int) -> tuple[float, smmux.Result]:
    """Processor time and result of one run."""
    kernel, grid, block = launched
    options = {"management": management, "extra_blocks": 3, "host_threads": threads}
    arguments = problem.arguments()
    start = time.process_time()
    result = kernel.simulate(grid, block, arguments, gpu="GTX285-1100", **options)
    return time.process_time() - start, result


def ratio(name: str, size: str, rounds: int, threads: int) -> tuple[float, float]:
    """Least time in Python over the least without, and the latter."""
    problem = benchmarks.get(name).problem(size)
    launched = benchmarks.get(name).launch(problem, "hw")
    plain, python = [], []
    seconds(launched, problem, "dynamic", threads)  # compiles
    for _ in range(rounds):
        plain.append(seconds(launched, problem, "dynamic", threads))
        python.append(seconds(launched, problem, smmux.Management, threads))
    assert all(result.counters == plain[0][1].counters for _, result in plain + python), "the class changes counters"
    least = min(time for time, _ in plain)
    return min(time for time, _ in python) / least, least


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; exit status 1 if a benchmark is above the bar."""
    known = [name for name in benchmarks.names() if "hw" in benchmarks.get(name).variants]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=known)
    parser.add_argument("--size", default="quick")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--host-threads", type=int, default=1)
    options = parser.parse_args(argv)
    worst = 0.0
    for name in options.names:
        found, plain = ratio(name, options.size, options.rounds, options.host_threads)
        print(f"{name:4} {found:6.2f} of {plain:7.3f} s", flush=True)
        worst = max(worst, found)
    print(f"most: {worst:.2f}; allowed: {BAR}")
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
