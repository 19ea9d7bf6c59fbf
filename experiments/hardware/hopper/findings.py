"""The numbers of `docs/hopper.md`, from the committed measurements.

    python -m experiments.hardware.hopper.findings --page docs/hopper.md

writes the table of that page anew; a test holds the page to it.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from experiments.common import marked

FOLDER = Path(__file__).parent
CARDS = {"h100": "H100", "h200": "H200"}
BEGIN, END = "<!-- numbers: begin -->", "<!-- numbers: end -->"
Data = Callable[[str], list[dict[str, str]]]


@cache
def rows(card: str, name: str) -> list[dict[str, str]]:
    """The rows of a file of a card."""
    with (FOLDER / card / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def one(card: str, name: str, column: str, **wanted: object) -> float:
    """The value in the one row of a file that has the wanted values."""
    found = [row for row in rows(card, name) if all(row[key] == str(value) for key, value in wanted.items())]
    if len(found) != 1:
        raise ValueError(f"{card}/{name}: {len(found)} rows with {wanted}")
    return float(found[0][column])


def stall(card: str, *pairs: tuple[str, str, str]) -> str:
    """Smallest sums of stall counts from a producer to a consumer's source."""
    return number(*(one(card, "stall_counts", "stall", producer=p, consumer=c, slot=s) for p, c, s in pairs))


def number(*values: float) -> str:
    """Numbers as the page has them."""
    return ", ".join(
        f"{value:.0f}" if abs(value) >= 20 or value == round(value) else f"{value:.1f}" for value in values
    )


def interval(card: str, *forms: str) -> str:
    """Clocks per instruction and partition, four warps in one."""
    return number(*(round(one(card, "intervals", "clocks", form=form, partitions=1, warps=4), 1) for form in forms))


def pair(card: str, *pairs: tuple[str, str]) -> str:
    """Clocks of two forms in turn, four warps in one partition."""
    return number(*(round(one(card, "interval_pairs", "clocks", a=a, b=b, warps=4), 1) for a, b in pairs))


def chain(card: str, *forms: str) -> str:
    """Clocks per link of a chain through a counter."""
    return number(*(one(card, "counted_chains", "clocks", form=form, stall=2) for form in forms))


def bank(card: str, *cases: tuple[str, str, int]) -> str:
    """Clocks per instruction by registers and reuse bits."""
    return number(
        *(
            round(float(next(row["clocks"] for row in rows(card, "register_banks") if (row["form"], row["registers"],
                row["reuse"]) == (form, registers, str(reuse)))))
            for form, registers, reuse in cases
        )
    )  # fmt: skip


def code(card: str, kind: str, *kilobytes: int) -> str:
    """Clocks per instruction, or per jump, of one warp in the last round."""
    where = {"kind": kind, "blocks": 1, "warps": 1, "partitions": 1}
    return number(*(round(one(card, "code_ladder", "last", kilobytes=size, **where), 1) for size in kilobytes))


def without_miss(card: str, *percent: int) -> str:
    """The largest footprint in kilobytes up to which every load hits the L1, by what was asked for."""
    answers = []
    for asked in percent:
        ladder = [row for row in rows(card, "l1_size") if row["asked_percent"] == str(asked)]
        answers.append(max(int(row["footprint_kb"]) for row in ladder if float(row["stride_128"]) < 33.5))
    return number(*answers)


def chased(card: str, *megabytes: int) -> str:
    """Clocks per load that passes the L1, by footprint."""
    return number(*(one(card, "l2_chase", "clocks", kind="footprint", megabytes=size) for size in megabytes))


def shared(card: str, column: str, *cases: tuple[str, str]) -> str:
    """Clocks of shared-memory accesses by pattern."""
    return number(
        *(round(one(card, "shared_phases", column, form=form, pattern=pattern), 1) for form, pattern in cases)
    )


def queued(card: str, *forms: str) -> str:
    """How many accesses issue one a clock before the first that waits; one partition."""
    answers = []
    for form in forms:
        row = next(row for row in rows(card, "queue_depth") if (row["form"], row["partitions"]) == (form, "1"))
        answers.append(max(n for n in range(1, 17) if all(int(row[f"n{k}"]) == k + 1 for k in range(1, n + 1))))
    return number(*answers)


def released(card: str, column: str, *forms: str) -> str:
    """Clocks until sources are free, or the result is there."""
    return number(*(one(card, "release", column, form=form, uniform=0) for form in forms))


def fence(card: str, *names: str) -> str:
    """Clocks of a fence behind a store."""
    answers = []
    for name in names:
        row = next(row for row in rows(card, "fences") if (row["fence"], row["behind"]) == (name, "store"))
        answers.append(float(np.median([int(clocks) for clocks in row["clocks"].split()])))
    return number(*answers)


def barrier(card: str, *warps: int) -> str:
    """Clocks from the last arrival to the last warp's release."""
    return number(*(one(card, "barriers", "last_release", warps=count, late=0, round=2) for count in warps))


def arrays(card: str, name: str) -> dict[str, np.ndarray]:
    """The arrays of a file of a card."""
    with np.load(FOLDER / card / f"{name}.npz") as file:
        return dict(file)


def halves(card: str) -> str:
    """Mean clocks of atomics to lines of the near and of the far half of the L2, from multiprocessor 0."""
    clocks = arrays(card, "l2_lines")["atomics_0"][0]
    return number(float(clocks[clocks < 420].mean()), float(clocks[clocks > 420].mean()))


def slice_pairs(card: str) -> str:
    """Classes of lines that one slice of each half serves."""
    return number(len(np.unique(arrays(card, "l2_slices")["classes"])))


def counted_slices(card: str) -> str:
    """Slices, and memory channels, that the profiler's counters have."""
    row = rows(card, "slice_counters")[0]
    pairs = (("lts__t_sectors", "slices"), ("dram__sectors_read", "channels"))
    return number(*(round(float(row[f"{name}.sum"]) / float(row[f"{name}.avg"])) for name, _ in pairs))


def rate(card: str, what: str, who: str, megabytes: int) -> str:
    """Bytes per clock from or to the L2."""
    return number(one(card, "l2_rates", "bytes_per_clock", what=what, who=who, megabytes=megabytes))


def dram(card: str, what: str) -> str:
    """Bytes per nanosecond of streams through DRAM."""
    fastest = [float(row["bytes_per_ns"]) for row in rows(card, "dram_stream") if row["what"] == what]
    return number(max(fastest))


def scattered(card: str, *sizes: int) -> str:
    """Bytes per nanosecond of random reads of so many bytes in 8 GB."""
    where = {"random": 1, "writes": 0, "period": 4, "region_mb": 8192}
    return number(*(one(card, "dram_patterns", "bytes_per_ns", size=size, **where) for size in sizes))


def atomic(card: str, *cases: tuple[str, str, int, int]) -> str:
    """Clocks per atomic instruction of each warp."""
    names = ("form", "pattern", "blocks", "threads")
    found = (dict(zip(names, case, strict=True)) for case in cases)
    return number(*(one(card, "atomics", "clocks_per_round", **wanted) for wanted in found))


def groups(card: str) -> str:
    """Multiprocessors in each group that clusters showed."""
    return ", ".join(row["count"] for row in rows(card, "gpcs") if row["gpc"])


def launch(card: str, column: str, grid: int) -> str:
    """Microseconds per empty kernel of 32 threads a block."""
    return f"{one(card, 'launches', column, kernel='empty', grid=grid, threads=32):.2f}"


def floor(card: str, grid: int, block: int, cache_control: str) -> str:
    """Cycles of an empty kernel by the profiler: the fewest of two launches."""
    wanted = {"grid": str(grid), "block": str(block), "cache_control": cache_control}
    found = [row for row in rows(card, "empty_kernels") if all(row[key] == value for key, value in wanted.items())]
    return number(min(float(row["sm__cycles_elapsed.max"]) for row in found))


def block_gap(card: str) -> str:
    """Clocks between the starts of two blocks on one multiprocessor, and from the end of a block to the next start."""
    many, single = arrays(card, "block_order")["eight"], arrays(card, "block_order")["one"]
    mine = many[many[:, 0] == 5]
    starts = np.sort(mine[:, 1])[:8]
    gaps = []
    for here in range(0, 132, 7):
        blocks = single[single[:, 0] == here]
        blocks = blocks[np.argsort(blocks[:, 1])]
        gaps += (blocks[1:, 1] - blocks[:-1, 2]).tolist()
    return number(float(np.median(np.diff(starts))), float(np.median(gaps)))


FMA, ALU = "FFMA", "IADD3"
NUMBERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("clock of the multiprocessors, MHz", lambda c: number(one(c, "clock_rate", "mhz", blocks=1))),
    ("stall FFMA to FFMA, IMAD to FFMA, IADD3 to IADD3", lambda c: stall(c, (FMA, FMA, "a"), ("IMAD", FMA, "a"),
        (ALU, ALU, "a"))),
    ("stall FFMA to IADD3, IADD3 to FFMA", lambda c: stall(c, (FMA, ALU, "a"), (ALU, FMA, "a"))),
    ("stall HFMA2 to HFMA2, HFMA2 to FFMA, HFMA2.MMA to any", lambda c: stall(c, ("HFMA2", "HFMA2", "a"), ("HFMA2",
        FMA, "a"), ("HFMA2.MMA", FMA, "a"))),
    ("stall DFMA to DFMA, DFMA to IADD3, FFMA to DFMA", lambda c: stall(c, ("DFMA", "DFMA", "a"), ("DFMA", ALU, "a"),
        (FMA, "DFMA", "a"))),
    ("stall HMMA.16816.F32 to its C, B, A, to FADD", lambda c: stall(c, *(("HMMA.16816.F32", "HMMA.16816.F32",
        s) for s in "cba"), ("HMMA.16816.F32", "FADD", "a"))),
    ("stall ISETP to SEL, to a guard, to a branch; DSETP to SEL, to a guard", lambda c: number(*(one(c, "predicates",
        "stall", producer=p, consumer=u) for p, u in (("ISETP", "SEL"), ("ISETP", "guard"), ("ISETP", "branch"),
        ("DSETP", "SEL"), ("DSETP", "guard"))))),
    ("stall IADD3 to address of LDS, address of STS, data of STS", lambda c: number(*(one(c, "memory_operands",
        "stall", producer=ALU, consumer=u) for u in ("LDS address", "STS address", "STS data")))),
    ("chain MUFU, POPC, F2I, I2F.S64", lambda c: chain(c, "MUFU.EX2", "POPC", "F2I", "I2F.S64")),
    ("chain LDS, LDS.64, LDS.128, LDSM.4, ATOMS.ADD, ATOMS.CAS", lambda c: chain(c, "LDS", "LDS.64", "LDS.128",
        "LDSM.4", "ATOMS.ADD", "ATOMS.CAS")),
    ("chain SHFL, MATCH.ALL, S2R tid", lambda c: chain(c, "SHFL.BFLY", "MATCH.ALL", "S2R.TID")),
    ("interval FFMA, IADD3, IMAD, IMAD.WIDE, HFMA2, DFMA", lambda c: interval(c, FMA, ALU, "IMAD", "IMAD.WIDE",
        "HFMA2", "DFMA")),
    ("interval MUFU, F2I.F64, HMMA.1688, HMMA.16816, DMMA", lambda c: interval(c, "MUFU.RCP", "F2I.F64",
        "HMMA.1688.F32", "HMMA.16816.F32", "DMMA.884")),
    ("pairs FFMA+IADD3, FFMA+IMAD, IADD3+IMAD, IADD3+LOP3, FFMA+HFMA2, FFMA+DFMA", lambda c: pair(c, (FMA, ALU),
        (FMA, "IMAD"), (ALU, "IMAD"), (ALU, "LOP3.LUT"), (FMA, "HFMA2"), (FMA, "DFMA"))),
    ("FFMA with sources in one bank, two banks, one register; with reuse of two", lambda c: bank(c, (FMA, "8 12 16",
        0), (FMA, "8 13 16", 0), (FMA, "8 8 8", 0), (FMA, "8 12 16", 3))),
    ("straight code of 16, 30, 64, 120, 160, 2000 kB, clocks per instruction", lambda c: code(c, "straight", 16, 30,
        64, 120, 160, 2000)),
    ("jumps through 4, 16, 30, 64, 120, 160, 2000 kB, clocks each", lambda c: code(c, "jumps", 4, 16, 30, 64, 120,
        160, 2000)),
    ("constants, LDC chain with stride 64: 2 kB, 2.5 kB, 64 kB", lambda c: number(*(one(c, "constants", "later",
        stride=64, footprint=f) for f in (2048, 2560, 65536)))),
    ("LDS of one word a lane, 2 ways, 32 ways: clocks per access, a warp in each partition", lambda c: shared(c,
        "per_multiprocessor", ("LDS", "stride 1"), ("LDS", "stride 2"), ("LDS", "stride 32"))),
    ("LDS.64, LDS.128, STS, STS.128, ATOMS.ADD, without conflict", lambda c: shared(c, "per_multiprocessor", *((f,
        "stride 1") for f in ("LDS.64", "LDS.128", "STS", "STS.128", "ATOMS.ADD")))),
    ("accesses that issue back to back: LDS, LDG, STS, STG, SHFL", lambda c: queued(c, "LDS", "LDG.W", "STS", "STG",
        "SHFL.BFLY")),
    ("sources free after LDS, LDG, STS, STS.128, STG, STG.128", lambda c: released(c, "release", "LDS", "LDG.W",
        "STS", "STS.128", "STG", "STG.128")),
    ("result after LDS, LDS.128, LDG, LDG.64, LDG.128 (L1 hits), LDC", lambda c: released(c, "result", "LDS",
        "LDS.128", "LDG.W", "LDG.64", "LDG.128", "LDC.IMM")),
    ("L1 without a miss up to kB, with 32, 64, 100, 132, 164, 196, 228 kB shared",
        lambda c: without_miss(c, 8, 15, 29, 44, 58, 72, 86)),
    ("chase through 8, 16, 24, 32, 40, 48, 64, 256 MB", lambda c: chased(c, 8, 16, 24, 32, 40, 48, 64, 256)),
    ("L2 atomics, near and far half", halves),
    ("pairs of slices by contention; slices and channels by counters",
        lambda c: f"{slice_pairs(c)}; {counted_slices(c)}"),
    ("L2 read B/clk: 1, TPC, GPC, all (16 MB)", lambda c: ", ".join(rate(c, "read", who, 16) for who in ("1", "TPC",
        "GPC", "all"))),
    ("L2 write B/clk: 1, TPC, GPC, all (16 MB)", lambda c: ", ".join(rate(c, "write", who, 16) for who in ("1",
        "TPC", "GPC", "all"))),
    ("DRAM read, write, copy, GB/s", lambda c: ", ".join(dram(c, what) for what in ("read", "write", "copy"))),
    ("DRAM, random reads of 32, 64, 128, 512 bytes, GB/s", lambda c: scattered(c, 32, 64, 128, 512)),
    ("red.u32 of a warp to one word: clocks alone; by 132 warps", lambda c: atomic(c, ("red_u32", "one word", 1, 32),
        ("red_u32", "one word", 132, 32))),
    ("red.f32 of a warp to one word: clocks alone; by 132 warps", lambda c: atomic(c, ("red_f32", "one word", 1, 32),
        ("red_f32", "one word", 132, 32))),
    ("bar.sync of 1, 4, 8, 16, 32 warps: last release", lambda c: barrier(c, 1, 4, 8, 16, 32)),
    ("fences behind a store: cta, gpu, __threadfence, system", lambda c: fence(c, "MEMBAR.CTA counted",
        "MEMBAR.SC.GPU", "__threadfence", "__threadfence_system")),
    ("barrier of a grid of 132 blocks of 256", lambda c: number(one(c, "grid_barriers", "clocks", blocks=132,
        threads=256))),
    ("groups of multiprocessors", groups),
    ("clocks between starts of blocks on a multiprocessor; from end to next start", block_gap),
    ("microseconds per empty kernel in a graph: 1 block, 132",
        lambda c: f"{launch(c, 'graph_us', 1)}, {launch(c, 'graph_us', 132)}"),
    ("cycles of an empty kernel of 1 block, 132 blocks of 1024 (ncu, caches flushed)",
        lambda c: f"{floor(c, 1, 32, 'all')}, {floor(c, 132, 1024, 'all')}"),
)  # fmt: skip


def table() -> str:
    """The table of all numbers, a column per card: "-" where it was not measured on one."""
    lines = [f"| | {' | '.join(CARDS.values())} |", "|---|---|---|"]
    for what, find in NUMBERS:
        cells = []
        for card in CARDS:
            try:
                cells.append(find(card))
            except FileNotFoundError:
                cells.append("-")
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, metavar="FILE", help="page whose table is written anew")
    page = parser.parse_args(argv).page
    if page is None:
        print(table())
        return 0
    marked.put(page, BEGIN, END, table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
