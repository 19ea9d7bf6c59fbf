"""Single machine operations, for the functions of `mathlib`."""

from __future__ import annotations

from typing import Any

from smmux.language.kernel_only import kernel_only


def ex2(x: Any) -> Any:
    """2 ** x as the special function unit computes it; exact for integers."""
    kernel_only("ex2")


def as_bits(x: Any) -> Any:
    """The bits of a float32 as a uint32."""
    kernel_only("as_bits")


def as_float(x: Any) -> Any:
    """The float32 with these bits."""
    kernel_only("as_float")


def high_word(x: Any) -> Any:
    """The upper 32 bits of a float64 as a uint32."""
    kernel_only("high_word")


def low_word(x: Any) -> Any:
    """The lower 32 bits of a float64 as a uint32."""
    kernel_only("low_word")


def from_words(high: Any, low: Any) -> Any:
    """The float64 with these upper and lower 32 bits."""
    kernel_only("from_words")


def nearest(x: Any) -> Any:
    """The nearest integer as a float, halves to even."""
    kernel_only("nearest")


def truncated(x: Any) -> Any:
    """The integer next to x on the way to zero, as a float."""
    kernel_only("truncated")


def lowered(x: Any) -> Any:
    """The nearest integer at or below x, as a float."""
    kernel_only("lowered")


def raised(x: Any) -> Any:
    """The nearest integer at or above x, as a float."""
    kernel_only("raised")


def elements(operands: Any, *index: Any) -> Any:
    """The elements of arrays at one index, as a tuple; numbers as they are."""
    kernel_only("elements")


def applied(function: Any, values: Any) -> Any:
    """A function of NumPy's of these numbers."""
    kernel_only("applied")
