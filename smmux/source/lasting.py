"""What a program depends on of its kernel, as text that means the same in another process; nothing where none does."""

from __future__ import annotations

import ast
import builtins
import hashlib
import math
import operator
import sys
import types
from typing import Any

import numpy as np

from smmux.base.trees import walk
from smmux.language.types import Scalar
from smmux.source.attributes import peek
from smmux.source.function_source import MISSING, FunctionSource

__all__ = ["lasting"]

KNOWN = ("smmux", "math", "cmath", "operator", "builtins", "numpy")
"""Packages whose names mean the same as long as their versions do."""
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _Unknown(Exception):
    """A captured object that only this process knows."""


def lasting(source: FunctionSource) -> str | None:
    """The text, its places and all that it captures; None if something captured means nothing elsewhere.

    Numbers, tuples and arrays are known by their values, functions of the kernel language by what they say in turn,
    and names of `KNOWN` by where they are found. Of a kernel that a pass has made nobody says what it is made of.
    """
    try:
        return repr(_function(source, {}))
    except _Unknown:
        return None


def _function(source: FunctionSource, seen: dict[int, int]) -> tuple[Any, ...]:
    if id(source) in seen:
        return "again", seen[id(source)]
    seen[id(source)] = len(seen)
    if source.transformed or source.remade or source.original or source.webs or source.apart or source.separate:
        raise _Unknown
    places = [(n.lineno, n.col_offset) for n in walk(source.node) if isinstance(n, ast.expr | ast.stmt)]
    options = source.device, source.fastmath, source.library, source.max_registers, source.typing
    captured = [(ast.unparse(e), _captured(source, e, seen)) for e in source.free]
    defaults = [(name, _words(value, seen)) for name, value in source.defaults.items()]
    written = source.text, source.filename, hashlib.sha256(repr(places).encode()).hexdigest(), repr(source.declared)
    return (*written, options, captured, defaults)


def _captured(source: FunctionSource, name: ast.expr, seen: dict[int, int]) -> Any:
    """What a name, or an attribute of one, stands for; attributes of modules of `KNOWN` by where they are."""
    root = next(node for node in walk(name) if isinstance(node, ast.Name))
    module = source.lookup(root.id)
    if isinstance(module, types.ModuleType):
        if not _is_known(module.__name__) or sys.modules.get(module.__name__) is not module:
            raise _Unknown
        return "of", module.__name__
    return _words(source.resolve(name), seen)


def _is_known(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in KNOWN


def _words(value: Any, seen: dict[int, int]) -> Any:
    kind = type(value)
    if kind in PLAIN:
        return kind.__name__, repr(value)
    if kind is Scalar:
        return "scalar", value.name
    if kind in (tuple, list):
        return (kind.__name__, *(_words(item, seen) for item in value))
    if isinstance(value, np.generic | np.ndarray) and _is_known(kind.__module__) and value.dtype.kind in "biufc":
        content = np.ascontiguousarray(value).tobytes()
        return kind.__name__, value.dtype.str, np.shape(value), hashlib.sha256(content).hexdigest()
    definition = peek(value, "definition")
    if isinstance(definition, FunctionSource):
        return _function(definition, seen)
    for module in (builtins, math, operator):
        if vars(module).get(name := peek(value, "__name__")) is value and name:
            return "of", module.__name__, name
    module, name = peek(value, "__module__"), peek(value, "__qualname__")
    if value is not MISSING and _is_known(module) and _found(module, name) is value:
        return "of", module, name
    raise _Unknown


def _found(module: Any, name: Any) -> Any:
    """What has that name in a module."""
    found: Any = sys.modules.get(module)
    for part in name.split(".") if isinstance(name, str) else ("",):
        found = peek(found, part)
    return found
