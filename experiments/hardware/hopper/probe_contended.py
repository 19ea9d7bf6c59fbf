"""Shared memory whose lanes meet at words and banks, barriers with little between them, chases whose lanes yield."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row

LANES = np.arange(32)


def _words() -> dict[str, np.ndarray]:
    """Which words the lanes of a warp want, by name: lanes side by side but for some."""
    found = {"side by side": LANES}
    for ways in (2, 4, 8, 16, 32):
        found[f"{ways} in a bank"] = np.where(LANES < ways, 32 * LANES, LANES)
        found[f"{ways} at a word"] = np.where(LANES < ways, 0, LANES)
    for same, ways in ((4, 4), (8, 4), (4, 8), (8, 8), (16, 4), (16, 16)):
        others = LANES - same
        apart = np.where((others >= 0) & (others < ways), 31 + 32 * others, LANES)
        found[f"{same} at a word, {ways} in another bank"] = np.where(LANES < same, 0, apart)
        beside = np.where((others >= 0) & (others < ways), 32 + 32 * others, LANES)
        found[f"{same} at a word, {ways} in its bank"] = np.where(LANES < same, 0, beside)
    for each in (2, 4, 8):
        found[f"{each} at each word"] = LANES // each
        found[f"{each} at each word of a bank"] = LANES // each * 32
    for seed in range(3):
        generator = np.random.default_rng(seed)
        found[f"random {seed}"] = generator.integers(0, 256, 32)
        found[f"random, a third at one {seed}"] = np.where(
            generator.random(32) < 0.3, 7, generator.integers(0, 256, 32)
        )
    return found


WORDS = _words()
KERNELS = {
    "load32": 4, "load64": 8, "add32": 4, "max32": 4, "exch32": 4, "exch64": 8, "cas32": 4, "cas64": 8, "red32": 4,
    "red_one": 4, "store32": 4,
}  # fmt: skip
NARROW = {"load8": 1, "load16": 2, "store8": 1, "store16": 2}


def shared_ways(bench: Bench) -> Iterator[Row]:
    """Clocks of an access to shared memory by which words the lanes want: in a chain, and of 32 warps."""
    module = bench.module("contended")
    where, clocks, out = bench.card.alloc(128), bench.card.alloc(128), bench.card.alloc(4096)

    def measured(kernel: str, offsets: np.ndarray, warps: int, chained: int) -> float:
        bench.card.put(where, offsets.astype(np.uint32))
        times = []
        for rounds in (16, 16, 80):
            module[kernel](1, 32 * warps, clocks, out, where, np.int32(rounds), np.int32(chained))
            times.append(int(bench.card.get(clocks, warps, np.uint32).max()))
        return (times[2] - times[1]) / 64

    for kernel, width in KERNELS.items():
        for name, words in WORDS.items():
            row: Row = {"kernel": kernel, "words": name}
            for warps, chained in ((1, 1), (1, 0), (4, 0), (32, 0)):
                if chained and kernel in ("red32", "red_one", "store32"):
                    row["chained"] = ""
                else:
                    row["chained" if chained else f"{warps} warps"] = measured(kernel, width * words, warps, chained)
            yield row
    for kernel, width in NARROW.items():
        for name, elements in {
            "side by side": LANES,
            "one in each word": LANES * (4 // width),
            "every third": LANES * 3,
            "every second": LANES * 2,
            "all at one": 0 * LANES,
            "two banks on": LANES * 8 // width,
        }.items():
            row = {"kernel": kernel, "words": name, "chained": ""}
            for warps in (1, 4, 32):
                row[f"{warps} warps"] = measured(kernel, width * elements, warps, 0)
            yield row
    for room in (where, clocks, out):
        bench.card.free(room)


BARRIERS = (
    "sync", "sync_twice", "any", "counted", "loaded", "stored", "exchanged", "halves", "words_held", "first_warp",
    "computed", "bypassed",
)  # fmt: skip


def barrier_rounds(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of a loop with barriers of the block: of the slowest warp."""
    module = bench.module("contended")
    clocks, out = bench.card.alloc(128), bench.card.alloc(4096)
    for kernel in BARRIERS:
        for warps in (1, 2, 4, 6, 8, 16, 32):
            times = []
            for rounds in (16, 16, 144):
                module[kernel](1, 32 * warps, clocks, out, np.int32(rounds))
                times.append(int(bench.card.get(clocks, warps, np.uint32).max()))
            yield {"kernel": kernel, "warps": warps, "clocks": (times[2] - times[1]) / 128}
    for room in (clocks, out):
        bench.card.free(room)


def _chains(lengths: np.ndarray) -> np.ndarray:
    """Words that lead to the next one of their lane, 32 further on, so many times; no lanes meet in a bank."""
    words = np.arange(2048)
    return np.where(words // 32 < lengths[words % 32], words + 32, words).astype(np.uint32)


SHAPES = {
    "none": 0 * LANES, "all 8": 0 * LANES + 8, "1 to 16": LANES % 16 + 1, "1 to 32": LANES + 1,
    "half 1": np.where(LANES < 16, 1, 16), "one 16": np.where(LANES == 5, 16, 1),
    "half none": np.where(LANES < 16, 0, 16),
}  # fmt: skip


def chases(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of chases of each lane, of the slowest warp, by how many steps the lanes go."""
    module = bench.module("contended")
    table, heads, clocks = bench.card.alloc(8192), bench.card.alloc(4096), bench.card.alloc(128)
    bench.card.put(heads, (np.arange(1024) % 32).astype(np.uint32))
    for name, lengths in SHAPES.items():
        bench.card.put(table, _chains(lengths))
        for warps in (1, 4, 8, 16, 32):
            times = []
            for rounds in (4, 4, 20):
                module["chases"](1, 32 * warps, clocks, np.uint64(0), heads, table, np.int32(rounds), np.int32(0))
                times.append(int(bench.card.get(clocks, warps, np.uint32).max()))
            yield {"steps": name, "warps": warps, "clocks": (times[2] - times[1]) / 16}
    for others in (0, 1, 2):
        for threads in (32, 128, 256, 512, 1024):
            for lanes in (1, 16, 31, 32):
                times = []
                for rounds in (8, 8, 72):
                    numbers = map(np.int32, (lanes, rounds, others))
                    module["yielders"](1, threads, clocks, heads, *numbers)
                    times.append(int(bench.card.get(clocks, threads // 32, np.uint32).max()))
                yield {
                    "steps": f"{lanes} lanes, others {('wait', 'are done', 'yield')[others]}", "warps": threads // 32,
                    "clocks": (times[2] - times[1]) / 64,
                }  # fmt: skip
    for room in (table, heads, clocks):
        bench.card.free(room)


def chase_groups(bench: Bench) -> Iterator[Row]:
    """Who is together behind chases and swaps whose lanes yield, and after how many clocks, lane by lane."""
    module = bench.module("contended")
    table, heads, clocks = bench.card.alloc(8192), bench.card.alloc(4096), bench.card.alloc(128)
    for seed in range(4):
        generator = np.random.default_rng(seed)
        words = np.arange(2048)
        parents = np.where(generator.random(2048) < 0.1, words, (words * generator.random(2048)).astype(int))
        bench.card.put(table, parents.astype(np.uint32))
        bench.card.put(heads, generator.integers(0, 2048, 32).astype(np.uint32))
        rounds, out = 6, bench.card.alloc(8 * 32 * 6)
        for _ in range(2):
            module["chases"](1, 32, clocks, out, heads, table, np.int32(rounds), np.int32(32))
        lists = bench.card.get(out, 2 * 32 * rounds, np.uint32).reshape(32, rounds, 2)
        bench.card.free(out)
        for lane in range(32):
            yield {
                "kernel": "chases", "seed": seed, "lane": lane,
                "groups": " ".join(f"{mask:08x}:{clock}" for mask, clock in lists[lane]),
            }  # fmt: skip
    for seed in range(6):
        generator = np.random.default_rng(seed)
        rounds, room, out = 4, 32, bench.card.alloc(8 * 32 * 32)
        edges = bench.card.alloc(8 * 32 * rounds)
        bench.card.put(edges, generator.integers(0, (16, 48, 128)[seed % 3], 2 * 32 * rounds).astype(np.uint32))
        module["hooks"](1, 32, clocks, out, edges, np.int32(rounds), np.int32(room))
        lists = bench.card.get(out, 2 * 32 * room, np.uint32).reshape(32, room, 2)
        for lane in range(32):
            yield {
                "kernel": "hooks", "seed": seed, "lane": lane,
                "groups": " ".join(f"{mask:08x}:{clock // 4}:{clock % 4}" for mask, clock in lists[lane] if clock),
            }  # fmt: skip
        bench.card.free(out)
        bench.card.free(edges)
    for room in (table, heads, clocks):
        bench.card.free(room)


PROBES = {"shared_ways": shared_ways, "barrier_rounds": barrier_rounds, "chases": chases, "chase_groups": chase_groups}
