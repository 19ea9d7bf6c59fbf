"""Compiled kernels on the command line: `FILE.cu:KERNEL` beside `FILE.py:KERNEL`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smmux import gpus
from smmux.shell.command_words import file_and_kernel, file_of_module

if TYPE_CHECKING:
    from smmux.modules.module import CompiledKernel

__all__ = ["OF_A_COMPILER", "compiled_kernel", "is_compiled"]

OF_A_COMPILER = ("schedule", "max_registers", "min_blocks")
"""Options that say how a Python kernel is compiled."""


def is_compiled(place: str) -> bool:
    """Whether a kernel's place on the command line is in a file of compiled code, or of CUDA C++ or PTX."""
    path, _ = file_and_kernel(place)
    return bool(path) and Path(path).suffix not in (".py", ".pyw", "") and not file_of_module(path)


def compiled_kernel(options: argparse.Namespace) -> tuple[CompiledKernel, dict[str, Any]]:
    """A kernel of compiled code, with the options of a run that only such kernels have."""
    from smmux.modules.module import load

    for name in OF_A_COMPILER:
        if getattr(options, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} is of Python kernels; {options.kernel!r} is compiled already")
    path, name = file_and_kernel(options.kernel)
    own = {"gpu": options.gpu or gpus.COMPILED, "dynamic_shared": options.dynshared or None}
    return load(path, options.arch or "sm_90", options.option)[name], own
