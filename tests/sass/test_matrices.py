"""Products of matrices make what a card made, bit for bit: what is added how exactly is no standard's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from experiments.hardware.hopper.probe_latency import MATRIX
from tests.sass.single import run_lanes
from tests.sass.vectors import matrix_differences


@pytest.mark.parametrize("name", MATRIX)
def test_a_product_of_matrices_is_the_cards(name: str) -> None:
    assert matrix_differences(name) == 0


@pytest.mark.parametrize(
    ("shape", "rows", "depth"), [("8x8x4", 8, 4), ("16x8x4", 16, 4), ("16x8x8", 16, 8), ("16x8x16", 16, 16)]
)
@pytest.mark.parametrize("addend", ["R64", "RZ"])
def test_products_of_doubles_are_multiply_adds_in_order(shape: str, rows: int, depth: int, addend: str) -> None:
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(rows, depth)), rng.normal(size=(depth, 8)), rng.normal(size=(rows, 8))
    g, t = np.divmod(np.arange(32), 4)
    halves = rows // 8
    parts = {8 + 2 * r: a[g + 8 * (r % halves), t + 4 * (r // halves)] for r in range(halves * depth // 4)}
    parts |= {48 + 2 * r: b[t + 4 * r, g] for r in range(depth // 4)}
    parts |= {64 + 2 * r: c[g + 8 * (r // 2), 2 * t + r % 2] for r in range(2 * halves)}
    registers = {}
    for number, values in parts.items():
        registers[number], registers[number + 1] = np.ascontiguousarray(values).view(np.uint32).reshape(32, 2).T
    words, _ = run_lanes([f"DMMA.{shape} R80, R8, R48, {addend}"], registers, [80 + i for i in range(4 * halves)])
    found = np.ascontiguousarray(words.reshape(2 * halves, 2, 32).transpose(0, 2, 1)).view(np.float64)[..., 0]
    for r, lane in np.ndindex(2 * halves, 32):
        row, column = g[lane] + 8 * (r // 2), 2 * t[lane] + r % 2
        total = c[row, column] if addend != "RZ" else 0.0
        for k in range(depth):
            total = float(Fraction(a[row, k]) * Fraction(b[k, column]) + Fraction(total))
        assert found[r, lane] == total


def test_infinities_and_nan_go_through_a_product() -> None:
    """In row 0 of A an infinity, in row 1 NaN, in row 2 infinities of both signs; B is 1, but 0 in column 1."""
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    a[0, 3], a[1, 5], a[2, 1], a[2, 2] = np.inf, np.nan, np.inf, -np.inf
    b[:, 1] = 0
    g, t = np.divmod(np.arange(32), 4)
    pairs = {
        8 + r: a[g + 8 * (r % 2)][np.arange(32)[:, None], (2 * t + 8 * (r // 2))[:, None] + [0, 1]] for r in range(4)
    }
    pairs |= {12 + r: b[(2 * t + 8 * r)[:, None] + [0, 1], g[:, None]] for r in range(2)}
    registers = {number: np.ascontiguousarray(values).view(np.uint32)[:, 0] for number, values in pairs.items()}
    words, _ = run_lanes(["HMMA.16816.F32 R24, R8, R12, RZ"], registers, [24, 25, 26, 27])
    found = np.zeros((16, 8), np.float32)
    for r, values in enumerate(words.view(np.float32)):
        found[g + 8 * (r // 2), 2 * t + r % 2] = values
    assert found[3, 0] == 16
    assert found[3, 1] == 0
    assert found[0, 0] == math.inf
    assert np.isnan(found[0, 1])
    assert np.isnan(found[1]).all()
    assert np.isnan(found[2]).all()
