"""Looking at a program changes nothing of it: no code of its objects runs, and a second look sees the same."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux.sweep import Cache, sweep
from smmux.sweep.fingerprint import Walk, fingerprint
from smmux.sweep.modules import contents, loaded
from smmux.sweep.program_state import globals_now

TREE = Path(__file__).parents[2]
ASKED: list[str] = []
"""What objects of this file were asked for."""


def noting(name: str, value: Any) -> Any:
    def method(*_: Any) -> Any:
        ASKED.append(name)
        return value

    return method


VALUES = {"getattr": 3, "hash": 3, "eq": True, "bool": True, "len": 1, "iter": (), "getitem": 3, "repr": "", "call": 3}
METHODS = {f"__{name}__": noting(name, value) for name, value in VALUES.items()}
STANDING_IN = {"__class__": property(noting("class", int)), "__name__": property(noting("name", "sqrt"))}
BASES = (object, int, float, str, bytes, tuple, list, set, frozenset, dict)


def asked_for_all(self: Any, name: str) -> Any:
    ASKED.append(name)
    raise AttributeError(name)


def standing_in(base: type) -> Any:
    """An object that notes whatever it is asked for."""
    return type("Standing", (base,), {**METHODS, **STANDING_IN, "__getattribute__": asked_for_all})()


class Meta(type):
    def __getattr__(cls, name: str) -> Any:
        ASKED.append(name)
        return lambda self: 3


class OfMeta(metaclass=Meta):
    """A class that makes attributes on demand."""


class Known(OfMeta):
    __getattribute__ = asked_for_all


def on_demand() -> types.ModuleType:
    """A module that makes attributes on demand, and has a function."""
    module = types.ModuleType("on_demand")
    code = "def f(): return 1\ndef __getattr__(name):\n    asked.append(name)\n    raise AttributeError(name)\n"
    exec(code, vars(module) | {"asked": ASKED}, vars(module))
    return module


OBJECTS = [standing_in(base) for base in BASES]
HELD = [
    *OBJECTS,
    Known(),
    OfMeta(),
    OfMeta,
    {1: OBJECTS[0], "a": (OBJECTS[0], [OBJECTS[1]])},
    type("Keys", (dict,), {})({OBJECTS[0]: 1}),
    type("Items", (set,), {})({OBJECTS[0]}),
    types.MethodType(noting, OBJECTS[0]),
    functools.partial(noting, OBJECTS[0]),
]


def reader() -> Any:
    """Names what is held, so that it counts."""
    return HELD, OBJECTS, ASKED


@pytest.mark.parametrize("number", range(len(HELD)))
def test_a_look_at_an_object_asks_it_for_nothing(number: int) -> None:
    ASKED.clear()
    seen = {Walk(state=True).digest(HELD[number]) for _ in range(2)}
    known = {fingerprint(HELD[number]) for _ in range(2)}
    assert not ASKED
    assert len(seen) == len(known) == 1


@pytest.mark.long
def test_a_look_at_the_program_asks_nothing_of_its_objects_and_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    module = on_demand()
    monkeypatch.setitem(sys.modules, "on_demand", module)
    module.f.__qualname__ = "g"  # which the module has not
    monkeypatch.setattr(sys.modules[__name__], "HELD", [*HELD, module, module.f])
    ASKED.clear()
    first, second = ((globals_now(), contents(), loaded()) for _ in range(2))
    assert not ASKED
    assert first == second
    assert {"HELD", "OBJECTS", "ASKED"} <= first[0][__name__].keys()
    assert "f" in first[0]["on_demand"]


class Failure(Exception):
    pass


class Part(functools.partial):  # type: ignore[type-arg]
    pass


def class_and_object() -> list[Any]:
    """A class that is no name of its installed module, and an object, for which `copyreg` notes the class's slots."""
    kind = type("Made", (), {"__slots__": ("x",), "__module__": "numpy"})
    return [kind, kind()]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Failure(1),
        lambda: Part(len, ()),
        lambda: np.ones(3).view(np.ma.MaskedArray),
        class_and_object,
    ],
)
def test_attributes_that_a_first_look_makes_are_seen_by_it(make: Any) -> None:
    """Python makes the dictionary of some objects when it is asked for, and notes in a class which slots it has."""
    value = make()
    assert Walk(state=True).digest(value) == Walk(state=True).digest(value) == Walk(state=True).digest(make())


@pytest.mark.long
def test_records_are_found_again_beside_objects_that_note_what_they_are_asked_for(tmp_path: Path) -> None:
    def run(n: int) -> dict[str, int]:
        return {"v": len(reader()) + n}

    with Cache(tmp_path / "c.sqlite") as cache:
        for _ in range(2):
            sweep(run, [{"n": 1}, {"n": 2}], cache=cache)
        assert (cache.found, cache.made) == (2, 2)


HOLDING = """
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from smmux.sweep import Cache, sweep
from smmux.sweep.workers import Workers
def run(n):
    return {"v": n}
def main():
    found = []
    with cache, threads, processes, workers:
        for executor in (None, threads, processes, workers):
            sweep(run, [{"n": 1}, {"n": 2}], cache=cache, executor=executor)
            found.append(cache.found)
    print(found)
if __name__ == "__main__":
    cache, threads, processes, workers = Cache("c.sqlite"), ThreadPoolExecutor(2), ProcessPoolExecutor(1), Workers(1)
    main()
"""


def test_end_to_end_a_program_that_holds_its_cache_and_executors_finds_its_records(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(HOLDING)
    env = {**os.environ, "PYTHONPATH": str(TREE), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "main.py"]
    done = [subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True) for _ in range(2)]
    assert [each.stdout.strip() for each in done] == ["[0, 2, 4, 6]", "[2, 4, 6, 8]"], done[0].stderr


def test_what_an_executor_prepares_its_workers_with_counts() -> None:
    first, same, other = (ThreadPoolExecutor(1, initializer=noting, initargs=(n, 1)) for n in "aab")
    assert fingerprint(first) == fingerprint(same) != fingerprint(other)


CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
run = "print([r['v'] for r in sweep(run, [{'n': 1}], cache=cache)], cache.found)"
shell.run_cell("from smmux.sweep import Cache, sweep; import h; cache = Cache('c.sqlite')")
shell.run_cell("def run(n): return {'v': h.f(n)}")
for cell in ("0", run, "11", run, "12", "(exit := 5)", run, run, "(exit := 6)", run):
    shell.run_cell(cell)
"""


def test_end_to_end_a_notebook_finds_its_records_in_later_cells(tmp_path: Path) -> None:
    """The names of what the shell keeps are common ones; what a cell puts in their place counts."""
    (tmp_path / "h.py").write_text("import sys\ndef f(n):\n    for _ in []: sys.exit()\n    return n\n")
    env = {**os.environ, "PYTHONPATH": str(TREE), "IPYTHONDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", CELLS]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if line.startswith("[")] == [
        "[1] 0",
        "[1] 1",
        "[1] 1",
        "[1] 2",
        "[1] 2",
    ]
