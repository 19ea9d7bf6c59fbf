"""The L2's two halves and its slices, its rates by who asks, and DRAM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .bench import Bench, Row
from .cuda_driver import MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER
from .probe_caches import KB, MB, line_map

CLUSTERS = tuple((f"cluster{size}", size) for size in (16, 12, 8, 6, 4, 2))


def gpcs(bench: Bench) -> list[list[int]]:
    """The multiprocessors of each GPC: those that were seen in one cluster belong together."""
    module, out = bench.module("blocks"), bench.card.alloc(4 * 4096)
    parent = list(range(bench.card.multiprocessors))

    def find(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for name, size in CLUSTERS:
        function = module[name].set(MAX_DYNAMIC_SHARED, 200 * KB).set(NON_PORTABLE_CLUSTER, 1)
        for grid in (240, 144, 96, 240, 48, 528):
            function(grid, 32, out, shared=200 * KB)
            seen = bench.card.get(out, grid, np.uint32).reshape(-1, size)
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
    for name, size in CLUSTERS:
        function = module[name].set(MAX_DYNAMIC_SHARED, 200 * KB).set(NON_PORTABLE_CLUSTER, 1)
        function(144, 32, out, shared=200 * KB)
        for i, cluster in enumerate(bench.card.get(out, 144, np.uint32).reshape(-1, size).tolist()):
            yield {"gpc": "", "cluster": f"{name} {i}", "count": size, "multiprocessors": " ".join(map(str, cluster))}


def fill(bench: Bench, base: int, count: int) -> None:
    """Words without a pattern in so many bytes."""
    bench.module("memory")["fill"](1056, 256, base, count // 4)


def l2_lines(bench: Bench) -> dict[str, np.ndarray]:
    """Clocks of L2 hits, line by line. `loads`: 512 lines in a row, from each multiprocessor; `atomics`: the same with
    an atomic; `atomics_0`: 8,192 lines in a row, from one; `far`: a line of every 4 kB of 64 MB, atomics from one."""
    base, everyone = bench.card.alloc(64 * MB), range(bench.card.multiprocessors)
    return {
        "loads": line_map(bench, base, 512, 128, everyone),
        "atomics": line_map(bench, base, 512, 128, everyone, atomic=True),
        "loads_0": line_map(bench, base, 8192, 128, (0, 2)),
        "atomics_0": line_map(bench, base, 8192, 128, (0, 2), atomic=True),
        "far": line_map(bench, base, 16384, 4096, (0,), atomic=True),
    }


def slices(bench: Bench) -> dict[str, np.ndarray]:
    """Which lines one slice serves, by contention: two lines that all multiprocessors load at once take longer.

    `lines`: offsets in lines of 128 bytes: 2,048 in a row, then 48 behind each power of two. `classes`: numbers in the
    order of appearance; `clocks`: against the first line of the class; `levels`: clocks for one line, for two slices.
    """
    card, module = bench.card, bench.module("memory")
    base = card.alloc(2 << 30)
    out, chosen = card.alloc(4 * 256), card.alloc(256)
    card.put(chosen, np.arange(256) < card.multiprocessors)
    hammer, rounds = module["hammer"], 24

    def clocks(a: int, b: int) -> int:
        hammer(card.multiprocessors, 512, base + 128 * a, base + 128 * b, np.int32(rounds), chosen, out)
        return int(card.get(out, card.multiprocessors, np.uint32).max())

    levels = [float(np.median([clocks(i, i + j) for i in range(0, 640, 8)])) for j in (0, 37)]
    lines = [*range(2048), *(2**k + i for k in range(11, 24) for i in range(48))]
    heads: list[int] = []
    classes, seen = [], []
    for line in lines:
        found = None
        for index, head in enumerate(heads):
            value = min(clocks(line, head) for _ in range(2)) if clocks(line, head) > sum(levels) / 2 else 0
            if value > sum(levels) / 2:
                found = (index, value)
                break
        if found is None:
            heads.append(line)
            found = (len(heads) - 1, int(levels[0]))
        classes.append(found[0])
        seen.append(found[1])
        if len(heads) > 200:
            break
    return {
        "lines": np.array(lines, np.int32),
        "classes": np.array(classes, np.uint8),
        "clocks": np.array(seen, np.int32),
        "levels": np.array(levels),
    }


def contention(bench: Bench) -> Iterator[Row]:
    """Clocks of two lines that are loaded at once, one against the 1,024 next, by whom: what the above rests on."""
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
    bench: Bench, what: str, base: int, count: int, chosen: Sequence[int], moved: int, threads: int = 1024
) -> Row:
    """Bytes per nanosecond and per clock of a stream of about `moved` bytes by the chosen multiprocessors."""
    card, module = bench.card, bench.module("memory")
    ranks, out = card.alloc(512), card.alloc(8 * 3 * 256)
    rank = np.full(256, 65535, np.uint16)
    rank[list(chosen)] = np.arange(len(chosen))
    card.put(ranks, rank)
    function = module[f"stream_{what}"]
    size = 64 * threads * len(chosen)
    rounds = max(1, moved // size)
    for repeat in (max(1, min(rounds, count // size + 1)), rounds):
        places = (base, count // 16, np.int32(repeat), ranks, np.uint32(len(chosen)), out)
        function(card.multiprocessors, threads, *places)
    times = card.get(out, 3 * 256, np.uint64).reshape(-1, 3)[list(chosen)].astype(np.int64)
    ns = int(times[:, 1].max() - times[:, 0].min())
    for address in (ranks, out):
        card.free(address)
    module.unload()
    through = size * rounds * (2 if what == "copy" else 1)
    return {"bytes_per_ns": through / ns, "bytes_per_clock": through / float(np.median(times[:, 2])), "ns": ns}


def l2_rates(bench: Bench) -> Iterator[Row]:
    """Bytes per clock from and to the L2 by footprint and by who asks: one multiprocessor, a TPC, a CPC, a GPC, all."""
    groups = gpcs(bench)
    largest = max(groups, key=len)
    who = {"1": [0], "TPC": [0, 1], "2 in different GPCs": [0, 2], "6 of a GPC": largest[:6], "GPC": largest,
        "2 GPCs": groups[0] + groups[1],
           "one of each TPC": list(range(0, bench.card.multiprocessors, 2)),
           "one of each GPC": [group[0] for group in groups],
           "all": list(range(bench.card.multiprocessors))}  # fmt: skip
    base = bench.card.alloc(256 * MB)
    fill(bench, base, 256 * MB)
    for what in ("read", "write", "copy"):
        for name, chosen in who.items():
            for size in (1, 2, 4, 8, 16, 24, 28, 32, 36, 40, 44, 48, 56, 64, 80, 96, 160) if name == "all" else (2, 16):
                yield {
                    "what": what,
                    "who": name,
                    "count": len(chosen),
                    "megabytes": size,
                    **_stream(bench, what, base, size * MB, chosen, 4 * MB * len(chosen)),
                }
    for threads in (32, 64, 128, 256, 512, 1024):  # loads in flight: four of 16 bytes a thread
        for name in ("1", "all"):
            yield {
                "what": "read",
                "who": f"{name}, {threads} threads",
                "count": len(who[name]),
                "megabytes": 2,
                **_stream(bench, "read", base, 2 * MB, who[name], MB * len(who[name]), threads),
            }


def dram_stream(bench: Bench) -> Iterator[Row]:
    """Bytes per nanosecond of streams through 4 GB, by what they do, by how many threads and multiprocessors."""
    base, everyone = bench.card.alloc(4 << 30), range(bench.card.multiprocessors)
    fill(bench, base, 4 << 30)
    for what in ("read", "write", "copy"):
        for threads in (32, 64, 128, 256, 512, 1024):
            row = _stream(bench, what, base, 4 << 30, everyone, (1 if threads < 128 else 3) << 30, threads)
            yield {"what": what, "threads": threads, "multiprocessors": len(everyone), **row}
    for count in (1, 2, 4, 8, 16, 32, 48, 64, 96, 132):
        row = _stream(bench, "read", base, 4 << 30, range(count), count * 16 * MB)
        yield {"what": "read", "threads": 1024, "multiprocessors": count, **row}
    bench.card.free(base)


def dram_patterns(bench: Bench) -> Iterator[Row]:
    """Bytes per nanosecond of accesses of 32 bytes and more: random, with strides, and with a part of writes."""
    card, module = bench.card, bench.module("memory")
    base, out = card.alloc(8 << 30), card.alloc(64)
    fill(bench, base, 8 << 30)
    scatter = module["scatter"]

    def rate(size: int, stride: int, random: int, writes: int, period: int, bits: int = 33, each: int = 384) -> Row:
        blocks, threads = 132 * 4, 256
        moved = blocks * threads * 16 * each

        def run() -> None:
            numbers = [np.int32(value) for value in (random, writes, period, each)]
            scatter(blocks, threads, base, np.int32(bits), np.uint32(size), stride, *numbers, out)

        run()
        us = sorted(card.time_us(run) for _ in range(3))[1]
        names = ("size", "stride", "random", "writes", "period", "region_mb")
        values = (size, stride, random, writes, period, (1 << bits) // MB)
        return {**dict(zip(names, values, strict=True)), "bytes_per_ns": moved / 1000 / us, "us": us}

    for size in (32, 64, 128, 256, 512):
        for writes in (0, 4):
            yield rate(size, size, 1, writes, 4)
    for size in (32, 64, 128, 512):
        for shift in range(5, 24):
            if 1 << shift >= size:
                yield rate(size, 1 << shift, 0, 0, 4)
    for stride in (96, 160, 224, 384, 640, 1152, 1088, 2176, 4224, 8320, 65664):
        yield rate(32, stride, 0, 0, 4)
    for random in (0, 1):
        for writes in range(17):
            yield rate(128, 128, random, writes, 16)
    for writes in (1, 2, 4, 8, 16, 32, 256, 4096):  # the same mix in longer runs of one kind
        yield rate(128, 128, 0, writes, 2 * writes)
    for bits in (24, 25, 26, 27, 28, 29, 30, 31, 32):
        for size in (32, 128):
            yield rate(size, size, 1, 0, 4, bits)
    card.free(base)


CHUNK_WARPS = 30
"""Of a multiprocessor, each with 16 loads on their way."""
PITCHES: Sequence[tuple[int, int]] = ((64, 128), (64, 4096), (32, 64), (32, 4096), *((128, 128 << i) for i in range(7)))
"""Sizes of chunks, and how far they lie apart."""


def chunks_rate(bench: Bench, size: int, pitch: int, bits: int, warps: int = CHUNK_WARPS) -> float:
    """Bytes per nanosecond of chunks of `size` bytes in a region of 2^bits, at a pitch or, with 0, at random."""
    card, blocks, rounds = bench.card, warps * bench.card.multiprocessors, 8 if size >= 128 else 4
    function = bench.module("chunks")[f"chunks_{size}"].set(MAX_DYNAMIC_SHARED, 220 * KB)
    base, other, out = card.alloc(1 << bits), card.alloc(256 * MB), card.alloc(16 * blocks)
    evict, times = bench.module("loaded")["read_16"], []
    for _ in range(3):
        evict(16 * KB, 1024, other, other, out)
        numbers = np.int32(bits), np.int32(rounds), np.uint32(pitch)
        function(blocks, 32, base, *numbers, out, shared=(220 // warps - 2) * KB)
        times.append(bench.span_ns(out, blocks))
    for address in (base, other, out):
        card.free(address)
    return blocks * rounds * 16 * 128 / float(np.median(times))


def random_chunks(bench: Bench) -> Iterator[Row]:
    """What DRAM gives of chunks at random (pitch 0), by their size and by how large the region is, and at a pitch."""
    cases = [(size, 0, bits, CHUNK_WARPS) for bits in (28, 30, 33) for size in (32, 64, 128, 256, 512)]
    cases += [(size, pitch, 32, CHUNK_WARPS) for size, pitch in PITCHES]
    cases += [(size, 0, 30, warps) for size in (64, 128) for warps in (4, 8, 15)]
    for size, pitch, bits, warps in cases:
        yield {
            "size": size, "pitch": pitch, "region_mb": (1 << bits) // MB, "warps": warps,
            "bytes_per_ns": chunks_rate(bench, size, pitch, bits, warps),
        }  # fmt: skip


PROBES = {
    "random_chunks": random_chunks,
    "gpcs": gpc_rows,
    "contention": contention,
    "l2_rates": l2_rates,
    "dram_stream": dram_stream,
    "dram_patterns": dram_patterns,
}
ARRAYS = {"l2_lines": l2_lines, "l2_slices": slices}
