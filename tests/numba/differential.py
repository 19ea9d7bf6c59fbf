"""Runs random kernels under Numba's simulator and on several machines, and compares the memory they leave.

By hand: `python -m tests.numba.differential --count 1000 --seed 7`; a kernel that differs is made small and printed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.numba import simulator, sources
from tests.numba.random_kernels import Case, generate, smaller

NAMES = ("fi", "ii", "ui", "bi", "fo", "io", "uo", "bo", "acc")
RUNS: tuple[tuple[dict[str, Any], ...], ...] = (
    (
        {"gpu": "GTX285", "schedule": "source"},
        {"gpu": "GTX480-16K", "schedule": "list"},
        {"gpu": "GTX285", "schedule": "list", "max_registers": 16},
    ),
    (
        {"gpu": "GTX285", "schedule": "list"},
        {"gpu": "GTX480-16K", "schedule": "source"},
        {"gpu": "GTX480-16K", "schedule": "source", "unroll_limit": 32, "join": False},
    ),
)
"""What the even and the odd kernels are compiled for and run on."""

_numbers = itertools.count()


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """Elements as integers; all that are no number alike."""
    if array.dtype != np.float32:
        return array
    return np.where(np.isnan(array), np.float32(np.nan), array).view(np.uint32)


def difference(case: Case, runs: tuple[dict[str, Any], ...]) -> str:
    """What differs, or an empty string. Products and sums are not fused: NumPy rounds both."""
    filename = f"<random kernel {next(_numbers)}>"
    expected = simulator.shared().launch(case.text, filename, case.grid, case.block, case.arguments())
    module = sources.load(case.text, filename, "smmux")
    for options in runs:
        found = case.arguments()
        module.kernel.simulate(case.grid, case.block, found, fused_mad=False, max_cycles=10**7, **options)
        for name, a, b in zip(NAMES, found, expected, strict=False):
            places = np.argwhere(bits(a) != bits(b))
            if len(places):
                i = tuple(places[0].tolist())
                return f"{options}: {name}{list(i)} is {a[i]!r}, not {b[i]!r} ({len(places)} elements differ)"
    return ""


def outcome(case: Case, runs: tuple[dict[str, Any], ...]) -> str:
    """As `difference`, but what goes wrong on our side is a difference too."""
    try:
        return difference(case, runs)
    except AssertionError as reason:  # the simulator's side
        return f"invalid: {reason}"
    except Exception as reason:
        return f"{type(reason).__name__}: {str(reason)[:400]}"


def main(argv: list[str] | None = None) -> int:
    """Compare many kernels; print those that differ, made small."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--depth", type=int, default=2, help="of expressions")
    parser.add_argument("--keep", action="store_true", help="print failing kernels as generated")
    options = parser.parse_args(argv)
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        case, runs = generate(Random(seed), options.depth), RUNS[seed % 2]
        if sys.stderr.isatty() or seed % 100 == 99:
            sys.stderr.write(f"\rseed {seed}, {failures} differ ")
        if not (found := outcome(case, runs)):
            continue
        failures += 1
        kind = found.split(":")[0]
        if not options.keep:
            case = smaller(case, lambda c, kind=kind, runs=runs: outcome(c, runs).split(":")[0] == kind)
        sys.stdout.write(f"---- seed {seed}, {case.grid} x {case.block}: {outcome(case, runs)}\n")
        sys.stdout.write(case.text[case.text.index("def tame") :] + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{options.count} kernels, {failures} differ\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
