"""Microbenchmarks on a simulated card: which cases are compared, and that their programs run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.hardware.hopper import beside_card as beside, beside_cases, findings
from experiments.hardware.hopper.beside_cases import CASES, Case
from smmux import gpus
from tests.sass.conftest import needed


def test_every_case_is_one_number_of_the_card() -> None:
    for case in CASES:
        found = [row for row in findings.rows("h100", case.probe) if case.matches(row)]
        numbers = [float(row[case.column]) for row in found]  # one, or one that was measured twice
        assert max(numbers) <= 1.01 * min(numbers), case
        assert float(found[0][case.column]) > 0
    assert len({(case.probe, case.what) for case in CASES}) == len(CASES)


def test_reasons_are_those_of_cases() -> None:
    known = {(case.probe, what) for case in CASES for what in (case.what, "")}
    assert set(beside_cases.REASONS) <= known


def test_runs_that_nobody_compares_are_left_out() -> None:
    class Counting:
        runs = 0

        def run(self, words: list[int], values: np.ndarray) -> np.ndarray:
            self.runs += 1
            return values

    bench = Counting()
    some = beside.Selecting(bench, {1})  # type: ignore[arg-type]
    values = np.ones(3)
    assert [some.run([], values).tolist() for _ in range(3)] == [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert bench.runs == 1


def test_a_chain_takes_what_the_card_took(tmp_path: Path) -> None:
    needed("nvcc", "nvdisasm")
    bench = beside.SimulatedBench(tmp_path, gpus.get(gpus.COMPILED))
    case = next(case for case in CASES if case == Case("counted_chains", "LDS", (("form", "LDS"), ("stall", 2))))
    (compared,) = beside.simulate(bench, "counted_chains", [case])
    assert compared.error == pytest.approx(0, abs=0.01)


def test_empty_kernels_take_what_a_profiler_counted(tmp_path: Path) -> None:
    """Behind a flush of the caches, as a launch finds them here; each shape was run twice."""
    needed("nvcc", "nvdisasm")
    function = beside.SimulatedBench(tmp_path, gpus.get("H100")).module("blocks")["empty"]
    shapes: dict[tuple[int, int], list[float]] = {}
    for row in [row for row in findings.rows("h100", "empty_kernels") if row["cache_control"] == "all"][:16]:
        shapes.setdefault((int(row["grid"]), int(row["block"])), []).append(float(row["sm__cycles_elapsed.max"]))
    assert len(shapes) == 8
    for (grid, block), counted in shapes.items():
        function(grid, block)
        assert function.card.last.cycles == pytest.approx(np.mean(counted), rel=0.1), (grid, block)
