"""What an object holds: its attributes, and what a built-in type that it is made of keeps beside them."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

import numpy as np

from smmux.errors import ConfigError
from smmux.sweep.modules import is_installed
from smmux.sweep.plainly import attribute

__all__ = ["contents_of", "own_classes"]

NOTHING = ("nothing",)
PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
CONTENT: dict[type, Any] = {
    object: lambda value: NOTHING,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytes(memoryview(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    set: lambda value: set().union(value),
    frozenset: lambda value: frozenset().union(value),
    dict: lambda value: tuple(dict.items(value)),
    np.ndarray: lambda value: np.ndarray.view(value, np.ndarray),
}
"""How to get what a built-in type keeps, whatever its subclass says of itself."""


def contents_of(value: Any, ours: bool) -> tuple[dict[str, Any], Any]:
    """The attributes of an object by name, and what the built-in type keeps that its class is made of.

    ours: of smmux, where what is computed on demand counts as computed always. Raises ConfigError for an object that
    may hold what nobody can look at.
    """
    kind = type(value)
    solid = next(c for c in kind.__mro__ if _has_own_memory(c))
    own = own_classes(kind)
    if solid in CONTENT and (own or ours or solid is np.ndarray):
        return _fields_of(value, ours), CONTENT[solid](value)
    if kind is object or attribute(kind, "__next__") or (own and any(n in vars(c) for c in own for n in PICKLING)):
        raise _unknown(kind)
    held = _fields_of(value, ours) if own else {}  # first: the dictionary of attributes is made when it is asked for
    try:
        parts = value.__reduce_ex__(4)
    except TypeError:
        raise _unknown(kind) from None
    if isinstance(parts, str):
        raise _unknown(kind)
    call, arguments, state, *items = (*parts, None)[:6]
    return held, (call, arguments, state, *(list(each) if each is not None else None for each in items))


def _unknown(kind: type) -> ConfigError:
    from smmux.sweep.fingerprint import REMEDY

    return ConfigError(f"nobody knows what makes two objects of {kind.__qualname__} alike; {REMEDY}")


def own_classes(kind: type) -> list[type]:
    """The classes of an object that are the program's own."""
    return [c for c in kind.__mro__ if not is_installed(c.__module__)]


def _has_own_memory(kind: type) -> bool:
    """Whether a type is written in C, and may keep what no attribute shows."""
    made_by_python = 1 << 9  # Py_TPFLAGS_HEAPTYPE, which some types in C have too
    return not kind.__flags__ & made_by_python or isinstance(vars(kind).get("__new__"), types.BuiltinFunctionType)


def _fields_of(value: Any, ours: bool) -> dict[str, Any]:
    """All attributes that an object itself has, in a dictionary or in slots."""
    kind = type(value)
    if ours and dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    found: dict[str, Any] = {}
    for c in kind.__mro__:
        for name, slot in vars(c).items():
            if isinstance(slot, types.MemberDescriptorType) and not name.startswith("__"):
                try:
                    found[f"{c.__qualname__}.{name}"] = slot.__get__(value, kind)
                except AttributeError:
                    continue
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        attributes = {}
    for name, item in attributes.items():
        computed = isinstance(getattr(kind, name, None), functools.cached_property) if ours else name == "_mmap"
        if not computed:
            found[str(name)] = item
    return found
