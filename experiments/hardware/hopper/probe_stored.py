"""What becomes of lines in the L1 that warps store to again while their last store to them waits or leaves; what it
costs to keep a convergence barrier in a register, as functions do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .assembler import VALUES, clock, field, ins, nops, program
from .bench import Bench, Row, difference, register

LANES = np.arange(32)
APART = 1 << 25
"""Bytes from the registers of the warps to the lines that they store to."""
GAPS = (*range(4, 40, 2), *range(40, 120, 4), 140, 160, 200)
CLOCKS = 22
"""The register of the first clock reading."""


def waits(clocks: int) -> list[int]:
    """Nothing, for so many clocks."""
    return [ins("NOP", stall=min(8, clocks - done)) for done in range(0, clocks, 8)]


def stored(bench: Bench, mode: str, lines: int, gap: int, warps: int, whole: bool) -> list[np.ndarray]:
    """Clocks of a load of each line behind the stores and loads that `mode` says, by warp."""
    body = [ins("LDG.W", d=14, a=12, offset=128 * j, wr=0, stall=2) for j in range(lines)]
    body += nops(1000, wait=1)
    for i, kind in enumerate(mode):
        last = i + 1 == len(mode)
        clocks = 4 if last or mode[i + 1] in "LM" else gap - 4 if kind in "LM" else gap
        if kind == "S":
            body += [ins("STG", a=8, b=20, rd=1, stall=min(clocks, 4)), *waits(clocks - min(clocks, 4))]
        else:
            at = 10 if kind == "L" else 8
            body += [ins("LDG.W", d=15, a=at, wr=2, stall=min(clocks, 4)), *waits(clocks - min(clocks, 4))]
    body += nops(2500, wait=6)
    for j in range(lines):
        body += [
            clock(CLOCKS + j, stall=2),
            ins("LDG.W", d=14, a=12, offset=128 * j, wr=0, stall=2),
            ins("NOP", wait=1, stall=4),
        ]
    body += [clock(CLOCKS + lines, stall=4)]
    warp = np.arange(warps)
    base = bench.data + APART + (warp[:, None] << 13)
    line = LANES // (32 // lines) if whole else LANES % lines
    far = 1 if lines < 16 else 8
    values = np.zeros((warps, VALUES, 32), np.uint32)
    for at, address in (
        (8, base + 128 * line + 4 * LANES), (10, base + 128 * line + 4 * ((LANES + far) % 32)), (12, base + 4 * LANES)
    ):  # fmt: skip
        values[:, register(at)] = address & 0xFFFFFFFF
        values[:, register(at + 1)] = address >> 32
    after = bench.run(program(body, loads=range(16), stores=range(14, 48), repeats=3), values)
    return [difference(after, CLOCKS + j, CLOCKS + j + 1) for j in range(lines)]


def stored_again(bench: Bench) -> Iterator[Row]:
    """Which lines of so many the L1 has no longer, of which lanes have stored words (S) twice, and loaded others (L) or
    the same (M) between, by the clocks between the stores."""
    cases = [
        (mode, lines, 1, False) for mode in ("SS", "SLS", "SMS", "SSS") for lines in (1, 2, 4, 8, 12, 16, 24, 28, 32)
    ]
    cases += [(mode, lines, 1, True) for mode in ("SS", "SLS") for lines in (1, 2, 4)]
    cases += [(mode, lines, 4, False) for mode in ("SS", "SLS") for lines in (4, 8, 16)]
    for mode, lines, warps, whole in cases:
        for gap in GAPS[2:] if "L" in mode or "M" in mode else GAPS:
            clocks = stored(bench, mode, lines, gap, warps, whole)
            lost = [[j for j in range(lines) if clocks[j][w] > 120] for w in range(warps)]
            yield {
                "mode": mode, "lines": lines, "warps": warps, "whole": int(whole), "gap": gap,
                "lost": sum(map(len, lost)), "which": " ".join(map(str, lost[0])),
            }  # fmt: skip


# BMOV.32.CLEAR R22, B6 and BMOV.32 B6, R22, as the compiler writes them.
CLEAR = 0x0001E2A0000010000000000006167355
RESTORE = 0x00011EA0000000000000001606007356
WARPS = (1, 4, 16)


def controlled(word: int, stall: int, wr: int = 7, rd: int = 7, wait: int = 0) -> int:
    """A word with other control bits."""
    for low, bits, value in ((105, 4, stall), (109, 1, 1), (110, 3, wr), (113, 3, rd), (116, 6, wait), (122, 4, 0)):
        word = field(word, low, bits, value)
    return word


def kept_barriers(bench: Bench) -> Iterator[Row]:
    """Clocks from BSSY to behind its BSYNC, where the barrier's register has been kept elsewhere between, by the clocks
    from when it is there again to the BSYNC; and behind it, of another BSSY and BSYNC."""
    clear = field(field(controlled(CLEAR, 5, wr=0), 16, 8, 42), 24, 8, 6)
    restore = field(field(controlled(RESTORE, 5, rd=0), 32, 8, 42), 24, 8, 6)
    begin, end = field(field(ins("BSSY", stall=5), 34, 48, 200), 16, 4, 6), field(ins("BSYNC", stall=5), 16, 4, 6)
    cases = {
        "nothing": [], "clear": [clear, ins("NOP", stall=2, wait=1)],
        "restore": [restore, ins("NOP", stall=2, wait=1)],
        "both": [clear, ins("NOP", stall=2, wait=1), restore, ins("NOP", stall=2, wait=1)],
        "used between": [
            clear, ins("NOP", stall=2, wait=1), begin, *waits(20), end, restore, ins("NOP", stall=2, wait=1)
        ],
    }  # fmt: skip
    for case, words in cases.items():
        for warps in WARPS:
            for gap in (0, 8, 16, 24, 32, 48, 64, 96, 128, 200, 300):
                if case in ("clear", "restore") and gap:
                    continue
                first = case != "restore"
                body = [*([begin] if first else []), clock(22, stall=4), *words, clock(23, stall=4), *waits(gap)]
                body += [*([end] if first and case != "clear" else []), clock(24, stall=4)]
                body += [begin, *waits(24), end, clock(25, stall=4), *waits(100)]
                after = bench.run(
                    program(body, loads=(), stores=(14, 15, 16, 17), repeats=3),
                    np.zeros((warps, VALUES, 32), np.uint32),
                )
                yield {
                    "case": case, "warps": warps, "gap": gap,
                    **{f"to_{at}": int(difference(after, 22, at).max()) for at in (23, 24, 25)},
                }  # fmt: skip


PROBES = {"stored_again": stored_again, "kept_barriers": kept_barriers}
