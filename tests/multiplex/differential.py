"""Random kernels under the passes: outputs, and no races, on a machine and under Numba's simulator.

By hand: `python -m tests.multiplex.differential --count 1000 --seed 7 [--simulator]`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from random import Random

from smmux import multiplex
from smmux.errors import Error
from smmux.kernel import Kernel
from smmux.multiplex import VirtualKernel
from tests.multiplex.random_regions import Case, generate
from tests.numba import simulator, sources

SCHEMES: dict[str, Callable[[Kernel], VirtualKernel]] = {
    "vtb": multiplex.vtb,
    "vtb 3": lambda kernel: multiplex.vtb(kernel, 3),
    "vtb_pipe": multiplex.vtb_pipe,
}
MACHINES = ("GTX285", "GTX480-16K")


def difference(seed: int, simulated: bool) -> dict[str, str]:
    """What is wrong with each scheme for a kernel, the reason if it is refused, or an empty string."""
    case = generate(Random(seed))
    filename = f"<random regions {seed}>"
    kernel = sources.load(case.text, filename, "smmux").kernel
    options = {"gpu": MACHINES[seed % 2], "max_cycles": 10**7, "check": "races"}
    expected = case.arguments()
    kernel.simulate(case.grid, case.block, expected, **options).raise_for_findings()
    if simulated:
        found = simulator.shared().launch(case.text, filename, case.grid, case.block, case.arguments())
        if (found[1] != expected[1]).any():
            return {"baseline": "differs under Numba's simulator"}
    return {name: _outcome(case, kernel, name, expected[1], options, simulated) for name in SCHEMES}


def _outcome(
    case: Case, kernel: Kernel, scheme: str, expected: object, options: dict[str, object], simulated: bool
) -> str:
    try:
        made = SCHEMES[scheme](kernel)
        if case.fit or case.grid[0] % made.n:
            made = made.fitted(case.grid, case.block)
        grid, block = made.geometry(case.grid, case.block)
    except multiplex.MultiplexError as reason:
        return f"refused: {reason.msg}"
    arguments = case.arguments()
    try:
        made.simulate(grid, block, arguments, **options).raise_for_findings()  # type: ignore[arg-type]
    except Error as reason:
        return f"fails: {reason}"
    if (arguments[1] != expected).any():
        return "differs"
    if simulated:
        text = f"{made.source}\n\nkernel = {made.__name__}\n"
        found = simulator.shared().launch(text, f"<{case.seed} {scheme}>", grid, block, case.arguments())
        if (found[1] != expected).any():
            return "differs under Numba's simulator"
    return ""


def main(argv: list[str] | None = None) -> int:
    """Compare many kernels; print what differs, and why kernels were refused."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--simulator", action="store_true", help="Numba's simulator too")
    options = parser.parse_args(argv)
    found: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        try:
            outcomes = difference(seed, options.simulator)
        except Exception as reason:
            outcomes = {"pass": f"fails: {type(reason).__name__}: {reason}"}
        for scheme, outcome in outcomes.items():
            found[outcome] += 1
            if outcome and not outcome.startswith("refused"):
                sys.stdout.write(f"seed {seed}, {scheme}: {outcome}\n")
                sys.stdout.flush()
    for outcome, count in found.most_common():
        sys.stdout.write(f"{count:6} {outcome[:110] or 'equal'}\n")
    return 1 if any(o and not o.startswith("refused") for o in found) else 0


if __name__ == "__main__":
    sys.exit(main())
