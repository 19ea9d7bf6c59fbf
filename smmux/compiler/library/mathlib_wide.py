"""Functions of float32, in the kernel language itself, that are computed in float64 and then rounded."""

from __future__ import annotations

from smmux.compiler.library.mathlib64 import gamma_function, powers
from smmux.language.types import float32, float64


def gamma(x):
    """Gamma function."""
    return float32(gamma_function.gamma(float64(x)))


def lgamma(x):
    """Logarithm of the magnitude of the gamma function."""
    return float32(gamma_function.lgamma(float64(x)))


def cbrt(x):
    """Cube root."""
    return float32(powers.cbrt(float64(x)))
