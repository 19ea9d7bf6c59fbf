"""The rooms of smmux: each file imports from its own room and from rooms below it, wherever the import stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import smmux

HOME = Path(smmux.__file__).parent
ROOMS = (
    "errors",
    "base",
    "drawing",
    "language",
    "source",
    "compiler",
    "gpus",
    "machines",
    "compiler.library",
    "compiler.analysis",
    "compiler.passes",
    "compiler.code",
    "compiler.build",
    "compiler.python",
    "compiler.text",
    "compiler.sass",
    "compiler.driver",
    "results",
    "running",
    "kernels",
    "modules",
    "cuda",
    "rewriting",
    "multiplex.analysis",
    "multiplex.regions",
    "multiplex.forms",
    "multiplex",
    "preload",
    "sweep",
    "benchmarks",
    "advice",
    "shell",
)
"""From the ground floor up. A room within a room is listed apart where its floor is another one."""

FACES = ("kernel", "models", "plot", "policies", "smm", "trace", "types", "__init__", "__main__")
"""Files at the top, under the names that people import: they lie above all rooms, and nobody within imports them."""

MOST_AT_THE_TOP = 10
FILES = sorted(HOME.rglob("*.py"))


def name_of(path: Path) -> str:
    """A module's name below `smmux`."""
    return ".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    """The room of a module: the longest name of a room that its name begins with."""
    if module in FACES:
        return "the faces"
    rooms = [room for room in ROOMS if f"{module}.".startswith(f"{room}.")]
    assert rooms, f"{module} lies in no room"
    return max(rooms, key=len)


def floor_of(module: str) -> int:
    """The number of a module's room from the ground up."""
    room = room_of(module)
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


MODULES = {name_of(path): path for path in FILES}


@cache
def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The statements of a file that import."""
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The modules of smmux that a file imports, at its head, in functions or for type checkers, with their lines."""
    for node in imports(path):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}".partition("smmux.")[2]
                if f"{node.module}.".startswith("smmux."):
                    module = full if full in MODULES else node.module.partition("smmux.")[2]
                    if module and (module in MODULES):
                        yield node.lineno, module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition("smmux.")[2] in MODULES and alias.name.startswith("smmux."):
                    yield node.lineno, alias.name.partition("smmux.")[2]


def test_imports_do_not_climb() -> None:
    climbing = [
        f"{path}, line {line}: {other}"
        for module, path in MODULES.items()
        if module not in FACES and module
        for line, other in imported(path)
        if floor_of(other) > floor_of(module)
    ]
    assert climbing == []


def test_few_files_lie_at_the_top() -> None:
    assert len(list(HOME.glob("*.py"))) <= MOST_AT_THE_TOP


def test_no_import_is_relative_but_those_of_the_package_itself() -> None:
    relative = [
        name
        for name, path in MODULES.items()
        for node in imports(path)
        if isinstance(node, ast.ImportFrom) and node.level and name != "__init__"
    ]
    assert relative == []


def test_what_passes_import_runs_in_no_circle() -> None:
    """Within the rooms of the passes no circle hides either."""
    passes = {m: p for m, p in MODULES.items() if m.startswith(("multiplex.", "rewriting."))}
    needs = {m: {other for _, other in imported(p)} & passes.keys() - {m} for m, p in passes.items()}
    assert sum(map(len, needs.values())) > len(passes)
    while free := [module for module, needed in needs.items() if not needed & needs.keys()]:
        for module in free:
            del needs[module]
    assert sorted(needs) == []
