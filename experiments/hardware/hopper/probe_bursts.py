"""Stores that fill sectors in parts, by warps of one block or several; and launches that wait in the queue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .bench import Bench, Row
from .probe_caches import MB

STORES = 128
"""Of a warp."""
HOLD = 8_000_000
"""Clocks, in which the host queues launches."""


def span(bench: Bench, function: Any, base: int, rounds: int, blocks: int, threads: int, each: int) -> float:
    """The mean of the clocks that multiprocessors with so many warps take, the third time."""
    card = bench.card
    out = card.alloc(16 * card.multiprocessors)
    for _ in range(3):
        card.put(out, np.tile(np.array([2**63, 0], np.uint64), card.multiprocessors))
        function(blocks, threads, base, np.int32(rounds), out)
        card.sync()
    clocks = card.get(out, 2 * card.multiprocessors, np.uint64).reshape(-1, 2)
    card.free(out)
    full = clocks[:, 1] > 0
    assert blocks * threads // 32 == each * full.sum()
    return float((clocks[full, 1] - clocks[full, 0]).mean())


def bursts(bench: Bench) -> Iterator[Row]:
    """Clocks of a store of a warp by how many lines it touches, and by how many warps a multiprocessor and a block
    have."""
    base, module = bench.card.alloc(512 * MB), bench.module("bursts")
    for multiprocessors in (1, bench.card.multiprocessors):
        shapes = [("lines2", 2), ("lines4", 4), ("lines8", 8), ("lines16", 16)]
        todo = [(form, STORES // n, warps, 32 * warps) for form, n in shapes for warps in (2, 4, 6, 8, 12, 16, 32)]
        if multiprocessors > 1:
            sizes = (32, 64, 128, 256, 512, 1024)
            todo += [("straight", 4, warps, n) for warps in (8, 16, 32) for n in sizes if n <= 32 * warps]
        else:
            todo += [("straight", 4, warps, 32 * warps) for warps in (4, 8, 16, 32)]
        for form, rounds, warps, threads in todo:
            blocks = multiprocessors * warps * 32 // threads
            clocks = span(bench, module[form], base, rounds, blocks, threads, warps)
            yield {
                "form": form, "count": multiprocessors, "warps": warps, "threads": threads,
                "clocks": clocks / (warps * STORES),
            }  # fmt: skip
    bench.card.free(base)


def queued(bench: Bench) -> Iterator[Row]:
    """Microseconds from one empty kernel to the next, in a queue that the host has filled while another one ran."""
    card, module, empty = bench.card, bench.module("bursts"), bench.module("blocks")["empty"]
    stream = card.stream()

    def row(count: int, grid: int, threads: int) -> None:
        module["hold"](1, 1, np.int64(HOLD), stream=stream)
        for _ in range(count):
            empty(grid, threads, stream=stream)

    for grid, threads in ((1, 32), (132, 128), (1024, 128), (1056, 256), (4096, 128)):
        few, many = (
            sorted(card.time_us(partial(row, n, grid, threads), stream) for _ in range(15))[7] for n in (8, 72)
        )
        yield {"grid": grid, "threads": threads, "us": (many - few) / 64}


PROBES = {"store_bursts": bursts, "queued_launches": queued}
