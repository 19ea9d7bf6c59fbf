"""The stub of the core says what the core has: names, parameters, the shape of every table."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

import smmux
from smmux import _core

BODY = ast.parse((Path(smmux.__file__).parent / "_core.pyi").read_text()).body
FUNCTIONS = {node.name: node for node in BODY if isinstance(node, ast.FunctionDef)}
TABLES = {
    node.target.id: (eval(ast.unparse(node.annotation.slice)), BODY[i + 1].value.value)  # type: ignore[attr-defined]
    for i, node in enumerate(BODY)
    if isinstance(node, ast.AnnAssign)
}
"""Type and description by name."""


def test_names() -> None:
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == {*FUNCTIONS, *TABLES, "Smm"}


def parameters(args: ast.arguments) -> list[tuple[str, bool]]:
    """Names, and whether they may be left out."""
    names = [arg.arg for arg in (*args.posonlyargs, *args.args) if arg.arg not in ("self", "cls")]
    needed = len(names) - len(args.defaults)
    return [(name, i >= needed) for i, name in enumerate(names)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    declared = inspect.signature(getattr(_core, name)).parameters.values()
    expected = [(p.name, p.default is not p.empty) for p in declared]
    assert parameters(FUNCTIONS[name].args) == expected


def test_the_class() -> None:
    [stub] = [node for node in BODY if isinstance(node, ast.ClassDef)]
    methods = {node.name: node.args for node in stub.body if isinstance(node, ast.FunctionDef)}
    found = {name for name in vars(_core.Smm) if not name.startswith("_")}
    assert found == set(methods) - {"__new__"}
    for name, args in methods.items():
        declared = inspect.signature(_core.Smm if name == "__new__" else getattr(_core.Smm, name)).parameters
        assert [name for name, _ in parameters(args)] == [p for p in declared if p != "self"]


def fits(value: Any, declared: Any) -> bool:
    """Is the value of the type, element by element?"""
    origin, of = get_origin(declared), get_args(declared)
    if origin is tuple and of[-1] is Ellipsis:
        return all(fits(item, of[0]) for item in value)
    if origin is tuple:
        return len(value) == len(of) and all(map(fits, value, of))
    if origin is list:
        return all(fits(item, of[0]) for item in value)
    if origin is dict:
        return all(fits(key, of[0]) and fits(item, of[1]) for key, item in value.items())
    return type(value) is declared


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    """The description names as many columns as there are."""
    value, (declared, doc) = getattr(_core, name), TABLES[name]
    assert fits(value, declared)
    row = next(iter(value.values() if isinstance(value, dict) else value))
    columns = re.search(r"\((.*)\)", doc)
    assert (len(columns[1].split(",")) if columns else 0) == (len(row) if isinstance(row, tuple) else 0)
