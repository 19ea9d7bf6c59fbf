"""Formats of printf beside the C library's own."""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys

import pytest

from smmux.results.formatted import format_text

FLAGS = ["", "-", "+", " ", "#", "0", "-0", "+0", "#0", "+-", "# ", "#-"]
SIZES = ["", "9", ".0", ".3", "9.4", "12.0", "1.9"]
INTEGERS = [0, 1, -1, 77, -321, 0x7FFFFFFF, -0x80000000]
FLOATS = [0.0, -0.0, 0.5, -3.14159e5, 1e300, 1e-5, 123456789.125, float("inf"), -float("inf"), float("nan")]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs snprintf of a C library")


def in_c(form: str, value: ctypes.c_int | ctypes.c_double) -> str:
    text = ctypes.create_string_buffer(1000)
    ctypes.CDLL(None).snprintf(text, 1000, form.encode(), value)
    return text.value.decode()


@pytest.mark.parametrize("letter", "dioxXu")
def test_integers(letter: str) -> None:
    for flags, size, value in itertools.product(FLAGS, SIZES, INTEGERS):
        form = f"<%{flags}{size}{letter}>"
        assert format_text(form, [value & 0xFFFFFFFF], str) == in_c(form, ctypes.c_int(value)), (form, value)


@pytest.mark.parametrize("letter", "eEfFgGaA")
def test_floats(letter: str) -> None:
    for flags, size, value in itertools.product(FLAGS, SIZES, FLOATS):
        form = f"<%{flags}{size}{letter}>"
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        assert format_text(form, [bits], str) == in_c(form, ctypes.c_double(value)), (form, value)


def test_widths_and_precisions_of_arguments() -> None:
    """A negative width aligns to the left, a negative precision is none."""
    for width, precision in itertools.product((-7, 0, 7), (-2, 0, 4)):
        words = [width & 0xFFFFFFFF, precision & 0xFFFFFFFF, 42]
        assert format_text("<%*.*d>", words, str) == in_c(
            f"<%{width}.{precision}d>".replace(".-2", ""), ctypes.c_int(42)
        )


def test_texts_and_what_is_missing() -> None:
    assert format_text("%5s|%-5s|%.2s|%c|%%|%p", [1, 1, 1, 65, 0x1000], lambda address: "abc") == (
        "  abc|abc  |ab|A|%|0x1000"
    )
    assert format_text("[%p][%7p][%-7p]", [0, 0, 0], str) == "[(nil)][  (nil)][(nil)  ]"  # as an H200's driver prints
    assert format_text("%d and %d", [7], str) == "7 and %d"
