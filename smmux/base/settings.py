"""Settings that hold inside a `with` and change what launches do: the current machine, `narrow`, ...

The points of a sweep run under those of the sweep, whatever thread or process they run in, and their records are kept
for those alone.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["current", "setting", "under"]

T = TypeVar("T")

_SETTINGS: dict[str, tuple[ContextVar[Any], Any]] = {}


def setting(module: str, name: str, default: T) -> ContextVar[T]:
    """The variable of a setting, for the module of that name to keep."""
    variable: ContextVar[T] = ContextVar(f"{module}:{name}", default=default)
    _SETTINGS[variable.name] = variable, default
    return variable


def current() -> dict[str, Any]:
    """The settings that are not as they are by default, by name."""
    values = {name: (variable.get(), default) for name, (variable, default) in sorted(_SETTINGS.items())}
    return {name: value for name, (value, default) in values.items() if value is not default and value != default}


@contextlib.contextmanager
def under(values: Mapping[str, Any]) -> Iterator[None]:
    """Let settings have these values, and all others those by default, until the context ends."""
    for name in values:
        importlib.import_module(name.partition(":")[0])
    tokens = [(variable, variable.set(values.get(name, default))) for name, (variable, default) in _SETTINGS.items()]
    try:
        yield
    finally:
        for variable, token in tokens:
            variable.reset(token)
