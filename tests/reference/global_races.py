"""Definition of a data race in global memory where only barriers order: every pair of accesses of a grid, by eye.

A kernel is a list of steps which all threads take in order. Fences, flags and atomics that hand something on are left
to kernels that are right or wrong as a whole (tests/races/planted.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WARP = 32


@dataclass(frozen=True)
class Step:
    """One instruction of every thread. op: "ld", "st", "atom", "barrier" or "grid", the barrier of all blocks; address:
    first byte that a thread of a block accesses, None where it takes no part."""

    op: str
    width: int = 4
    address: Callable[[int, int], int | None] = lambda block, thread: None


@dataclass(frozen=True)
class Access:
    """What one thread does to one byte. met: how often its block has met, and the grid."""

    step: int
    op: str
    block: int
    thread: int
    met: tuple[int, int]

    @property
    def warp(self) -> tuple[int, int]:
        return self.block, self.thread // WARP


def accesses(steps: Sequence[Step], blocks: int, threads: int) -> dict[int, list[Access]]:
    """Accesses by byte."""
    found: dict[int, list[Access]] = {}
    block_met = grid_met = 0
    for number, step in enumerate(steps):
        block_met += step.op in ("barrier", "grid")
        grid_met += step.op == "grid"
        if step.op in ("barrier", "grid"):
            continue
        for block, thread in itertools.product(range(blocks), range(threads)):
            first = step.address(block, thread)
            for byte in range(first, first + step.width) if first is not None else ():
                met = block_met, grid_met
                found.setdefault(byte, []).append(Access(number, step.op, block, thread, met))
    return found


def kind(a: Access, b: Access, strict: bool) -> str | None:
    """What two accesses to one byte are; None: they do not race. All stores store different values."""
    if (a.block, a.thread) == (b.block, b.thread) or a.op == b.op == "ld" or a.op == b.op == "atom":
        return None
    if a.met[1] != b.met[1] or (a.block == b.block and a.met[0] != b.met[0]):
        return None
    if a.warp != b.warp:
        return "race"
    if a.step == b.step:
        return "conflict" if a.op == "st" else None
    return "race" if strict else "lockstep"


def races(steps: Sequence[Step], blocks: int, threads: int, strict: bool) -> dict[int, set[tuple[str, frozenset[int]]]]:
    """Kind and steps of all pairs without order, by byte."""
    found = {}
    for byte, all_of_byte in accesses(steps, blocks, threads).items():
        kinds = ((kind(a, b, strict), frozenset((a.step, b.step))) for a, b in itertools.combinations(all_of_byte, 2))
        if pairs := {(name, pair) for name, pair in kinds if name}:
            found[byte] = pairs
    return found
