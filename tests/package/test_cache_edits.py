"""No record outlives an edit of the program that made it: edits of each kind change the key, and only they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, cuda, gpus, narrow
from smmux.sweep import Cache, CacheWarning, modules, sweep
from smmux.sweep.workers import Workers
from tests.package.edits import EDITS

pytestmark = pytest.mark.usefixtures("few_modules")

TREE = Path(__file__).parents[2]
PART = 16
"""Edits that one process tries."""


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, len(EDITS), PART))
def test_an_edit_changes_the_key(first: int) -> None:
    command = [sys.executable, "-m", "tests.package.edits", str(first), str(first + PART)]
    lines = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=True).stdout.splitlines()
    for edit, line in zip(EDITS[first : first + PART], map(json.loads, lines), strict=True):
        title, before, after, *again = line
        assert title == edit.title
        assert not [run["error"] for run in (before, after, *again) if "error" in run], title
        assert again in ([], [before]), f"{title}: the same program has two keys"
        assert before["result"] != after["result"], f"{title}: nothing was edited"
        assert before["key"] != after["key"], f"{title}: a stale record"
        assert not edit.value or before["point"] != after["point"], f"{title}: the point alone does not tell"


SCRIPT = """
import sys, warnings
warnings.simplefilter("error")
from smmux.sweep import Cache, executing, sweep
import h
def run(n):
    return {"v": h.f(n)}
if __name__ == "__main__":
    h.K = int(sys.argv[2]) if len(sys.argv) > 2 else h.K
    with Cache("c.sqlite") as cache, executing(sys.argv[1], 1) as pool:
        records = sweep(run, [{"n": n} for n in range(3)], cache=cache, executor=pool)
        print([r["v"] for r in records], cache.found, cache.made)
"""


def script(folder: Path, *words: str, text: str | None = None) -> str:
    """What the script prints, last line of errors included."""
    if text is not None:
        (folder / "h.py").write_text(text)
    (folder / "main.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(TREE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "main.py", *words], cwd=folder, env=env, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_what_is_installed_counts_by_its_version_but_smmux_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version of smmux is another one after each commit."""
    (tmp_path / "smmux-0.1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info").mkdir()
    monkeypatch.setattr(modules, "_sites", lambda: (str(tmp_path),))
    before = modules._installed.__wrapped__().digest
    (tmp_path / "smmux-0.1.0.dist-info").rename(tmp_path / "smmux-0.1.1.dev1+g1234567.dist-info")
    assert modules._installed.__wrapped__().digest == before
    (tmp_path / "other-1.0.dist-info").rename(tmp_path / "other-1.1.dist-info")
    assert modules._installed.__wrapped__().digest != before
    assert not [path for path in modules._FILES if Path(path).name == "version.txt"]


H = "K = 1\ndef f(n):\n    return n + K\n"


def test_end_to_end_what_a_module_is_edited_to_counts_at_once(tmp_path: Path) -> None:
    assert script(tmp_path, "threads", text=H) == "[1, 2, 3] 0 3"
    assert script(tmp_path, "threads") == "[1, 2, 3] 3 0"
    assert script(tmp_path, "threads", text=H.replace("K = 1", "K = 2")) == "[2, 3, 4] 0 3"
    assert script(tmp_path, "threads", "5") == "[5, 6, 7] 0 3"
    assert script(tmp_path, "threads", "5") == "[5, 6, 7] 3 0"


@pytest.mark.long
def test_end_to_end_processes_that_are_not_what_the_key_says_leave_no_record(tmp_path: Path) -> None:
    assert script(tmp_path, "processes", text=H) == "[1, 2, 3] 0 3"
    assert script(tmp_path, "threads") == "[1, 2, 3] 3 0"
    said = script(tmp_path, "processes", "5")  # a number that only the main process has set
    assert "not kept" in said
    assert "h.K" in said
    assert script(tmp_path, "threads", "5") == "[5, 6, 7] 0 3"


LATE = """
import importlib, sys
from smmux.sweep import Cache, executing, sweep
def run(n):
    return {"v": importlib.import_module("la" + "te").f(n)}
if __name__ == "__main__":
    with Cache("c.sqlite") as cache, executing(sys.argv[1], 1) as pool:
        records = sweep(run, [{"n": n} for n in range(3)], cache=cache, executor=pool)
        print([r["v"] for r in records], cache.found, cache.made)
"""


@pytest.mark.long
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_end_to_end_a_module_that_only_a_point_loads_counts_too(executor: str, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("def f(n):\n    return n + 1\n")
    (tmp_path / "main.py").write_text(LATE)
    env = {**os.environ, "PYTHONPATH": str(TREE), "PYTHONDONTWRITEBYTECODE": "1"}

    def run() -> str:
        command = [sys.executable, "main.py", executor]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert [run(), run()] == ["[1, 2, 3] 0 3", "[1, 2, 3] 3 0"]
    (tmp_path / "late.py").write_text("def f(n):\n    return n + 2\n")
    assert [run(), run()] == ["[2, 3, 4] 0 3", "[2, 3, 4] 3 0"]


EDITED = """
import pathlib, sys
from smmux.sweep import Cache, sweep
import h
def run(n):
    return {"v": h.f(n)}
if "edit" in sys.argv:
    pathlib.Path("h.py").write_text(pathlib.Path("h.py").read_text().replace("K = 1", "K = 2"))
with Cache("c.sqlite") as cache:
    print([r["v"] for r in sweep(run, [{"n": 3}], cache=cache)], cache.found)
"""


def test_end_to_end_a_file_that_is_edited_while_the_program_runs_says_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "h.py").write_text(H)
    (tmp_path / "main.py").write_text(EDITED)
    env = {**os.environ, "PYTHONPATH": str(TREE), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*words: str) -> str:
        command = [sys.executable, "main.py", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert run("edit") == "[4] 0"  # what was loaded runs
    assert run() == "[5] 0"
    assert run() == "[5] 1"


TYPED = """
import time
from smmux.sweep import Cache, sweep
started = time.time()
K = 1
class A:
    k = 1
def f(n):
    return n + K + A.k
def run(n):
    return {"v": f(n)}
with Cache("c.sqlite") as cache:
    print([r["v"] for r in sweep(run, [{"n": 3}], cache=cache)], cache.found)
"""


def test_end_to_end_a_program_without_a_file_is_known_by_what_it_has_defined(tmp_path: Path) -> None:
    """As in a notebook; what no function names does not count."""
    env = {**os.environ, "PYTHONPATH": str(TREE)}

    def run(text: str) -> str:
        command = [sys.executable, "-"]
        done = subprocess.run(command, cwd=tmp_path, env=env, input=text, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert [run(TYPED), run(TYPED)] == ["[5] 0", "[5] 1"]
    assert run(TYPED.replace("K = 1", "K = 2")) == "[6] 0"
    assert run(TYPED.replace("k = 1", "k = 3")) == "[7] 0"
    assert run(TYPED.replace("n + K", "n * K")) == "[4] 0"


@cuda.jit
def third(a):
    a[0] /= 3


def setting(n: int) -> dict[str, Any]:
    import warnings

    a = np.ones(1)
    with warnings.catch_warnings(action="ignore"):
        third[1, 1](a)
    return {"machine": gpus.current().name, "value": float(a[0])}


POOLS = [lambda: None, lambda: ThreadPoolExecutor(1), lambda: Workers(1), lambda: ProcessPoolExecutor(1, _spawn())]


def _spawn() -> Any:
    import multiprocessing

    return multiprocessing.get_context("spawn")


@pytest.mark.long
@pytest.mark.parametrize("pool", POOLS)
def test_settings_reach_the_points_and_are_part_of_the_key(pool: Any, tmp_path: Path) -> None:
    executor = pool()
    narrowed, exact = float(np.float32(1) / np.float32(3)), 1 / 3
    with Cache(tmp_path / "c.sqlite") as cache, executor or nullcontext():

        def now() -> tuple[Any, ...]:
            [record] = sweep(setting, [{"n": 1}], cache=cache, executor=executor)
            return record["machine"], record["value"]

        assert now() == ("GTX285", exact)
        with gpus.set_current("K20c"):
            assert now() == ("K20c", exact)
            with narrow():
                assert now() == ("K20c", narrowed)
        with narrow():
            assert now() == ("GTX285", narrowed)
        assert (cache.found, cache.made) == (0, 4)
        assert now() == ("GTX285", exact)
        assert cache.found == 1


def test_a_version_of_ones_own_stands_for_what_nobody_can_look_into(tmp_path: Path) -> None:
    file = (tmp_path / "open").open("w")

    def run(n: int) -> dict[str, Any]:
        return {"v": n + len(file.name)}

    with Cache(tmp_path / "c.sqlite") as cache, file:
        with pytest.raises(ConfigError, match=r"version='1'"):
            sweep(run, [{"n": 1}], cache=cache)
        for version, found in (("1", 0), ("1", 1), ("2", 1)):
            sweep(run, [{"n": 1}], cache=cache, version=version)
            assert cache.found == found
        with pytest.raises(ConfigError, match="nobody knows"):
            sweep(run, [{"n": file}], cache=cache, version="1")


def test_a_record_that_another_process_made_of_other_files_is_not_kept(tmp_path: Path) -> None:
    from smmux.sweep.lookup import Lookup
    from smmux.sweep.program_state import Witness

    with Cache(tmp_path / "c.sqlite") as cache:
        lookup = Lookup(cache, setting, [{"n": 1}])
        with pytest.warns(CacheWarning, match=f"the file of {__name__}"):
            lookup.keep(0, {"n": 1}, Witness({__name__: ("other", "")}))
        assert lookup.known() == {}
        lookup.keep(0, {"n": 1}, Witness({}))
        assert lookup.known() == {0: {"n": 1}}


def test_a_folder_that_pip_has_made_on_the_path_is_installed(tmp_path: Path) -> None:
    (tmp_path / "brought-1.dist-info").mkdir()
    (tmp_path / "brought-1.dist-info" / "RECORD").write_text("brought.py,,\n")
    for name in ("brought", "mine"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    text = "import brought, mine; from smmux.sweep.modules import own; print({'brought', 'mine'} & own().keys())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(TREE)])}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "{'mine'}", done.stderr
