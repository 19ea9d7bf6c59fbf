"""The driver: a kernel of any front end and the types of its arguments in, a Program for the machine out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from smmux.base.deep import deep
from smmux.base.garbage import rarely_collected
from smmux.compiler.driver.kept import kept
from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.program import Program
from smmux.compiler.signature import Signature
from smmux.compiler.unit import Unit

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

    def peek(self, key: Hashable) -> T | None:
        """The value of a key, if the cache has it."""
        return self._kept.get(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()


_chosen: _Cache[Program] = _Cache(512)  # by all that is known of the launch
_programs: _Cache[Program] = _Cache(512)
_suffices: _Cache[tuple[bool]] = _Cache(512)  # whether the wide classes of facts leave no index to be made safe
_lowered: _Cache[Function] = _Cache(4)  # for launches of a kernel that need programs of their own
_prepared: _Cache[Function] = _Cache(32)  # most of the time of compiling, and the same for all register budgets


def _passes() -> Any:
    """The order of all passes: many modules, which are loaded when there is something to compile."""
    from smmux.compiler.driver import pipeline

    return pipeline


@deep
def compile(unit: Unit, signature: Signature, options: Options) -> Program:
    """Compile a kernel, or return the program of the same unit, types and options, of this process or from disk.

    What is known of the launch enters in wide classes, or in narrow ones if the wide ones leave indices with operations
    that make them safe.
    """
    kernel = unit.fingerprint(), signature
    front = (
        kernel,
        options.fused_mad,
        options.join,
        options.unroll_limit,
        options.group,
        options.float64,
        options.typing,
        options.bounds,
        options.axes,
    )
    coarse, fine = (replace(options, facts=facts) for facts in (options.facts.coarse(), options.facts.fine()))

    def lower() -> Function:
        return unit.lower(signature, options)

    def prepared(level: Options) -> Function:
        return _prepared.get((front, level.facts), lambda: _passes().prepare(_lowered.get(front, lower).copy(), level))

    def made(level: Options) -> Program:
        return _programs.get((kernel, level), lambda: _passes().compile_prepared(prepared(level), level))

    @rarely_collected
    def compiled() -> Program:
        suffices = fine == coarse or _suffices.get((front, coarse.facts), lambda: (not prepared(coarse).guarded,))[0]
        return made(coarse if suffices else fine)

    def at_hand() -> Program | None:
        enough = (fine == coarse,) if fine == coarse else _suffices.peek((front, coarse.facts))
        return _programs.peek((kernel, coarse if enough[0] else fine)) if enough else None

    return _chosen.get((kernel, coarse, fine), lambda: at_hand() or kept(unit, signature, coarse, fine, compiled))


def clear_cache() -> None:
    """Forget all compiled programs."""
    _chosen.clear()
    _programs.clear()
    _suffices.clear()
    _lowered.clear()
    _prepared.clear()
