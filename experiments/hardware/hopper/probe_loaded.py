"""Memory under load: atomics by lanes, words and footprint, and loads that each wait for the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .bench import Bench, Row
from .probe_caches import KB, MB
from .probe_scatter import groups

ROUNDS = (8, 40)
"""Of which the difference counts: start and end, fence included, cost the same."""
LANES = ("lanes_add", "lanes_add_result")
REGIONS_KB = (8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
FOOTPRINT_BITS = (20, 24, 28)


def _clocks(
    bench: Bench, function: Any, grid: int, threads: int, arguments: Sequence[Any], chosen: Sequence[int]
) -> float:
    """The median of the clocks that the chosen multiprocessors take: the second time, when caches are warm."""
    card = bench.card
    ranks, out = card.alloc(512), card.alloc(8 * 256)
    rank = np.full(256, 65535, np.uint16)
    rank[list(chosen)] = np.arange(len(chosen))
    card.put(ranks, rank)
    for _ in range(2):
        function(grid, threads, *arguments, ranks, out)
        card.sync()
    clocks = card.get(out, 256, np.uint64)[list(chosen)]
    card.free(ranks)
    card.free(out)
    return float(np.median(clocks.astype(np.int64)))


def _per_round(bench: Bench, function: Any, threads: int, arguments: Sequence[Any], chosen: Sequence[int]) -> float:
    """Clocks of a round of all warps."""
    times = [
        _clocks(bench, function, bench.card.multiprocessors, threads, (*arguments, np.int32(n)), chosen)
        for n in ROUNDS
    ]  # fmt: skip
    return (times[1] - times[0]) / (ROUNDS[1] - ROUNDS[0])


def atomic_lanes(bench: Bench) -> Iterator[Row]:
    """Clocks of a round in which warps of one multiprocessor, or of all, add: by lanes, how many of them share a word,
    how far words lie apart, warps, and whether the result is waited for."""
    base, module = bench.card.alloc(64 * MB), bench.module("loaded")
    cases = [(1, 1, 0), *((lanes, lanes, 0) for lanes in (2, 4, 8, 16, 32))]  # one word
    cases += [(32, group, stride) for group in (1, 2, 4, 8, 16) for stride in (4, 32, 128)]
    cases += [(lanes, 1, stride) for lanes in (2, 4, 8, 16) for stride in (4, 32, 128)]
    for form in LANES:
        for who in ("1", "all"):
            chosen = groups(bench.card.multiprocessors)[who]
            for warps, apart in ((1, 4096), (4, 4096), (32, 4096), (32, 0)):
                for lanes, group, stride in cases:
                    numbers = [np.int32(value) for value in (lanes, group, stride, apart)]
                    clocks = _per_round(bench, module[form], 32 * warps, (base, *numbers), chosen)
                    yield {
                        "form": form, "who": who, "warps": warps, "apart": apart, "lanes": lanes, "group": group,
                        "stride": stride, "clocks": clocks,
                    }  # fmt: skip
    bench.card.free(base)


def atomic_regions(bench: Bench) -> Iterator[Row]:
    """Clocks of an atomic of a warp whose lanes have words of their own, by how far they lie apart and by the region
    through which all warps go again and again: how many sectors a slice knows again."""
    base, module = bench.card.alloc(16 * MB), bench.module("scattered")
    for form in ("add", "add_result"):
        for who in ("1", "all"):
            chosen = groups(bench.card.multiprocessors)[who]
            for stride in (4, 32, 128):
                for region in REGIONS_KB:
                    places = (base, np.uint32(region * KB), np.uint32(stride))
                    clocks = _per_round(bench, module[form], 1024, places, chosen)
                    yield {"form": form, "who": who, "stride": stride, "kilobytes": region, "clocks": clocks / 32}
    bench.card.free(base)


def loaded_latency(bench: Bench) -> Iterator[Row]:
    """Clocks of a hop of lanes that each follow a way of their own, by footprint, lanes, warps, loads on their way and
    who takes part."""
    card = bench.card
    base, module = card.alloc(1 << FOOTPRINT_BITS[-1]), bench.module("loaded")
    for offset in range(0, 1 << FOOTPRINT_BITS[-1], 64 * MB):
        card.put(base + offset, np.zeros(64 * MB, np.uint8))
    for bits in FOOTPRINT_BITS:
        for who in ("1", "one of each TPC", "all"):
            chosen = groups(card.multiprocessors)[who]
            for deep in (1, 4):
                for lanes in (1, 4, 8, 32):
                    for warps in (1, 4, 8, 16, 32, 64):
                        grid = card.multiprocessors * (2 if warps == 64 else 1)
                        function, threads = module[f"ways_{deep}"], 32 * min(warps, 32)
                        places = (base, np.int32(lanes), np.int32(bits))
                        times = [
                            _clocks(bench, function, grid, threads, (*places, np.int32(n)), chosen) for n in ROUNDS
                        ]
                        yield {
                            "bits": bits, "who": who, "deep": deep, "lanes": lanes, "warps": warps,
                            "clocks": (times[1] - times[0]) / (ROUNDS[1] - ROUNDS[0]),
                        }  # fmt: skip
    card.free(base)


PROBES = {"atomic_lanes": atomic_lanes, "atomic_regions": atomic_regions, "loaded_latency": loaded_latency}
