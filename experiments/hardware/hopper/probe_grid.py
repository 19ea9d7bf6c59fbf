"""Atomics, order and start of blocks, what a launch costs, barriers of a grid, clusters and bulk copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .bench import Bench, Row
from .cuda_driver import MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER
from .probe_caches import KB, MB

GLOBAL = (
    "red_u32",
    "red_f32",
    "red_u64",
    "red_f64",
    "red_max",
    "atom_u32",
    "atom_f32",
    "atom_u64",
    "atom_exch",
    "atom_cas",
)
SHARED = (
    "shared_red_u32",
    "shared_red_one",
    "shared_red_f32",
    "shared_red_u64",
    "shared_atom_u32",
    "shared_atom_max",
    "shared_atom_exch",
    "shared_atom_cas",
)
PATTERNS = ("one word", "a word per lane, two lines", "a line per lane", "a word per thread", "a word per warp")


# name, blocks that fit on a multiprocessor, threads, kilobytes of shared memory, clocks more of every third one
BLOCK_CASES = (
    ("one", 1, 32, 200, 0), ("two", 2, 32, 100, 0), ("eight", 8, 32, 25, 0), ("thirty-two", 32, 32, 0, 0),
    ("two of 1024 threads", 2, 1024, 0, 0), ("eight of 256 threads", 8, 256, 0, 0),
    ("eight, unequal", 8, 32, 25, 30000), ("one, unequal", 1, 32, 200, 30000),
)  # fmt: skip


def atomics(bench: Bench) -> Iterator[Row]:
    """Clocks per atomic instruction of a warp, by address pattern and number of warps and blocks."""
    card, module = bench.card, bench.module("atomics")
    base, out = card.alloc(64 * MB), card.alloc(8 * 1024)
    for name in (*GLOBAL, *SHARED):
        for pattern, what in enumerate(PATTERNS):
            for blocks, threads in ((1, 1), (1, 32), (1, 128), (1, 1024), (132, 32), (132, 256)):
                if name in SHARED and blocks > 1:
                    continue
                clocks = {}
                for rounds in (8, 8, 40):  # the difference leaves start and end out
                    module[name](blocks, threads, base, np.int32(pattern), np.int32(rounds), out, shared=32 * KB)
                    clocks[rounds] = float(np.median(card.get(out, blocks, np.uint64)))
                each = (clocks[40] - clocks[8]) / 32
                yield {"form": name, "pattern": what, "blocks": blocks, "threads": threads, "clocks_per_round": each}


def block_order(bench: Bench) -> dict[str, np.ndarray]:
    """By case, a row per block: its multiprocessor, when it began and ended (clocks since the first began there), and
    nanoseconds since the grid's first one began. Blocks take 10,000 clocks; where they are unequal,
        every third one 40,000.
    """
    card, module = bench.card, bench.module("blocks")
    out = card.alloc(32 * 16384)
    function = module["blocks"].set(MAX_DYNAMIC_SHARED, 200 * KB)
    arrays = {}
    for name, per, threads, shared, extra in BLOCK_CASES:
        grid = 132 * per * 3
        for _ in range(2):
            function(grid, threads, np.int32(10000), np.int32(extra), np.int32(3), out, shared=shared * KB)
            rows = card.get(out, 4 * grid, np.uint64).reshape(-1, 4).astype(np.int64)
        start = np.full(card.multiprocessors, np.iinfo(np.int64).max)
        np.minimum.at(start, rows[:, 0], rows[:, 1])
        rows[:, 1:3] -= start[rows[:, 0], None]
        rows[:, 3] -= rows[:, 3].min()
        arrays[name] = rows.astype(np.int32)
    return arrays


def launches(bench: Bench) -> Iterator[Row]:
    """Microseconds per launch: alone, in a row (with the time of the host, which is this program), in a graph; and what
    lies between the first blocks of two kernels in a graph."""
    card, module = bench.card, bench.module("blocks")
    stream, out = card.stream(), card.alloc(24 * 100)

    def empties_in_a_row(count: int, grid: int, threads: int) -> None:
        for _ in range(count):
            module["empty"](grid, threads, stream=stream)

    def median(run: Callable[[], None], samples: int) -> float:
        return sorted(card.time_us(run, stream) for _ in range(samples))[samples // 2]

    for grid, threads in ((1, 32), (132, 32), (132, 1024), (1056, 256), (16896, 128)):
        many = partial(empties_in_a_row, 200, grid, threads)
        many()
        replay = partial(card.call, "cuGraphLaunch", card.graph(stream, many), stream)
        replay()
        yield {
            "kernel": "empty", "grid": grid, "threads": threads,
            "alone_us": median(partial(empties_in_a_row, 1, grid, threads), 31),
            "row_us": median(many, 7) / 200, "graph_us": median(replay, 7) / 200,
        }  # fmt: skip
    marks = module["mark"]

    def marked(grid: int, threads: int) -> None:
        for i in range(100):
            marks(grid, threads, out + 24 * i, stream=stream)

    for grid, threads in ((1, 32), (132, 32), (1056, 256), (16896, 128)):
        graph = card.graph(stream, partial(marked, grid, threads))
        for _ in range(3):
            card.call("cuGraphLaunch", graph, stream)
        card.sync()
        seen = card.get(out, 300, np.uint64).reshape(-1, 3).astype(np.int64)
        same = np.diff(seen[:, 2]) == 0  # clocks of one multiprocessor are compared
        yield {
            "kernel": "mark in a graph", "grid": grid, "threads": threads,
            "clocks_between": float(np.median(np.diff(seen[:, 0])[same])) if same.any() else None,
            "ns_between": float(np.median(np.diff(seen[:, 1]))),
        }  # fmt: skip


def clock_rate(bench: Bench) -> Iterator[Row]:
    """The multiprocessors' clock against the card's timer, in MHz."""
    module, out = bench.module("blocks"), bench.card.alloc(64)
    for grid in (1, 132, 132):
        module["clocks"](grid, 32, out)
        clocks, ns = bench.card.get(out, 2, np.uint64).tolist()
        yield {"blocks": grid, "mhz": 1000 * clocks / ns}


def grid_barriers(bench: Bench) -> Iterator[Row]:
    """Clocks per barrier of a whole grid (an atomic and a spin on one word)."""
    card, module = bench.card, bench.module("blocks")
    counter, out = card.alloc(64), card.alloc(8 * 1024)
    for blocks in (1, 2, 4, 16, 32, 66, 132):
        for threads in (32, 256, 1024):
            clocks = {}
            for rounds in (4, 4, 20):
                card.put(counter, np.zeros(4, np.uint32))
                module["grid_barrier"](blocks, threads, counter, np.int32(rounds), out)
                clocks[rounds] = float(np.median(card.get(out, blocks, np.uint64)))
            yield {"blocks": blocks, "threads": threads, "clocks": (clocks[20] - clocks[4]) / 16}


def remote_shared(bench: Bench) -> Iterator[Row]:
    """Clocks per load from the shared memory of another block of a cluster of 16."""
    card, module = bench.card, bench.module("cluster")
    out = card.alloc(4 * 512)
    function = module["remote"].set(NON_PORTABLE_CLUSTER, 1)
    for reader in (0, 1, 5, 15):
        function(16, 32, out, np.int32(reader))
        values = card.get(out, 512, np.uint32)
        for other in range(16):
            yield {
                "reader": reader,
                "other": other,
                "reader_sm": int(values[256 + reader]),
                "other_sm": int(values[256 + other]),
                "clocks": int(values[16 * reader + other]),
            }


def bulk_copies(bench: Bench) -> Iterator[Row]:
    """Bulk copies to shared memory: clocks to issue, and until the last has come, from L2, by size and number."""
    card, module = bench.card, bench.module("cluster")
    base, out = card.alloc(256 * MB), card.alloc(16 * 1024)
    function = module["bulk"].set(MAX_DYNAMIC_SHARED, 200 * KB)
    for blocks in (1, 132):
        for size in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
            for count in (1, 2, 4, 8, 16, 32):
                if size * count <= 128 * KB:
                    function(blocks, 32, base, np.uint32(size), np.int32(count), np.int32(4), out, shared=128 * KB)
                    values = np.median(card.get(out, 2 * blocks, np.uint64).reshape(-1, 2), axis=0)
                    yield {
                        "blocks": blocks,
                        "bytes": size,
                        "count": count,
                        "issued": float(values[0]),
                        "come": float(values[1]),
                    }
    module["mbarrier"](1, 32, out)
    values = card.get(out, 16, np.uint64).reshape(-1, 2)[2:]
    yield {
        "blocks": 1,
        "bytes": 0,
        "count": 0,
        "issued": float(np.median(values[:, 0])),
        "come": float(np.median(values[:, 1])),
    }


def start_of_blocks(bench: Bench) -> Iterator[Row]:
    """Nanoseconds per block of grids of empty blocks: 544 for each multiprocessor against 32."""
    card, function = bench.card, bench.module("blocks")["empty"]
    for threads in (32, 64, 128, 256, 512, 1024):
        for shared in (0, 48):
            times = {}
            for blocks in (132 * 32, 132 * 32, 132 * 544):
                run = partial(function, blocks, threads, shared=shared * KB)
                times[blocks] = sorted(card.time_us(run) for _ in range(5))[2]
            each = 1000 * (times[132 * 544] - times[132 * 32]) / (132 * 512)
            yield {"threads": threads, "shared_kb": shared, "ns_per_block": each}


def empties(bench: Bench) -> Iterator[Row]:
    """Empty kernels, for a profiler that counts their cycles: shapes, and shared memory that is asked for."""
    function = bench.module("blocks")["empty"].set(MAX_DYNAMIC_SHARED, 200 * KB)
    shapes = [(1, 32), (1, 1024), (132, 32), (132, 1024), (264, 1024), (1056, 256), (4224, 256), (16896, 128)]
    cases = [(*shape, 0) for shape in shapes]
    cases += [(132, 256, kilobytes) for kilobytes in (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 200)]
    for grid, threads, kilobytes in cases:
        for _ in range(2):
            function(grid, threads, shared=kilobytes * KB)
        bench.card.sync()
        yield {"grid": grid, "threads": threads, "shared_kb": kilobytes}


PROBES = {
    "empties": empties, "clock_rate": clock_rate, "atomics": atomics, "block_start": start_of_blocks,
    "launches": launches, "grid_barriers": grid_barriers, "remote_shared": remote_shared, "bulk_copies": bulk_copies,
}  # fmt: skip
ARRAYS = {"block_order": block_order}
