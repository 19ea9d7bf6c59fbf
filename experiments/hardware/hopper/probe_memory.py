"""The L2's two halves and its slices, its rates by who asks, and DRAM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .bench import Bench, Row
from .cuda_driver import MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER
from .probe_caches import KB, MB, line_map

LINES = 4096


def gpcs(bench: Bench) -> list[list[int]]:
    """The multiprocessors of each GPC: those that were seen in one cluster belong together."""
    module, out = bench.module("blocks"), bench.card.alloc(4 * 4096)
    parent = list(range(bench.card.multiprocessors))

    def find(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for name, size in (("cluster16", 16), ("cluster8", 8), ("cluster2", 2)):
        function = module[name].set(MAX_DYNAMIC_SHARED, 200 * KB).set(NON_PORTABLE_CLUSTER, 1)
        for grid in (128, 64, 32, 128, 16, 96):
            function(grid * 4, 32, out, shared=200 * KB)
            seen = bench.card.get(out, grid * 4, np.uint32).reshape(-1, size)
            for cluster in seen:
                for other in cluster[1:]:
                    parent[find(int(other))] = find(int(cluster[0]))
    groups: dict[int, list[int]] = {}
    for i in range(bench.card.multiprocessors):
        groups.setdefault(find(i), []).append(i)
    return sorted(groups.values(), key=lambda group: group[0])


def gpc_rows(bench: Bench) -> Iterator[Row]:
    """The GPCs, and where single clusters lay."""
    for i, group in enumerate(gpcs(bench)):
        yield {"gpc": i, "count": len(group), "multiprocessors": " ".join(map(str, group))}
    module, out = bench.module("blocks"), bench.card.alloc(4 * 4096)
    for name, size in (("cluster16", 16), ("cluster8", 8), ("cluster2", 2)):
        function = module[name].set(MAX_DYNAMIC_SHARED, 200 * KB).set(NON_PORTABLE_CLUSTER, 1)
        function(128, 32, out, shared=200 * KB)
        for i, cluster in enumerate(bench.card.get(out, 128, np.uint32).reshape(-1, size).tolist()):
            yield {"gpc": "", "cluster": f"{name} {i}", "count": size, "multiprocessors": " ".join(map(str, cluster))}


def l2_lines(bench: Bench) -> np.ndarray:
    """Clocks of an L2 hit by multiprocessor and line of 512 kB: kept whole (near and far, position, hash)."""
    base = bench.card.alloc(64 * MB)
    result = line_map(bench, base, LINES, 128, range(bench.card.multiprocessors))
    bench.card.free(base)
    return result


def l2_lines_far_apart(bench: Bench) -> np.ndarray:
    """The same for a line of every 4 kB of 64 MB from four multiprocessors: higher bits of the hash."""
    base = bench.card.alloc(64 * MB)
    result = line_map(bench, base, 16384, 4096, (0, 1, 2, 3))
    bench.card.free(base)
    return result


def slices(bench: Bench) -> np.ndarray:
    """The slice of each line of 256 kB, as a number, by contention: two lines that all multiprocessors of one half load
    at once take longer if one slice serves both. Row 0: class of a line; row 1: clocks against its class's first line."""
    card, module = bench.card, bench.module("memory")
    base = card.alloc(64 * MB)
    out, chosen = card.alloc(4 * 256), card.alloc(256)
    some = np.zeros(256, np.uint8)
    some[: card.multiprocessors] = 1
    card.put(chosen, some)
    hammer, rounds = module["hammer"], 24

    def clocks(a: int, b: int) -> int:
        hammer(card.multiprocessors, 512, base + 128 * a, base + 128 * b, np.int32(rounds), chosen, out)
        return int(card.get(out, card.multiprocessors, np.uint32).max())

    same = float(np.median([clocks(i, i) for i in range(0, 64, 4)]))
    other = float(np.median([clocks(i, i + 37) for i in range(0, 640, 8)]))
    limit = (same + other) / 2
    heads: list[int] = []
    result = np.zeros((2, 2048), np.int32)
    for line in range(2048):
        best = (0.0, -1)
        for index, head in enumerate(heads):
            value = clocks(line, head)
            if value > limit and min(value, clocks(line, head)) > limit:
                best = (value, index)
                break
        if best[1] < 0:
            heads.append(line)
            best = (same, len(heads) - 1)
        result[0, line], result[1, line] = best[1], int(best[0])
        if len(heads) > 200:
            break
    return np.concatenate([result, np.full((1, 2048), int(same), np.int32), np.full((1, 2048), int(other), np.int32)])


def contention(bench: Bench) -> Iterator[Row]:
    """Clocks of two lines that are loaded at once, for one line against the 1,024 next, by whom: what the above rests on."""
    card, module = bench.card, bench.module("memory")
    base, out, chosen = card.alloc(64 * MB), card.alloc(4 * 256), card.alloc(256)
    for who, some in (
        ("all", range(card.multiprocessors)),
        ("0-7", range(8)),
        ("even TPCs", [i for i in range(card.multiprocessors) if i // 2 % 2 == 0]),
    ):
        mask = np.zeros(256, np.uint8)
        mask[list(some)] = 1
        card.put(chosen, mask)
        values = []
        for line in range(1024):
            module["hammer"](card.multiprocessors, 512, base, base + 128 * line, np.int32(24), chosen, out)
            values.append(int(card.get(out, card.multiprocessors, np.uint32)[list(some)].max()))
        yield {"who": who, "clocks": " ".join(map(str, values))}


def _stream(
    bench: Bench, what: str, base: int, count: int, chosen: Sequence[int], rounds: int, threads: int = 1024
) -> Row:
    """Bytes per nanosecond and per clock of a stream by the chosen multiprocessors, each in its own part."""
    card, module = bench.card, bench.module("memory")
    ranks, out = card.alloc(512), card.alloc(8 * 3 * 256)
    rank = np.full(256, 65535, np.uint16)
    rank[list(chosen)] = np.arange(len(chosen))
    card.put(ranks, rank)
    function = module[f"stream_{what}"]
    for repeat in (1, rounds):
        function(card.multiprocessors, threads, base, count // 16, np.int32(repeat), ranks, np.uint32(len(chosen)), out)
    times = card.get(out, 3 * 256, np.uint64).reshape(-1, 3)[list(chosen)].astype(np.int64)
    ns = int(times[:, 1].max() - times[:, 0].min())
    clocks = float(np.median(times[:, 2]))
    for address in (ranks, out):
        card.free(address)
    module.unload()
    moved = count * rounds
    return {"bytes_per_ns": moved / ns, "bytes_per_clock": moved / clocks, "ns": ns}


def l2_rates(bench: Bench) -> Iterator[Row]:
    """Bytes per clock from and to the L2 by footprint and by who asks: one multiprocessor, a TPC, a CPC, a GPC, all."""
    groups = gpcs(bench)
    largest = max(groups, key=len)
    who = {"1": [0], "TPC": [0, 1], "2 in different GPCs": [0, 2], "6 of a GPC": largest[:6], "GPC": largest, "2 GPCs": groups[0] + groups[1],
           "one of each TPC": list(range(0, bench.card.multiprocessors, 2)), "one of each GPC": [group[0] for group in groups],
           "all": list(range(bench.card.multiprocessors))}  # fmt: skip
    base = bench.card.alloc(256 * MB)
    for what in ("read", "write", "copy"):
        for name, chosen in who.items():
            for size in (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 96) if name == "all" else (2, 16):
                rounds = max(2, 64 // size) if len(chosen) > 8 else max(2, 8 // size)
                yield {
                    "what": what,
                    "who": name,
                    "count": len(chosen),
                    "megabytes": size,
                    **_stream(bench, what, base, size * MB, chosen, rounds),
                }
    for threads in (32, 64, 128, 256, 512, 1024):  # loads in flight: four of 16 bytes a thread
        for name in ("1", "all"):
            yield {
                "what": "read",
                "who": f"{name}, {threads} threads",
                "count": len(who[name]),
                "megabytes": 2,
                **_stream(bench, "read", base, 2 * MB, who[name], 8, threads),
            }


def dram_stream(bench: Bench) -> Iterator[Row]:
    """Bytes per nanosecond of streams through 4 GB, by what they do and by how many threads."""
    base = bench.card.alloc(4 << 30)
    for what in ("read", "write", "copy"):
        for threads in (32, 64, 128, 256, 512, 1024):
            yield {
                "what": what,
                "threads": threads,
                **_stream(
                    bench,
                    what,
                    base,
                    4 << 30 if threads > 64 else 1 << 30,
                    range(bench.card.multiprocessors),
                    1,
                    threads,
                ),
            }
    for count in (1, 2, 4, 8, 16, 32, 48, 64, 96, 132):
        yield {
            "what": "read",
            "threads": 1024,
            "multiprocessors": count,
            **_stream(bench, "read", base, 1 << 30, range(count), 1),
        }
    bench.card.free(base)


def dram_patterns(bench: Bench) -> Iterator[Row]:
    """Bytes per nanosecond of accesses of 32 bytes and more: random, with strides, and with a part of writes."""
    card, module = bench.card, bench.module("memory")
    base, out = card.alloc(8 << 30), card.alloc(64)
    scatter = module["scatter"]

    def rate(
        size: int, stride: int, random: int, writes: int, period: int, region: int = 8 << 30, each: int = 32
    ) -> Row:
        blocks, threads = 132 * 8, 256
        moved = blocks * threads * 4 * each

        def run() -> None:
            scatter(
                blocks,
                threads,
                base,
                region,
                np.uint32(size),
                stride,
                np.int32(random),
                np.int32(writes),
                np.int32(period),
                np.int32(each),
                out,
            )

        run()
        times = [card.time_us(run) for _ in range(3)]
        return {"size": size, "stride": stride, "random": random, "writes": writes, "period": period, "region_mb": region // MB,
                "bytes_per_ns": moved / 1000 / sorted(times)[1], "us": sorted(times)[1]}  # fmt: skip

    for size in (32, 64, 128):
        for writes in (0, 4):
            yield rate(size, size, 1, writes, 4)
    for size in (32, 64, 128):
        for shift in range(5, 22):
            if 1 << shift >= size:
                yield rate(size, 1 << shift, 0, 0, 4)
    for stride in (96, 160, 224, 384, 640, 1152, 1088, 2176, 4224, 8320, 65664):
        yield rate(32, stride, 0, 0, 4)
    for random in (0, 1):
        for writes in range(17):
            yield rate(128, 128, random, writes, 16)
    for writes in (1, 2, 4, 8, 16, 32):  # the same mix in longer runs of one kind
        yield rate(128, 128, 0, writes, 2 * writes)
    for region in (16, 32, 40, 48, 64, 96, 128, 256, 512, 1024, 4096):
        yield rate(32, 32, 1, 0, 4, region * MB)
    card.free(base)


PROBES = {
    "gpcs": gpc_rows,
    "contention": contention,
    "l2_rates": l2_rates,
    "dram_stream": dram_stream,
    "dram_patterns": dram_patterns,
}
ARRAYS = {"l2_lines": l2_lines, "l2_lines_far": l2_lines_far_apart, "l2_slices": slices}
