"""The kernels measured on a card: data, halves, code and errors; no card is needed."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import smmux
from experiments import modern, suites
from experiments.common import on_card, on_card_shown, suite_python, suite_runs
from experiments.common.suite_runs import FOLDER, compiled, measured, provenance, provenances
from experiments.suites import ALONE, FIRST, LATER, SIZES, STRATA, SUITES, WORKLOADS, Launch, is_open, triton_suite
from smmux import gpus
from smmux.compiler.sass.tools import find_tool
from tests.sass.conftest import needed

OPEN = {"dense", "graphs", "images", "lattices", "matrices", "numeric", "particles", "signals", "strings"}
"""Of the suites that were measured first."""
CHEAP = ("dense.gemm_tiled", "matrices.axpy_halves", "numeric.scaled_sum", "images.median", "signals.haar")
"""Kernels whose warps take the same ways whatever comes first."""


def test_there_are_enough_kernels_of_each_kind() -> None:
    kinds = [one.stratum for one in WORKLOADS.values()]
    assert len(kinds) >= 80
    assert min(kinds.count(kind) for kind in STRATA) >= 5


def test_the_halves_are_those_that_were_fixed_before_anything_was_measured() -> None:
    assert {suite for suite in FIRST if is_open(suite)} == OPEN
    assert {suite: is_open(suite) for suite in LATER} == {"triton": False}
    for half in (True, False):
        there = {one.stratum for one in WORKLOADS.values() if is_open(one.suite) == half}
        assert set(STRATA) - there <= {"tiny"}  # there is one suite of them


@pytest.mark.parametrize("card", on_card.CARDS)
@pytest.mark.parametrize("kind, repeats", [("cycles", 3), ("counters", 1)])
def test_each_launch_was_measured(kind: str, repeats: int, card: str) -> None:
    """Of the first suites, and of each later one that the card has run."""
    rows = [(f"{row['suite']}.{row['kernel']}", row["size"], int(row["repeat"])) for row in suite_runs.rows(card, kind)]
    there = {WORKLOADS[name].suite for name, _, _ in rows}
    names = [name for name, one in WORKLOADS.items() if one.suite in there]
    assert set(FIRST) <= there
    assert sorted(rows) == sorted((name, size, n) for name in names for size in SIZES for n in range(repeats))


@pytest.mark.parametrize("card", on_card.CARDS)
def test_the_code_is_that_which_ran_and_gave_right_results(card: str) -> None:
    files = sorted((FOLDER / "suites").glob("*.cubin"))
    code = {file.name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files}
    assert code.keys() == {one.binary for one in WORKLOADS.values()}
    ran = set()
    for about in provenances(card):
        assert about["code"].items() <= code.items()
        assert about["wrong"] == {}
        assert about["attributes"]["multiprocessors"] == 132
        ran |= about["code"].keys()
    assert {WORKLOADS[name].binary for name, _ in measured(card)} <= ran


@pytest.mark.parametrize("card", on_card.CARDS)
def test_repeats_agree_and_clocks_are_those_of_the_card(card: str) -> None:
    for row in measured(card).values():
        assert row.lowest <= row.cycles <= row.highest < 1.4 * row.lowest
        assert 1_500 < row.mhz <= suite_runs.NOMINAL_MHZ


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_a_launch_has_the_parameters_and_the_registers_of_its_kernel(name: str) -> None:
    work, launch = WORKLOADS[name], WORKLOADS[name].launch("small")
    values = launch.values()
    parameters = compiled(name).parameters
    passed = work.passed(values, lambda index: np.uint64(0))
    assert [np.asarray(value).nbytes for value in passed] == [parameter.size for parameter in parameters]
    for card in on_card.CARDS:
        if row := measured(card).get((name, "small")):
            assert row.counters["launch__registers_per_thread"] >= compiled(name).registers
    assert all(0 <= index < len(values) for index in launch.results)


def test_launches_always_have_the_same_data() -> None:
    one, other = (WORKLOADS["graphs.relax"].launch("small") for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


@pytest.mark.parametrize("name", CHEAP)
def test_as_many_instructions_run_as_on_the_card(name: str) -> None:
    needed("nvdisasm")
    found = suite_runs.simulated(gpus.get(gpus.COMPILED), name, "small")
    assert found["instructions"] == measured()[name, "small"].instructions


@pytest.mark.parametrize("name", [name for name, one in WORKLOADS.items() if one.suite in LATER])
def test_small_launches_of_later_suites_are_right(name: str) -> None:
    """`simulated` raises where a result is wrong."""
    needed("nvdisasm")
    assert suite_runs.simulated(gpus.get(gpus.COMPILED), name, "small")["instructions"] > 1_000


def test_what_a_card_did_not_run_is_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {of: row for of, row in measured().items() if of[0] != "graphs.relax"}
    for module in (on_card, on_card_shown):
        monkeypatch.setattr(module, "measured", lambda card: known)
    assert sorted(on_card.chosen("both", "large")) == sorted(known)
    page = on_card_shown.page([record("graphs.rank_pull", "small", 9_000) | {"card": "h100"}])
    assert f"{len(known) // len(SIZES)} kernels in CUDA C++ and Python" in page.replace("\n", " ")


def test_wrong_results_are_seen() -> None:
    launch = Launch(1, 32, [np.zeros(3)], {0: [1.0, np.nan, 3.0]}, 0.1)
    assert launch.wrong(0, np.array([1.05, 7.0, 2.9])) == ""
    assert launch.wrong(0, np.array([1.05, 7.0, 2.0])) == "argument 0: 1 elements"


def record(name: str, size: str, cycles: float) -> dict[str, Any]:
    return {"kernel": name, "size": size, "cycles": cycles} | on_card.beside(
        {"kernel": name, "size": size, "cycles": cycles}
    )


def test_errors_are_relative_to_the_card() -> None:
    names = ["dense.gemm_tiled", "graphs.relax", "signals.haar"]
    rows = [
        record(name, "large", factor * measured()[name, "large"].cycles)
        for name, factor in zip(names, (1.1, 0.7, 1), strict=True)
    ]
    found = on_card.errors(rows)
    assert (found["mean"], found["median"], found["worst"]) == pytest.approx((0.4 / 3, 0.1, 0.3))
    assert found["bias"] == pytest.approx(-0.2 / 3)
    exact = [record(name, size, 3 * measured()[name, size].cycles) for name in names for size in SIZES]
    assert on_card.errors(exact)["correlation"] == pytest.approx(1)


def test_of_the_sealed_half_only_the_sum_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulated(machine: Any, kernel: str, size: str, mhz: int) -> dict[str, Any]:
        return {"cycles": 2 * measured()[kernel, size].cycles}

    def in_python(machine: Any, kernel: str, size: str, mhz: int) -> dict[str, Any]:
        return {"python_cycles": measured()[kernel, size].cycles * 2, "python_instructions": 7, "python_registers": 9}

    monkeypatch.setattr(on_card, "simulated", simulated)
    monkeypatch.setattr(on_card, "in_python", in_python)
    assert not on_card.FROZEN
    for half in on_card.HALVES:
        rows = on_card.run(quick=True, jobs=1, half=half)
        texts = [
            on_card_shown.table(rows),
            on_card_shown.page(rows).partition("## What")[2],
            repr(rows),
            repr(on_card.summary(rows)),
            on_card_shown.caption(rows),
        ]
        told = {name for name in WORKLOADS for text in texts if re.search(rf"{re.escape(name)}\b", text)}
        assert told == {name for name, _ in measured() if is_open(WORKLOADS[name].suite) and half != "sealed"}
        assert ("sealed" in on_card.summary(rows)) == (half != "open")
    assert on_card.summary(rows)["sealed"]["mean"] == pytest.approx(1)
    assert {verdict.reproduced for verdict in on_card.check(rows) if "correlation" not in verdict.id} == {False}


@pytest.mark.long
def test_counterparts_are_of_the_open_half_and_right() -> None:
    """The small launches of kernels in Python; `in_python` raises where a result is wrong."""
    assert len(suite_python.kernels()) >= 30
    assert all(is_open(WORKLOADS[name].suite) for name in suite_python.kernels())
    for name in suite_python.kernels():
        found = suite_python.in_python(gpus.get(gpus.COMPILED), name, "small")
        assert found["python_registers"] <= 32
        rows = [{"kernel": name, "size": "small"} | found]
        assert on_card.python_beside(rows[0])["python_error"] < 1


@pytest.mark.checkout
def test_the_readme_says_what_the_page_does() -> None:
    root = Path(__file__).parents[2]
    text = (root / "README.md").read_text()
    said = re.search(r"are (\d+) % off an H100's in the mean; the same holds for the half", text)
    page = (root / "docs" / "modern.md").read_text()
    means = [re.search(rf"^\| {row} \| \d+ \| ([\d.]+) %", page, re.MULTILINE) for row in ("all", "sealed")]
    assert said
    assert [round(float(mean[1])) for mean in means if mean] == [int(said[1])] * 2


def test_it_is_drawn() -> None:
    rows = [record(name, size, 1.2 * measured()[name, size].cycles) for name in CHEAP for size in SIZES]
    for plot in modern.EXPERIMENT.plots:
        assert plot(rows, Figure().add_subplot()).get_xlabel()


@pytest.mark.slow
@pytest.mark.parametrize("suite", [suite for suite in SUITES if suite not in ALONE])
def test_the_sources_compile_to_the_code_that_ran(suite: str) -> None:
    """To its kernels and parameters with any release of the compiler, to its words with the one that made it."""
    needed("nvcc", "nvdisasm")
    again = smmux.load(Path(suites.__file__).parent / f"{suite}.cu")
    there = smmux.load(FOLDER / "suites" / f"{suite}.cubin")
    assert {k.name: k.parameters for k in again} == {k.name: k.parameters for k in there}
    release = subprocess.run([find_tool("nvcc"), "--version"], capture_output=True, text=True, check=True).stdout
    if provenance()["compiler"] in release:
        assert {k.name: k.image.words.tobytes() for k in again} == {k.name: k.image.words.tobytes() for k in there}


@pytest.mark.slow
def test_the_kernels_in_triton_compile_to_the_code_that_ran() -> None:
    """To its parameters with any release of Triton, to its words with the one that made it."""
    triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'smmux[triton]'")
    about = json.loads(triton_suite.MADE.read_text("utf-8"))
    compile_triton = importlib.import_module("experiments.hardware.compile_triton")
    again = compile_triton.compiled()
    assert again.keys() == about["kernels"].keys()
    for name, (recipe, kernel) in again.items():
        told, there = about["kernels"][name], compiled(f"triton.{name}")
        assert (told["warps"], told["constants"]) == (recipe.warps, recipe.constants)
        assert kernel.parameters == there.parameters
        if triton.__version__ == about["triton"]:
            assert told["shared"] == kernel.dynamic_shared
            assert kernel.image.words.tobytes() == there.image.words.tobytes()
