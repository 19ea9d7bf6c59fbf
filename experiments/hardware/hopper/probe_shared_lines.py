"""What it costs that multiprocessors of both halves of the chip load and store to the same lines of the L2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .bench import Bench, Row
from .probe_l2 import PIECE, Halves, halves

WARPS, ROWS, SPAN, PIECES = 8, 64, 34, 6144
FEW, MANY = 2, 6
IDLE = 65535
WHAT = {"load": 1, "store": 2, "both": 3}
HOMES = ("mixed", "own", "other")
"""Where lines belong: to any half, that beside the multiprocessor, the other one."""


def sharings(found: Halves) -> Iterator[tuple[str, np.ndarray]]:
    """Columns of the warps of each multiprocessor, by who shares a line."""
    count = len(found.multiprocessors)
    warps = np.arange(count * WARPS)
    place = np.empty(count, np.int64)  # multiprocessors of one half, then those of the other
    place[np.argsort(found.multiprocessors, kind="stable")] = np.arange(count)
    side = (place[:, None] * WARPS + np.arange(WARPS)).ravel()
    yield "all, 4 SMs a line", warps % 1024
    yield "all, 4 SMs of a half a line", side % 1024
    yield "all, 4 SMs a sector", (warps % WARPS * 8 + warps // WARPS % 4 * 2) % 64 + warps // (4 * WARPS) * 64
    yield "all, an SM a line, in a sector", warps // WARPS * 32 + warps % WARPS
    yield "all, an SM a line, in four", warps // WARPS * 32 + warps % WARPS * 4
    yield "all, a warp a sector", warps * 8
    yield "all, a warp a line", warps * 32
    for few in (8, 32):
        chosen = np.where(warps // WARPS < few, warps % 1024, IDLE)
        yield f"{few}, 4 SMs a line", chosen
        yield f"{few}, 4 SMs of a half a line", np.where(side // WARPS < few, side % 1024, IDLE)
        yield f"{few}, a warp a line", np.where(warps // WARPS < few, warps * 32, IDLE)


def pieces_of(found: Halves, home: str) -> np.ndarray:
    """The pieces of ROWS * SPAN places, for multiprocessors of either half."""
    need = ROWS * SPAN
    sides = [np.flatnonzero(found.pieces == side)[:need] for side in (False, True)]
    if home == "mixed":
        return np.tile(np.arange(need), (2, 1)).astype(np.uint32)
    return np.array(sides if home == "own" else sides[::-1]).astype(np.uint32)


def shared_lines(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of all chosen warps: 32 words of a column each."""
    card, module = bench.card, bench.module("shared_lines")
    count = card.multiprocessors
    base, given, lists, columns, out = (
        card.alloc(n) for n in (PIECES * PIECE, 256, 8 * ROWS * SPAN, 2 * count * WARPS, 2048)
    )
    found = halves(bench, base, PIECES)
    card.put(given, found.multiprocessors.astype(np.uint8))
    for sharing, column in sharings(found):
        span = int(column[column != IDLE].max()) // 1024 + 1
        card.put(columns, column.astype(np.uint16))
        for home in HOMES if "of a half" in sharing or "a warp" in sharing or "an SM" in sharing else HOMES[:1]:
            card.put(lists, pieces_of(found, home)[:, : ROWS * span].copy())
            for what, code in WHAT.items():
                clocks = []
                for times in (FEW, FEW, MANY):
                    card.put(out, np.zeros(256, np.uint64))
                    numbers = np.uint32(ROWS), np.uint32(span), np.uint32(code), np.uint32(times)
                    module["columns"](count, 32 * WARPS, base, lists, *numbers, given, columns, out)
                    clocks.append(int(card.get(out, count, np.uint64).max()))
                each = (clocks[2] - clocks[1]) / ((MANY - FEW) * ROWS // 32)
                yield {"sharing": sharing, "home": home, "what": what, "clocks": each}


def shared_words(bench: Bench) -> Iterator[Row]:
    """Clocks of a load from a word, and perhaps a store to it, while another multiprocessor stores nearby."""
    card, module, times = bench.card, bench.module("shared_lines"), 48
    base, out = card.alloc(PIECES * PIECE), card.alloc(4 * times)
    found = halves(bench, base, 64)
    pieces = [int(np.flatnonzero(found.pieces == side)[3]) for side in (False, True)]
    readers = [int(np.flatnonzero(found.multiprocessors == side)[2]) for side in (False, True)]
    writers = [int(np.flatnonzero(found.multiprocessors == side)[21]) for side in (False, True)]
    for reader in (0, 1):
        for home in (0, 1):
            for writer in (0, 1):
                for apart in (1, 16, 64):
                    for also in (0, 1):
                        for gap in (0, 50, 100, 200, 400, 800, 1600):
                            if not gap and (writer or apart > 1) or also and gap not in (0, 100, 400):
                                continue
                            word = np.uint32(pieces[home] * PIECE // 4)
                            sms = np.uint32(readers[reader]), np.uint32(writers[writer])
                            numbers = (np.uint32(n) for n in (apart, gap, also, times))
                            module["chain"](card.multiprocessors, 1, base, word, *sms, *numbers, out)
                            clocks = card.get(out, times, np.uint32)[4:]
                            yield {
                                "home": "own" if home == reader else "other", "reader": reader,
                                "writer": ("own" if home == writer else "other") if gap else "none", "apart": apart,
                                "also": also, "gap": gap, "clocks": float(clocks.mean()),
                                "least": int(clocks.min()), "median": float(np.median(clocks)),
                                "most": int(clocks.max()),
                            }  # fmt: skip


PROBES: dict[str, Any] = {"shared_lines": shared_lines, "shared_words": shared_words}
