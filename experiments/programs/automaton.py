"""The automaton of Aho and Corasick for many patterns at once, as a table of next states.

Goto and failure function are folded into one table: a row per state, a column per byte. The automaton's state stands
for the longest suffix of what it has read that begins a pattern. [Aho and Corasick, CACM 18(6), 1975]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smmux.benchmarks.base import frozen

__all__ = ["BYTES", "Automaton", "as_bytes"]

BYTES = 256
"""Columns of the table: the alphabet is that of all bytes, so that none lies outside of it."""

States = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """An automaton that finds all occurrences of its patterns, also those that overlap.

    patterns: without duplicates, in the order given. table: the next state by state and byte, int32[states, 256]; 0 is
    the state that it begins in. first_match: the states from this one on, and no others, are reached at the end of a
    pattern. matches: by state, how many patterns end there. longest: by state, the number of the longest of them in
    `patterns`, -1 where none ends; the others are its suffixes.
    """

    patterns: tuple[bytes, ...]
    table: States
    first_match: int
    matches: States
    longest: States

    @classmethod
    def of(cls, patterns: Iterable[bytes]) -> Automaton:
        """The automaton of some patterns; one that is given twice is found once.

        Raises TypeError for patterns that are not bytes, ValueError for an empty pattern and for none at all.
        """
        distinct = tuple(dict.fromkeys(as_bytes(p, f"pattern {i}") for i, p in enumerate(patterns)))
        if not distinct:
            raise ValueError("there are no patterns to look for")
        if b"" in distinct:
            raise ValueError("an empty pattern occurs everywhere; leave it out")
        depth, parent, byte, ends = _trie(distinct)
        table, failure = _folded(depth, parent, byte)
        longest = np.full(len(depth), -1, np.int32)
        longest[ends] = np.arange(len(distinct))
        matches = (longest >= 0).astype(np.int32)
        for level in _levels(depth):
            matches[level] += matches[failure[level]]
            longest[level] = np.where(longest[level] < 0, longest[failure[level]], longest[level])
        order = np.argsort(matches > 0, kind="stable")  # states where nothing ends come first
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order))
        table = number[table[order]]
        first = len(order) - int(np.count_nonzero(matches))
        return cls(distinct, frozen(table), first, frozen(matches[order]), frozen(longest[order]))

    @property
    def states(self) -> int:
        """Rows of the table."""
        return len(self.table)

    @property
    def reach(self) -> int:
        """Bytes of the longest pattern: a state does not depend on what lies farther back."""
        return max(map(len, self.patterns))

    def rows(self, pitch: int) -> States:
        """The table with `pitch` words between rows, of which the first 256 are the next states; read-only.

        Raises ValueError if rows do not fit.
        """
        if pitch < BYTES:
            raise ValueError(f"pitch must be at least {BYTES} words, not {pitch}")
        if pitch == BYTES:
            return self.table
        spaced = np.zeros((self.states, pitch), np.int32)
        spaced[:, :BYTES] = self.table
        return frozen(spaced)


def as_bytes(value: object, what: str) -> bytes:
    """The value if it is a string of bytes; raises TypeError otherwise, with the way to make one of a text."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    hint = "; a text has to be encoded, as in text.encode('latin-1')" if isinstance(value, str) else ""
    raise TypeError(f"{what} must be bytes, not {type(value).__name__}{hint}")


def _trie(patterns: tuple[bytes, ...]) -> tuple[States, States, NDArray[np.uint8], States]:
    """The tree of the patterns' beginnings: by state its depth, parent and last byte; by pattern the state of its end.

    States are numbered by depth.
    """
    lengths = np.array([len(p) for p in patterns])
    text = np.frombuffer(b"".join(patterns), np.uint8)
    start = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    at = np.zeros(len(patterns), np.int64)
    depths, parents, lasts = [np.zeros(1, np.int32)], [np.zeros(1, np.int32)], [np.zeros(1, np.uint8)]
    count = 1
    for depth in range(int(lengths.max())):
        longer = np.flatnonzero(lengths > depth)
        steps, which = np.unique(at[longer] * BYTES + text[start[longer] + depth], return_inverse=True)
        at[longer] = count + which
        count += len(steps)
        depths.append(np.full(len(steps), depth + 1, np.int32))
        parents.append((steps // BYTES).astype(np.int32))
        lasts.append((steps % BYTES).astype(np.uint8))
    return np.concatenate(depths), np.concatenate(parents), np.concatenate(lasts), at.astype(np.int32)


def _levels(depth: States) -> list[slice]:
    """The states of each depth from 1 on."""
    ends = np.searchsorted(depth, np.arange(1, int(depth[-1]) + 2)).tolist()
    return [slice(first, end) for first, end in zip(ends[:-1], ends[1:], strict=True)]


def _folded(depth: States, parent: States, byte: NDArray[np.uint8]) -> tuple[States, States]:
    """The table of next states, and by state its failure: the state of its longest proper suffix that begins a pattern.

    Rows are filled depth by depth: a state goes where its failure goes, but to its own children.
    """
    table = np.zeros((len(depth), BYTES), np.int32)
    failure = np.zeros(len(depth), np.int32)
    levels = _levels(depth)
    table[0, byte[levels[0]]] = np.arange(levels[0].start, levels[0].stop)
    for level, children in zip(levels, [*levels[1:], slice(0, 0)], strict=True):
        if level is not levels[0]:
            failure[level] = table[failure[parent[level]], byte[level]]
        table[level] = table[failure[level]]
        table[parent[children], byte[children]] = np.arange(children.start, children.stop)
    return table, failure
