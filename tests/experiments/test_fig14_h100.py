"""Figures 14 and 15 on an H100: its machines hold a block each, and gains are over the kernel as it is."""

from __future__ import annotations

import pytest

from experiments import fig14_h100
from experiments.common.speedups import LIMITED, MEAN
from smmux import gpus


def test_a_machine_has_the_smallest_carveout_that_holds_a_block() -> None:
    sizes = {name: [fig14_h100.machine(name, kb).smem_bytes // 1024 for kb in fig14_h100.CARVEOUTS] for name in LIMITED}
    assert sizes.pop("STO") == [32, 32, 64, 228]  # a block of 16.9 kB
    assert set(map(tuple, sizes.values())) == {fig14_h100.CARVEOUTS}
    assert not fig14_h100.machine("MV", 16).driver_chooses
    assert gpus.get("H100").driver_chooses


def test_a_gain_is_the_better_of_both_numbers_of_registers() -> None:
    rows = [
        {"variant": "hw", "extra_blocks": 2, "carveout_kb": 16, "benchmark": name, "speedup": speedup}
        for name, speedup in (("MV", 1.0), ("MV", 2.0), ("FFT", 0.5))
    ]
    assert fig14_h100.gains(rows, "hw", 2) == {16: {"MV": 2.0, "FFT": 0.5, MEAN: pytest.approx(1.0)}}
