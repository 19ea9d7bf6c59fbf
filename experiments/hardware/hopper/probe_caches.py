"""Caches: pointer chases by carve-out and footprint, scripts of single accesses, constants, lines of the L2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .bench import Bench, Row
from .cuda_driver import CARVEOUT, MAX_DYNAMIC_SHARED, Module

KB, MB = 1 << 10, 1 << 20
OPERANDS = ((32, 1), (128, 1), (1024, 1), (32, 132), (64, 132), (128, 132), (256, 132), (256, 528))
"""Threads of a block and blocks of the launches of `operand_lines`."""


def chain(base: int, slots: np.ndarray) -> np.ndarray:
    """64-bit words over the slots' span: each slot's offset holds the address of the next one in the order given."""
    words = np.zeros(int(slots.max()) // 8 + 1, np.uint64)
    words[slots // 8] = base + np.roll(slots, -1).astype(np.uint64)
    return words


def chase(
    bench: Bench,
    module: Module,
    name: str,
    base: int,
    slots: np.ndarray,
    *,
    hops: int = 0,
    warm: int | None = None,
    **options: int,
) -> float:
    """Clocks per link of a chain through these offsets in this order, after one round (or `warm` links)."""
    if slots.max() < 512 * MB:
        bench.card.put(base, chain(base, slots))
    else:
        for slot, follower in zip(slots.tolist(), np.roll(slots, -1).tolist(), strict=True):
            bench.card.put(base + slot, np.array([base + follower], np.uint64))
    out = bench.card.alloc(64)
    function = module[name]
    if "carveout" in options:
        function.set(CARVEOUT, options["carveout"])
    count = hops or max(2048, min(len(slots), 20000))
    function(
        1,
        1,
        base + int(slots[0]),
        np.int32(len(slots) if warm is None else warm),
        np.int32(count),
        out,
        shared=options.get("shared", 0),
    )
    clocks = int(bench.card.get(out, 1, np.uint64)[0])
    bench.card.free(out)
    return clocks / count


def shuffled(count: int, stride: int) -> np.ndarray:
    """The multiples of a stride, in an order without pattern."""
    return np.random.default_rng(count).permutation(count).astype(np.int64) * stride


def l1_size(bench: Bench) -> Iterator[Row]:
    """Clocks per load by footprint under each carve-out, in lines of 128 bytes and in sectors of 32."""
    module, base = bench.module("memory"), bench.card.alloc(8 * MB)
    for carveout in (0, 8, 16, 32, 64, 100, 132, 164, 196, 228):
        percent = -(-100 * carveout // 228)  # rounded up, which the driver takes for the next step if it is not exact
        left = 256 - carveout
        sizes = sorted({*range(8, 260, 12), *range(max(4, left - 36), left + 8, 2)})
        for size in sizes:
            row: Row = {"asked_percent": percent, "footprint_kb": size}
            for stride in (128, 32):
                row[f"stride_{stride}"] = chase(
                    bench, module, "chase_l1", base, shuffled(size * KB // stride, stride), carveout=percent
                )
            yield row
    module["chase_l1"].set(CARVEOUT, -1).set(MAX_DYNAMIC_SHARED, 200 * KB)
    for shared in (0, 1, 7, 8, 15, 16, 31, 32, 48, 63, 64, 96, 99, 100, 131, 132, 163, 196, 200):  # the driver's choice
        for size in (16, 24, 40, 56, 64, 88, 92, 120, 124, 150, 156, 180, 188, 200, 212, 220, 228, 236, 244):
            value = chase(
                bench, module, "chase_l1", base, shuffled(size * KB // 128, 128), carveout=2**32 - 1, shared=shared * KB
            )
            yield {"asked_percent": -1, "shared_kb": shared, "footprint_kb": size, "stride_128": value}


def l1_ways(bench: Bench) -> Iterator[Row]:
    """Clocks per load of n lines that lie a power of two apart: where they no longer fit, and in what steps."""
    module, base = bench.module("memory"), bench.card.alloc(256 * MB)
    for stride in (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1 << 20):
        for count in (
            1,
            2,
            3,
            4,
            5,
            6,
            8,
            12,
            16,
            20,
            24,
            32,
            48,
            56,
            60,
            64,
            68,
            72,
            80,
            96,
            112,
            128,
            160,
            192,
            224,
            256,
            384,
            512,
        ):
            if count * stride <= 256 * MB and count * stride >= 16 * KB:
                yield {
                    "stride": stride,
                    "lines": count,
                    "clocks": chase(bench, module, "chase_l1", base, shuffled(count, stride), carveout=0),
                }


LD, L2, ST, ATOM, LD16, FENCE, STCG, PREFETCH = range(8)


def scripts(bench: Bench) -> Iterator[Row]:
    """Latencies of accesses one after the other: what fills, what stays after a store, an atomic, a fence."""
    module, base = bench.module("memory"), bench.card.alloc(64 * MB)
    at = iter(range(base, base + 64 * MB, 64 * KB))
    cases: dict[str, list[tuple[int, int]]] = {
        "sectors of a line": [(LD, 32 * s) for s in (0, 0, 1, 1, 2, 2, 3, 3)],
        "sectors of a line, backwards": [(LD, 32 * s) for s in (3, 2, 1, 0, 0)],
        "next lines": [(LD, 128 * s) for s in range(8)],
        "sectors in L2": [(L2, 32 * s) for s in (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8)],
        "16 bytes": [(LD16, 0), (LD16, 0), (LD16, 16), (LD16, 32), (LD16, 48)],
        "load, store, load": [(LD, 0), (LD, 0), (ST, 0), (LD, 0), (LD, 0)],
        "store, load": [(ST, 0), (LD, 0), (LD, 0), (LD, 4), (LD, 32)],
        "store, wait, load": [(ST, 0), (FENCE, 0), (LD, 0), (LD, 0), (LD, 4)],
        "store, store, load": [(ST, 0), (ST, 0), (ST, 4), (LD, 8), (LD, 8)],
        "load, store elsewhere in sector, load": [(LD, 0), (ST, 4), (LD, 0), (LD, 4), (LD, 0)],
        "load, store.gpu, load": [(LD, 0), (LD, 0), (STCG, 0), (LD, 0), (LD, 0)],
        "load, atomic, load": [(LD, 0), (LD, 0), (ATOM, 0), (LD, 0), (LD, 0)],
        "load, atomic elsewhere in line, load": [(LD, 0), (LD, 0), (ATOM, 64), (LD, 0), (LD, 0)],
        "load, load.gpu, load": [(LD, 0), (L2, 0), (LD, 0), (L2, 0), (LD, 0)],
        "load.gpu, load": [(L2, 0), (L2, 0), (LD, 0), (LD, 0)],
        "load, fence, load": [(LD, 0), (LD, 0), (FENCE, 0), (LD, 0), (LD, 0)],
        "atomics": [(ATOM, 0), (ATOM, 0), (ATOM, 0), (ATOM, 4), (ATOM, 32), (ATOM, 128)],
        "prefetch to L2, load": [(PREFETCH, 0), (LD, 8 * KB), (LD, 8 * KB), (LD, 16 * KB), (LD, 0), (LD, 0)],
        "fences": [(FENCE, 0)] * 4,
    }
    function = module["script"]
    out, lists = bench.card.alloc(4096), bench.card.alloc(8192)
    for name, steps in cases.items():
        for place in range(3):
            start = next(at)
            # A few accesses elsewhere warm the code of each kind.
            warm = [
                (kind, 32 * KB + 128 * i) for i, kind in enumerate((LD, L2, ST, ATOM, LD16, FENCE, STCG, PREFETCH, LD))
            ]
            entries = np.array([start + offset + kind for kind, offset in (*warm, *steps)], np.uint64)
            bench.card.put(lists, entries)
            function(1, 1, lists, np.int32(len(entries)), out, shared=8192)
            clocks = bench.card.get(out, len(entries), np.uint32)[len(warm) :]
            yield {"case": name, "place": place, "clocks": " ".join(map(str, clocks.tolist()))}


def operand_lines(bench: Bench) -> Iterator[Row]:
    """Clocks of ten instructions that name a constant each, in all warps; see operands.cu."""
    words = np.zeros(1, np.dtype([("word", np.float32, 256)]))[0]
    for threads, blocks in OPERANDS:
        warps = threads // 32 * blocks
        out = bench.card.alloc(40 * warps)
        for _ in range(2):
            bench.module("operands")["operands"](blocks, threads, out, words)
            clocks = bench.card.get(out, 10 * warps, np.uint32).reshape(warps, 10)
        bench.card.free(out)
        for access, of in enumerate(clocks.T):
            yield {
                "threads": threads, "blocks": blocks, "access": access, "bytes": 32 * (access % 8),
                "least": int(of.min()), "median": int(np.median(of)), "most": int(of.max()),
            }  # fmt: skip


def constant_lanes(bench: Bench) -> Iterator[Row]:
    """Clocks of a load of constants at several places by the lanes of each warp of a block, behind the one before."""
    rounds, zeros = 64, np.zeros(1, np.dtype([("word", np.uint32, 1000)]))[0]
    out = bench.card.alloc(128)
    for threads in (32, 128, 512):
        for apart in (1, 16, 31):
            for distinct in (1, 2, 4, 8, 16, 32):
                numbers = map(np.int32, (distinct, apart, rounds))
                bench.module("operands")["lanes"](1, threads, out, zeros, *numbers)
                clocks = float(bench.card.get(out, threads // 32, np.uint32).mean()) / rounds
                yield {"threads": threads, "apart": apart, "distinct": distinct, "clocks": round(clocks, 1)}
    bench.card.free(out)


def scattered_constants(bench: Bench) -> Iterator[Row]:
    """Clocks of loads of constants whose lanes go to words at random: medians of all warps, of six loads in turn."""
    rounds, zeros = 6, np.zeros(1, np.dtype([("word", np.float32, 2000)]))[0]
    start = bench.card.alloc(4096)
    bench.card.put(start, np.random.default_rng(5).integers(0, 1 << 20, 1024).astype(np.int32))
    for blocks, threads in ((1, 32), (1, 128), (1, 1024), (132, 128), (1056, 128)):
        out = bench.card.alloc(4 * rounds * blocks * threads // 32)
        for span in (1, 64, 256, 512, 1024, 2000):
            for _ in range(2):
                numbers = np.int32(span), np.int32(rounds)
                bench.module("operands")["scattered"](blocks, threads, out, zeros, start, *numbers)
                clocks = bench.card.get(out, rounds * blocks * threads // 32, np.uint32).reshape(-1, rounds)
            medians = np.median(clocks, 0).astype(int).tolist()
            yield {
                "blocks": blocks,
                "threads": threads,
                "words": span,
                **{f"load_{i}": v for i, v in enumerate(medians)},
            }
        bench.card.free(out)
    bench.card.free(start)


def constants(bench: Bench) -> Iterator[Row]:
    """Clocks per LDC of a chain through constant memory, by footprint and stride; the first round, and later ones."""
    for stride in (4, 16, 32, 64, 128, 256):
        for size in (
            256,
            512,
            1024,
            1536,
            1792,
            2048,
            2304,
            2560,
            3072,
            4096,
            6144,
            8192,
            12288,
            16384,
            24576,
            32768,
            40960,
            49152,
            57344,
            65536,
        ):
            if size < 2 * stride:
                continue
            module = bench.module("memory")
            slots = shuffled(size // stride, stride)
            table = np.zeros(16384, np.uint32)
            table[slots // 4] = np.roll(slots, -1)
            bench.card.put(module.address("table"), table)
            out = bench.card.alloc(64)
            row: Row = {"stride": stride, "footprint": size}
            for what, warm, hops in (("first", 0, len(slots)), ("later", 2 * len(slots), 2048)):
                module["chase_constant"](1, 1, np.uint32(slots[0]), np.int32(warm), np.int32(hops), out)
                row[what] = int(bench.card.get(out, 1, np.uint64)[0]) / hops
            yield row
            bench.card.free(out)
            module.unload()


def l2_chase(bench: Bench) -> Iterator[Row]:
    """Clocks per load that passes the L1, by footprint, and over huge strides (pages)."""
    module, base = bench.module("memory"), bench.card.alloc(8 << 30)
    for size in (
        0.0625,
        0.25,
        0.5,
        1,
        2,
        4,
        6,
        8,
        10,
        12,
        14,
        16,
        18,
        20,
        22,
        24,
        26,
        28,
        30,
        32,
        34,
        36,
        38,
        40,
        42,
        44,
        46,
        48,
        50,
        52,
        56,
        60,
        64,
        72,
        80,
        96,
        112,
        128,
        192,
        256,
    ):
        slots = shuffled(int(size * MB) // 128, 128)
        clocks = chase(bench, module, "chase_l2", base, slots, hops=20000)
        yield {"kind": "footprint", "megabytes": size, "lines": len(slots), "clocks": clocks}
    for pages in (
        1,
        2,
        4,
        8,
        12,
        14,
        15,
        16,
        17,
        18,
        20,
        24,
        28,
        32,
        36,
        40,
        48,
        56,
        64,
        80,
        96,
        128,
        192,
        256,
        512,
        1024,
        2048,
        3500,
    ):
        slots = np.random.default_rng(6).permutation(pages).astype(np.int64) * 2 * MB
        slots += np.random.default_rng(8).integers(0, 2 * MB // 128, pages) * 128
        yield {
            "kind": "2 MB pages",
            "megabytes": 2 * pages,
            "lines": pages,
            "clocks": chase(bench, module, "chase_l2", base, slots, hops=4096, warm=2 * pages),
        }
    bench.card.free(base)


def line_map(
    bench: Bench, base: int, count: int, step: int, multiprocessors: Sequence[int], atomic: bool = False
) -> np.ndarray:
    """Clocks of an L2 hit per line, from each of the given multiprocessors: shape (multiprocessors, lines)."""
    module = bench.module("memory")
    out = bench.card.alloc(2 * count)
    rows = []
    for here in multiprocessors:
        places = (base, np.int32(count), np.int32(step), np.int32(atomic), np.uint32(here), out)
        module["lines"](bench.card.multiprocessors, 1, *places)
        rows.append(bench.card.get(out, count, np.uint16))
    bench.card.free(out)
    return np.array(rows)


PROBES = {
    "l1_size": l1_size, "l1_ways": l1_ways, "access_scripts": scripts, "constants": constants,
    "operand_lines": operand_lines, "constant_lanes": constant_lanes,
    "scattered_constants": scattered_constants, "l2_chase": l2_chase,
}  # fmt: skip
