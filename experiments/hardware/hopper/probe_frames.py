"""Words that threads have for themselves: stores and loads behind each other, in local memory and in global memory laid
out alike; arrays that lanes index; calls with frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row
from .cuda_driver import Function

LANES = np.arange(32)
PLACES = {
    "a line": (0 * LANES, 0 * LANES),
    "a line, another": (0 * LANES, 0 * LANES + 8),
    "2 lines": (LANES % 2, LANES % 2),
    "4 lines": (LANES % 4, LANES % 4),
    "4 lines, others": (LANES % 4, LANES % 4 + 8),
    "4 lines, a sector each": (LANES // 8, LANES // 8),
    "8 lines": (LANES % 8, LANES % 8),
    "16 lines": (LANES % 16, LANES % 16),
    "16 lines, other sectors": (LANES % 16, (LANES + 8) % 16),
}  # fmt: skip
"""The words, a line for all lanes each, that lanes store, and those that they load."""
WORDS = ("S", "L", "SL", "SLL")
VECTORS = ("W", "V", "WV", "WL", "SV")
WARPS = (1, 2, 4, 8, 16, 32)
ROUNDS = (16, 80)


def clocks_of(bench: Bench, function: Function, blocks: int, warps: int, *arguments: int | np.int32) -> np.ndarray:
    """Clocks of a round, of the slowest warp of each block."""
    clocks, out = (bench.card.alloc(size) for size in (4 * 32 * 132, 4 * 1024 * 132))
    times = []
    for rounds in ROUNDS:
        for _ in range(2):  # the first time loads the code
            function(blocks, 32 * warps, clocks, out, *arguments, np.int32(rounds))
        times.append(bench.card.get(clocks, blocks * warps, np.uint32).reshape(blocks, warps).max(1).astype(int))
    bench.card.free(clocks)
    bench.card.free(out)
    found: np.ndarray = (times[1] - times[0]) / (ROUNDS[1] - ROUNDS[0])
    return found


def spread(clocks: np.ndarray) -> Row:
    """What the blocks took."""
    return {"clocks": float(np.median(clocks)), "least": float(clocks.min()), "most": float(clocks.max())}


def own_words(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of stores (S, W of 16 bytes) and loads (L, V) that wait for each other."""
    module, base, which = bench.module("frames"), bench.card.alloc(132 * 32 << 15), bench.card.alloc(512)
    cases = [(space, ops, "1") for space in ("local", "global") for ops in (*WORDS, *VECTORS)]
    cases += [(space, ops, "all") for space in ("local", "global") for ops in ("S", "SL", "W")]
    for space, ops, who in cases:
        wide = ops in VECTORS
        for place, words in PLACES.items():
            if wide and place != "a line" or (who == "all" and place not in ("a line", "4 lines", "16 lines")):
                continue
            bench.card.put(which, np.concatenate([*words, 0 * LANES]).astype(np.int32))
            for step in (0, 4) if wide else (0, 1):
                for pitch in (2048,) if space == "local" or who == "1" else (2048, 32768):
                    for warps in WARPS:
                        blocks = 1 if who == "1" else bench.card.multiprocessors
                        numbers = np.int32(pitch), np.int32(step)
                        clocks = clocks_of(bench, module[f"{space}_{ops}"], blocks, warps, which, base, *numbers)
                        yield {
                            "space": space, "ops": ops, "place": place, "step": step, "who": who, "pitch": pitch,
                            "warps": warps, **spread(clocks),
                        }  # fmt: skip
    bench.card.free(base)
    bench.card.free(which)


RINGS = [(blocks, threads) for blocks in (1, 4, 132) for threads in (32, 64, 128, 256, 512, 1024)]


def rings(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of stores and loads to words of local memory that lanes index at random."""
    ring, x = bench.module("frames")["ring"], bench.card.alloc(4 * 1024 * 132)
    bench.card.put(x, np.random.default_rng(3).integers(0, 1 << 32, 1024 * 132, np.uint32))
    for blocks, threads in RINGS:
        yield {"blocks": blocks, "threads": threads, **spread(clocks_of(bench, ring, blocks, threads // 32, x))}
    bench.card.free(x)


def deep_calls(bench: Bench) -> Iterator[Row]:
    """Clocks of calls so many deep, which keep values in frames; the deepest lane's, where they part."""
    module, which = bench.module("frames"), bench.card.alloc(128)
    for kept in (0, 2, 4, 8):
        for who in ("1", "all"):
            for depth in (0, 1, 2, 3, 4, 8, 12):
                for parts in (1, 2, 4):
                    if depth < parts - 1 or (who == "all" and depth not in (0, 4)):
                        continue
                    bench.card.put(which, (depth - LANES % parts).astype(np.int32))
                    for warps in WARPS:
                        blocks = 1 if who == "1" else bench.card.multiprocessors
                        clocks = clocks_of(bench, module[f"deep_{kept}"], blocks, warps, which)
                        yield {
                            "kept": kept, "who": who, "depth": depth, "parts": parts, "warps": warps, **spread(clocks)
                        }  # fmt: skip
    bench.card.free(which)


FRESH = {
    "a lane": LANES == 3, "a lane of each sector": LANES % 8 == 3, "every other lane": LANES % 2 == 0,
    "a sector": LANES // 8 == 1, "all": LANES >= 0,
}  # fmt: skip


def fresh_words(bench: Bench) -> Iterator[Row]:
    """Clocks of stores by some lanes to a line that is not in the L1, of loads of these words, twice, of the others by
    the other lanes, and of all, twice."""
    module = bench.module("frames")
    for space in ("local", "global"):
        for name, lanes in FRESH.items():
            for wait in (0, 3):
                clocks, out, which = (bench.card.alloc(size) for size in (64, 128, 128))
                bench.card.put(which, lanes.astype(np.int32))
                for _ in range(2):  # the first time loads the code
                    base = bench.card.alloc(1 << 20)
                    module[f"{space}_fresh"](1, 32, clocks, out, which, base, np.int32(wait))
                seen = bench.card.get(clocks, 6, np.uint32).tolist()
                yield {"space": space, "lanes": name, "wait": wait, "clocks": " ".join(map(str, seen))}


PROBES = {"fresh_words": fresh_words, "own_words": own_words, "rings": rings, "deep_calls": deep_calls}
