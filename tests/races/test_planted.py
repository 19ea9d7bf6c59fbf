"""Every planted race is found, and nothing is found where there is none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from smmux import smm
from tests.multiplex.kernels import kernel

from .form import text_of
from .planted import PLANTED

POINTS = [
    (name, dtype, gpu, size)
    for name, planted in PLANTED.items()
    for dtype, gpu, size in itertools.product(planted.dtypes, planted.gpus, planted.sizes)
    if not (gpu == "GTX285" and size == (1, 256)) and not (gpu == "GTX480-16K" and size[0] > 300)
]
QUICK = [next(point for point in POINTS if point[0] == name) for name in PLANTED]


def found(name: str, dtype: str, gpu: str, size: tuple[int, int], right: bool, **options: Any) -> Any:
    """The findings of a kernel, right or wrong."""
    grid, block = size
    made = kernel(text_of(PLANTED[name], right), smm=smm)
    a, b = (np.zeros(2 * grid * block, dtype) for _ in "ab")
    c = np.zeros(2 * grid * block, np.int32)
    return made.simulate(grid, block, (a, b, c), gpu=gpu, check="races", max_cycles=20_000_000, **options).findings


def check_point(name: str, dtype: str, gpu: str, size: tuple[int, int]) -> None:
    """The race is found, in its array and with two threads; without it nothing is."""
    findings = found(name, dtype, gpu, size, right=False)
    races = findings.of("race")
    assert PLANTED[name].array in {race.array for race in races}, findings
    for race in races:
        assert (race.first.thread, race.first.block) != (race.second.thread, race.second.block)
        assert {race.first.action, race.second.action} != {"load"}
        assert race.index is not None
    clean = found(name, dtype, gpu, size, right=True)
    assert not clean.errors, clean


@pytest.mark.parametrize(("name", "dtype", "gpu", "size"), QUICK)
def test_a_planted_race_is_found(name: str, dtype: str, gpu: str, size: tuple[int, int]) -> None:
    check_point(name, dtype, gpu, size)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_planted_races_of_all_types_on_all_machines(name: str) -> None:
    for point in POINTS:
        if point[0] == name:
            check_point(*point)


def test_there_are_enough() -> None:
    assert len(POINTS) >= 200
