"""Warp instructions of the ten baselines, pinned: the speed of the simulator is counted in them, and a worse listing
may not raise it. What the compiler changes on purpose is pinned again with

    python -m tests.speed.instruction_counts
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from smmux import benchmarks

GPU = "GTX285-1100"
PINNED = Path(__file__).with_name("instruction_counts.json")
SIZES = ("tiny", "quick")


def count(benchmark: str, size: str) -> int:
    """Warp instructions issued by a benchmark's baseline."""
    found = benchmarks.get(benchmark)
    problem = found.problem(size)
    result = found.kernel().simulate(problem.grid, problem.block, problem.arguments(), gpu=GPU)
    return int(result.counters["instructions"])


def pinned(size: str) -> dict[str, int]:
    """The committed counts."""
    counts: dict[str, dict[str, int]] = json.loads(PINNED.read_text())
    return counts[size]


def main() -> int:
    """Pin the counts of today's compiler."""
    counts = {size: {name: count(name, size) for name in benchmarks.names()} for size in SIZES}
    PINNED.write_text(json.dumps(counts, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
