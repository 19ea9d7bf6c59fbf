"""Attributes of captured objects, read without running code of theirs.

A kernel's text names attributes of what it captures: `math.pi`, `Color.RED`, `sizes.rows`. Those that are there are
read. A property, a `__getattr__` or a module that is imported when it is named would run Python in the compiler, at the
word of a text; only the libraries whose names make the language may do so.
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from typing import Any

__all__ = ["ComputedError", "attribute", "listed", "peek", "trusted"]

LIBRARIES = frozenset({"smmux", "numpy", "numba", "enum", "builtins"})
"""Packages whose attributes may be computed: what they compute is a name of the language, a type or a number."""

_ABSENT = object()


class ComputedError(AttributeError):
    """An attribute that only code of its owner can tell."""


def trusted(kind: type) -> bool:
    """Whether a class is one of the libraries that kernels are written with."""
    return _library(kind.__dict__.get("__module__"))


def attribute(owner: Any, name: str) -> Any:
    """The attribute of a captured object. Raises AttributeError, or what a library's own attribute raises."""
    if isinstance(owner, types.ModuleType):
        return _member(owner, name)
    if trusted(owner if isinstance(owner, type) else type(owner)):
        return getattr(owner, name)
    if isinstance(owner, enum.EnumMeta) and name in owner.__members__:
        return owner.__members__[name]
    found = inspect.getattr_static(owner, name, _ABSENT)
    asked = inspect.getattr_static(type(owner), "__getattribute__")
    if found is _ABSENT and not hasattr(type(owner), "__getattr__"):
        raise AttributeError(name)
    if found is _ABSENT or isinstance(asked, types.FunctionType) or _computed(found):
        raise ComputedError(name)
    return getattr(owner, name)


def peek(owner: Any, name: str) -> Any:
    """The attribute of an object, None if it has none that can be read. A module is not asked for what it lacks: it
    would look for names like that one."""
    if isinstance(owner, types.ModuleType):
        return types.ModuleType.__getattribute__(owner, "__dict__").get(name)
    try:
        return attribute(owner, name)
    except AttributeError:
        return None


def listed(owner: Any) -> list[str]:
    """Names of the attributes that are there."""
    kinds = type(owner).__mro__ if not isinstance(owner, type) else owner.__mro__
    tables = [inspect.getattr_static(owner, "__dict__", {}), *(kind.__dict__ for kind in kinds)]
    if isinstance(owner, types.ModuleType):
        tables = [types.ModuleType.__getattribute__(owner, "__dict__")]
    return sorted({str(name) for table in tables if isinstance(table, dict | types.MappingProxyType) for name in table})


def _library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in LIBRARIES


def _member(module: types.ModuleType, name: str) -> Any:
    names = types.ModuleType.__getattribute__(module, "__dict__")
    if name in names:
        return names[name]
    own = names.get("__name__")
    if _library(own):
        return getattr(module, name)
    inner = sys.modules.get(f"{own}.{name}")
    if inner is None:
        raise AttributeError(name)
    return inner


def _computed(found: Any) -> bool:
    """Whether what a class holds under a name is asked for the value, in Python."""
    if isinstance(found, property):
        return not _library(getattr(found.fget, "__module__", None))
    getter = inspect.getattr_static(type(found), "__get__", None)
    return isinstance(getter, types.FunctionType) and not _library(getter.__module__)
