"""The program that runs the points of a sweep, as far as their results may depend on it.

Which way a program goes cannot be followed. So all of it counts: each file of its own modules, and of what is loaded
each function, each class, and each other global that some function names. What is installed counts by its version.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from smmux.base import settings
from smmux.kernels.kernel import Kernel
from smmux.sweep.fingerprint import MEMO, Walk, code_names, fingerprint
from smmux.sweep.modules import contents, environment, loaded, mentioned, own
from smmux.sweep.plainly import attribute, is_a

__all__ = ["Witness", "before", "differences", "globals_now", "process", "program", "rewritten", "witness"]

CODE = types.FunctionType | type | Kernel | MEMO
"""Globals that count whether or not somebody names them."""

_TOKEN = os.urandom(8).hex()


def program() -> tuple[dict[str, str], str]:
    """The files of the program's own modules by name, and what stands for them and for all else that a point may meet:
    what is installed, the settings in force, and the globals as they are now."""
    files = contents()
    return files, fingerprint([environment(), settings.current(), files, globals_now()])


def globals_now() -> dict[str, dict[str, str]]:
    """Digests of the globals of the program's own modules, by module and name."""
    modules = {name: _globals_of(module) for name, module in own().items()}
    texts = set(mentioned())
    for values in modules.values():
        for value in values.values():
            function = value.function if is_a(value, Kernel) else value
            if is_a(function, types.FunctionType):
                texts.update(code_names(function.__code__))
    digests: dict[int, str] = {}  # of what several modules have, for as long as this goes on

    def digest(value: Any) -> str:
        if id(value) not in digests:
            digests[id(value)] = _digest(value)
        return digests[id(value)]

    found = {
        name: {
            key: digest(value)
            for key, value in sorted(values.items())
            if not key.startswith("__") and (key in texts or is_a(value, CODE))
        }
        for name, values in sorted(modules.items())
    }
    return {module: each for module, each in found.items() if each}


def _globals_of(module: Any) -> dict[str, Any]:
    """The globals of a module but those that IPython keeps among them for itself, such as the last outputs and what
    holds the whole shell; they change from cell to cell."""
    every: dict[str, Any] = dict(attribute(module, "__dict__"))
    kept = attribute(attribute(every.get("get_ipython"), "__self__"), "user_ns_hidden", {})
    return {name: value for name, value in every.items() if name not in kept or kept[name] is not value}


def _digest(value: Any) -> str:
    """The digest of a global; of one that nobody can look into, its type."""
    try:
        return Walk(state=True).digest(value).hex()
    except Exception:  # whatever objects of others do when they are looked at
        return f"unknown {type(value).__module__}.{type(value).__qualname__}"


def process() -> str:
    """What no other process calls itself."""
    return f"{_TOKEN} {os.getpid()}"


@dataclass(frozen=True, slots=True)
class Witness:
    """What a process that ran a point was. files: the contents of its own modules, with their paths. environment,
    globals: what was installed, and the globals before its first point, of processes other than the one that asks."""

    files: dict[str, tuple[str, str]]
    environment: str = ""
    globals: dict[str, dict[str, str]] | None = None


def rewritten() -> set[str]:
    """The modules whose functions a tool has changed while they were loaded, as pytest does: in this process."""
    loaders = {name: getattr(attribute(module, "__spec__"), "loader", None) for name, module in own().items()}
    return {name for name, loader in loaders.items() if type(loader).__module__.startswith("_pytest.")}


@cache
def _elsewhere() -> tuple[str, dict[str, dict[str, str]]]:
    """What a process of workers is before its first point."""
    return environment(), globals_now()


def before(asking: str) -> None:
    """Look at this process before a point runs in it, if another one asks."""
    if asking != process():
        _elsewhere()


def witness(asking: str) -> Witness:
    """What this process was, after a point has run in it, for the process that asks."""
    files = loaded()
    return Witness(files) if asking == process() else Witness(files, *_elsewhere())


def differences(
    seen: Witness, files: Mapping[str, str], here: Callable[[], Mapping[str, Mapping[str, str]]]
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """The modules that a point has loaded and that the key does not know, with digests and paths; and what its process
    had otherwise than this one, for which the record would be wrong here. files: of the key, by module. here: makes
    the globals of this process, of modules whose functions are as their files say."""
    more = {name: each for name, each in seen.files.items() if name not in files}
    other = [f"the file of {name}" for name, (digest, _) in seen.files.items() if files.get(name, digest) != digest]
    if seen.globals is not None:
        other += ["what is installed"] * (seen.environment != environment())
        known = here()
        other += [
            f"{module}.{name}"
            for module, digests in seen.globals.items()
            for name, digest in digests.items()
            if known.get(module, {}).get(name, digest) != digest
        ]
    return more, other
