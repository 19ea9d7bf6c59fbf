"""Short forms of the probes of memory, instructions and atomics, for a machine whose caches are empty at each launch.

What a card was asked for milliseconds is here the difference between two launches of some thousand clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from .bench import Bench, Row
from .findings import rows
from .probe_caches import KB, MB, chain, shuffled
from .probe_code import ladder
from .probe_grid import PATTERNS

THREADS = 1024
EVERYONE = 132
ROUNDS = 32


def _largest_gpc() -> list[int]:
    groups = [[int(x) for x in row["multiprocessors"].split()] for row in rows("h100", "gpcs") if row["gpc"]]
    return max(groups, key=len)


def _clocks(bench: Bench, what: str, count: int, chosen: Sequence[int], rounds: int) -> float:
    """The median of the clocks that the chosen multiprocessors take for some rounds of 64 bytes a thread."""
    card = bench.card
    base, ranks, out = card.alloc(count), card.alloc(512), card.alloc(8 * 3 * 256)
    rank = np.full(256, 65535, np.uint16)
    rank[list(chosen)] = np.arange(len(chosen))
    card.put(ranks, rank)
    function = bench.module("memory")[f"stream_{what}"]
    function(EVERYONE, THREADS, base, count // 16, np.int32(rounds), ranks, np.uint32(len(chosen)), out)
    times = card.get(out, 3 * 256, np.uint64).reshape(-1, 3)[list(chosen), 2]
    for address in (base, ranks, out):
        card.free(address)
    return float(np.median(times.astype(np.int64)))


def _rate(bench: Bench, what: str, count: int, chosen: Sequence[int], first: int, more: int) -> float:
    """Bytes a clock of the rounds behind the first ones."""
    clocks = _clocks(bench, what, count, chosen, first + more) - _clocks(bench, what, count, chosen, first)
    return 64 * THREADS * len(chosen) * more * (2 if what == "copy" else 1) / clocks


def l2_rates(bench: Bench) -> Iterator[Row]:
    """As probe_memory.l2_rates: behind as many rounds as go through the footprint."""
    cases = (("1", [0], 2, 16), ("TPC", [0, 1], 2, 16), ("GPC", _largest_gpc(), 2, 12))
    for what in ("read", "write", "copy"):
        for who, chosen, size, more in (*cases, ("all", list(range(EVERYONE)), 8, 20)):
            first = size * MB // (64 * THREADS * len(chosen)) + 1
            found = _rate(bench, what, size * MB, chosen, first, more)
            yield {"what": what, "who": who, "megabytes": size, "bytes_per_clock": found}


def dram_stream(bench: Bench) -> Iterator[Row]:
    """As probe_memory.dram_stream, by all."""
    for what in ("read", "write", "copy"):
        found = _rate(bench, what, 128 * MB, range(EVERYONE), 3 if what == "read" else 8, 7)  # the L2 is full of writes
        yield {"what": what, "threads": THREADS, "multiprocessors": EVERYONE, "bytes_per_clock": found}


def l2_chase(bench: Bench) -> Iterator[Row]:
    """As probe_caches has it: clocks per link of a chain past the L1; in the largest footprint all lines are new."""
    for size, warm, hops in ((0.0625, 512, 2048), (16, 131072, 2048), (32, 262144, 4096), (64, 4, 1500)):
        lines = int(size * MB) // 128
        order = shuffled(lines, 128)
        order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
        base, out = bench.card.alloc(int(size * MB)), bench.card.alloc(64)
        follow = bench.module("memory")["chase_l2"]
        follow(1, 1, base, np.int32(0), np.int32(0), out)  # tells where the machine has put the chain
        bench.card.put(base, chain(int(bench.card.get(out, 2, np.uint64)[1]), order))
        follow(1, 1, base, np.int32(warm), np.int32(hops), out)
        yield {"kind": "footprint", "megabytes": size, "clocks": int(bench.card.get(out, 1, np.uint64)[0]) / hops}
        bench.card.free(base)


def atomics(bench: Bench) -> Iterator[Row]:
    """As probe_grid.atomics, of some forms."""
    for name in ("red_u32", "red_f32", "atom_u32"):
        for pattern in (0, 2, 3):
            for blocks, threads in ((1, 32), (132, 32)):
                base, out = bench.card.alloc(MB * 16), bench.card.alloc(8 * 1024)
                clocks = {}
                for rounds in (8, 8 + ROUNDS):
                    numbers = (np.int32(pattern), np.int32(rounds))
                    bench.module("atomics")[name](blocks, threads, base, *numbers, out, shared=32 * KB)
                    clocks[rounds] = float(np.median(bench.card.get(out, blocks, np.uint64)))
                each = (clocks[8 + ROUNDS] - clocks[8]) / ROUNDS
                yield {
                    "form": name,
                    "pattern": PATTERNS[pattern],
                    "blocks": blocks,
                    "threads": threads,
                    "clocks_per_round": each,
                }


PROBES: Mapping[str, Callable[[Bench], Iterator[Row]]] = {
    "l2_rates": l2_rates,
    "dram_stream": dram_stream,
    "l2_chase": l2_chase,
    "atomics": atomics,
    "code_ladder": partial(ladder, kilobytes_of=(1, 16, 64, 112, 160, 320), places=((1, 1, 1),)),
}
