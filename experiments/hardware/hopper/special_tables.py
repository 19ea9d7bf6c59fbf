"""The tables of the special function unit, found in full sweeps of a card: `python -m
experiments.hardware.hopper.special_tables FOLDER`.

FOLDER has `whole_NAME.npz` of `run.py` for rcp, rsq, sqrt, ex2, lg2 and sin (four of them are `vectors/mufu_NAME.npz`).
A result is (constant + linear * x + quadratic * square(x)) cut off, with x the place in a segment: each input bounds
that sum from both sides, and in each segment exactly one row of the table's widths fits all of them. Widths and the
truncated square are those that M. Koscielnicki found for a card of 2006 (envytools, nvhw/sfu.c); the rows are printed
as csrc/tables/mufu.def has them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
FRACTIONS = np.arange(1 << 23, dtype=np.int64)
ONE = 1 << 23


@dataclass(frozen=True)
class Segment:
    """What is known of a row. x: the places. square: what the quadratic term multiplies. low, high: bounds of the sum
    there. unit: what a step of the constant adds. bias: what is added to it. guess: linear and quadratic terms,
    near which the row is."""

    x: Longs
    square: Longs
    low: Longs
    high: Longs
    unit: int
    bias: int
    guess: tuple[int, int]


def square(x: Longs) -> Longs:
    """The upper bits of x * x of 17 bits, of a squarer that drops the lowest bits of each partial product."""
    parts = [np.where(x >> i & 1, x >> (18 - i), 0) for i in range(17)]
    return np.asarray(np.sum(parts, axis=0, dtype=np.int64) >> 1)


def sweep(folder: Path, name: str, exponent: int) -> Longs:
    """Results at all fractions of a binade, without their sign."""
    path = folder / f"whole_{name}.npz"
    with np.load(path if path.exists() else folder / f"mufu_{name}.npz") as file:
        second, first = file[str(exponent)].astype(np.int64), file[f"{exponent}_first"].astype(np.int64)
    steps = np.concatenate([[first[1] - first[0]], first[1] - first[0] + second.cumsum()])
    return np.asarray(np.concatenate([[first[0]], first[0] + steps.cumsum()]) & 0x7FFFFFFF)


def mantissas(values: Longs) -> Longs:
    """24 bits of results from 1 to 2 times a power of two, of which the first may be 2."""
    found = values & (ONE - 1) | ONE
    if found[0] == ONE > found[1] - ONE and found[1] > found[-1]:
        found[0] = 2 * ONE
    return found


def bounds(values: Longs, one: int) -> tuple[Longs, Longs]:
    """The fixed-point numbers, 1 being 2^one, that have these leading 24 bits."""
    shift = one - 23 - (127 - (values >> 23))
    mantissa = values & (ONE - 1) | ONE
    left, right = np.clip(shift, 0, 40), np.clip(-shift, 0, 40)
    low = np.where(values == 0, 0, mantissa << left >> right)
    return low, np.where(values == 0, 0, low + (1 << left) - 1)


def segments(folder: Path, name: str) -> Iterator[Segment]:
    """The segments of a function, in order."""
    bits = 16 if name == "rcp" else 17
    for exponent in {"rsq": (127, 128), "sqrt": (127, 128), "sin": (125,)}.get(name, (127,)):
        values, second = sweep(folder, name, exponent), exponent == 128
        shift, unit, bias, scale = {
            "rcp": (15, 13, 0x47E7, 0), "rsq": (16, 14, 0x7FFF, 2), "ex2": (15, 13, 0x77E2, 0),
            "sqrt": (17 - second, 15 - second, (1 << (15 - second)) - 1, 0),
            "lg2": (0, 12, 0x3345, 1), "sin": (0, 11, 0, 0),
        }[name]  # fmt: skip
        if name == "sin":  # the second quadrant, whose fractions count down
            low, high = bounds(values[::-1], 37)
        elif name == "lg2":  # a quarter of the sum counts; below 1 the complement of what is missing
            low, high = bounds(values, 36)
            other_low, other_high = bounds(sweep(folder, name, 126), 36)
            low = 4 * np.maximum(low, (1 << 36) - 1 - other_high)
            high = 4 * np.minimum(high, (1 << 36) - 1 - other_low) + 3
        else:
            low = mantissas(values) << shift
            high = low + (1 << shift) - 1
        if (name, exponent) in (("rsq", 127), ("lg2", 127)):  # 1 has a result of its own
            low[0], high[0] = 0, 1 << 62
        for start in range(0, ONE, 1 << bits):
            part, x = slice(start, start + (1 << bits)), FRACTIONS[: 1 << bits]
            yield Segment(
                x, square(x << (17 - bits)) << scale, low[part], high[part], 1 << unit, bias,
                guess(name, start / ONE, second),
            )  # fmt: skip


def guess(name: str, place: float, second: bool) -> tuple[int, int]:
    """The derivatives in a table's units, at a place of its range from 0 to 1."""
    y, k = 1 + place, 2 if second else 1
    linear, quadratic = {
        "rcp": (-65535 / y**2, 1013 / y**3),
        "rsq": (-65535 * k * (k * y) ** -1.5, 754 * k * k * (k * y) ** -2.5),
        "sqrt": (0.5 / y**0.5 * 2 ** (16.5 if second else 17), -(714 if second else 1011) * y**-1.5),
        "ex2": (22713 * 2**place, 494 * 2**place),
        "lg2": (47274 / y, -728 / y**2),
        "sin": (25737 * np.cos(place * np.pi / 2), -14 - 1250 * np.sin(place * np.pi / 2)),
    }[name]
    return round(linear), round(quadratic)


def rows(s: Segment) -> list[tuple[int, int, int]]:
    """All rows that fit a segment; a few places rule most out."""
    few = np.unique(np.concatenate([s.x[::61], s.x[:200], s.x[-200:]]))
    found = []
    for quadratic in range(s.guess[1] - 14, s.guess[1] + 15):
        for linear in range(s.guess[0] - 10, s.guess[0] + 11):
            for places in (few, s.x):
                term = linear * s.x[places] + quadratic * s.square[places]
                least = -((s.bias - int((s.low[places] - term).max())) // s.unit)
                most = (int((s.high[places] - term).min()) - s.bias) // s.unit
                if least > most:
                    break
            found += [(constant, linear, quadratic) for constant in range(least, most + 1)]
    return found


def main() -> int:
    """Print the rows of all functions; an error if a segment has none, or several."""
    for name in ("rcp", "rsq", "ex2", "sqrt", "lg2", "sin"):
        for number, segment in enumerate(segments(Path(sys.argv[1]), name)):
            found = rows(segment)
            print(name, number, *found, flush=True)
            if len(found) != 1:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
