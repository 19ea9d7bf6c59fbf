"""smmux: a cycle-level GPU simulator whose kernels are Python functions in Numba-CUDA syntax.

>>> import numpy as np
>>> from smmux import cuda
>>> @cuda.jit
... def double(a):
...     i = cuda.grid(1)
...     if i < a.size:
...         a[i] = 2 * a[i]
>>> a = np.arange(100, dtype=np.int32)
>>> result = double.simulate(4, 32, (a,), gpu="GTX285")
>>> int(a[99]), result.cycles > 0
(198, True)
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from smmux.base import began, interrupt  # noqa: F401 (which notes the time)

interrupt.start()  # before the imports that take their time

from smmux.errors import (  # noqa: E402
    AllocationError,
    BarrierError,
    CompileError,
    ConfigError,
    CycleLimitError,
    DeadlockError,
    Error,
    KernelAssertionError,
    KernelError,
    KernelRaisedError,
    KernelUnboundLocalError,
    KernelZeroDivisionError,
    LaunchError,
    ManagementError,
    OutOfBoundsError,
    RaceError,
    did_you_mean,
    no_attribute,
)

if TYPE_CHECKING:
    from smmux.advice import advise
    from smmux.gpus import Gpu
    from smmux.language.hints import overlap
    from smmux.language.textures import texture
    from smmux.language.types import (
        b1,
        bool_,
        boolean,
        c8,
        c16,
        complex64,
        complex128,
        f2,
        f4,
        f8,
        float16,
        float32,
        float64,
        from_dtype,
        i1,
        i2,
        i4,
        i8,
        int8,
        int16,
        int32,
        int64,
        intp,
        none,
        u1,
        u2,
        u4,
        u8,
        uint8,
        uint16,
        uint32,
        uint64,
        uintp,
        void,
    )
    from smmux.language.typings import typing
    from smmux.machines.management import Management
    from smmux.modules.module import load
    from smmux.modules.numba_code import from_numba
    from smmux.modules.triton_code import from_triton
    from smmux.results.result import Result
    from smmux.running.narrowing import narrow

    from . import benchmarks, cuda, errors, gpus, models, multiplex, plot, preload, smm, sweep, types

    __version__: str

__all__ = [
    "AllocationError",
    "BarrierError",
    "CompileError",
    "ConfigError",
    "CycleLimitError",
    "DeadlockError",
    "Error",
    "Gpu",
    "KernelAssertionError",
    "KernelError",
    "KernelRaisedError",
    "KernelUnboundLocalError",
    "KernelZeroDivisionError",
    "LaunchError",
    "Management",
    "ManagementError",
    "OutOfBoundsError",
    "RaceError",
    "Result",
    "__version__",
    "advise",
    "b1",
    "benchmarks",
    "bool_",
    "boolean",
    "c8",
    "c16",
    "complex64",
    "complex128",
    "cuda",
    "errors",
    "f2",
    "f4",
    "f8",
    "float16",
    "float32",
    "float64",
    "from_dtype",
    "from_numba",
    "from_triton",
    "gpus",
    "i1",
    "i2",
    "i4",
    "i8",
    "int8",
    "int16",
    "int32",
    "int64",
    "intp",
    "load",
    "models",
    "multiplex",
    "narrow",
    "none",
    "overlap",
    "plot",
    "preload",
    "smm",
    "sweep",
    "texture",
    "types",
    "typing",
    "u1",
    "u2",
    "u4",
    "u8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "void",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())

_MODULES = frozenset(
    {"benchmarks", "cuda", "errors", "gpus", "models", "multiplex", "plot", "preload", "smm", "sweep", "types"}
)
_OF_THE_HOST = ("jit", "njit", "prange", "vectorize", "guvectorize", "stencil", "objmode", "typed", "config")
_MEMBERS = {
    "Gpu": "smmux.gpus",
    "Management": "smmux.machines.management",
    "advise": "smmux.advice",
    "Result": "smmux.results.result",
    "from_dtype": "smmux.language.types",
    "from_numba": "smmux.modules.numba_code",
    "from_triton": "smmux.modules.triton_code",
    "load": "smmux.modules.module",
    "narrow": "smmux.running.narrowing",
    "overlap": "smmux.language.hints",
    "texture": "smmux.language.textures",
    "typing": "smmux.language.typings",
}


def _version() -> str:
    """What the build wrote, which has it from git; no part of any fingerprint, since it changes with each commit."""
    from pathlib import Path

    try:
        return Path(__file__).with_name("version.txt").read_text("utf-8").strip()
    except OSError:  # only the core was built here, by hand
        return "0.0"


if not TYPE_CHECKING:  # type checkers know the names that there are

    def __getattr__(name: str) -> Any:
        """Submodules and their main names, imported when first used (`import smmux` alone stays cheap)."""
        if name in _MODULES:
            return importlib.import_module(f"smmux.{name}")
        if name in _MEMBERS:
            value = getattr(importlib.import_module(_MEMBERS[name]), name)
            globals()[name] = value
            return value
        if name == "__version__":
            globals()[name] = _version()
            return globals()[name]
        if name == "_core":  # asked for here only where there is no such file
            raise no_attribute(lambda: "smmux is not built for this Python: run pip install -e . in its checkout")
        if name in _OF_THE_HOST:
            raise no_attribute(
                lambda: (
                    f"module 'smmux' has no attribute {name!r}, which is no part of kernels: from numba import {name}"
                )
            )
        if not name.startswith("_"):
            value = getattr(importlib.import_module("smmux.language.types"), name, None)
            if name.islower() and type(value).__module__ == "smmux.language.types":  # float32, f4, intp, ...
                globals()[name] = value
                return value
        raise no_attribute(lambda: f"module 'smmux' has no attribute {name!r}{did_you_mean(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
