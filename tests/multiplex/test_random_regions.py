"""Random kernels with regions of every shape have the baseline's outputs, here and under Numba's simulator."""

from __future__ import annotations

from random import Random

import pytest

from tests.multiplex.differential import difference
from tests.multiplex.random_regions import generate

pytest.importorskip("numba")
SEEDS = 18


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, SEEDS, 6))
def test_same_outputs_and_no_races(first: int) -> None:
    for seed in range(first, first + 6):
        outcomes = difference(seed, simulated=seed % 2 == 0)
        wrong = {scheme: o for scheme, o in outcomes.items() if o and not o.startswith("refused")}
        assert not wrong, f"seed {seed}: {wrong}\n{generate(Random(seed)).text}"
        assert all("" == o or "shared array" in o or "cannot be left" in o for o in outcomes.values())


def test_the_generator_uses_what_it_is_for() -> None:
    texts = [generate(Random(seed)).text for seed in range(300)]
    for word in (
        "for k", "while k", "while True:", "cuda.blockIdx.x, ", "cuda.gridDim.x):", "if b ", "else:", "break",
        "atomic.add", "neighbour(", "smmux.overlap", "//= 2", "so[", "threadIdx.z", "return\n", "sb[t] = sa",
    ):  # fmt: skip
        assert sum(word in text for text in texts) >= 10, word
