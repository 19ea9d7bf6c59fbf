"""Kernels as Triton compiles them, to GPU code by the ptxas that it brings along."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from smmux.errors import CompileError, ConfigError
from smmux.modules.module import CompiledKernel, module_of

__all__ = ["from_triton"]

WARP = 32


def from_triton(
    kernel: Any,
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    num_warps: int = 4,
    arch: str = "sm_90",
    **options: Any,
) -> CompiledKernel:
    """A kernel that Triton compiles, without a card; its instructions keep the lines of the Python file.

    kernel: a function decorated by `triton.jit`. signature: the type of each parameter that is no constant, by name, as
    `{"x": "*fp32", "n": "i32"}`. constexprs: the value of each constant. num_warps: of a block, which the launch must
    have. options: further ones of Triton, as `num_stages=3`.

    Raises CompileError where Triton refuses the kernel, and ConfigError where Triton is missing.
    """
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if match is None:
        raise ConfigError(f"arch={arch!r} is no architecture such as 'sm_90'")
    try:
        triton = importlib.import_module("triton")
        compiler, targets = (
            importlib.import_module("triton.compiler"),
            importlib.import_module("triton.backends.compiler"),
        )
    except ImportError:
        raise ConfigError("Triton is not installed: pip install triton") from None
    constants = dict(constexprs or {})
    names = list(getattr(kernel, "arg_names", ()))
    if missing := [name for name in names if name not in signature and name not in constants]:
        raise ConfigError(f"signature and constexprs of {names} lack {', '.join(missing)}")
    types = {name: "constexpr" if name in constants else signature[name] for name in names}
    try:
        source = compiler.ASTSource(fn=kernel, signature=types, constexprs=constants)
        target = targets.GPUTarget("cuda", int(match[1]), WARP)
        made = triton.compile(source, target=target, options={"num_warps": num_warps, **options})
        cubin = bytes(made.asm["cubin"])
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
        code = kernel.fn.__code__
        message = " ".join(str(error).split())
        raise CompileError(f"Triton: {message}", code.co_filename, code.co_firstlineno) from error
    shared = int(getattr(made.metadata, "shared", 0))
    return replace(next(iter(module_of([cubin], kernel.fn.__qualname__))), dynamic_shared=shared)
