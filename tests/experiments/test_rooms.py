"""The rooms of experiments/: what a script has, which room may know which, and that references lead somewhere."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import experiments
from experiments.common.harness import Experiment
from experiments.common.verdicts import claims

FOLDER = Path(experiments.__file__).parent
OF_ALL = ("__init__", "__main__", "all", "gallery", "pictures", "report")
"""What lists, runs or shows the scripts, and is none."""
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in OF_ALL)
MODULES = sorted(path for path in FOLDER.rglob("*.py") if path.stem not in ("__init__", "__main__"))


@pytest.fixture(params=SCRIPTS)
def script(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(f"experiments.{request.param}")


def test_a_script_is_its_parts_and_a_command(script: ModuleType) -> None:
    experiment: Experiment = script.EXPERIMENT
    assert script.__name__ == f"experiments.{experiment.name}"
    assert (experiment.description, experiment.run, experiment.check) == (script.__doc__, script.run, script.check)
    assert script.main == experiment.main
    assert all(callable(getattr(script, name)) for name in ("run", "plot", "check", "caption", "main"))


def test_scripts_of_claims_are_there_and_all_others_but_some_have_claims() -> None:
    """Four have nothing to do with what the paper says, and four draw what blocks do, of which it gives no numbers."""
    pictures, others = {"fig04", "fig09", "fig10", "timeline"}, {"fig14_h100", "modern", "speed", "validation"}
    assert {claim.script for claim in claims().values()} == set(SCRIPTS) - others - pictures


def test_continuous_integration_finds_the_scripts() -> None:
    """It looks for lines that begin with `EXPERIMENT = `."""
    with_line = [path.stem for path in MODULES if re.search("^EXPERIMENT = ", path.read_text(), re.MULTILINE)]
    assert with_line == SCRIPTS


def test_rooms_know_only_what_lies_below() -> None:
    """Scripts and judges know what is common, the programs, foreign kernels and the suites, which know neither."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "experiments":
                top = node.module == "experiments"
                rooms = {alias.name for alias in node.names} if top else {node.module.split(".")[1]}
                known = {path.parent.name} & {"foreign", "suites"} or {"common", "foreign", "programs", "suites"}
                assert rooms <= (known | {"gallery"} if path.stem in OF_ALL else known), path


def test_file_names_are_not_used_twice() -> None:
    """Neither here nor in the package."""
    here = [path.name for path in MODULES]
    package = {path.name for path in (FOLDER.parent / "smmux").rglob("*.py")}
    assert len(set(here)) == len(here)
    assert set(here).isdisjoint(package)


def test_deviations_are_numbered_and_those_that_are_named_exist() -> None:
    rows = re.findall(r"^\| (D\d+) \|", (FOLDER / "DEVIATIONS.md").read_text(), re.MULTILINE)
    assert rows == [f"D{n}" for n in range(1, len(rows) + 1)]
    named = {d for path in MODULES for d in re.findall(r"\bD\d+\b", path.read_text())}
    assert named <= set(rows)


def test_the_pages_name_files_that_exist() -> None:
    for page in ("DEVIATIONS.md", "README.md"):
        for name in re.findall(r"`((?:tests|experiments)/[\w/.]+)`", (FOLDER / page).read_text()):
            assert (FOLDER.parent / name).exists(), f"{page}: {name}"
