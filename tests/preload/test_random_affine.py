"""Random kernels with affine indices: no element that a run loads lies outside of what the table names."""

from collections import Counter

import pytest

from tests.preload.random_affine import check

BATCH = 50


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_no_element_outside(first):
    outcomes = Counter(check(seed) for seed in range(first, first + BATCH))
    assert outcomes["tight"] > BATCH // 3
    assert outcomes["unknown"] < BATCH // 3


@pytest.mark.parametrize("seed", [5714])  # a loop left out the thread whose index is the limit of a maximum
def test_once_outside(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(200, 10_000, 1400))
def test_no_element_outside_of_many(first):
    for seed in range(first, first + 1400):
        check(seed)
