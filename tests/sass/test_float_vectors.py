"""Floating-point operations of compiled code make what a card made, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.hardware.hopper.instruction_vectors import FORMS
from experiments.hardware.hopper.special_functions import SWEPT
from tests.sass.single import run_lanes
from tests.sass.vectors import FOLDER, card, check, flags_of, sources, text_of

INTEGER = {name: slots for name, slots in FORMS["integer"].items() if name.startswith("I2F")}
EXACT = [
    (kind, name, slots)
    for kind, forms in {**FORMS, "integer": INTEGER}.items()
    for name, slots in forms.items()
    if "TANH" not in name
]
TANH_ERROR = 2.0**-11
"""Relative, as PTX documents it."""


@pytest.mark.parametrize(("kind", "name", "slots"), EXACT, ids=[name for _, name, _ in EXACT])
def test_a_form_makes_what_the_card_made(kind: str, name: str, slots: str) -> None:
    arrays = card("vectors")
    registers, predicates = sources(arrays[f"inputs_{kind}"]), flags_of(arrays["predicates"])
    check("vectors", name, [text_of(name, slots)], registers, predicates)


@pytest.mark.parametrize("name", SWEPT)
def test_special_functions_make_what_the_card_made(name: str) -> None:
    """Patterns of all exponents, and some of the whole of a binade."""
    with np.load(FOLDER / "vectors" / "vectors_mufu.npz") as file:
        samples = {0: file[name], **{e: file[f"{name}_{e}"] for e in SWEPT[name]}}
    for exponent, expected in samples.items():
        step, first = (1 << 10, exponent << 23) if exponent else (1 << 18, 1)
        inputs = np.uint32(first) + np.arange(len(expected), dtype=np.uint32) * np.uint32(step)
        found, _ = run_lanes([f"MUFU.{name.upper()} R24, R8"], {8: inputs}, [24])
        if name != "tanh":
            assert np.array_equal(found[0], expected)
            continue
        close = np.isclose(
            found[0].view(np.float32), expected.view(np.float32), rtol=TANH_ERROR, atol=0, equal_nan=True
        )
        assert close.all()
