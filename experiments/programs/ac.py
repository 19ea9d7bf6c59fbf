"""AC: all occurrences of many patterns in a text, by the automaton of Aho and Corasick.

A thread owns 64 bytes of the text. It reads as many bytes before them as the longest pattern has, so that the
automaton's state is that of the whole text, and writes the state wherever one of the patterns ends in its bytes.

Approaches: `GM` reads the text from global memory, a byte at a time. The others copy the block's bytes into shared
memory, half-warps reading words side by side, and differ in where word j of thread t lies there: `SM-1` one thread's
words after the other's, all in the same bank for 16 threads; `SM-2` word j of 16 threads side by side, so that each
thread has a bank of its own, as the words do that are stored together; `padded` as SM-1 with an unused word between
threads; `diagonal` as SM-2 with row j turned by j banks. `own copy` is SM-1, but each thread copies its own bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.programs import corpora
from experiments.programs.automaton import Automaton
from smmux import cuda, int32, uint32
from smmux.benchmarks.base import Problem, Workload, WrongOutputError, equal, frozen, poisoned
from smmux.language.textures import texture

__all__ = [
    "APPROACHES", "BLOCKS", "CHUNK", "PITCH", "TABLES", "WORKLOADS", "Matches", "kernel", "occurrences", "problem",
]  # fmt: skip

CHUNK = 64
"""Bytes of a thread: a multiple of 16 words, so that the words of 16 threads in a row begin in one bank."""
WORDS = CHUNK // 4
GROUP = 16
"""Threads whose accesses are served together."""
BLOCKS = (16, 32, 64, 128)
"""Threads of a block, with whose text 16 kB of shared memory are filled at most."""
THREADS = 64
"""Threads of a block unless others are asked for."""
MOST_REACH = CHUNK + 1
"""Bytes of the longest pattern that may be looked for: what a thread reads first is its neighbour's."""
PITCH = 288
"""Words between rows of the table: rows of 1 kB would all begin in two of eight memory partitions."""
MOST_STATES = 1 << 20
"""States of an automaton whose table the kernels can read: a gigabyte, as much as the card has."""
TABLES = ("texture", "global")
"""Where the table of the automaton is."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
HASH_BITS = 22
SHIFT = np.uint64(64 - HASH_BITS)
"""Of a hash these first bits are looked up."""


@cuda.jit(device=True)
def linear(group, lane, j, head):
    """Word j of a thread, that of a lane of a group of 16, behind `head` words of the last thread of group -1."""
    return head + WORDS * (GROUP * group + lane) + j


@cuda.jit(device=True)
def padded(group, lane, j, head):
    """As `linear`, with a word between threads."""
    return head + 1 + (WORDS + 1) * (GROUP * group + lane) + j


@cuda.jit(device=True)
def transposed(group, lane, j, head):
    """Word j of 16 threads side by side."""
    return GROUP * (head + WORDS * group + j) + lane


@cuda.jit(device=True)
def diagonal(group, lane, j, head):
    """As `transposed`, with row j turned by j."""
    return GROUP * (head + WORDS * group + j) + ((lane + j) & 15)


@dataclass(frozen=True, slots=True)
class Approach:
    """Where words lie in shared memory (place: None for not at all), how many for so many threads and head words, and
    whether threads copy their own bytes."""

    place: Any = None
    words: Callable[[int, int], int] = lambda threads, head: 0
    own: bool = False

    @property
    def words_read(self) -> bool:
        """Whether the text is read as words."""
        return self.place is not None and not self.own


def _words(threads: int, head: int) -> int:
    return head + WORDS * threads


def _words_in_rows(threads: int, head: int) -> int:
    return GROUP * head + WORDS * threads


APPROACHES = {
    "GM": Approach(),
    "SM-1": Approach(linear, _words),
    "SM-2": Approach(transposed, _words_in_rows),
    "padded": Approach(padded, lambda threads, head: head + 1 + (WORDS + 1) * threads),
    "diagonal": Approach(diagonal, _words_in_rows),
    "own copy": Approach(linear, _words, own=True),
}
"""Approaches by name, the seed's three first."""


@cache
def kernel(approach: str, threads: int, head: int) -> Any:
    """The kernel of an approach for blocks of so many threads, which read `head` words before their bytes.

    Its arguments are those of `problem`. Raises KeyError for an unknown approach.
    """
    how = APPROACHES[approach]
    if how.place is None:
        return _from_global(head)
    return _from_shared(how.place, how.words(threads, head), threads, head, how.own)


def _from_global(head: int) -> Any:
    @cuda.jit
    def match(letters, table, first_match, ends, found):
        g = cuda.grid(1)
        start = int32(CHUNK * g)
        state, count = 0, 0
        for p in range(int32(start - 4 * head if g else 0), int32(start + CHUNK)):
            assert p >= 0
            assert 0 <= state < MOST_STATES
            state = table[state, letters[p]]
            if state >= first_match and p >= start and p < len(ends):
                ends[p] = state
                count += 1
        found[g] = count

    return match


def _from_shared(place: Any, size: int, threads: int, head: int, own: bool) -> Any:
    groups = threads // GROUP

    @cuda.jit
    def match(words, table, first_match, ends, found):
        staged = cuda.shared.array(size, uint32)
        letters = staged.view(np.uint8)
        t = cuda.threadIdx.x
        group, lane = t >> 4, t & 15
        base = cuda.blockIdx.x * (threads * WORDS)
        g = cuda.grid(1)
        if own:  # bytes of the text, not words
            first = 4 * place(group, lane, 0, head)
            for i in range(-4 * head if t == 0 and g else 0, CHUNK):
                letters[first + i] = words[CHUNK * g + i]
        else:  # all 16 words that a half-warp reads are of one thread
            for k in range(WORDS):
                staged[place(groups * k >> 4, (groups * k & 15) + group, lane, head)] = words[base + threads * k + t]
            if head > 0 and t < head and cuda.blockIdx.x > 0:
                staged[place(-1, 15, WORDS - head + t, head)] = words[base - head + t]
        cuda.syncthreads()
        group_before, lane_before = (t - 1) >> 4, (t - 1) & 15
        state, count = 0, 0
        for j in range(-head if g else 0, WORDS):
            word = place(group, lane, j, head) if j >= 0 else place(group_before, lane_before, WORDS + j, head)
            first = int32(4 * word)
            assert first >= 0
            for b in range(4):
                assert 0 <= state < MOST_STATES
                state = table[state, letters[first + b]]
                if state >= first_match and j >= 0:
                    p = int32(CHUNK * g + 4 * j + b)
                    if p < len(ends):
                        ends[p] = state
                        count += 1
        found[g] = count

    return match


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Where patterns end in a text.

    count: by position, how many end there. longest: by position, the number of the longest that does, -1 for none.
    """

    count: NDArray[np.int32]
    longest: NDArray[np.int32]


def occurrences(text: NDArray[np.uint8], patterns: tuple[bytes, ...]) -> Matches:
    """All occurrences of distinct patterns in a text, found without an automaton.

    Windows of each pattern's length whose hash begins as that of a pattern are compared with the patterns.
    """
    count = np.zeros(len(text), np.int32)
    longest = np.full(len(text), -1, np.int32)
    number = {pattern: i for i, pattern in enumerate(patterns)}
    raw, hashes = text.tobytes(), np.zeros(len(text), np.uint64)
    for length in range(1, min(max(map(len, patterns)), len(text)) + 1):
        hashes = hashes[: len(text) - length + 1] * FACTOR + text[length - 1 :]
        own = [pattern for pattern in patterns if len(pattern) == length]
        wanted = np.zeros(1 << HASH_BITS, bool)
        wanted[_hashes(own, length) >> SHIFT] = True
        for start in np.flatnonzero(wanted[hashes >> SHIFT]).tolist() if own else ():
            found = number.get(raw[start : start + length])
            if found is not None:
                count[start + length - 1] += 1
                longest[start + length - 1] = found  # lengths rise
    return Matches(count, longest)


def _hashes(patterns: list[bytes], length: int) -> NDArray[np.uint64]:
    letters = np.frombuffer(b"".join(patterns), np.uint8).reshape(len(patterns), length)
    hashes = np.zeros(len(patterns), np.uint64)
    for column in letters.T:
        hashes = hashes * FACTOR + column
    return hashes


def problem(
    text: ArrayLike,
    automaton: Automaton,
    approach: str,
    *,
    threads: int = THREADS,
    table: str = "texture",
    pitch: int = PITCH,
    expected: Matches | None = None,
) -> tuple[Any, Problem]:
    """The kernel that looks for an automaton's patterns in a text, and its launch.

    text: uint8[n], n > 0. threads: of a block, one of `BLOCKS`. table: where it is, one of `TABLES`. pitch: words
    between its rows. expected: what is to be found, by default what `occurrences` finds. The kernel's arguments are the
    text (as words of 32 bits where it is copied to shared memory), the table, `Automaton.first_match`, int32[n] for the
    states where patterns end, which the host has cleared, and int32[threads of the grid] for each thread's number of
    such positions.

    Raises KeyError for an unknown approach or place of the table, ValueError for an empty text, a pattern of more than
    65 bytes, another number of threads and a pitch below 256, TypeError for a text that is not of bytes.
    """
    letters = _letters(text)
    if approach not in APPROACHES or table not in TABLES:
        have = f"approaches {', '.join(APPROACHES)} with the table in {' or '.join(TABLES)}"
        raise KeyError(f"there is no {approach!r} with the table in {table!r}; there are {have}")
    if automaton.reach > MOST_REACH:
        raise ValueError(f"the longest pattern has {automaton.reach} bytes; these kernels take up to {MOST_REACH}")
    if threads not in BLOCKS:
        raise ValueError(f"threads must be one of {', '.join(map(str, BLOCKS))}, not {threads}")
    size, blocks = len(letters), -(-len(letters) // (threads * CHUNK))
    whole = np.zeros(blocks * threads * CHUNK, np.uint8)
    whole[:size] = letters
    given = frozen(whole.view(np.uint32) if APPROACHES[approach].words_read else whole)
    rows = automaton.rows(pitch)
    first = np.int32(automaton.first_match)
    launch = Problem(
        grid=(blocks,),
        block=(threads,),
        arguments=lambda: (
            given,
            texture(rows) if table == "texture" else rows,
            first,
            np.zeros(size, np.int32),
            poisoned(blocks * threads, np.int32),
        ),
        check=partial(_check, automaton, expected or occurrences(letters, automaton.patterns)),
    )
    return kernel(approach, threads, -(-(automaton.reach - 1) // 4)), launch


def _letters(text: ArrayLike) -> NDArray[np.uint8]:
    letters = np.asarray(text)
    if letters.dtype != np.uint8 or letters.ndim != 1:
        raise TypeError(f"a text is a 1-d array of uint8, not a {letters.ndim}-d one of {letters.dtype}")
    if not len(letters):
        raise ValueError("the text is empty")
    return letters


def _check(automaton: Automaton, expected: Matches, arguments: tuple[Any, ...]) -> None:
    """Raise `WrongOutputError` unless exactly the right patterns end at every position."""
    ends, found = arguments[3], arguments[4]
    if ends.min() < 0 or ends.max() >= automaton.states:
        raise WrongOutputError("AC: a position has a state that the automaton has not")
    equal("AC: patterns that end", automaton.matches[ends], expected.count)
    equal("AC: longest pattern that ends", automaton.longest[ends], expected.longest)
    of_thread = np.zeros(len(found) * CHUNK, bool)
    of_thread[: len(ends)] = expected.count > 0
    equal("AC: positions found by threads", found, of_thread.reshape(-1, CHUNK).sum(axis=1))


@lru_cache(maxsize=1)
def _english(size: int, patterns: int) -> tuple[NDArray[np.uint8], Automaton, Matches]:
    wanted = corpora.patterns("english", patterns)
    text = corpora.text("english", size)
    return text, Automaton.of(wanted), occurrences(text, wanted)


def _problem_of_workload(build: str, size: int, patterns: int) -> Problem:
    """An English-like text of so many bytes, and words to look for in it."""
    text, automaton, expected = _english(size, patterns)
    return problem(text, automaton, build, expected=expected)[1]


WORKLOADS = (
    Workload(
        name="AC",
        title="String matching, Aho-Corasick",
        kernels={name: kernel(name, THREADS, -(-(corpora.LONGEST - 1) // 4)) for name in APPROACHES},
        problems=_problem_of_workload,
        sizes={
            "default": {"size": 1_600_000, "patterns": 1000},
            "quick": {"size": 200_000, "patterns": 100},
            "tiny": {"size": 9000, "patterns": 100},
        },
    ),
)
