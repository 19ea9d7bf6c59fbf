"""Integer operations, predicates and warp operations of compiled code, in all their modes, make what a card made."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sass.single import run_lanes

VECTORS = Path(__file__).parents[2] / "experiments" / "hardware" / "hopper" / "vectors" / "vectors_integer.npz"
ACROSS = ("SHFL", "VOTE", "MATCH", "REDUX", "R2UR", "ELECT")
"""Operations that were measured with some lanes inactive."""


@cache
def card() -> dict[str, NDArray[np.generic]]:
    """The arrays of the vectors, by name (see integer_vectors.py)."""
    with np.load(VECTORS) as file:
        return dict(file)


def forms() -> list[str]:
    """The texts of the instructions that were measured."""
    return [name for name in card() if f"{name} predicates" in card()]


@pytest.mark.parametrize("text", forms())
def test_an_operation_makes_what_the_card_made(text: str) -> None:
    inputs, flags, active = card()["inputs"], card()["predicates"], card()["active"]
    registers = {8 + 4 * s + part: inputs[:, s, part] for s in range(3) for part in range(2)}
    registers |= {24: np.full(len(flags), 7, np.uint32), 25: np.full(len(flags), 9, np.uint32)}
    code = [f"@P2 {text}" if text.startswith(ACROSS) else text]
    code += ["MOV R24, UR8"] if "UR8" in text else []
    found, bits = run_lanes(code, registers, [24, 25], {0: flags & 1, 1: flags >> 1 & 1, 2: active})
    np.testing.assert_array_equal(found.T, card()[text])
    np.testing.assert_array_equal(bits, card()[f"{text} predicates"])
