"""String matching: the automaton against an independent library, every position of every kernel, and bad input."""

from __future__ import annotations

from collections.abc import Sequence

import ahocorasick
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from experiments.programs import ac, corpora
from experiments.programs.automaton import Automaton
from smmux import models
from smmux.benchmarks import WrongOutputError

ENGLISH = corpora.text("english", 9000)
WORDS = corpora.patterns("english", 2000)


def letters(text: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8)


def by_library(text: bytes, patterns: Sequence[bytes]) -> dict[int, set[int]]:
    """The numbers of the patterns that end at each position, by pyahocorasick."""
    automaton = ahocorasick.Automaton()
    for i, pattern in enumerate(patterns):
        automaton.add_word(pattern.decode("latin-1"), i)
    automaton.make_automaton()
    ends: dict[int, set[int]] = {}
    for end, number in automaton.iter(text.decode("latin-1")):
        ends.setdefault(end, set()).add(number)
    return ends


def as_matches(text: bytes, patterns: Sequence[bytes]) -> ac.Matches:
    ends = by_library(text, patterns)
    count = [len(ends.get(i, ())) for i in range(len(text))]
    longest = [max(ends.get(i, (-1,)), key=lambda n: len(patterns[n]) if n >= 0 else 0) for i in range(len(text))]
    return ac.Matches(np.array(count, np.int32), np.array(longest, np.int32))


def agree(found: ac.Matches, expected: ac.Matches) -> None:
    assert found.count.tolist() == expected.count.tolist()
    assert found.longest.tolist() == expected.longest.tolist()


def walked(text: bytes, automaton: Automaton) -> ac.Matches:
    state, states = 0, []
    for byte in text:
        state = automaton.table[state, byte]
        states.append(state)
    assert [s >= automaton.first_match for s in states] == [automaton.matches[s] > 0 for s in states]
    return ac.Matches(automaton.matches[states], automaton.longest[states])


SHORT = st.lists(st.binary(min_size=1, max_size=6).map(lambda b: bytes(x % 3 for x in b)), min_size=1, max_size=20)


@given(SHORT, st.binary(min_size=1, max_size=80).map(lambda b: bytes(x % 4 for x in b)))
def test_automaton_and_reference_find_what_the_library_finds(patterns: list[bytes], text: bytes) -> None:
    """Patterns over three letters, so that they overlap and end in one another; the text has a fourth."""
    automaton = Automaton.of(patterns)
    assert automaton.patterns == tuple(dict.fromkeys(patterns))
    expected = as_matches(text, automaton.patterns)
    agree(walked(text, automaton), expected)
    agree(ac.occurrences(letters(text), automaton.patterns), expected)


@pytest.mark.parametrize("kind", corpora.KINDS)
def test_many_patterns_in_a_long_text(kind: str) -> None:
    patterns = corpora.patterns(kind, 2000)
    text = corpora.text(kind, 50_000, patterns)
    expected = as_matches(text.tobytes(), patterns)
    assert expected.count.sum() > 100
    agree(ac.occurrences(text, patterns), expected)


@pytest.mark.parametrize("count", [3000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_as_many_states_as_patterns_have_beginnings(count: int) -> None:
    patterns = corpora.patterns("random", count)
    automaton = Automaton.of(patterns)
    assert automaton.states == len({p[:n] for p in patterns for n in range(len(p) + 1)})
    assert automaton.states - automaton.first_match == np.count_nonzero(automaton.matches) >= count


@pytest.mark.quick
@pytest.mark.parametrize("table", ac.TABLES)
@pytest.mark.parametrize("approach", ac.APPROACHES)
def test_kernels_find_what_the_library_finds(approach: str, table: str) -> None:
    """Three blocks, the last one of which has no text for most of its threads."""
    kernel, problem = ac.problem(
        ENGLISH, Automaton.of(WORDS), approach, table=table, expected=as_matches(ENGLISH.tobytes(), WORDS)
    )
    arguments = problem.arguments()
    kernel.simulate(problem.grid, problem.block, arguments, gpu="GTX285")
    problem.check(arguments)
    assert arguments[4].sum() > 30


@pytest.mark.quick
@pytest.mark.parametrize("approach", ac.APPROACHES)
@pytest.mark.parametrize("threads", [16, 128])
def test_matches_across_threads_and_blocks_are_found_once(threads: int, approach: str) -> None:
    """Every position ends a pattern of each length up to 65, the longest that is taken."""
    text = letters(b"a" * (threads * ac.CHUNK + 130))
    automaton = Automaton.of([b"a" * n for n in (1, 2, 7, 64, 65)])
    kernel, problem = ac.problem(text, automaton, approach, threads=threads, pitch=256)
    arguments = problem.arguments()
    kernel.simulate(problem.grid, problem.block, arguments, gpu="GTX285")
    problem.check(arguments)
    assert automaton.matches[arguments[3]].sum() == sum(len(text) - n + 1 for n in (1, 2, 7, 64, 65))


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        (b"abc", [b"abcdefghij", b"bc"]),  # shorter than the longest pattern
        (b"x", [b"x"]),
        (b"aXbXab", [b"ab", b"ab", b"b"]),  # given twice
        (bytes(range(256)) * 3, [b"\x00\x01", b"\xff\x00", b"\xff"]),  # all bytes, and the one that fills the block
        (b"\x00" * 70, [b"\x00", b"\x00\x00\x00"]),
        ("naïve".encode() * 20, ["ï".encode()]),  # bytes that no other pattern has
    ],
)
@pytest.mark.parametrize("approach", ["GM", "SM-2"])
def test_odd_texts_and_patterns(text: bytes, patterns: list[bytes], approach: str) -> None:
    automaton = Automaton.of(patterns)
    expected = as_matches(text, automaton.patterns)
    kernel, problem = ac.problem(letters(text), automaton, approach, threads=16, expected=expected)
    arguments = problem.arguments()
    kernel.simulate(problem.grid, problem.block, arguments, gpu="GTX285")
    problem.check(arguments)


@pytest.mark.parametrize(
    ("patterns", "kind", "message"),
    [
        ([b"a", b""], ValueError, "an empty pattern occurs everywhere"),
        ([], ValueError, "there are no patterns"),
        ([b"a", "text"], TypeError, r"pattern 1 must be bytes, not str; a text has to be encoded"),
        ([7], TypeError, "pattern 0 must be bytes, not int"),
    ],
)
def test_patterns_without_meaning_are_refused(patterns: list[bytes], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Automaton.of(patterns)


def test_texts_and_launches_without_meaning_are_refused() -> None:
    automaton = Automaton.of([b"ab"])
    with pytest.raises(ValueError, match="the text is empty"):
        ac.problem(letters(b""), automaton, "GM")
    with pytest.raises(TypeError, match="1-d array of uint8, not a 1-d one of int32"):
        ac.problem(np.zeros(8, np.int32), automaton, "GM")
    with pytest.raises(ValueError, match="longest pattern has 66 bytes; these kernels take up to 65"):
        ac.problem(ENGLISH, Automaton.of([b"a" * 66]), "GM")
    with pytest.raises(ValueError, match="threads must be one of 16, 32"):
        ac.problem(ENGLISH, automaton, "GM", threads=48)
    with pytest.raises(ValueError, match="pitch must be at least 256 words"):
        ac.problem(ENGLISH, automaton, "GM", pitch=100)
    with pytest.raises(KeyError, match="there are approaches GM, SM-1"):
        ac.problem(ENGLISH, automaton, "SM-3")
    with pytest.raises(ValueError, match="count must be from 1 to"):
        corpora.patterns("english", 10**6)
    with pytest.raises(KeyError, match="there are english, random"):
        corpora.text("dna", 100)


def test_a_match_too_few_or_too_many_is_noticed() -> None:
    kernel, problem = ac.problem(ENGLISH, Automaton.of(WORDS), "SM-1")
    right = problem.arguments()
    kernel.simulate(problem.grid, problem.block, right, gpu="GTX285")
    ends = np.flatnonzero(right[3])
    for position, state in ((ends[3], 0), (ends[0] - 1, right[3][ends[0]]), (ends[0], right[3][ends[0]] - 1)):
        wrong = [array.copy() if isinstance(array, np.ndarray) else array for array in right]
        wrong[3][position] = state
        with pytest.raises(WrongOutputError, match="AC: "):
            problem.check(tuple(wrong))
    right[4][0] += 1
    with pytest.raises(WrongOutputError, match="positions found by threads"):
        problem.check(right)


def test_texts_and_patterns_are_always_the_same() -> None:
    """A shorter text begins a longer one; fewer patterns are the first of more."""
    assert (corpora.text("english", 5000) == ENGLISH[:5000]).all()
    assert corpora.patterns("random", 50) == corpora.patterns("random", 5000)[:50]
    for kind in corpora.KINDS:
        patterns = corpora.patterns(kind, 20_000)
        assert len(set(patterns)) == 20_000
        assert {len(p) for p in patterns} <= set(range(corpora.SHORTEST, corpora.LONGEST + 1))


PLACES = {
    "SM-1": lambda group, lane, j: 16 * (16 * group + lane) + j,
    "SM-2": lambda group, lane, j: 256 * group + 16 * j + lane,
    "padded": lambda group, lane, j: 17 * (16 * group + lane) + j,
    "diagonal": lambda group, lane, j: 256 * group + 16 * j + (lane + j) % 16,
}


@pytest.mark.parametrize(
    ("approach", "stores", "reads"), [("SM-1", 16, 1024), ("SM-2", 256, 64), ("padded", 16, 64), ("diagonal", 16, 64)]
)
def test_bank_passes_of_a_kilobyte_and_sixteen_threads(approach: str, stores: int, reads: int) -> None:
    """As counted by hand (spec C2), by the model of the banks, and by the machine, on which patterns have one byte."""
    place, lanes = PLACES[approach], range(16)
    by_model = [
        sum(
            models.bank_passes([4 * place(0, *where(k, lane)) for lane in lanes], gpu="GTX285").passes
            for k in range(16)
        )
        for where in (lambda k, lane: (k, lane), lambda k, lane: (lane, k))  # stores: word `lane` of thread k
    ]
    assert [by_model[0], 4 * by_model[1]] == [stores, reads]
    kernel, problem = ac.problem(ENGLISH[:1024], Automaton.of([b"e"]), approach, threads=16)
    arguments = problem.arguments()
    result = kernel.simulate(problem.grid, problem.block, arguments, gpu="GTX285")
    problem.check(arguments)
    assert result["shared_passes"] == stores + reads
    assert result["global_loads"] == 16
