"""The compiler: a kernel's syntax tree and argument types in, a Program for the machine out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from smmux.deep import deep

if TYPE_CHECKING:
    from smmux.compiler.frontend import FunctionSource
    from smmux.compiler.ir import Function
    from smmux.compiler.options import Options
    from smmux.compiler.program import Program
    from smmux.compiler.signature import Signature

__all__ = ["clear_cache", "compile"]

T = TypeVar("T")


class _Cache(Generic[T]):
    """A cache of the newest values, by key; of threads that want the same value, one makes it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[Hashable, T] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key, which is made if the cache does not have it."""
        value = self._kept.get(key)
        if value is None:
            with self._lock:
                value = self._kept.get(key)
                if value is None:
                    value = self._kept[key] = make()
                    while len(self._kept) > self._size:
                        del self._kept[next(iter(self._kept))]
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()


_programs: _Cache[Program] = _Cache(512)
_prepared: _Cache[Function] = _Cache(32)  # by what lowering depends on: most of the time, and the same for all budgets


@deep
def compile(source: FunctionSource, signature: Signature, options: Options) -> Program:
    """Compile a kernel, or return the program of the same source, captured values, types and options."""
    kernel = source.fingerprint(), signature

    def make() -> Program:
        from smmux.compiler.backend import compile_prepared

        front = options.fused_mad, options.join, options.unroll_limit, options.float64, options.typing
        return compile_prepared(_prepared.get((*kernel, *front), lower), options)

    def lower() -> Function:
        from smmux.compiler import frontend
        from smmux.compiler.backend import prepare

        return prepare(frontend.lower(source, signature, options), options)

    return _programs.get((*kernel, options), make)


def clear_cache() -> None:
    """Forget all compiled programs."""
    _programs.clear()
    _prepared.clear()
