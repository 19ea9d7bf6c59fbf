"""By which rules numbers of two types meet in kernels, where neither the launch nor the decorator says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from smmux.errors import ConfigError

__all__ = ["TYPINGS", "current", "typing"]

TYPINGS = ("numpy", "numba")
VARIABLE = "SMMUX_TYPING"

_chosen: ContextVar[str] = ContextVar("smmux.typing")


@contextmanager
def typing(rules: str) -> Iterator[None]:
    """Compile kernels that are launched in this context by these rules: "numpy" for those of NEP 50, "numba" for those
    of Numba's compiler, whose integers are int64.

    An option `typing=` of the launch or of `cuda.jit` goes before; without a context the environment variable
    SMMUX_TYPING counts. Raises ConfigError for other rules.
    """
    token = _chosen.set(checked(rules, "typing"))
    try:
        yield
    finally:
        _chosen.reset(token)


def current() -> str:
    """The rules of this context."""
    return _chosen.get("") or checked(os.environ.get(VARIABLE) or TYPINGS[0], VARIABLE)


def checked(rules: str, name: str) -> str:
    """Rules that there are. Raises ConfigError for others."""
    if rules not in TYPINGS:
        raise ConfigError(f"{name} must be one of {', '.join(TYPINGS)}, not {rules!r}")
    return rules
