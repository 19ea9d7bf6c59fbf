"""Facts about the package as installed."""

import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import smmux
from smmux import ConfigError, _core
from smmux.kernel import Kernel
from smmux.running.launch import launch
from smmux.running.launch_options import OPTIONS, LaunchOptions, complete, for_core

ROOT = Path(__file__).parents[2]


@pytest.mark.checkout
def test_workflows_build_for_the_pythons_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["project"]["classifiers"])))
    built = {f"3.{tag[3:].rstrip('-*t')}" for tag in project["tool"]["cibuildwheel"]["build"]}
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    tested = set(re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]))
    assert named == built == tested
    assert '"3.14t"' in workflow


@pytest.mark.checkout
@pytest.mark.parametrize(
    ("code", "message"),
    [("", "there is no C compiler: 'nothing' is not found"), ("sysconfig.get_path = str;", "no Python.h in include")],
    ids=["compiler", "headers"],
)
def test_a_build_without_tools_says_what_to_install(tmp_path, code, message):
    shutil.copy(ROOT / "setup.py", tmp_path)  # alone: a build in the checkout would write its version anew
    arguments = ["setup.py", "build_ext"]
    program = f"import runpy, sys, sysconfig; {code} sys.argv = {arguments}; runpy.run_path('setup.py')"
    environment = {**os.environ, **({} if code else {"CC": "nothing"})}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert message in run.stderr
    assert "sudo apt-get install gcc python3-dev" in run.stderr


def test_a_checkout_without_core_says_how_to_build_it(monkeypatch):
    monkeypatch.delattr(smmux, "_core")
    monkeypatch.delitem(sys.modules, "smmux._core")
    monkeypatch.setattr(smmux, "__path__", [])
    with pytest.raises(ImportError, match=r"not built .* pip install -e \."):
        from smmux import _core  # noqa: F401


@pytest.mark.checkout
def test_runtime_dependencies_are_three():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sorted(re.split(r"[<>=]", text)[0] for text in project["dependencies"]) == ["matplotlib", "numpy", "tqdm"]


def test_every_public_name_exists_and_is_documented():
    for name in smmux.__all__:
        value = getattr(smmux, name)
        if inspect.ismodule(value) or inspect.isclass(value):
            assert value.__doc__, name
    assert set(smmux.__all__) <= set(dir(smmux))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = smmux.nonsense


def test_public_names_stand_in_all_of_their_modules():
    for name in ("errors", "gpus", "kernel", "models", "plot", "policies", "smm", "sweep", "trace", "types"):
        module = __import__(f"smmux.{name}", fromlist=["__all__"])
        assert all(hasattr(module, public) for public in module.__all__)


def test_import_is_cheap():
    """Neither NumPy, the plotting library nor the compiler is loaded before it is used."""
    late = ("numpy", "matplotlib", "tqdm", "pandas", "numba", "smmux.compiler", "smmux._core")
    code = f"import sys, smmux; print([m for m in {late} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == "[]\n"


def test_the_package_is_typed():
    assert (Path(smmux.__file__).parent / "py.typed").exists()
    assert (Path(smmux.__file__).parent / "_core.pyi").exists()


def test_every_option_of_a_run_stands_in_one_list():
    """The list gives types, defaults and checks, the help of Python and of the command line, and the core's numbers."""
    assert list(OPTIONS) == list(LaunchOptions.__annotations__)
    page = subprocess.run(
        [sys.executable, "-m", "smmux", "run", "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    for name, option in OPTIONS.items():
        assert option.meaning in " ".join(launch.__doc__.split())
        assert option.meaning in " ".join(Kernel.simulate.__doc__.split())
        told = option.text is not None or name == "trace"  # which takes the name of a file there
        assert (f"--{name.replace('_', '-')} " in page) == told, name
    assert for_core(complete({})).keys() == {option.key for option in OPTIONS.values() if option.key}
    with pytest.raises(ConfigError, match="no option 'windows'; did you mean 'window'"):
        complete({"windows": 1})


def test_functions_of_the_core_have_signatures_and_docstrings():
    for name in ("launch", "occupancy", "bank_passes", "coalesce"):
        function = getattr(_core, name)
        assert inspect.signature(function).parameters
        assert function.__doc__


def test_the_core_is_reentrant_by_construction():
    """Multi-phase initialisation: a second interpreter's module object does not share state with the first."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("smmux._core", _core.__file__)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    assert other is not _core
    assert other.OPS == _core.OPS
    assert other.Smm is not _core.Smm
