"""Random kernels leave the same bits here, in both schedules and on two machines, as under Numba's simulator."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.numba.differential import RUNS, difference, in_turn
from tests.numba.kernel_types import VALUES
from tests.numba.random_kernels import BARRIER, generate, render


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_same_bits(first: int) -> None:
    for seed in range(first, first + 4):
        case = generate(Random(seed), 1, every=seed % 4 > 0)
        runs = RUNS[seed % 2][seed // 2 % 3 :][:1]
        assert not (found := difference(case, runs)), f"seed {seed}: {found}\n{case.text}"


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [1000, 1003, *(pytest.param(first, marks=pytest.mark.slow) for first in range(1006, 1120, 3))]
)
def test_same_bits_of_virtual_blocks(first: int) -> None:
    """Each kernel as written and in one transformed form, here and, as printed, under Numba's simulator.

    Forty-eight seeds in a row have all combinations of forms, schedules and machines.
    """
    refused: Counter[str] = Counter()
    for seed in range(first, first + 3):
        case = generate(Random(seed), 1)
        assert not (found := difference(case, *in_turn(seed), refused)), f"seed {seed}: {found}\n{case.text}"
    assert refused.total() <= 1, refused


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False), variant=st.integers(0, 1))
def test_same_bits_of_what_hypothesis_draws(rng: Random, variant: int) -> None:
    case = generate(rng, 3)
    assert not (found := difference(case, RUNS[variant])), f"{found}\n{case.text}"


WORDS = ("while ", "for ", "if ", "elif ", "else:", "break", "continue", BARRIER, "atomic.max", "selp", "function0(")
WORDS += ("atomic.cas", "[::-1]", "[2:34]", "[-", ".x1", "['x1']", "x3(", ".real", "conjugate", "math.fmod", "np.rint")
WORDS += ("TABLE_", "lh[", "sz[", "aq[", "ow[", "ob", "ly[", "total_d", "<<=")


def test_the_generator_uses_the_language() -> None:
    texts = [generate(Random(seed)).text for seed in range(200)]
    for word in WORDS:
        assert sum(word in text for text in texts) >= 20, word
    assert all(len(re.findall(r"^    ", text, re.MULTILINE)) > 30 for text in texts)


def test_every_type_meets_every_other() -> None:
    """Among kernels of all types; those of the narrow language have no type of 64 bits."""
    met = {pair for seed in range(200) for pair in itertools.permutations(generate(Random(seed)).kinds, 2)}
    assert met == set(itertools.permutations(VALUES, 2))
    for seed in range(20):
        text = generate(Random(seed), every=False).text
        assert not re.search(r"64\(|float16\(|, (int64|uint64|float64|float16)\)", text)


def test_a_seed_is_a_kernel() -> None:
    first, second = generate(Random(5)), generate(Random(5))
    assert first.text == second.text
    assert render(first.body, 1) in first.text
