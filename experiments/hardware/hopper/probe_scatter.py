"""Accesses of few bytes to sectors of their own: what a transaction costs beside its data; atomics of single lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .bench import Bench, Row
from .probe_caches import KB, MB

FORMS = {"load_4": 4, "load_8": 8, "store_1": 1, "store_4": 4, "store_8": 8, "add": 4, "add_result": 4}
STRIDES = (4, 8, 16, 32, 64, 128, 256, 4096 + 128)
THREADS, WARPS = 1024, 32
REGION = 16 * MB
FEW, MANY = 8, 40
"""Rounds, of which the difference counts: start and end, fence included, cost the same."""


def groups(multiprocessors: int) -> Mapping[str, Sequence[int]]:
    """Who takes part; the GPC is the one of the first multiprocessor, whose TPCs are every seventh or eighth one."""
    return {"1": [0], "TPC": [0, 1], "one of each TPC": range(0, multiprocessors, 2), "all": range(multiprocessors)}


def clocks_of(
    bench: Bench,
    function: Any,
    arguments: Sequence[Any],
    chosen: Sequence[int],
    threads: int = THREADS,
    blocks_each: int = 1,
) -> float:
    """The median of the clocks that the chosen multiprocessors take: the second time, when the L2 has the region."""
    card = bench.card
    ranks, out = card.alloc(512), card.alloc(8 * 256)
    rank = np.full(256, 65535, np.uint16)
    rank[list(chosen)] = np.arange(len(chosen))
    card.put(ranks, rank)
    for _ in range(2):
        function(blocks_each * card.multiprocessors, threads, *arguments, ranks, out)
        card.sync()
    clocks = card.get(out, 256, np.uint64)[list(chosen)]
    card.free(ranks)
    card.free(out)
    return float(np.median(clocks.astype(np.int64)))


def clocks_per_round(
    bench: Bench,
    function: Any,
    arguments: Sequence[Any],
    chosen: Sequence[int],
    threads: int = THREADS,
    blocks_each: int = 1,
) -> float:
    """Clocks of a round of all warps."""
    few, many = (
        clocks_of(bench, function, (*arguments, np.int32(n)), chosen, threads, blocks_each) for n in (FEW, MANY)
    )
    return (many - few) / (MANY - FEW)


def scattered(bench: Bench) -> Iterator[Row]:
    """Clocks of an access of a warp by form, stride between lanes and who asks, in a region that the L2 holds."""
    base, module = bench.card.alloc(REGION), bench.module("scattered")
    for form, size in FORMS.items():
        for stride in STRIDES:
            for who, chosen in groups(bench.card.multiprocessors).items():
                if stride < size:
                    continue
                places = (base, np.uint32(REGION), np.uint32(stride))
                each = clocks_per_round(bench, module[form], places, chosen) / WARPS
                yield {"form": form, "stride": stride, "who": who, "count": len(chosen), "clocks": each}
    bench.card.free(base)


def alone(bench: Bench) -> Iterator[Row]:
    """Clocks of an atomic of one lane of a warp, by how many lines they go to."""
    base, module = bench.card.alloc(64 * KB), bench.module("scattered")
    for who, chosen in groups(bench.card.multiprocessors).items():
        for lines in (1, 2, 4, 8, 16, 32, 64, 256):
            each = clocks_per_round(bench, module["add_alone"], (base, np.uint32(lines)), chosen) / WARPS
            yield {"who": who, "count": len(chosen), "lines": lines, "clocks": each}
    bench.card.free(base)


def in_parts(bench: Bench) -> Iterator[Row]:
    """Clocks of a store of a warp of one word in so many, where the words between are stored to `apart` accesses later;
    0: never."""
    base, module = bench.card.alloc(REGION), bench.module("scattered")
    for who, chosen in groups(bench.card.multiprocessors).items():
        for parts in (2, 4):
            for apart in (0, 1, 2, 4, 8):
                whole = (base, np.uint32(REGION))
                given = (np.uint32(parts), np.uint32(apart)) if apart else (np.uint32(4 * parts),)
                function = module["in_parts" if apart else "store_4"]
                each = clocks_per_round(bench, function, (*whole, *given), chosen) / (WARPS * (parts if apart else 1))
                yield {"who": who, "count": len(chosen), "parts": parts, "apart": apart, "clocks": each}
    bench.card.free(base)


def joined(bench: Bench) -> Iterator[Row]:
    """Clocks of a store of a warp to sixteen sectors, four of which go to the same lines right behind each other: by
    how many warps an SM has, with and without a load from these lines between the second and the third."""
    base, module = bench.card.alloc(512 * MANY * WARPS * bench.card.multiprocessors), bench.module("scattered")
    for who, chosen in groups(bench.card.multiprocessors).items():
        for form in ("joined_plain", "joined_loaded"):
            for warps in (1, 2, 4, 8, 12, 16, 32):
                each = clocks_per_round(bench, module[form], (base,), chosen, 32 * warps) / (4 * warps)
                yield {"who": who, "count": len(chosen), "form": form, "warps": warps, "clocks": each}
    bench.card.free(base)


def turns(bench: Bench) -> Iterator[Row]:
    """Which warps of the first sub-core store one after the other, by how many there are."""
    base, out, module = bench.card.alloc(MB), bench.card.alloc(4 * 512), bench.module("scattered")
    for warps in (8, 12, 16, 32):
        for _ in range(2):
            module["turns"](1, 32 * warps, base, out)
            bench.card.sync()
        clocks = bench.card.get(out, 512, np.uint32)[: 16 * warps].reshape(warps, 16)
        issued = sorted((int(clocks[w, i]), w // 4) for w in range(0, warps, 4) for i in range(16))
        last = max(clock for clock, _ in issued) - issued[0][0]
        yield {"warps": warps, "clocks": last, "order": " ".join(str(warp) for _, warp in issued)}
    bench.card.free(base)
    bench.card.free(out)


PROBES = {
    "scattered": scattered, "atomics_alone": alone, "stores_in_parts": in_parts, "joined_stores": joined,
    "turns": turns,
}  # fmt: skip
