"""Which lines the L2 keeps, by which half of the chip they belong to and which half asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bench import Bench, Row

MB, PIECE = 1 << 20, 1 << 12
NEAR = 390
"""Clocks that a load from the L2 beside it takes at most."""
SIZES = (20, 24, *range(26, 65, 2), 68, 72)
ROUNDS = 6
WHO = ("own half", "other half", "any", "one half", "in turns")
"""Which multiprocessors ask for a piece: those beside the half that it belongs to, or beside the other one; any, but
always the same; those beside one half, whatever the piece; those of its own half and of the other one in turns."""


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """The half that each multiprocessor lies beside and each piece belongs to: true for that of multiprocessor 0."""

    multiprocessors: np.ndarray
    pieces: np.ndarray


def halves(bench: Bench, base: int, pieces: int) -> Halves:
    """Find both by the clocks of atomics, which go to the half that owns the piece."""
    card, few = bench.card, 64
    kernel, count = bench.module("l2")["owners"], card.multiprocessors
    out = card.alloc(2 * max(pieces, few * count))
    kernel(count, 1, base, np.int32(few), np.int32(-1), out)
    seen = card.get(out, few * count, np.uint16).reshape(count, few).astype(float)
    beside = np.array([np.corrcoef(seen[0], row)[0, 1] > 0 for row in seen])
    kernel(count, 1, base, np.int32(pieces), np.int32(0), out)
    clocks = card.get(out, pieces, np.uint16)
    card.free(out)
    border = np.percentile(clocks, (5, 95)).mean()
    return Halves(beside, clocks < border)


def shares(who: str, found: Halves, pieces: int, turn: int) -> list[list[int]]:
    """The pieces of each multiprocessor."""
    own: list[list[int]] = [[] for _ in found.multiprocessors]
    sides = {side: np.flatnonzero(found.multiprocessors == side) for side in (False, True)}
    for piece in range(pieces):
        home = bool(found.pieces[piece])
        side = {"own half": home, "other half": not home, "one half": True, "in turns": home ^ bool(turn)}.get(who)
        among: Any = range(len(own)) if side is None else sides[side]
        own[among[piece % len(among)]].append(piece)
    return own


def listed(turns: Sequence[list[list[int]]]) -> np.ndarray:
    """Lists of pieces as the kernel takes them."""
    most = max(len(own) for turn in turns for own in turn)
    table = np.full((2, len(turns[0]), most), -1, np.int32)
    for i, turn in enumerate(turns):
        for sm, own in enumerate(turn):
            table[i, sm, : len(own)] = own
    return table


def rounds_of(bench: Bench, base: int, table: np.ndarray, times: int = ROUNDS) -> tuple[np.ndarray, np.ndarray]:
    """Mean clocks of the loads of each round, and the part that was near."""
    card, (_, count, most) = bench.card, table.shape
    list_, out, begun = card.alloc(table.nbytes), card.alloc(8 * times * count), card.alloc(128)
    card.put(list_, table.ravel())
    numbers = np.int32(most), np.int32(times), np.uint32(NEAR)
    bench.module("l2")["rounds"](count, 1, base, list_, *numbers, begun, out)
    clocks, near = card.get(out, 2 * times * count, np.uint32).reshape(times, count, 2).sum(axis=1, dtype=float).T
    for address in (list_, out, begun):
        card.free(address)
    loads = np.array([32 * (table[i % 2] >= 0).sum() for i in range(times)])
    return clocks / loads, near / loads


def l2_rounds(bench: Bench) -> Iterator[Row]:
    """Rounds through so many megabytes: the part of the loads of the second and of the last round that the L2 beside
    them answers, and their clocks."""
    card = bench.card
    base, other, out = card.alloc(SIZES[-1] * MB), card.alloc(768 * MB), card.alloc(128)
    found = halves(bench, base, SIZES[-1] * MB // PIECE)
    for who in WHO:
        for size in SIZES:
            table = listed([shares(who, found, size * MB // PIECE, turn) for turn in (0, 1)])
            bench.module("l2")["sweep"](4 * card.multiprocessors, 512, other, np.int64(768 * MB // 16), out)
            clocks, near = rounds_of(bench, base, table)
            row = {f"near_{i + 1}": near[i] for i in (1, ROUNDS - 1)}
            yield {"who": who, "megabytes": size, **row, "clocks": clocks[-1]}


PROBES: dict[str, Any] = {"l2_rounds": l2_rounds}
