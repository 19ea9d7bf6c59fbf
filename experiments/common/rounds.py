"""The tries at the maximum of a chunk as a game of rounds, played apart from the simulator.

In a round all threads read the word, meet, those with a larger element store theirs, of which one wins, and meet again.
Which one wins is open: a rule says, or all are followed. Barriers count warps, and those that have left as arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from smmux.sweep import Record

__all__ = ["WINNERS", "all_outcomes", "play", "played"]

LANES = 32

Winner = Callable[[Sequence[int], Sequence[int]], int]
"""Chooses the stored value, given the threads that store, in their order, and their values."""


def _drawn(rng: np.random.Generator, threads: Sequence[int], values: Sequence[int]) -> int:
    return values[int(rng.integers(len(threads)))]


def winners() -> Mapping[str, Winner]:
    """The rules by name, each with random numbers of its own where it needs some."""
    return {
        "lowest thread": lambda threads, values: values[0],
        "highest thread": lambda threads, values: values[-1],
        "random thread": partial(_drawn, np.random.default_rng(3)),
        "smallest value": lambda threads, values: min(values),
        "largest value": lambda threads, values: max(values),
    }


WINNERS = tuple(winners())


def play(values: Sequence[int], wins: Winner, uniform: bool) -> tuple[int, int]:
    """What thread 0 writes for a chunk when its warp has left, and the rounds until the last thread has.

    uniform: all go on while the word changes (third try); else each does while its own value is larger (second try).
    """
    word, rounds, written = values[0], 0, None
    larger = [thread for thread, value in enumerate(values) if value > word]
    while True:
        rounds += 1
        before = word
        if larger:
            word = wins(larger, [values[thread] for thread in larger])
            larger = [thread for thread in larger if values[thread] > word]
        if written is None and not (word != before if uniform else larger and larger[0] < LANES):
            written = word
        if not (word != before if uniform else larger):
            assert written is not None
            return written, rounds


def played(chunks: NDArray[np.int32]) -> list[Record]:
    """Records of both tries under every rule: the share of right chunks, and the rounds on average and at most."""
    made = []
    rows = chunks.tolist()
    for name in WINNERS:
        for tried, uniform in (("try 2", False), ("try 3", True)):
            wins = winners()[name]
            results = [play(row, wins, uniform) for row in rows]
            rounds = [r for _, r in results]
            made.append(
                {"kind": "rounds", "try": tried, "winner": name, "chunks": len(rows), "threads": len(rows[0]),
                 "right": sum(got == max(row) for (got, _), row in zip(results, rows, strict=True)) / len(rows),
                 "mean_rounds": sum(rounds) / len(rounds), "most_rounds": max(rounds)}
            )  # fmt: skip
    return made


def all_outcomes(values: Iterable[int]) -> set[int]:
    """Every value that the third try can end with, whichever threads win."""
    given = list(values)
    reached, todo, ends = {given[0]}, [given[0]], set[int]()
    while todo:
        word = todo.pop()
        larger = {value for value in given if value > word}
        if not larger:
            ends.add(word)
        todo += larger - reached
        reached |= larger
    return ends
