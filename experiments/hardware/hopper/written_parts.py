"""What the L2 does with sectors of which not all bytes have been written: what DRAM reads and writes for them.

    python -m experiments.hardware.hopper.written_parts --out DIR

needs a card and its profiler (ncu), and writes DIR/written_parts.csv: sequences of launches of `written_parts.cu`, each
behind a load of 256 MB that replaces all that the L2 has, with what the profiler counts of each launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from .bench import Bench
from .profiler import command_line, profiled, write

METRICS = (
    "dram__sectors_read.sum", "dram__sectors_write.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_ltcfabric.sum", "lts__t_sectors_lookup_miss.sum",
    "lts__t_requests.sum", "sm__cycles_elapsed.max", "sm__cycles_active.max",
)  # fmt: skip
MB = 1 << 20
REGION, FLUSHED = 320 * MB, 256 * MB
STEP = 7_654_321
"""Elements of a permutation are so many apart: a prime."""
THREADS = 256


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch: of `n` elements, `per` of each line; lines are `pitch` bytes apart, from the given MB of the region on.

    bytes: how many of each element are written, from byte `begin` on; of halves, how many elements apart both are.
    """

    sequence: int
    form: str  # store, load, add, halves
    n: int
    bytes: int = 4
    begin: int = 0
    step: int = 1  # 1: in order
    per: int = 4
    pitch: int = 128
    at: int = 0


def sectors(megabytes: int) -> int:
    """How many that are."""
    return megabytes * MB // 32


def sequences() -> Iterator[list[tuple[str, dict[str, int]]]]:
    """What is launched behind a flush, one after the other."""
    for megabytes in (2, 4, 6, 8, 10, 12, 16, 20, 24, 30, 40, 60, 80, 160):
        for step in (1, STEP):
            yield [("store", {"n": sectors(megabytes), "step": step})]
    for count in (1, 8, 16, 28, 32):
        for megabytes in (20, 40, 160):
            for step in (1, STEP):
                yield [("store", {"n": sectors(megabytes), "bytes": count, "step": step})]
    for per in (1, 2):
        for lines in (16, 32, 48, 64, 80, 96, 128, 192, 320):
            for step in (1, STEP):
                yield [("store", {"n": per * lines * 1024, "per": per, "step": step})]
    for pitch in (256, 512, 2048):
        for lines in (32, 64, 128):
            yield [("store", {"n": lines * 1024, "per": 1, "pitch": pitch})]
    for lines in (24, 32, 64, 128, 160):  # full sectors, few of a line
        yield [("store", {"n": lines * 1024, "per": 1, "bytes": 32, "step": STEP})]
    whole = ("store", {"n": sectors(160), "bytes": 32, "at": 160})
    loads = ("load", {"n": sectors(160), "at": 160})
    for megabytes in (4, 8, 20, 40):
        n = sectors(megabytes)
        half, rest = {"n": n, "bytes": 16}, {"n": n, "bytes": 16, "begin": 16}
        yield [("store", half), whole]
        yield [("store", half), ("store", rest), whole]
        yield [("store", half), loads]
        yield [("load", {"n": n}), ("store", {"n": n}), whole]
        yield [("store", {"n": n}), ("load", {"n": n})]
        yield [("store", {"n": n}), ("load", {"n": n, "begin": 8})]
        yield [("add", {"n": n}), whole]
        yield [("add", {"n": n, "step": STEP}), whole]
    for apart in (1, 4, 16, 64, 128, 192, 256, 384, 512, 1024):
        for step in (1, STEP):
            yield [("halves", {"n": sectors(80), "bytes": apart << 10, "step": step})]


def cases() -> list[Launch]:
    """All launches."""
    return [Launch(i, form, **given) for i, steps in enumerate(sequences()) for form, given in steps]


def launch(bench: Bench, case: Launch, region: int, out: int) -> None:
    """One launch. region: where elements are, if `at` is 0."""
    module, at = bench.module("written_parts"), region + case.at * MB
    n, step, begin = np.uint32(case.n), np.uint32(case.step), np.uint32(case.begin)
    where = at, n, step, np.uint32(case.per), np.uint64(case.pitch)
    given = {
        "store": (*where, np.uint32(case.bytes), begin),
        "load": (*where, begin, out),
        "add": (*where, begin),
        "halves": (at, n, step, np.uint32(case.bytes)),
    }[case.form]
    elements = case.n + (case.bytes if case.form == "halves" else 0)
    module[f"step_{case.form}"](-(-elements // THREADS), THREADS, *given)


def launch_all(bench: Bench) -> None:
    """All launches, one after the other."""
    card = bench.card
    base, other, out = card.alloc(REGION), card.alloc(FLUSHED), card.alloc(128)
    last = -1
    for case in cases():
        if case.sequence != last:
            flush = bench.module("written_parts")["flush"]
            flush(8 * card.multiprocessors, 512, other, np.uint32(FLUSHED // 16), out)
        last = case.sequence
        launch(bench, case, base, out)
        card.sync()


def record(out: Path) -> None:
    """Have all launches counted."""
    counts = profiled(__spec__.name, out, METRICS, kernels="step", again="application")
    rows = ([*astuple(case), *map(int, row)] for case, row in zip(cases(), counts, strict=True))
    write(out / "written_parts.csv", [*(field.name for field in fields(Launch)), *METRICS], rows)


if __name__ == "__main__":
    command_line(__doc__, launch_all, record)
