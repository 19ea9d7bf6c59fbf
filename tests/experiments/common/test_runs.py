"""Runs of experiments: their budgets of registers, and that none is made twice."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import fig14
from experiments.common import cards, runs
from experiments.common.schedules import ON_CARDS
from smmux import benchmarks, gpus
from smmux.gpus import Gpu
from smmux.kernel import Kernel


def test_a_kernel_has_the_registers_it_needs_unless_they_are_budgeted() -> None:
    """CV, 128 threads and K = 1 on GTX285: 16384 / (4 x 128) registers for K+3 blocks, which are too few for VTB."""
    common: dict[str, Any] = {"benchmark": "CV", "variant": "vtb", "build": "staged", "schedule": ON_CARDS.head, "n": 2}
    budgeted, free = (
        runs.simulate(**common, gpu="GTX285", size="tiny", budgeted=budgeted) for budgeted in (True, False)
    )
    row = benchmarks.get("CV")
    problem = row.problem("tiny")
    kernel, grid, block = row.launch(problem, "vtb", "staged", 2)
    card = kernel.compile(problem.arguments(), "GTX285", grid=grid, block=block, max_registers=124)
    assert budgeted["registers"] == 32 < free["registers"] == card.nregs
    assert budgeted["local_bytes"] > 0 == free["local_bytes"]


@pytest.mark.long
def test_a_block_has_room_for_the_registers_that_it_gets() -> None:
    """CV needs 62 for three blocks in one, 384 threads: more than the 16384 of a GTX285 give each of them."""
    found = runs.simulate(
        benchmark="CV", variant="vtb", build="staged", schedule=ON_CARDS.head, n=3, gpu="GTX285", size="tiny"
    )
    assert found["registers"] <= 16384 // 384
    assert found["residency"] == 1


def test_register_budget_lets_the_blocks_reside() -> None:
    """16384 registers / (threads x blocks), rounded down to 4 by GPGPU-Sim's rule; at most 124."""
    budgets = {
        n: runs.register_budget(benchmarks.get(n), cards.card(), benchmarks.get(n).builds[0]) for n in fig14.LIMITED
    }
    assert budgets == {"MV": 84, "FFT": 64, "MC": 124, "STO": 32, "SP": 40, "HG": 64, "CV": 32}


def test_a_run_that_another_name_has_made_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []
    simulate = Kernel.simulate

    def counted(self: Kernel, *args: Any, **options: Any) -> Any:
        launched.append(options["gpu"].name)
        return simulate(self, *args, **options)

    monkeypatch.setattr(Kernel, "simulate", counted)
    monkeypatch.setattr(runs, "RUNS", runs.Once())
    common = {"benchmark": "RD", "variant": "baseline"}
    common["build"] = benchmarks.get("RD").builds[0]
    own = gpus.get("GTX285")

    def record(gpu: Gpu = own, size: Any = "tiny", schedule: str = "source") -> Any:
        return runs.simulate(**common, gpu=gpu, size=size, schedule=schedule)

    first = record()
    renamed = record(own.replace(name="another"))
    spelled = record(size=benchmarks.get("RD").sizes["tiny"])
    assert first == renamed == spelled
    assert first is not renamed
    assert launched == ["GTX285"]
    record(own.replace(name="slower", smem_clk_per_way=own.smem_clk_per_way + 1))
    record(size="quick")
    record(gpus.get("GTX480-16K"))
    assert len(launched) == 4


def test_what_fails_is_tried_again() -> None:
    once: runs.Once[int] = runs.Once()
    with pytest.raises(ZeroDivisionError):
        once.get("key", lambda: 1 // 0)
    assert once.get("key", lambda: 2) == 2
    assert once.get("key", lambda: 3) == 2


def test_values_used_last_are_kept() -> None:
    once: runs.Once[str] = runs.Once(kept=2)
    for key in ("a", "b", "a", "c"):
        once.get(key, key.upper)
    assert once.get("a", lambda: "again") == "A"
    assert once.get("b", lambda: "again") == "again"
