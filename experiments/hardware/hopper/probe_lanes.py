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
    "shared_sums": shared_sums,
    "fence_rounds": fence_rounds,
    "naps": naps,
}
