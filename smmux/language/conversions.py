"""Numba's order of conversions between numbers: which of several signatures fits arguments best.

>>> better = best([("float32", "float32"), ("float64", "float64")], ("int64", "float64"))
>>> better
[1]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

__all__ = ["best"]

PROMOTE, SAFE, UNSAFE = 1, 2, 3

# From, to, the kind of conversion; the way back is unsafe. numba.core.typeconv.rules has the same list.
CONVERSIONS = (
    ("bool", "int8", SAFE), ("bool", "uint8", SAFE),
    ("int8", "int16", PROMOTE), ("int16", "int32", PROMOTE), ("int32", "int64", PROMOTE),
    ("uint8", "uint16", PROMOTE), ("uint16", "uint32", PROMOTE), ("uint32", "uint64", PROMOTE),
    ("uint8", "int16", SAFE), ("uint16", "int32", SAFE), ("uint32", "int64", SAFE),
    ("int8", "float16", SAFE), ("int16", "float32", SAFE), ("int32", "float64", SAFE),
    ("int16", "float16", UNSAFE), ("int32", "float32", UNSAFE),
    ("int64", "float64", SAFE), ("uint64", "float64", SAFE),
    ("float16", "float32", PROMOTE), ("float32", "float64", PROMOTE),
    ("complex64", "complex128", PROMOTE),
)  # fmt: skip
ONE_WAY = (("float32", "complex64", SAFE), ("float64", "complex128", SAFE))


@cache
def _conversions() -> dict[tuple[str, str], int]:
    """The worst step on the best way from one type to another, for all pairs that have a way."""
    ways = {(a, b): kind for a, b, kind in (*CONVERSIONS, *ONE_WAY)}
    for a, b, _ in CONVERSIONS:
        ways.setdefault((b, a), UNSAFE)
    names = sorted({name for pair in ways for name in pair})
    for middle in names:
        for a in names:
            for b in names:
                if a != b and (a, middle) in ways and (middle, b) in ways:
                    step = max(ways[a, middle], ways[middle, b])
                    ways[a, b] = min(step, ways.get((a, b), step))
    return ways


def best(candidates: Sequence[Sequence[str | None]], given: Sequence[str]) -> list[int]:
    """The numbers of the candidates that types can be converted to at the least cost; None is a type that fits."""
    costs = {i: _cost(candidate, given) for i, candidate in enumerate(candidates)}
    possible = {i: cost for i, cost in costs.items() if cost is not None}
    return [i for i, cost in possible.items() if cost == min(possible.values())]


def _cost(wanted: Sequence[str | None], given: Sequence[str]) -> tuple[int, int, int] | None:
    """How many arguments are converted at a loss, safely, and to a wider type; None if one cannot be converted."""
    counts = {PROMOTE: 0, SAFE: 0, UNSAFE: 0}
    for have, want in zip(given, wanted, strict=False):
        if want is None or have == want:
            continue
        kind = _conversions().get((have, want))
        if kind is None:
            return None
        counts[kind] += 1
    return counts[UNSAFE], counts[SAFE], counts[PROMOTE]
