"""Definition of a data race in shared memory: every pair of accesses of a block, compared by eye.

A kernel is a list of steps which all threads take in order; barriers are steps. What a machine finds must be among
`races`, and for every byte that has a race it must find one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WARP = 32


@dataclass(frozen=True)
class Step:
    """One instruction of every thread. op: "ld", "st", "atom", "barrier" or "syncwarp"; address: first byte that a
    thread accesses, None where it takes no part (in a syncwarp, too)."""

    op: str
    width: int = 4
    address: Callable[[int], int | None] = lambda thread: None


@dataclass(frozen=True)
class Access:
    """What one thread does to one byte."""

    step: int
    op: str
    thread: int
    interval: int

    @property
    def warp(self) -> int:
        return self.thread // WARP


def accesses(steps: Sequence[Step], threads: int) -> dict[int, list[Access]]:
    """Accesses by byte."""
    found: dict[int, list[Access]] = {}
    interval = 0
    for number, step in enumerate(steps):
        interval += step.op == "barrier"
        if step.op in ("barrier", "syncwarp"):
            continue
        for thread in range(threads):
            first = step.address(thread)
            for byte in range(first, first + step.width) if first is not None else ():
                found.setdefault(byte, []).append(Access(number, step.op, thread, interval))
    return found


def informed(a: Access, b: Access, steps: Sequence[Step]) -> bool:
    """Does a chain of syncwarps lead from one access to a later one of another thread of the warp?"""
    know = {a.thread}
    lanes = range(a.warp * WARP, (a.warp + 1) * WARP)
    for step in steps[a.step + 1 : b.step]:
        met = {t for t in lanes if step.op == "syncwarp" and step.address(t) is not None}
        know |= met if met & know else set()
    return b.thread in know


def race(a: Access, b: Access, steps: Sequence[Step]) -> bool:
    """Are these two accesses to one byte without order but for lockstep, all stores storing different values?"""
    if a.thread == b.thread or a.interval != b.interval or a.op == b.op == "ld" or a.op == b.op == "atom":
        return False
    if a.warp != b.warp:
        return True
    if a.step == b.step:
        return a.op == "st"
    return not informed(a, b, steps)


def kind(a: Access, b: Access, strict: bool) -> str:
    """What a pair without order is: stores of one step conflict, lockstep orders what else a warp does."""
    if a.op == "st" and a.step == b.step:
        return "conflict"
    return "race" if strict or a.warp != b.warp else "lockstep"


def races(steps: Sequence[Step], threads: int, strict: bool) -> dict[int, set[tuple[str, frozenset[int]]]]:
    """Kind and steps of all pairs without order, by byte."""
    found = {}
    for byte, all_of_byte in accesses(steps, threads).items():
        pairs = {
            (kind(a, b, strict), frozenset((a.step, b.step)))
            for a, b in itertools.combinations(all_of_byte, 2)
            if race(a, b, steps)
        }
        if pairs:
            found[byte] = pairs
    return found


def uninitialised(steps: Sequence[Step], threads: int) -> tuple[set[int], set[int]]:
    """Steps that read bytes which nobody has written: whatever the order, and in some order."""
    surely, maybe = set(), set()
    for all_of_byte in accesses(steps, threads).values():
        for a in all_of_byte:
            writers = [b for b in all_of_byte if b.op != "ld" and b is not a]
            before = [b for b in writers if b.interval < a.interval or (b.warp == a.warp and b.step < a.step)]
            same = [b for b in writers if b.interval == a.interval and (b.warp != a.warp or b.step == a.step)]
            if a.op == "st" or before:
                continue
            maybe.add(a.step)
            if not same:
                surely.add(a.step)
    return surely, maybe
