"""Single machine operations, for the functions of `mathlib`."""

from __future__ import annotations

from typing import Any

from smmux.language import kernel_only


def ex2(x: Any) -> Any:
    """2 ** x as the special function unit computes it; exact for integers."""
    kernel_only("ex2")


def as_bits(x: Any) -> Any:
    """The bits of a float32 as a uint32."""
    kernel_only("as_bits")


def as_float(x: Any) -> Any:
    """The float32 with these bits."""
    kernel_only("as_float")
