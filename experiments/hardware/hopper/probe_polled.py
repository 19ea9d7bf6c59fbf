"""Multiprocessors that wait for each other's words, fences behind many bytes, and atomics of all kinds on few words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row

ANSWERS = ("plain", "ordered", "acquired_only", "exchanged", "asked", "added", "fenced", "passed", "loaded_behind")
PAIRS = ((0, 1), (0, 40), (0, 90), (5, 100), (60, 20))


def answers(bench: Bench) -> Iterator[Row]:
    """Clocks in which two blocks have answered each other, while blocks of other multiprocessors look on: of five pairs
    of blocks, each with other lines."""
    module = bench.module("polled")
    count = bench.card.multiprocessors
    clocks, rounds = bench.card.alloc(8 * count), 40
    for kernel in ANSWERS:
        for lookers in (0, 1, 8, 32, 128):
            found = []
            for first, second in PAIRS:
                flags, data = bench.card.alloc(1024), bench.card.alloc(1024)
                module[kernel](count, 32, clocks, flags, data, *map(np.int32, (rounds, first, second, lookers)))
                found.append(int(bench.card.get(clocks, count, np.uint64)[first]) / (rounds - 8))
                bench.card.free(flags)
                bench.card.free(data)
            yield {
                "kernel": kernel, "lookers": lookers, "least": min(found), "mean": float(np.mean(found)),
                "most": max(found),
            }  # fmt: skip
    bench.card.free(clocks)


def grid_rounds(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of stores, a fence and a barrier of the grid: until a warp is past its fence, and of all."""
    module = bench.module("polled")
    rounds = 8
    for blocks, threads in ((6, 256), (132, 32), (132, 128), (132, 256), (132, 1024)):
        for stores in (0, 1, 4):
            for everyone in (0, 1):
                warps = blocks * threads // 32
                clocks, count = bench.card.alloc(8 * warps), bench.card.alloc(4)
                data = bench.card.alloc(2 * blocks * threads * 16 * max(1, stores))
                module["grid_rounds"](blocks, threads, clocks, data, count, *map(np.int32, (rounds, stores, everyone)))
                seen = bench.card.get(clocks, 2 * warps, np.uint32).reshape(warps, 2) / (rounds - 1)
                for room in (clocks, count, data):
                    bench.card.free(room)
                yield {
                    "blocks": blocks, "threads": threads, "stores": stores, "everyone": everyone,
                    "fence_least": float(seen[:, 0].min()), "fence_median": float(np.median(seen[:, 0])),
                    "fence_most": float(seen[:, 0].max()), "round": float(np.median(seen.sum(1))),
                }  # fmt: skip


def fenced_stores(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of stores of 4 or 16 bytes and a fence of gpu scope, of all warps."""
    module = bench.module("polled")
    rounds = 16
    for wide in (0, 1):
        for stores in (0, 1, 4) if not wide else (1, 4):
            for blocks, threads in ((1, 32), (1, 256), (1, 1024), (132, 32), (132, 128), (132, 256), (132, 1024)):
                warps = blocks * threads // 32
                clocks, data = bench.card.alloc(4 * warps), bench.card.alloc(16 * max(1, stores) * blocks * threads)
                for _ in range(2):
                    module["fenced_stores"](blocks, threads, clocks, data, *map(np.int32, (rounds, stores, wide)))
                seen = bench.card.get(clocks, warps, np.uint32) / rounds
                for room in (clocks, data):
                    bench.card.free(room)
                least, median, most = (float(of(seen)) for of in (np.min, np.median, np.max))
                yield {
                    "bytes": 16 if wide else 4, "stores": stores, "blocks": blocks, "threads": threads,
                    "least": least, "median": median, "most": most,
                }  # fmt: skip


SUMS = ("add32", "add64", "max32", "max64", "or32", "or64", "inc32", "f32", "f64", "half2", "bf2")
KINDS = [f"{how}_{kind}" for kind in SUMS for how in ("red", "atom")]
KINDS += ["atom_exch32", "atom_exch64", "atom_cas32", "atom_cas64", "generic_bf2", "generic_add32"]
PATTERNS = ("one word", "words side by side", "a word per thread", "random of 1,024", "a line per lane")


def atomic_kinds(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of atomics, by kind: in a loop of one warp, of a block, and of all multiprocessors."""
    module = bench.module("polled")
    base, clocks = bench.card.alloc(8 * 132 * 1024), bench.card.alloc(8 * 1024)
    for kind in KINDS:
        for pattern, name in enumerate(PATTERNS):
            row: Row = {"kind": kind, "pattern": name}
            for blocks, threads in ((1, 1), (1, 32), (1, 256), (132, 32), (132, 256)):
                times = []
                for rounds in (8, 8, 24):
                    module[kind](blocks, threads, clocks, base, np.int32(pattern), np.int32(rounds))
                    times.append(int(bench.card.get(clocks, blocks, np.uint64).max()))
                row[f"{blocks} x {threads}"] = (times[2] - times[1]) / 16
            yield row
    for room in (base, clocks):
        bench.card.free(room)


PROBES = {"answers": answers, "grid_rounds": grid_rounds, "fenced_stores": fenced_stores, "atomic_kinds": atomic_kinds}
