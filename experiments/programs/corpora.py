"""Texts and sets of patterns to look for in them, random and English-like, always the same ones.

Random texts are of uniform bytes, in which patterns are planted, since hardly any would occur by chance. English-like
ones are of words between spaces: vowels and consonants mostly alternate and are about as frequent as in English, words
as frequent as Zipf's law has it, and frequent ones short; patterns are words of the vocabulary.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from smmux.benchmarks.base import frozen

__all__ = ["KINDS", "LONGEST", "SHORTEST", "patterns", "text"]

KINDS = ("english", "random")
SHORTEST, LONGEST = 4, 16
"""Bytes of a pattern."""
PLANTED_EVERY = 256
"""Bytes of a random text per planted pattern."""
VOCABULARY = 60_000
VOWELS = {"e": 127, "a": 82, "o": 75, "i": 70, "u": 28, "y": 20}
CONSONANTS = {
    "t": 91, "n": 67, "s": 63, "h": 61, "r": 60, "d": 43, "l": 40, "c": 28, "m": 24, "w": 24, "f": 22, "g": 20,
    "p": 19, "b": 15, "v": 10, "k": 8, "j": 2, "x": 2, "q": 1, "z": 1,
}  # fmt: skip
"""Letters by how many there are among a thousand."""
ALTERNATION = 0.75
"""How often a vowel follows a consonant, and a consonant a vowel."""
JITTER = 1.5
"""Letters by which a frequent word may be longer than a rare one."""


def patterns(kind: str, count: int) -> tuple[bytes, ...]:
    """Distinct patterns of 4 to 16 bytes; those of a smaller count are the first ones of a larger.

    Raises KeyError for an unknown kind, ValueError if there are not so many.
    """
    known = _patterns(kind)
    if not 1 <= count <= len(known):
        raise ValueError(f"count must be from 1 to {len(known)}, not {count}")
    return known[:count]


def text(kind: str, size: int, planted: tuple[bytes, ...] = ()) -> NDArray[np.uint8]:
    """A read-only text of so many bytes.

    planted: the patterns that a random text contains here and there; an English-like one has its words anyway.
    """
    if size < 1:
        raise ValueError(f"size must be positive, not {size}")
    rng = np.random.default_rng(8)
    if _kind(kind) == "english":
        return frozen(_sentences(rng, size))
    letters = rng.integers(0, 256, size, dtype=np.uint8)
    for start in range(0, size, PLANTED_EVERY) if planted else ():
        pattern = planted[rng.integers(len(planted))]
        at = start + int(rng.integers(PLANTED_EVERY))
        letters[at : at + len(pattern)] = np.frombuffer(pattern, np.uint8)[: max(0, size - at)]
    return frozen(letters)


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise KeyError(f"no texts of kind {kind!r}; there are {', '.join(KINDS)}")
    return kind


@cache
def _patterns(kind: str) -> tuple[bytes, ...]:
    rng = np.random.default_rng(9)
    if _kind(kind) == "english":
        words = [word for word in vocabulary() if len(word) >= SHORTEST]
        return tuple(words[i] for i in rng.permutation(len(words)))
    lengths = rng.integers(SHORTEST, LONGEST + 1, VOCABULARY)
    letters = rng.integers(0, 256, (VOCABULARY, LONGEST), dtype=np.uint8)
    return tuple(dict.fromkeys(row[:n].tobytes() for row, n in zip(letters, lengths.tolist(), strict=True)))


@cache
def vocabulary() -> tuple[bytes, ...]:
    """Distinct words of 2 to 16 letters, the most frequent first."""
    rng = np.random.default_rng(10)
    lengths = 2 + rng.binomial(LONGEST - 2, 0.45, VOCABULARY)
    lengths = lengths[np.argsort(lengths + rng.normal(0, JITTER, VOCABULARY), kind="stable")]
    switches = rng.random((VOCABULARY, LONGEST)) < ALTERNATION
    vowel = np.cumsum(switches, axis=1) % 2 == 1
    letters = np.where(vowel, _letters(rng, VOWELS), _letters(rng, CONSONANTS))
    return tuple(dict.fromkeys(row[:n].tobytes() for row, n in zip(letters, lengths.tolist(), strict=True)))


def _letters(rng: np.random.Generator, frequencies: dict[str, int]) -> NDArray[np.uint8]:
    """Letters for all words, by their frequencies."""
    weights = np.array(list(frequencies.values()), float)
    codes = np.frombuffer("".join(frequencies).encode(), np.uint8)
    return codes[rng.choice(len(codes), (VOCABULARY, LONGEST), p=weights / weights.sum())]


def _sentences(rng: np.random.Generator, size: int) -> NDArray[np.uint8]:
    """Words by Zipf's law, with a space behind each."""
    words = vocabulary()
    shares = np.cumsum(1 / np.arange(1, len(words) + 1))
    count = size // 3 + 1  # a word and its space have three bytes at least
    drawn = np.searchsorted(shares, rng.random(count) * shares[-1])
    return np.frombuffer(b" ".join([words[i] for i in drawn.tolist()])[:size].ljust(size), np.uint8)
