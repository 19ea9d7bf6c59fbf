"""The records of a sweep in a cache: under which keys they are, and which of them may be kept."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smmux.base.settings import current
from smmux.errors import ConfigError
from smmux.sweep.cache import Cache
from smmux.sweep.fingerprint import Walk
from smmux.sweep.modules import package
from smmux.sweep.program_state import Witness, differences, globals_now, program, rewritten

__all__ = ["Lookup"]

SHORT = 1 << 62
"""Integers up to here are their own description."""


class Lookup:
    """The records of `run` at points, in a cache.

    version: what stands for `run`, all that it refers to and all that is installed, in place of their contents. Raises
    ConfigError where `run` or a point hold what nobody can look into.
    """

    def __init__(
        self, cache: Cache, run: Any, points: Sequence[Mapping[str, Any]], version: str | int | None = None
    ) -> None:
        self._cache = cache
        self._files: dict[str, str] | None = None
        walk = Walk()
        if version is None:
            self._files, state = program()
            function = state, walk.digest(run).hex()
        else:
            of_name = _named(run), version, package(), current()
            function = "version", walk.digest(of_name).hex()
        self._points = [_description(point, walk.fork()) for point in points]
        texts = (json.dumps([function, point]) for point in self._points)
        self.keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]

    @property
    def watched(self) -> bool:
        """Whether it matters which process runs a point."""
        return self._files is not None

    @functools.cached_property
    def _globals(self) -> dict[str, dict[str, str]]:
        """The globals of this process, to compare those of others with."""
        changed = rewritten()
        return {module: digests for module, digests in globals_now().items() if module not in changed}

    def known(self) -> dict[int, dict[str, Any]]:
        """The records that the cache has, by the number of their point. Raises ConfigError if some are missing and the
        file cannot be written."""
        pairs = zip(self.keys, self._points, strict=True)
        found = {i: record for i, pair in enumerate(pairs) if (record := self._cache.get(*pair)) is not None}
        if self._cache.readonly and (missing := len(self.keys) - len(found)):
            raise ConfigError(
                f"{self._cache.path}: {missing} of {len(self.keys)} records are not in it, and it cannot be written; "
                "copy it to another place"
            )
        return found

    def keep(self, number: int, record: dict[str, Any], seen: Witness | None) -> None:
        """Keep the record of a point, unless the process that made it was not what the key says."""
        more: dict[str, tuple[str, str]] = {}
        if seen is not None and self._files is not None:
            more, other = differences(seen, self._files, lambda: self._globals)
            if other:
                places = ", ".join(other[:3]) + " ..." * (len(other) > 3)
                self._cache.warn(f"a record is not kept, as the process that made it had otherwise: {places}")
                return
        self._cache.put(self.keys[number], record, self._points[number], more)


def _description(point: Mapping[str, Any], walk: Walk) -> str:
    """A point as text: short numbers and texts as they are, other values by their digests."""
    return json.dumps({name: _plain(point[name], walk) for name in sorted(point)})


def _plain(value: Any, walk: Walk) -> Any:
    kind = type(value)
    if value is None or kind in (bool, str, float) or (kind is int and -SHORT < value < SHORT):
        return value
    return {kind.__qualname__: walk.digest(value).hex()}


def _named(run: Callable[..., Any]) -> Any:
    """A function by its name, and by the arguments that it has already."""
    if isinstance(run, functools.partial):
        return _named(run.func), run.args, run.keywords
    kind: Any = run if hasattr(run, "__qualname__") else type(run)
    return f"{kind.__module__}:{kind.__qualname__}"
