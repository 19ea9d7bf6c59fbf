"""Carve-outs: how a launch divides the memory that shared memory and the L1 of an SM have together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from smmux.errors import ConfigError, integer
from smmux.gpus.sources import CHANGED

__all__ = ["SIZES", "Carveout", "Carveouts", "from_plain", "plain", "present"]

Carveout = tuple[tuple[str, int | str, str], ...]
"""What a carve-out sets: parameter, value and source of each."""

Carveouts = tuple[tuple[int, Carveout], ...]
"""Carve-outs by the kB of shared memory that they have."""

SIZES = ("smem_bytes", "l1_bytes")
"""Parameters by which a machine is known to have a carve-out."""


def from_plain(name: str, carveouts: Mapping[Any, Mapping[str, Any]], known: Iterable[str]) -> Carveouts:
    """Carve-outs given as {kB: {parameter: value}}, as in `plain`; kB may be a text, as JSON has it.

    `smem_bytes` is the kB where it is not given; every carve-out has to say `l1_bytes`, and all of them the same
    parameters. Raises ConfigError for others.
    """
    parameters = set(known)
    found = []
    for key, values in carveouts.items():
        size = integer(f"{name}: carveouts", int(key) if isinstance(key, str) and key.isdecimal() else key, 1, 256)
        if not isinstance(values, Mapping):
            raise ConfigError(f"{name}: carveouts: {size} must be {{parameter: value}}, not {values!r}")
        row = {"smem_bytes": 1024 * size, **values}
        unknown = [parameter for parameter in row if parameter not in parameters]
        if unknown or "l1_bytes" not in row:
            what = f"there is no parameter {unknown[0]!r}" if unknown else "it needs l1_bytes, what is left for the L1"
            raise ConfigError(f"{name}: carveouts: {size}: {what}")
        found.append((size, tuple((parameter, value, CHANGED) for parameter, value in row.items())))
    if len({frozenset(parameter for parameter, _, _ in row) for _, row in found}) > 1:
        raise ConfigError(f"{name}: carveouts must all say the same parameters")
    return tuple(sorted(found))


def plain(carveouts: Carveouts) -> dict[str, dict[str, int | str]]:
    """Carve-outs as plain data."""
    return {str(size): {parameter: value for parameter, value, _ in row} for size, row in carveouts}


def present(carveouts: Carveouts, values: Mapping[str, Any]) -> Carveout | None:
    """The carve-out with the sizes of the machine that has these values; None for sizes that are no carve-out's."""
    for _, row in carveouts:
        if all(values[parameter] == value for parameter, value, _ in row if parameter in SIZES):
            return row
    return None
