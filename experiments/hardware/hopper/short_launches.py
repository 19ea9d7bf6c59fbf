"""Cycles of launches whose blocks do nothing, or load or store a word: what a launch costs, by its blocks.

    python -m experiments.hardware.hopper.short_launches --out DIR

needs a card, nvcc and the profiler (ncu), and writes DIR/short_launches.csv: three launches of each kernel of
`short.cu` by threads of a block and blocks, before which the profiler flushes the caches (all) or does not (none).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from smmux.base import whole_files

from .bench import Bench
from .profiler import profiled

METRICS = ("sm__cycles_elapsed.max", "sm__cycles_active.max")
CONTROLS = ("all", "none")
KERNELS = ("nothing", "loads", "stores", "adds", "copies")
BYTES = 1 << 26
REPEATS = 3
Case = tuple[str, int, int]


def cases() -> Iterator[Case]:
    """Kernel, threads, blocks."""
    for kernel in KERNELS:
        for threads in (64, 256):
            for blocks in (1, 8, 16, 64, 132, 264, 528, 1056, 2112, 4224):
                yield kernel, threads, blocks


def launch_all(bench: Bench) -> None:
    """All launches, one after the other."""
    data = bench.card.alloc(BYTES)
    for kernel, threads, blocks in cases():
        for _ in range(REPEATS):
            bench.module("short")[kernel]((blocks,), (threads,), data)
            bench.card.sync()


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--launch", action="store_true", help="only launch the kernels")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.launch:
        launch_all(Bench(args.out / "cubins"))
        return
    found = {control: iter(profiled(__spec__.name, args.out, METRICS, control)) for control in CONTROLS}
    with whole_files.replacing(args.out / "short_launches.csv") as (draft,), draft.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["cache_control", "kernel", "threads", "blocks", "repeat", "cycles", "active"])
        for control, cycles in found.items():
            rows.writerows(
                [control, *case, repeat, *map(int, next(cycles))] for case in cases() for repeat in range(REPEATS)
            )


if __name__ == "__main__":
    main()
