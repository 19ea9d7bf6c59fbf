"""Memory under load: atomics by lanes, words and footprint, and loads that each wait for the one before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row
from .probe_caches import KB, MB
from .probe_scatter import clocks_per_round, groups

LANES = ("lanes_add", "lanes_add_result", "lanes_red")
REGIONS_KB = (8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
FOOTPRINT_BITS = (20, 24, 28)


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
                    clocks = clocks_per_round(bench, module[form], (base, *numbers), chosen, 32 * warps)
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
                    clocks = clocks_per_round(bench, module[form], places, chosen)
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
                        blocks = 2 if warps == 64 else 1
                        places = (base, np.int32(lanes), np.int32(bits))
                        function, threads = module[f"ways_{deep}"], 32 * warps // blocks
                        clocks = clocks_per_round(bench, function, places, chosen, threads, blocks)
                        yield {
                            "bits": bits, "who": who, "deep": deep, "lanes": lanes, "warps": warps, "clocks": clocks,
                        }  # fmt: skip
    card.free(base)


def cold_streams(bench: Bench) -> Iterator[Row]:
    """Clocks, of the slowest multiprocessor, of streams that go once through what no cache has: the L2 has been filled
    with other lines that were read. A round moves 64 bytes a thread, and a copy as many both ways."""
    card, module, everyone = bench.card, bench.module("memory"), bench.card.multiprocessors
    base, other = card.alloc(128 * MB), card.alloc(256 * MB)
    ranks, out = card.alloc(512), card.alloc(8 * 3 * 256)
    card.put(ranks, np.arange(256, dtype=np.uint16))
    round_bytes = 64 * 1024 * everyone

    def stream(what: str, place: int, size: int, rounds: int) -> int:
        many = np.uint32(everyone)
        module[f"stream_{what}"](everyone, 1024, place, size // 16, np.int32(rounds), ranks, many, out)
        return int(card.get(out, 3 * everyone, np.uint64).reshape(-1, 3)[:, 2].max())

    for what in ("read", "write", "copy"):
        for rounds in (1, 2, 3, 4, 6):
            size, times = round_bytes * rounds * (2 if what == "copy" else 1), []
            for _ in range(5):
                stream("read", other, 256 * MB, 256 * MB // round_bytes)
                times.append(stream(what, base, size, rounds))
            yield {"what": what, "rounds": rounds, "bytes": size, "clocks": float(np.median(times))}
    for address in (base, other, ranks, out):
        card.free(address)


def cold_words(bench: Bench) -> Iterator[Row]:
    """Nanoseconds in which a grid with a thread for each word reads, writes or copies so many megabytes that no cache
    has. warm: the L2 has the place that is written."""
    card, module = bench.card, bench.module("loaded")
    source, target, other = card.alloc(64 * MB), card.alloc(64 * MB), card.alloc(256 * MB)
    out = card.alloc(16 << 18)

    def run(name: str, size: int, count: int, threads: int, from_: int, to: int) -> int:
        grid = count // size // threads
        module[name](grid, threads, from_, to, out)
        times = card.get(out, 2 * grid, np.uint64).reshape(-1, 2).astype(np.int64)
        return int(times[:, 1].max() - times[:, 0].min())

    for what in ("read", "write", "copy"):
        for size in (4, 16):
            for threads in (256, 1024):
                for warm in (0, 1) if what != "read" else (0,):
                    for megabytes in (4, 8, 16):
                        times = []
                        for _ in range(5):
                            run("read_16", 16, 256 * MB, 1024, other, other)
                            if warm:
                                run("read_16", 16, megabytes * MB, 1024, target, target)
                            times.append(run(f"{what}_{size}", size, megabytes * MB, threads, source, target))
                        yield {
                            "what": what, "size": size, "threads": threads, "warm": warm, "megabytes": megabytes,
                            "ns": float(np.median(times)),
                        }  # fmt: skip
    for address in (source, target, other, out):
        card.free(address)


PROBES = {
    "atomic_lanes": atomic_lanes,
    "atomic_regions": atomic_regions,
    "loaded_latency": loaded_latency,
    "cold_streams": cold_streams,
    "cold_words": cold_words,
}
