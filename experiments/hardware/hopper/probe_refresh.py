"""Refresh of DRAM, as loads of single lines see it that no cache has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row
from .cuda_driver import MAX_DYNAMIC_SHARED
from .probe_caches import KB, MB

BITS = 24
"""Lines at random of so many: 2 GB."""
STEP = 25
"""Clocks of a class in `refresh`."""
COLD = 50
"""The first loads, whose instructions and page entries are new, do not count."""


def random_lines(bench: Bench, seeds: int, count: int) -> np.ndarray:
    """Clocks of loads of lines at random, one after the other by one thread: shape (seeds, count - COLD)."""
    card, function = bench.card, bench.module("refresh")["random_lines"].set(MAX_DYNAMIC_SHARED, 200 * KB)
    base, out = card.alloc(128 << BITS), card.alloc(4 * count)
    found = []
    for seed in range(seeds):
        function(1, 1, base, out, np.uint32(77 + 1001 * seed), np.int32(BITS), np.int32(count), shared=4 * count)
        found.append(card.get(out, count, np.uint32)[COLD:])
    for address in (base, out):
        card.free(address)
    return np.array(found)


def refresh(bench: Bench) -> Iterator[Row]:
    """How many of 59,850 loads of lines at random took how long, in classes of 25 clocks."""
    classes, counts = np.unique(random_lines(bench, 3, 20_000) // STEP * STEP, return_counts=True)
    for clocks, loads in zip(classes.tolist(), counts.tolist(), strict=True):
        yield {"clocks": clocks, "loads": loads}


def refreshed_lines(bench: Bench) -> dict[str, np.ndarray]:
    """`took`: clocks of loads of the same 48 lines, in rounds between which the L2 is emptied, at irregular intervals;
    `began`: on what clock. How long a line is late tells when its bank was refreshed."""
    card, rounds, rng = bench.card, 500, np.random.default_rng(5)
    lines = np.concatenate([3_000_000 + np.arange(8), rng.integers(0, 1 << BITS, 40)]).astype(np.uint32)
    pause, shape = rng.integers(0, 60_000, rounds).astype(np.uint32), (rounds, len(lines))
    words = 256 * MB // 16
    base, other, began, took = (card.alloc(size) for size in (128 << BITS, 256 * MB, 200 * KB, 200 * KB))
    where, pauses, turn = (card.alloc(4 * KB) for _ in range(3))
    for address, values in ((where, lines), (pauses, pause), (turn, np.zeros(KB, np.int32))):
        card.put(address, values)
    numbers = where, np.int32(len(lines)), pauses, np.int32(rounds), began, took, turn
    bench.module("refresh")["same_lines"](card.multiprocessors, 1024, base, other, np.int64(words), *numbers)
    found = {
        "lines": lines,
        "began": card.get(began, shape[0] * shape[1], np.uint32).reshape(shape),
        "took": card.get(took, shape[0] * shape[1], np.uint32).reshape(shape).astype(np.uint16),
    }
    for address in (base, other, began, took, where, pauses, turn):
        card.free(address)
    return found


PROBES = {"refresh": refresh}
ARRAYS = {"refreshed_lines": refreshed_lines}
