"""Textbook kernels, each in some of all forms; `python -m tests.multiplex.every_form` tries each in all of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.multiplex.every_form import forms, managed, outcome, random, textbook
from tests.multiplex.kernels import kernel
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


RAISES = kernel("""
def raises(a, o):
    s = cuda.shared.array((4, 64), float32)
    t = cuda.threadIdx.x
    g = cuda.grid(1)
    if a[g] < 0:
        raise ValueError("negative", N)
    for r in range(4):
        s[r, t] = a[g] + r
    cuda.syncthreads()
    for r in range(4):
        if s[r, 63 - t] > 100:
            raise OverflowError
        o[g] += s[r, 63 - t]
""")


@pytest.mark.parametrize("name", [name for name, _ in forms(RAISES)])
def test_a_raise_stays_in_every_form(name: str) -> None:
    form = dict(forms(RAISES))[name]
    a = np.arange(768, dtype=np.float32) % 64
    for value, line, message in ((5, 0, ""), (-1, 7, "ValueError: negative, 64"), (98, 13, "OverflowError")):
        a[700] = value
        o = np.zeros_like(a)
        told = outcome(RAISES, form, 12, 64, [a, o], gpu="GTX480-16K", **managed(name))
        if message:
            assert told.startswith(f"fails: KernelRaisedError: {message}, ")
            assert f"at user.py:{line}," in told
        else:
            assert told == ""
            assert np.array_equal(o, (4 * a + 6).reshape(-1, 64)[:, ::-1].ravel())
