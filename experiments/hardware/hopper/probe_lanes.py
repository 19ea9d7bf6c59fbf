"""What takes as long as lanes say: MATCH by how many values they have, YIELD, and NANOSLEEP by how long it is to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row


def matches(bench: Bench) -> Iterator[Row]:
    """Clocks of a MATCH.ANY whose lanes have so many values: each needs the one before (chained), or four at a time do
    not; of the slowest warp of a block."""
    out, rounds = bench.card.alloc(128), 64
    for bits in (32, 64):
        for threads, chained in ((32, 1), (32, 0), (128, 0), (512, 0)):
            for distinct in (1, 2, 3, 4, 8, 16, 32):
                numbers = map(np.int32, (distinct, rounds, chained))
                bench.module("lanes")[f"match_{bits}"](1, threads, out, *numbers)
                clocks = bench.card.get(out, threads // 32, np.uint32).max() / rounds
                yield {"bits": bits, "threads": threads, "chained": chained, "distinct": distinct, "clocks": clocks}
    bench.card.free(out)


def yields(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of a loop with a YIELD that the first lanes of each warp go through, while others wait."""
    out = bench.card.alloc(128)

    def clocks(threads: int, *numbers: int) -> int:
        bench.module("lanes")["yields"](1, threads, out, *map(np.int32, numbers))
        return int(bench.card.get(out, threads // 32, np.uint32).max())

    for number, what in enumerate(("compare and swap", "load")):
        for threads in (32, 128, 512):
            for lanes in (1, 16, 31, 32):
                few, many = (clocks(threads, lanes, rounds, number) for rounds in (8, 72))
                yield {"what": what, "threads": threads, "lanes": lanes, "clocks": (many - few) / 64}
    bench.card.free(out)


def yield_turns(bench: Bench) -> Iterator[Row]:
    """In which turn lanes of a warp go on that leave a loop of compare and swap one by one and come to it again:
    behind how many tries of all lanes a try succeeds."""
    state = bench.card.alloc(8)
    for rounds in (1, 2, 3, 5):
        out = bench.card.alloc(4 * 32 * rounds)
        bench.module("lanes")["yield_turns"](1, 32, out, state, np.int32(rounds))
        turns = bench.card.get(out, 32 * rounds, np.uint32).reshape(32, rounds)
        for lane, i in np.ndindex(32, rounds):
            yield {"rounds": rounds, "lane": lane, "round": i, "tries": int(turns[lane, i])}
        bench.card.free(out)
    bench.card.free(state)


def group_orders(bench: Bench) -> Iterator[Row]:
    """In which order the groups of a warp go on whose lanes have parted: place in the kernel and lanes, turn by turn.
    Clocks, of which a line keeps 28 bits, put the lists of all lanes in one order."""
    words = 32 * 256
    runs = {"branches": 4, "loops": 4, "tables": 8, "cases": 4, "jumps": 40}
    for kernel, seed in ((kernel, seed) for kernel, seeds in runs.items() for seed in range(seeds)):
        given, out, lists = (bench.card.alloc(size) for size in (256, 128, 8 * words))
        bench.card.put(given, np.random.default_rng(seed).integers(0, 1000, 64).astype(np.int32))
        bench.module("groups")[kernel](1, 32, given, out, lists)
        lines = bench.card.get(lists, words, np.uint64)
        for room in (given, out, lists):
            bench.card.free(room)
        lines = lines[lines != 0]
        clocks = (lines >> np.uint64(36)).astype(np.int64)
        clocks = (clocks - clocks[0] + (1 << 27)) % (1 << 28)
        turns = [f"{int(line) >> 32 & 15}:{int(line) & 0xFFFFFFFF:08x}" for line in lines[np.argsort(clocks)]]
        yield {"kernel": kernel, "seed": seed, "groups": " ".join(turns)}


def swaps(bench: Bench) -> Iterator[Row]:
    """Lanes that add to a word by compare and swap, or warps under a lock, of a few multiprocessors: tries of all,
    groups of lanes that tried together, clocks of the slowest warp; means of eight places in the L2."""
    rounds, places = np.int32(4), 1024 * np.arange(8, dtype=np.int32)
    shapes = {"swaps": ((1, 1), (1, 8), (1, 32), (1, 96), (3, 32), (12, 32)), "locks": ((1, 32), (1, 256), (8, 32))}
    for kernel, blocks, threads in ((name, *shape) for name, of in shapes.items() for shape in of):
        warps, found = -(-threads // 32) * blocks, []
        words = bench.card.alloc(8 * (int(places[-1]) + 1))
        for place in places:
            out = bench.card.alloc(24 * warps)
            bench.module("lanes")[kernel](blocks, threads, out, words, place, rounds)
            by_warp = bench.card.get(out, 3 * warps, np.uint64).reshape(warps, 3)
            found.append((*by_warp[:, :2].sum(0), by_warp[:, 2].max()))
            bench.card.free(out)
        bench.card.free(words)
        tries, groups, clocks = np.mean(np.array(found, float), 0)
        yield {
            "kernel": kernel, "blocks": blocks, "threads": threads, "tries": tries, "groups": groups, "clocks": clocks
        }  # fmt: skip


def shared_sums(bench: Bench) -> Iterator[Row]:
    """Clocks of sums on one word of shared memory by the first lanes of each warp, by compare and swap."""
    out = bench.card.alloc(128)
    for number, what in enumerate(("float", "double", "loop")):
        for threads in (32, 128, 256, 1024):
            for lanes in (1, 2, 4, 8, 16, 32):
                bench.module("lanes")["sums"](1, threads, out, np.int32(lanes), np.int32(number))
                clocks = int(bench.card.get(out, threads // 32, np.uint32).max())
                yield {"what": what, "threads": threads, "lanes": lanes, "clocks": clocks}
    bench.card.free(out)


def fence_rounds(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of a store and a fence of gpu scope, or of the fence alone, of all warps."""
    data, rounds = bench.card.alloc(4 * 132 * 1024), 16
    for stores in (0, 1):
        for blocks, threads in ((1, 32), (1, 128), (1, 1024), (132, 32), (132, 256), (132, 1024)):
            warps = blocks * threads // 32
            out = bench.card.alloc(4 * warps)
            for _ in range(2):
                bench.module("lanes")["fence_rounds"](blocks, threads, out, data, np.int32(rounds), np.int32(stores))
                clocks = bench.card.get(out, warps, np.uint32) / rounds
            bench.card.free(out)
            least, median, most = (float(of(clocks)) for of in (np.min, np.median, np.max))
            yield {
                "stores": stores,
                "blocks": blocks,
                "threads": threads,
                "least": least,
                "median": median,
                "most": most,
            }
    bench.card.free(data)


def naps(bench: Bench) -> Iterator[Row]:
    """Clocks from before a NANOSLEEP to behind it, in a loop of nothing else."""
    rounds, out = 64, bench.card.alloc(4 * 64 * 32)
    for warps in (1, 32):
        for nanoseconds in (0, 20, 50, 64, 65, 100, 128, 130, 200, 300, 500, 1000, 1500, 5000, 20_000):
            bench.module("lanes")["naps"](1, 32 * warps, out, np.uint32(nanoseconds), np.int32(rounds))
            clocks = bench.card.get(out, rounds * warps, np.uint32)
            least, median, most = (int(of(clocks)) for of in (np.min, np.median, np.max))
            yield {"warps": warps, "nanoseconds": nanoseconds, "least": least, "median": median, "most": most}
    bench.card.free(out)


PROBES = {
    "matches": matches,
    "yields": yields,
    "yield_turns": yield_turns,
    "group_orders": group_orders,
    "swaps": swaps,
    "shared_sums": shared_sums,
    "fence_rounds": fence_rounds,
    "naps": naps,
}
