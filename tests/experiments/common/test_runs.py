"""Budgets of registers for the runs of experiments."""

from __future__ import annotations

from typing import Any

from experiments import fig14
from experiments.common import cards, runs
from experiments.common.schedules import ON_CARDS
from smmux import benchmarks


def test_own_registers_are_for_the_residency_of_the_variant() -> None:
    """CV, 128 threads and K = 1 on GTX285: 16384 / (4 x 128) registers for K+3, 16384 / 256 for one block of VTB."""
    common: dict[str, Any] = {"benchmark": "CV", "variant": "vtb", "build": "staged", "schedule": ON_CARDS.head, "n": 2}
    found = [runs.simulate(**common, gpu="GTX285", size="tiny", own_registers=own) for own in (False, True)]
    assert [r["registers"] for r in found] == [32, 64]
    assert [r["local_bytes"] > 0 for r in found] == [True, False]


def test_register_budget_lets_the_blocks_reside() -> None:
    """16384 registers / (threads x blocks), rounded down to 4 by GPGPU-Sim's rule; at most 124."""
    budgets = {
        n: runs.register_budget(benchmarks.get(n), cards.card(), benchmarks.get(n).builds[0]) for n in fig14.LIMITED
    }
    assert budgets == {"MV": 84, "FFT": 64, "MC": 124, "STO": 32, "SP": 40, "HG": 64, "CV": 32}
