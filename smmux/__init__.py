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

from smmux.errors import (
    AllocationError,
    BarrierError,
    CompileError,
    ConfigError,
    CycleLimitError,
    DeadlockError,
    Error,
    KernelError,
    KernelUnboundLocalError,
    KernelZeroDivisionError,
    LaunchError,
    ManagementError,
    OutOfBoundsError,
    RaceError,
)

if TYPE_CHECKING:
    from smmux.advice import advise
    from smmux.gpus import Gpu
    from smmux.hints import overlap
    from smmux.management import Management
    from smmux.result import Result
    from smmux.textures import texture
    from smmux.types import boolean, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, void

    from . import benchmarks, cuda, errors, gpus, models, multiplex, plot, smm, sweep, types

__version__ = "0.1.0"

__all__ = [
    "AllocationError",
    "BarrierError",
    "CompileError",
    "ConfigError",
    "CycleLimitError",
    "DeadlockError",
    "Error",
    "Gpu",
    "KernelError",
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
    "benchmarks",
    "boolean",
    "cuda",
    "errors",
    "float32",
    "float64",
    "gpus",
    "int8",
    "int16",
    "int32",
    "int64",
    "models",
    "multiplex",
    "overlap",
    "plot",
    "smm",
    "sweep",
    "texture",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "void",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())

_MODULES = frozenset({"benchmarks", "cuda", "errors", "gpus", "models", "multiplex", "plot", "smm", "sweep", "types"})
_MEMBERS = {
    "Gpu": "smmux.gpus",
    "Management": "smmux.management",
    "advise": "smmux.advice",
    "Result": "smmux.result",
    "overlap": "smmux.hints",
    "texture": "smmux.textures",
    **dict.fromkeys(("boolean", "void", "float32", "float64"), "smmux.types"),
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "smmux.types"),
}


def __getattr__(name: str) -> Any:
    """Submodules and their main names, imported when first used (`import smmux` alone stays cheap)."""
    if name in _MODULES:
        return importlib.import_module(f"smmux.{name}")
    if name in _MEMBERS:
        value = getattr(importlib.import_module(_MEMBERS[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'smmux' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
