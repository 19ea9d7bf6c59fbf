"""Sweeps: all combinations in order, on threads, with errors that say where."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from smmux import ConfigError
from smmux.sweep import product, sweep


def test_product_is_in_order_with_the_last_axis_fastest() -> None:
    points = product(a=(1, 2), b="xy")
    assert points == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


def test_an_axis_has_values() -> None:
    with pytest.raises(ConfigError, match=r"n=5 is one value, not the values of an axis; write n=\[5\]"):
        product(gpu=["GTX285"], n=5)


def test_records_keep_the_points_order_whatever_finishes_first() -> None:
    first_waits = threading.Event()

    def run(n: int) -> dict[str, int]:
        if n == 0:
            assert first_waits.wait(100)
        else:
            first_waits.set()
        return {"twice": 2 * n}

    records = sweep(run, product(n=range(4)), jobs=2)
    assert [r["twice"] for r in records] == [0, 2, 4, 6]


def test_records_are_plain() -> None:
    class Machine:
        def __init__(self) -> None:
            self.name = "M1"

    (record,) = sweep(lambda gpu: {"mean": np.float32(0.5), "count": np.int64(3)}, [{"gpu": Machine()}], jobs=1)
    assert record == {"gpu": "M1", "mean": 0.5, "count": 3}
    assert [type(value) for value in record.values()] == [str, float, int]
    assert sweep(lambda policy: {}, [{"policy": Machine}], jobs=1) == [{"policy": "Machine"}]


def test_an_error_names_its_point_and_stops_the_sweep() -> None:
    started = []

    def run(n: int) -> dict[str, int]:
        started.append(n)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as caught:
        sweep(run, product(n=range(100)), jobs=1)
    assert caught.value.__notes__ == ["at n=0"]
    assert len(started) < 100


def test_points_and_records_are_mappings() -> None:
    def measure(n: int) -> None:
        """Forgets to return something."""

    with pytest.raises(ConfigError, match="measure must return a mapping, such as a dictionary, not None") as caught:
        sweep(measure, product(n=(1, 2)), jobs=1)  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["at n=1"]
    with pytest.raises(ConfigError, match="a point must be a mapping, such as a dictionary, not 3"):
        sweep(measure, [3], jobs=1)  # type: ignore[arg-type,list-item]


def test_points_may_come_from_a_generator() -> None:
    assert sweep(lambda n: {"double": 2 * n}, ({"n": n} for n in range(2))) == [
        {"n": 0, "double": 0},
        {"n": 1, "double": 2},
    ]
