"""`sass`: the listing of a kernel of compiled GPU code."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smmux.modules.module import CompiledKernel, Module

__all__ = ["add_sass"]


def add_sass(parser: argparse.ArgumentParser) -> None:
    """The options and the action of the command."""
    parser.add_argument("file", metavar="FILE[:KERNEL]", help="CUDA C++, PTX, a cubin, a fatbin or an executable")
    parser.add_argument("--arch", default="sm_90", help="the architecture to compile for (default: %(default)s)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="TEXT", help="of nvcc or ptxas, as --option=--use_fast_math"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(action=_print)


def _print(options: argparse.Namespace) -> None:
    """Print the listing of one kernel, or the table of all."""
    from smmux.modules.module import load
    from smmux.shell.command_words import file_and_kernel

    path, name = file_and_kernel(options.file)
    if not path:
        path, name = options.file, ""
    module = load(path, options.arch, options.option)
    if options.json:
        print(json.dumps(_instructions(module[name]) if name else _kernels(module), indent=2))
    else:
        print(module[name].listing() if name else f"{module!r}\n", end="")


def _kernels(module: Module) -> list[dict[str, Any]]:
    """The kernels of a module as JSON."""
    return [
        {
            "name": kernel.name,
            "mangled": kernel.mangled,
            "signature": kernel.signature,
            "registers": kernel.registers,
            "shared_bytes": kernel.shared_bytes,
            "instructions": len(kernel.image.words),
            "parameters": [dataclasses.asdict(parameter) for parameter in kernel.parameters],
        }
        for kernel in module
    ]


def _instructions(kernel: CompiledKernel) -> list[dict[str, Any]]:
    """The instructions of a kernel as JSON."""
    return [
        {
            "address": one.address,
            "text": one.text,
            "control": dataclasses.asdict(one.control),
            "file": one.file,
            "line": one.line,
        }
        for one in kernel.instructions
    ]
