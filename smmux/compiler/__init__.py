"""The compiler: a kernel's syntax tree and argument types in, a Program for the machine out."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smmux.compiler.frontend import FunctionSource
    from smmux.compiler.options import Options
    from smmux.compiler.program import Program
    from smmux.compiler.signature import Signature

__all__ = ["clear_cache", "compile"]

CACHE_SIZE = 512
_cache: OrderedDict[Any, Program] = OrderedDict()


def compile(source: FunctionSource, signature: Signature, options: Options) -> Program:
    """Compile a kernel, or return what was compiled from the same source, captured values, types and options."""
    key = (source.fingerprint(), signature, options)
    program = _cache.get(key)
    if program is None:
        from smmux.compiler import frontend
        from smmux.compiler.backend import compile_function

        program = compile_function(frontend.lower(source, signature, options), options)
        _cache[key] = program
        if len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
    else:
        _cache.move_to_end(key)
    return program


def clear_cache() -> None:
    """Forget all compiled programs."""
    _cache.clear()
