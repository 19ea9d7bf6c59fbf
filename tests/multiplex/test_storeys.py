"""The storeys of the passes: each file imports from its own storey and those below it."""

import ast
from pathlib import Path

import pytest

from smmux import multiplex

HOME = Path(multiplex.__file__).parent
STOREYS = ("syntax", "analysis", "regions", "forms")
FILES = sorted(path for path in HOME.rglob("*.py") if path != HOME / "__init__.py")


def storey(parts):
    """The number of a storey, from a path or module name below `smmux.multiplex`."""
    return STOREYS.index(parts[0])


def imported(tree):
    """All modules that a file imports, at its head or within functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import in line {node.lineno}"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def inside(path):
    """The modules of the passes that a file imports, as parts of names below `smmux.multiplex`."""
    names = imported(ast.parse(path.read_text()))
    return [name.split(".")[2:] for name in names if name.startswith("smmux.multiplex.")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_run_down(path):
    own = storey(path.relative_to(HOME).parts)
    assert [parts for parts in inside(path) if storey(parts) > own] == []


def test_imports_run_in_no_circle():
    needs = {
        path: {(HOME / "/".join(parts[:-1])).with_suffix(".py") for parts in inside(path)} & set(FILES)
        for path in FILES
    }
    assert sum(map(len, needs.values())) > len(FILES)
    while free := [path for path, needed in needs.items() if not needed & needs.keys()]:
        for path in free:
            del needs[path]
    assert sorted(needs) == []
