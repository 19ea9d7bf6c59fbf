"""Cycles of launches whose blocks do nothing, or load or store a word: what a launch costs, by its blocks.

    python -m experiments.hardware.hopper.short_launches --out DIR

needs a card, nvcc and the profiler (ncu), and writes DIR/short_launches.csv: three launches of each kernel of
`short.cu` by threads of a block and blocks, before which the profiler flushes the caches (all) or does not (none).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .bench import Bench
from .profiler import command_line, profiled, write

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


def record(out: Path) -> None:
    """Have all launches counted."""
    found = {control: iter(profiled(__spec__.name, out, METRICS, control)) for control in CONTROLS}
    rows = (
        [control, *case, repeat, *map(int, next(cycles))]
        for control, cycles in found.items()
        for case in cases()
        for repeat in range(REPEATS)
    )
    columns = ["cache_control", "kernel", "threads", "blocks", "repeat", "cycles", "active"]
    write(out / "short_launches.csv", columns, rows)


if __name__ == "__main__":
    command_line(__doc__, launch_all, record)
