"""Launches with preload tables, as machine code, and what the slow definition says of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from smmux import _core
from smmux.gpus import Gpu
from tests.reference.preload import Entry, Tags, tile

from .assembler import CTAID_X, TID_X, Assembler, variant

CTAID_Y = CTAID_X - _core.SPECIALS["ctaid.x"] + _core.SPECIALS["ctaid.y"]
FETCHING = ("traffic", "hold", "lines")
MACHINES = ("GTX285", "GTX480-48K", "K20c")
THREADS = 64
SIZE = 24_000  # bytes of the array that blocks read
FIRST = 0x1000  # its device address

Load = tuple[int, int, int, int]
"""Bytes: the coefficients of blockIdx.x, blockIdx.y and threadIdx.x, and a constant."""


def reader(loads: list[Load], pause: int = 0, width: int = 1) -> Assembler:
    """Every thread adds the words that it loads, and stores the sum; before the loads it counts down. width: of the
    grid, in blocks."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_Y, b=a.imm(width), c=CTAID_X)
    a("mad.lo.s32", d=0, a=0, b=a.imm(THREADS), c=TID_X)
    a("mad.lo.s32", d=0, a=0, b=a.imm(4), c=a.param(1))
    a("mov.b32", d=1, a=a.imm(0))
    a("mov.b32", d=2, a=a.imm(pause))
    if pause:
        top = a("sub.s32", d=2, a=2, b=a.imm(1))
        a("setp.gt.s32", d=0, a=2, b=a.imm(0))
        a("bra", guard=0, imm=top, aux=top + 3)
    for x, y, t, constant in loads:
        a("mad.lo.s32", d=3, a=CTAID_X, b=a.imm(x), c=a.param(0))
        a("mad.lo.s32", d=3, a=CTAID_Y, b=a.imm(y), c=3)
        a("mad.lo.s32", d=3, a=TID_X, b=a.imm(t), c=3)
        a("ld.global", d=4, a=3, imm=constant, width=4, aux=0)
        a("add.s32", d=1, a=1, b=4)
    a("st.global", d=1, a=0, width=4, aux=1)
    a("exit")
    return a


def rows(entries: list[Entry]) -> list[list[int]]:
    return [[array, *low, *high] for array, low, high in entries]


def run(
    gpu: Gpu | str, loads: list[Load], entries: list[Entry], grid: tuple[int, int] = (2, 2), pause: int = 0, **more: Any
) -> dict[str, Any]:
    """Counters; the sums are those of NumPy."""
    x = np.random.default_rng(1).integers(0, 1 << 20, SIZE // 4, dtype=np.int32)
    y = np.zeros(grid[0] * grid[1] * THREADS, np.int32)
    found = reader(loads, pause, grid[0]).run(
        gpu, grid=(*grid, 1), block=(THREADS, 1, 1), buffers=(x, y), preload=rows(entries), **more
    )
    threads = np.arange(THREADS)
    expected = [
        np.sum([x[(cx * bx + cy * by + ct * threads + c) // 4] for cx, cy, ct, c in loads], axis=0)
        for by, bx in product(range(grid[1]), range(grid[0]))
    ]
    assert np.array_equal(y.reshape(-1, THREADS), expected)
    counters: dict[str, Any] = found["counters"]
    return counters


def roomy(gpu: str, **changes: Any) -> Gpu:
    """A machine on which all tiles fit."""
    return variant(gpu, **{"smem_bytes": 262144, "mem_model": 0, **changes})


def expected(
    loads: list[Load], entries: list[Entry], grid: tuple[int, int], line: int, longest: int
) -> tuple[int, int, int, int]:
    """Lines of all tiles, requests that find theirs, requests that do not, ranges too long."""
    lines = hits = misses = skipped = 0
    for block in product(range(grid[0]), range(grid[1]), (0,)):
        held, long = tile(entries, [(FIRST, SIZE)], block, line, longest)
        tags = Tags(held, line)
        lines, skipped = lines + len(held), skipped + long
        for (x, y, t, constant), warp in product(loads, range(THREADS // 32)):
            start = FIRST + x * block[0] + y * block[1] + constant
            found, missing = tags.requests(start + t * thread for thread in range(32 * warp, 32 * warp + 32))
            hits, misses = hits + found, misses + missing * bool(held)
    return lines, hits, misses, skipped


words = st.integers(0, 500).map(lambda word: 4 * word)
loads_of = st.lists(st.tuples(words, words, st.sampled_from((0, 4, 8, 36, 128)), words), min_size=1, max_size=3)
forms = st.tuples(words, words, st.just(0), st.integers(-700, 14_000))


@st.composite
def entry(draw: st.DrawFn) -> Entry:
    """A range of any length, now and then empty, far too long or beyond the array."""
    low = draw(forms)
    more = draw(st.sampled_from((-130, -1, 0, 1, 3, 60, 127, 128, 129, 1000, 20_000)))
    return 0, low, (*low[:3], low[3] + more)


def at(low: int, high: int) -> Entry:
    """The same bytes for every block."""
    return 0, (0, 0, 0, low), (0, 0, 0, high)
