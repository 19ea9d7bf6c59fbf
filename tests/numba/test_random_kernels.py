"""Random kernels leave the same bits here, in both schedules and on two machines, as under Numba's simulator."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.numba.differential import RUNS, difference, in_turn
from tests.numba.random_kernels import BARRIER, generate, render


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_same_bits(first: int) -> None:
    for seed in range(first, first + 10):
        case = generate(Random(seed))
        runs = RUNS[seed % 2][seed // 2 % 2 :][:1]
        assert not (found := difference(case, runs)), f"seed {seed}: {found}\n{case.text}"


@pytest.mark.parametrize(
    "first", [*range(1000, 1080, 10), *(pytest.param(first, marks=pytest.mark.slow) for first in range(1080, 1240, 10))]
)
def test_same_bits_of_virtual_blocks(first: int) -> None:
    """Each kernel as written and in one transformed form, here and, as printed, under Numba's simulator.

    Sixteen seeds in a row have all combinations of forms, schedules and machines.
    """
    refused: Counter[str] = Counter()
    for seed in range(first, first + 10):
        case = generate(Random(seed), 1)
        assert not (found := difference(case, *in_turn(seed), refused)), f"seed {seed}: {found}\n{case.text}"
    assert refused.total() <= 3, refused


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False), variant=st.integers(0, 1))
def test_same_bits_of_what_hypothesis_draws(rng: Random, variant: int) -> None:
    case = generate(rng, 3)
    assert not (found := difference(case, RUNS[variant])), f"{found}\n{case.text}"


def test_the_generator_uses_the_language() -> None:
    texts = [generate(Random(seed)).text for seed in range(200)]
    for word in (
        "while ",
        "for ",
        "if ",
        "elif ",
        "else:",
        "break",
        "continue",
        BARRIER,
        "atomic.max",
        "selp",
        "d0(",
        "lf[",
        "sf[",
    ):
        assert sum(word in text for text in texts) >= 20, word
    assert all(len(re.findall(r"^    ", text, re.MULTILINE)) > 30 for text in texts)


def test_a_seed_is_a_kernel() -> None:
    first, second = generate(Random(5)), generate(Random(5))
    assert first.text == second.text
    assert render(first.body, 1) in first.text
