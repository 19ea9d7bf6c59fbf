"""Calls that name what they call, so that passes find every device function, barrier and index that a kernel uses.

`f = helper`, `c = cuda` and `apply(helper, x)` hide what is called behind variables and parameters. A direct function
has none of these: variables that stand for an object from outside give way to it, and a function that is given others
becomes a copy that captures them.
"""

from __future__ import annotations

import ast
from collections import ChainMap, Counter
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from smmux.base.trees import copied, walk
from smmux.compiler.python.call_graph import device_function
from smmux.kernels.kernel import Kernel
from smmux.language.kernel_only import Dim3
from smmux.rewriting.build import at, lists
from smmux.rewriting.draft import Names
from smmux.rewriting.vocabulary import from_outside
from smmux.source.attributes import peek
from smmux.source.function_source import MISSING, FunctionSource, assigned_names

NUMBERS = (np.generic, int, float, complex, tuple)


def direct(source: FunctionSource) -> FunctionSource:
    """A kernel whose calls, and those of all functions that it calls, name what they call; itself if they do."""
    return _Copies().of(source, {})


def stands_for(source: FunctionSource, node: ast.expr) -> Any:
    """The object from outside that is no value, such as a function or a module, which an expression names; else
    MISSING."""
    value = source.resolve(node) if from_outside(source, node) else MISSING
    return value if _is_object(value) else MISSING


def _is_object(value: Any) -> bool:
    """True for modules, functions, classes that hold functions, and `cuda.threadIdx` with its like."""
    if isinstance(value, type):
        return not issubclass(value, NUMBERS)
    known = isinstance(value, ModuleType | FunctionType | Dim3)
    return known or isinstance(peek(value, "definition"), FunctionSource)


class _Copies:
    """Direct copies of functions, each made once for the objects that it is given."""

    def __init__(self) -> None:
        self.made: dict[tuple[Any, ...], FunctionSource] = {}

    def of(self, source: FunctionSource, given: Mapping[str, Any]) -> FunctionSource:
        """The copy of a function that captures objects under the names of its parameters; itself if it can stay."""
        key = (source, *((name, id(value)) for name, value in given.items()))
        if key not in self.made:
            self.made[key] = source  # recursion is refused elsewhere
            self.made[key] = self._copy(source, given)
        return self.made[key]

    def _copy(self, source: FunctionSource, given: Mapping[str, Any]) -> FunctionSource:
        tree = copied(source.node)
        _without_parameters(tree, given)
        defaults = {name: value for name, value in source.defaults.items() if name not in given}
        captured: ChainMap[str, Any] = ChainMap({}, dict(given), source.captured)  # type: ignore[arg-type]
        changed = bool(given)
        while aliases := _aliases(made := replace(source, node=tree, captured=captured, defaults=defaults)):
            tree = _Unaliased(aliases).visit(tree)
            changed = True
        calls = _Calls(self, made, Names(made, tree))
        calls.visit(tree)
        captured.maps[0].update(calls.added)
        if not changed and not calls.added:
            return source
        return replace(made, node=ast.fix_missing_locations(tree))


def _without_parameters(tree: ast.FunctionDef, names: Mapping[str, Any]) -> None:
    """Take parameters out of a function, with their defaults."""
    arguments = tree.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    kept = [default for a, default in zip(positional[first:], arguments.defaults, strict=True) if a.arg not in names]
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    keywords = [(a, default) for a, default in pairs if a.arg not in names]
    arguments.posonlyargs = [a for a in arguments.posonlyargs if a.arg not in names]
    arguments.args = [a for a in arguments.args if a.arg not in names]
    arguments.defaults = kept
    arguments.kwonlyargs = [a for a, _ in keywords]
    arguments.kw_defaults = [default for _, default in keywords]


def _aliases(source: FunctionSource) -> dict[str, ast.Assign]:
    """Variables that stand for one object from outside all along, with the assignment that says so."""
    times = Counter(assigned_names(source.node.body))
    found: dict[str, ast.Assign] = {}
    for node in walk(source.node):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not isinstance(target, ast.Name) or times[target.id] != 1 or target.id in source.parameters:
            continue
        assert isinstance(node, ast.Assign)
        if stands_for(source, node.value) is not MISSING:
            found[target.id] = node
    return found


class _Unaliased(ast.NodeTransformer):
    """Puts objects in the place of the variables that stand for them, and takes out their assignments."""

    def __init__(self, aliases: Mapping[str, ast.Assign]) -> None:
        self.aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return at(copied(self.aliases[node.id].value), node) if node.id in self.aliases else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for body in lists(node) if isinstance(node, ast.stmt) else ():
            kept = [inner for inner in body if inner not in self.aliases.values()]
            body[:] = kept or [at(ast.Pass(), inner) for inner in body[:1]]
        return super().generic_visit(node)


class _Calls(ast.NodeTransformer):
    """Lets the calls of a function name direct functions; added: the names that are new to it, with their functions."""

    def __init__(self, copies: _Copies, source: FunctionSource, names: Names) -> None:
        self.copies, self.source, self.names = copies, source, names
        self.added: dict[str, Kernel] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = device_function(self.source, node) if from_outside(self.source, node.func) else None
        if called is None:
            return node
        given = self.objects(node, called)
        made = self.copies.of(called, given)
        if made is called:
            return node
        node.args = [a for name, a in _positional(node, called) if name not in given]
        node.keywords = [k for k in node.keywords if k.arg not in given]
        node.func = at(ast.Name(self.name(called, made), ast.Load()), node.func)
        return node

    def objects(self, node: ast.Call, called: FunctionSource) -> dict[str, Any]:
        """The objects that a call gives to parameters, or that these have as defaults."""
        if (
            called.declared
            or any(isinstance(a, ast.Starred) for a in node.args)
            or any(not k.arg for k in node.keywords)
        ):
            return {}
        values = {name: stands_for(self.source, a) for name, a in _positional(node, called)}
        values |= {str(k.arg): stands_for(self.source, k.value) for k in node.keywords}
        left = {name: value for name, value in called.defaults.items() if name not in values}
        assigned = set(assigned_names(called.node.body))
        known = (*called.parameters, *called.keywords)
        return {n: v for n, v in {**values, **left}.items() if n in known and n not in assigned and _is_object(v)}

    def name(self, called: FunctionSource, made: FunctionSource) -> str:
        """What the function calls a direct one."""
        for name, kernel in self.added.items():
            if kernel.definition is made:
                return name
        name = self.names.new(f"direct_{called.name}")
        self.added[name] = Kernel(made)
        return name


def _positional(node: ast.Call, called: FunctionSource) -> list[tuple[str, ast.expr]]:
    """The arguments that a call gives by position, with the names of their parameters; empty for those of `*rest`."""
    names = [*called.parameters, *[""] * len(node.args)]
    return list(zip(names, node.args, strict=False))
