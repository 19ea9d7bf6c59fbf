"""Products of matrices make what a card made, bit for bit: what is added how exactly is no standard's."""

from __future__ import annotations

import pytest

from experiments.hardware.hopper.probe_latency import MATRIX
from tests.sass.vectors import matrix_differences


@pytest.mark.parametrize("name", MATRIX)
def test_a_product_of_matrices_is_the_cards(name: str) -> None:
    assert matrix_differences(name) == 0
