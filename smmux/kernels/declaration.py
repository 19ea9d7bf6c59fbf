"""The decorator `cuda.jit`: what it accepts, and the kernel that it makes of a function."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from typing import Any

from smmux.base.tracebacks import brief
from smmux.errors import CompileError, ConfigError, did_you_mean
from smmux.kernels.kernel import Kernel
from smmux.language.types import FunctionType, Void

__all__ = ["check_options", "declare"]

# Options of numba.cuda.jit that steer its own compiler, or that are as they are here anyway.
IGNORED = ("inline", "debug", "opt", "lineinfo", "cache", "boundscheck", "forceinline", "launch_bounds", "lto")
REFUSED = {
    "link": "there is nothing to link kernels with; write the function as a @cuda.jit(device=True) function",
    "extensions": "arguments are converted by nobody; pass arrays, numbers and tuples",
    "argtypes": "write the types first: @cuda.jit('void(float32[:])')",
    "restype": "write the types first: @cuda.jit('float32(float32)', device=True)",
    "bind": "leave it out",
}


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse options of `jit` that neither it nor numba.cuda.jit has, or that cannot be followed."""
    for name, value in given.items():
        if name in REFUSED and (value or name in ("argtypes", "restype")):
            raise ConfigError(f"jit(..., {name}=...) is not supported: {REFUSED[name]}")
        if name not in IGNORED and name not in REFUSED:
            known = ("device", "fastmath", "max_registers", "typing", *IGNORED)
            raise ConfigError(f"jit has no option {name!r}{did_you_mean(name, known)}")


@brief
def declare(function: Any, *, declared: tuple[FunctionType, ...] = (), device: bool = False, **options: Any) -> Kernel:
    """A kernel from a Python function; its source is read now, its globals when it is compiled.

    declared: its signatures; options: other fields of its source.
    """
    from smmux.source.function_source import from_function

    if not isinstance(function, types.FunctionType):
        raise CompileError(_not_a_function(function))
    source = from_function(function, device=device, declared=declared, **options)
    for signature in declared:
        least, most = len(source.parameters) - len(source.defaults), len(source.parameters)
        if not least <= len(signature.arguments) <= most:
            raise source.error(
                None, f"{source.name!r} has {most} parameters, its signature {signature} has {len(signature.arguments)}"
            )
        if not device and not isinstance(signature.returns, Void | None):
            raise source.error(None, f"a kernel returns nothing; write void(...), or device=True for {signature}")
    return Kernel(source, function)


def _not_a_function(given: Any) -> str:
    """Why something cannot be a kernel, and what to write instead."""
    name = getattr(given, "__qualname__", None) or getattr(given, "__name__", None) or type(given).__name__
    if isinstance(given, Kernel):
        kind = "device function" if given.device else "kernel"
        return f"{given.__name__!r} is a {kind} already; leave out one of the two jit"
    if isinstance(given, type):
        return (
            f"cuda.jit needs a function, not the class {name!r}; decorate a function, or one method as a staticmethod"
        )
    if isinstance(given, staticmethod | classmethod | types.MethodType):
        return (
            "cuda.jit needs a plain function, not a method; write @staticmethod above @cuda.jit, or a function outside"
        )
    if isinstance(given, functools.partial):
        return "cuda.jit needs a function, not a functools.partial; write a function, which captures the values"
    if callable(given):
        return f"cuda.jit needs a function written in Python, not {name!r}; write a function that does the same"
    return f"cuda.jit needs a function, not {given!r}"
