"""Kernels as Triton compiles them, to GPU code by the ptxas that it brings along."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smmux.compiler.sass import tools
from smmux.errors import CompileError, ConfigError
from smmux.modules.module import CompiledKernel, module_of, named_arguments

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
    kinds = tools.parameter_kinds(str(made.asm.get("ptx", "")))
    (made_kernel,) = module_of([cubin], kernel.fn.__qualname__, kinds=kinds)
    passed = [name for name in names if name not in constants]
    hidden = len(made_kernel.parameters) - len(passed)
    if scratch := getattr(made.metadata, "global_scratch_size", 0):
        code = kernel.fn.__code__
        reason = f"it needs {scratch} bytes of scratch memory of each block, as for descriptors: pass pointers instead"
        raise CompileError(f"Triton: {reason}", code.co_filename, code.co_firstlineno)
    return replace(
        made_kernel,
        dynamic_shared=int(getattr(made.metadata, "shared", 0)),
        expand=partial(_expand, passed, hidden),
    )


def _expand(names: Sequence[str], hidden: int, args: Sequence[Any]) -> list[tuple[str, Any]]:
    """Arguments as Triton passes them, and behind them pointers to scratch memory, which the kernel has none of."""
    return [*named_arguments(names, args), *[("scratch memory", np.uint64(0))] * hidden]
