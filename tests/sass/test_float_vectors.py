"""Floating-point operations of compiled code make what a card made, bit for bit."""

from __future__ import annotations

import pytest

from experiments.hardware.hopper.instruction_vectors import FORMS
from tests.sass.vectors import differences

INTEGER = {name: slots for name, slots in FORMS["integer"].items() if name.startswith("I2F")}
EXACT = [
    (kind, name, slots)
    for kind, forms in {**FORMS, "integer": INTEGER}.items()
    for name, slots in forms.items()
    if not name.startswith(("MUFU", "F2FP.E", "F2FP.UNPACK"))
]


@pytest.mark.parametrize(("kind", "name", "slots"), EXACT, ids=[name for _, name, _ in EXACT])
def test_a_form_makes_what_the_card_made(kind: str, name: str, slots: str) -> None:
    assert differences(kind, name, slots) == []
