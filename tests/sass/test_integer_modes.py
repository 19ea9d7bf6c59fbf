"""Integer operations, predicates and warp operations of compiled code, in all their modes, make what a card made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smmux.compiler.sass.lowering.rows import Refused
from tests.sass.single import run_lanes
from tests.sass.vectors import card, check, flags_of, sources

FILE = "vectors_integer"
ACROSS = ("SHFL", "VOTE", "MATCH", "REDUX", "R2UR", "ELECT")
"""Operations that were measured with some lanes inactive."""


def forms() -> list[str]:
    """The texts of the instructions that were measured."""
    return [name for name in card(FILE) if f"{name} predicates" in card(FILE)]


@pytest.mark.parametrize("text", forms())
def test_an_operation_makes_what_the_card_made(text: str) -> None:
    arrays = card(FILE)
    code = [f"@P2 {text}" if text.startswith(ACROSS) else text]
    code += ["MOV R24, UR8"] if "UR8" in text else []
    predicates = flags_of(arrays["predicates"]) | {2: arrays["active"]}
    check(FILE, text, code, sources(arrays["inputs"], (7, 9)), predicates)


def test_a_product_from_which_zero_is_taken_carries() -> None:
    """As IADD3 does: of a negated term ~c and 1 are added. So the next words of a difference borrow nothing."""
    a, b = np.full(32, 0xFFFFFFF0, np.uint32), np.full(32, 3, np.uint32)
    low, high = (np.where(np.arange(32) % 2, 0, value).astype(np.uint32) for value in (1, 7))
    registers = {8: a, 12: b, 16: low, 17: high}
    found, flags = run_lanes(["IMAD.WIDE.U32 R24, P0, R8, R12, -R16"], registers, [24, 25])
    product, taken = 0xFFFFFFF0 * 3, [int(x) | int(y) << 32 for x, y in zip(low, high, strict=True)]
    assert [int(x) | int(y) << 32 for x, y in found.T] == [(product - c) % (1 << 64) for c in taken]
    assert [int(bits) & 1 for bits in flags] == [int(product >= c) for c in taken]


@pytest.mark.parametrize(
    ("word", "mode"), [("", np.rint), (".TRUNC", np.trunc), (".FLOOR", np.floor), (".CEIL", np.ceil)]
)
def test_two_floats_become_bytes(word: str, mode: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.uniform(-40, 300, 32).astype(np.float32) for _ in range(2))
    c = rng.integers(0, 1 << 32, 32, np.uint32)
    found, _ = run_lanes(
        [f"F2IP.U8.F32{word}.NTZ R24, R8, R12, R16"], {8: a.view(np.uint32), 12: b.view(np.uint32), 16: c}, [24]
    )
    upper, lower = (np.clip(mode(x), 0, 255).astype(np.uint32) for x in (a, b))
    assert np.array_equal(found[0], c << 16 | upper << 8 | lower)


def test_a_length_in_a_constant_bank_is_refused() -> None:
    """ptxas writes the place of a parameter where the bank stands, and drops the sign: a card would read elsewhere."""
    with pytest.raises(Refused, match="szext"):
        run_lanes(["SGXT.U32 R24, R8, c[0x2][0x164]"], {8: np.zeros(32, np.uint32)}, [24])
