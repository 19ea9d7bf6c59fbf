"""Integer operations, predicates and warp operations of compiled code, in all their modes, make what a card made."""

from __future__ import annotations

import pytest

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
