"""How long stores wait in a multiprocessor for others that join them, and how many lines wait.

    python -m experiments.hardware.hopper.store_stay --out DIR

needs a card and its profiler (ncu), and writes DIR/store_stay.csv: of programs that store to words of as many lines as
said, in how many requests a pass of them reaches the L2. Each warp has lines of its own. A program is named for its
stores, where A, B and C are sets of so many lines, one after the other but for `gap` clocks behind the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .assembler import VALUES, ins, program
from .bench import Bench, register
from .profiler import command_line, profiled, write

METRIC = "lts__t_requests_srcunit_tex_op_write.sum"
PASSES = 5
NEXT = 2
"""Clocks to the next store where no gap is."""
LANES = np.arange(32)
APART = 1 << 25
"""Bytes from the warps' registers, which they load and store, to their lines."""
Case = tuple[str, int, int, int]
EMPTY: Case = "", 1, 1, 0


def cases() -> Iterator[Case]:
    """Stores, warps, lines and gap."""
    for lines in (1, 4, 8, 12, 16, 24, 28):
        for gap in (*range(2, 40, 2), *range(40, 112, 4)):
            yield "AA", 1, lines, gap
    for lines in (27, 29, 30, 31, 32):
        yield "AA", 1, lines, NEXT
    for lines in (10, 13, 14, 15, 16):
        yield "ABA", 1, lines, NEXT
    for lines in (4, 7, 8, 9, 10, 11):
        yield "ABCA", 1, lines, NEXT
    for lines in (4, 8, 12):
        for gap in range(4, 56, 4):
            yield "ABA", 1, lines, gap
    for warps in (2, 4):
        for lines in (1, 2, 3, 4, 6, 7, 8, 10, 12, 14, 15, 16):
            yield "AAAA", warps, lines, NEXT


def waits(clocks: int) -> list[int]:
    """Nothing, for so many clocks."""
    return [ins("NOP", stall=min(4, clocks - done)) for done in range(0, clocks, 4)]


def body(stores: str, gap: int) -> list[int]:
    """The instructions of a pass."""
    words = []
    for i, kind in enumerate(stores):
        clocks = NEXT if i else gap
        offset = 4096 * "ABC".index(kind) + 4 * stores[:i].count(kind)
        words += [ins("STG", a=8, b=20, offset=offset, rd=0, stall=min(clocks, 4)), *waits(clocks - min(clocks, 4))]
    return words or [ins("NOP")]


def launch(bench: Bench, stores: str, warps: int, lines: int, gap: int) -> None:
    """One launch: of four warps for each that stores."""
    warp, base = np.arange(4 * warps), bench.data + APART
    values = np.zeros((4 * warps, VALUES, 32), np.uint32)
    values[:, register(8)] = (base & 0xFFFFFFFF) + LANES % lines * 128 + (warp << 17)[:, None]
    values[:, register(9)] = base >> 32
    values[:, register(55)] = (warp < warps)[:, None]
    bench.run(program(body(stores, gap), switch=True, loads=range(20), repeats=PASSES), values)


def launch_all(bench: Bench) -> None:
    """All programs, one after the other."""
    for case in (EMPTY, *cases()):
        launch(bench, *case)


def record(out: Path) -> None:
    """Have all programs counted: what comes on top of the registers that warps store at the end, four for each that
    runs."""
    empty, *counts = (count for (count,) in profiled(__spec__.name, out, [METRIC]))
    rows = ([*case, round((count - empty * case[1]) / PASSES, 1)] for case, count in zip(cases(), counts, strict=True))
    write(out / "store_stay.csv", ["stores", "warps", "lines", "gap", "requests"], rows)


if __name__ == "__main__":
    command_line(__doc__, launch_all, record)
