"""Textbook kernels, each in some of all forms; `python -m tests.multiplex.every_form` tries each in all of them."""

from __future__ import annotations

import pytest

from tests.multiplex.every_form import forms, random, textbook
from tests.multiplex.textbook import TEXTBOOK

REFUSED = (  # of two kernels, and of random ones, which cannot be divided; the rest of two that exchange their arrays
    "refused: a second region begins here",
    "refused: 'later' is one array now and then another",
    "refused: a divided array is used by its elements alone",
)


def test_there_are_enough_of_them() -> None:
    names = [case.kernel.__name__ for case in TEXTBOOK]
    assert len(set(names)) == len(names) >= 82


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(TEXTBOOK)), ids=[case.kernel.__name__ for case in TEXTBOOK])
def test_textbook_kernels(number: int) -> None:
    case = TEXTBOOK[number]
    every = list(forms(case.kernel))
    name, form = every[(number if number % 3 else -number) % len(every)]
    told = textbook(case, name, form)
    assert not told or told.startswith(REFUSED), f"{name}: {told}"


def test_random_kernels() -> None:
    for name, told in random(3):
        assert not told or told.startswith(REFUSED), f"{name}: {told}"
