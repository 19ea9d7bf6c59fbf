"""Which sub-cores of a multiprocessor the warps of its blocks get, and how warps take turns in loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .bench import Bench, Row

THREADS = (32, 64, 96, 128, 160, 192, 256, 384, 512, 1024)
UNEVEN = 3
"""Every third block works twice as long in some launches."""


def launch(bench: Bench, threads: int, worker: int, step: int, waves: int = 4) -> np.ndarray:
    """The blocks of the first multiprocessor, in their order: block, and what each warp noted; see warps.cu. worker:
    the one warp of a block that works, or -1."""
    card, warps = bench.card, threads // 32
    grid = card.multiprocessors * waves * min(32, 64 // warps)
    out = card.alloc(16 * grid * warps)
    for _ in range(2):
        bench.module("warps")["warps"](grid, threads, np.int32(64), np.int32(worker), np.int32(1), np.int32(step), out)
        noted = card.get(out, 4 * grid * warps, np.uint32).reshape(grid, warps, 4).astype(np.int64)
    card.free(out)
    blocks = np.flatnonzero(noted[:, 0, 0] == 0)
    return np.concatenate([np.broadcast_to(blocks[:, None, None], (len(blocks), warps, 1)), noted[blocks]], axis=2)


def described(noted: np.ndarray) -> Iterator[Row]:
    """A row per block: the places of its warps, and when it began and ended."""
    begin = noted[..., 3].min()
    for block in noted:
        places = " ".join(str(place) for place in block[:, 2])
        first, last = block[:, 3].min() - begin, block[:, 4].max() - begin
        yield {"block": block[0, 0], "begun": first, "ended": last, "places": places}


def warp_turns(bench: Bench) -> Iterator[Row]:
    """By threads of a block, whether all its warps work or the first one alone, and whether blocks are alike."""
    for threads in THREADS:
        for worker in (-1, 0):
            for step in (1, UNEVEN):
                for row in described(launch(bench, threads, worker, step)):
                    yield {"threads": threads, "worker": worker, "step": step, **row}


LOOPS = ("chain8", "chain24", "chain96", "wide8", "wide24", "wide96", "loads", "roots")
PARTS = 5


def loop_turns(bench: Bench) -> Iterator[Row]:
    """How far each of several warps is in a loop of 500 rounds: clocks at every fifth of them."""
    card = bench.card
    out, which, clocks = (card.alloc(size) for size in (4096, 128, 4 * 32 * (PARTS + 1)))
    card.put(which, np.zeros(32, np.int32))
    for kernel in LOOPS:
        for warps in (4, 8, 16, 32):
            for _ in range(2):  # the first time loads the code
                bench.module("loops")[kernel](1, 32 * warps, clocks, out, which, np.int32(100))
            times = card.get(clocks, (PARTS + 1) * warps, np.uint32).reshape(warps, -1).astype(np.int64)
            for warp, row in enumerate((times - times.min()).tolist()):
                yield {"kernel": kernel, "warps": warps, "warp": warp, **{str(i): t for i, t in enumerate(row)}}
    for room in (out, which, clocks):
        card.free(room)


PROBES: dict[str, Any] = {"warp_turns": warp_turns, "loop_turns": loop_turns}
