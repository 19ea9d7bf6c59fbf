"""What the kernels of Figure 11's panel do: local memory, rows that warps walk side by side, a launch behind
reductions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row
from .cuda_driver import CARVEOUT, MAX_DYNAMIC_SHARED
from .probe_caches import KB, MB
from .probe_scatter import clocks_per_round, groups

CARVEOUTS = (8, 228)
WALKERS = (1, 3, 8, 15, 30)
SPREADS = {"one word a lane": 0, "a word a thread": 4, "a sector a thread": 32}


def local_memory(bench: Bench) -> Iterator[Row]:
    """Clocks of a round in which threads write, read, or write and read their local memory, by words a thread, warps,
    carve-out and who takes part: whether stores stay in the L1, and how much it holds."""
    module = bench.module("panel")
    for carveout in CARVEOUTS:
        for words in (32, 64):
            for what in ("write", "read", "both"):
                function = module[f"local_{what}_{words}"].set(CARVEOUT, -(-100 * carveout // 228))
                for who in ("1", "all"):
                    chosen = groups(bench.card.multiprocessors)[who]
                    for warps in (1, 2, 4, 8, 16, 32):
                        yield {
                            "carveout_kb": carveout, "words": words, "what": what, "who": who, "warps": warps,
                            "kilobytes": warps * words / 8,
                            "clocks": clocks_per_round(bench, function, (), chosen, 32 * warps),
                        }  # fmt: skip


def walk_ns(bench: Bench, base: int, out: int, deep: int, warps: int, pitch: int, lines: int) -> int:
    """Nanoseconds in which so many warps of each multiprocessor walk along so many lines of 32 rows each."""
    walk, blocks = bench.module("panel")[f"walk_{deep}"], warps * bench.card.multiprocessors
    room, numbers = (220 // warps - 2) * KB, (np.int32(pitch), np.int32(lines))
    walk.set(MAX_DYNAMIC_SHARED, 220 * KB)(blocks, 32, base, *numbers, out, shared=room)
    return bench.span_ns(out, blocks)


def row_walks(bench: Bench) -> Iterator[Row]:
    """Nanoseconds in which warps walk along rows of a matrix, 32 side by side: by warps of a multiprocessor, lines on
    their way, and the pitch of the rows."""
    card = bench.card
    most = WALKERS[-1] * card.multiprocessors
    base, other, out = card.alloc(most * 32 * 8 * KB), card.alloc(256 * MB), card.alloc(256 * KB)
    evict = bench.module("loaded")["read_16"]
    for deep in (1, 4, 8, 16, 32):
        for warps in WALKERS:
            for pitch in (2 * KB, 4 * KB, 4 * KB + 128, 8 * KB):
                for lines in (4, 8):
                    times = []
                    for _ in range(5):
                        evict(16 * KB, 1024, other, other, out)
                        times.append(walk_ns(bench, base, out, deep, warps, pitch, lines))
                    yield {"deep": deep, "warps": warps, "pitch": pitch, "lines": lines, "ns": float(np.median(times))}
    for address in (base, other, out):
        card.free(address)


def behind_reductions(bench: Bench) -> Iterator[Row]:
    """Nanoseconds of a launch of reductions up to the end of its last block, and from there to the first block of the
    next launch: whether that waits until the reductions have arrived."""
    card, module = bench.card, bench.module("panel")
    grid, threads = 2 * card.multiprocessors, 512
    base, out, stream = card.alloc(64 * MB), card.alloc(4 * 16 * grid), card.stream()
    for spread, apart in SPREADS.items():
        for rounds in (0, 1, 4, 16, 64, 256):

            def four(apart: int = apart, rounds: int = rounds) -> None:
                for i in range(4):
                    numbers = (np.int32(apart), np.int32(rounds))
                    module["reduce"](grid, threads, base, *numbers, out + 16 * grid * i, stream=stream)

            graph = card.graph(stream, four)
            inside, between = [], []
            for _ in range(7):
                card.call("cuGraphLaunch", graph, stream)
                card.sync()
                seen = card.get(out, 8 * grid, np.uint64).reshape(4, grid, 2).astype(np.int64)
                first, last = seen[:, :, 0].min(1), seen[:, :, 1].max(1)
                inside.append(float(np.median(last - first)))
                between.append(float(np.median(first[1:] - last[:-1])))
            yield {
                "spread": spread, "rounds": rounds, "inside_ns": float(np.median(inside)),
                "between_ns": float(np.median(between)),
            }  # fmt: skip
    card.free(base)
    card.free(out)


PROBES = {"local_memory": local_memory, "row_walks": row_walks, "behind_reductions": behind_reductions}
