"""The guard of host instructions judges as it says; that it counts right is seen where it runs, in .ci/run."""

from __future__ import annotations

import json

from tests.speed import host_instructions


def test_within_five_per_cent_either_way() -> None:
    figures = {"a": 1000.0, "b": 1000.0, "c": 1000.0, "d": 1000.0}
    found = {"a": 1049.0, "b": 951.0, "c": 1051.0, "d": 949.0}
    assert [line[0] for line in host_instructions.compare(found, figures)] == ["c", "d"]


def test_a_compiler_without_figures_is_not_judged() -> None:
    assert host_instructions.compare({"a": 1.0}, {}) == []


def test_committed_figures_are_of_the_launches() -> None:
    launches = (*host_instructions.LAUNCHES, *host_instructions.COMPILED)
    names = {f"{benchmark} {gpu}" for benchmark, _, gpu in launches}
    figures = json.loads(host_instructions.FIGURES.read_text())
    assert figures
    assert all(set(of_compiler) == names for of_compiler in figures.values())
