"""Accesses are joined as far as the arguments' alignment allows, and no farther."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import cuda, float32


@cuda.jit
def sum_of_four(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    total = float32(0)
    for k in range(4):
        total += x[4 * i + k]
    y[i] = total


@pytest.mark.parametrize("first, loads", [(0, 1), (1, 4), (2, 2), (3, 4), (4, 1), (6, 2)])
@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K"])
def test_view_at_any_word(first: int, loads: int, gpu: str) -> None:
    memory = np.arange(300, dtype=np.float32)
    x, y = memory[first : first + 256], np.zeros(64, np.float32)
    found = sum_of_four.simulate(1, 64, (x, y), gpu=gpu)
    assert (y == x.reshape(-1, 4).sum(1)).all()
    assert found.counters["global_loads"] == 2 * loads


def test_alignment_counts_from_the_memory_that_views_share() -> None:
    """A view keeps its distance from the start of its array, wherever the host put that."""
    memory = np.arange(600, dtype=np.float32)
    a, b = memory[1:257], memory[262:518]
    for x, loads in ((a, 4), (b, 2)):
        y = np.zeros(64, np.float32)
        found = sum_of_four.simulate(1, 64, (x, y))
        assert (y == x.reshape(-1, 4).sum(1)).all()
        assert found.counters["global_loads"] == 2 * loads
