"""Whole runs beside sampled ones: how often the true cycles lie in the interval, how wide it is, what time it saves.

    python -m tests.machine.sampled_campaign [--sample 0.02] [--gpus GTX285 GTX480-48K] [--names FFT TP ...]

The benchmarks with 30 to 100 times their default blocks, half an hour a machine, and the programs of
`experiments.programs` as they are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from experiments import programs
from smmux import LaunchError, Result, benchmarks

SIZES: dict[str, dict[str, int]] = {
    "TP": {"width": 19968},
    "CV": {"width": 7680, "height": 35840},
    "MM": {"height": 5120, "inner": 32, "width": 5120},
    "MV": {"width": 64, "height": 2097120},
    "SP": {"vectors": 65535, "elements": 256, "blocks": 65535},
    "RD": {"elements": 67107840, "blocks": 65535},
    "FFT": {"batch": 65535},
    "STO": {"windows": 8388480},
    "HG": {"values": 536862720},
    "MC": {"n": 256},
}
"""A hundred times the blocks of the default sizes, or as many as these cards have memory or room in a row of blocks for
(MC: the largest power of two with fewer). Those of MV, SP, MM and RD have less to do each."""


def cases(names: Sequence[str]) -> Iterator[tuple[str, Any, Any]]:
    """Name, kernel and problem of each program."""
    for name, size in SIZES.items():
        if not names or name in names:
            benchmark = benchmarks.get(name)
            yield name, benchmark.kernel(), benchmark.problem(size)
    for name in programs.workloads():
        if not names or name in names:
            workload = programs.workload(name)
            yield name, next(iter(workload.kernels.values())), workload.problem("default")


def timed(kernel: Any, problem: Any, gpu: str, **options: Any) -> tuple[Result, float]:
    """The result of a run, and how many seconds it took."""
    arguments = problem.arguments()
    begun = time.perf_counter()
    return kernel.simulate(problem.grid, problem.block, arguments, gpu=gpu, **options), time.perf_counter() - begun


def say(row: str) -> None:
    """Print a row at once."""
    sys.stdout.write(row + "\n")
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print a row each, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=float, default=0.02, help="relative error (%(default)s)")
    parser.add_argument("--gpus", nargs="+", default=["GTX285", "GTX480-48K"])
    parser.add_argument("--names", nargs="+", default=[])
    options = parser.parse_args(argv)
    inside, sampled = 0, 0
    for gpu in options.gpus:
        for name, kernel, problem in cases(options.names):
            try:
                (guess, first), (true, second) = (
                    timed(kernel, problem, gpu, **extra) for extra in ({"sample": options.sample, "outputs": False}, {})
                )
            except LaunchError as error:
                say(f"{name:6} {gpu:12} {str(error).partition(';')[0]}")
                continue
            row = f"{name:6} {gpu:12} {true['blocks']:8} blocks {true.cycles:11} cycles"
            if guess.sampled is None:
                say(f"{row}  run whole")
                continue
            sampled += 1
            inside += guess.sampled.low <= true.cycles <= guess.sampled.high
            say(
                f"{row}  {guess.cycles / true.cycles - 1:+7.2%} (± {guess.sampled.error:.2%}) from "
                f"{guess.sampled.blocks:6} blocks, {second / first:6.1f} times as fast"
            )
    say(f"{inside} of {sampled} in their intervals")
    return 0


if __name__ == "__main__":
    sys.exit(main())
