"""Kernel files are written for Numba; here they are loaded for Numba or, with only the import changed, for smmux."""

from __future__ import annotations

import linecache
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

IMPORT = re.compile(r"^from numba\b", re.MULTILINE)


def load(text: str, filename: str, package: str) -> types.ModuleType:
    """A kernel file as a module, with its kernels' names imported from `package` ("numba" or "smmux")."""
    module = types.ModuleType(f"{package}_{Path(filename).stem}")
    vars(module).update(__file__=filename, __warningregistry__={})  # threads of the simulator go through the names
    sys.modules[module.__name__] = module
    if not Path(filename).exists():  # text made by a test: where `inspect` finds it
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(IMPORT.sub(f"from {package}", text), filename, "exec"), vars(module))
    return module


def launch(module: types.ModuleType, grid: Any, block: Any, args: list[Any]) -> list[Any]:
    """Run the kernel called `kernel` of a module; the arguments afterwards."""
    module.kernel[grid, block](*args)
    return args


def results(value: Any) -> list[np.ndarray[Any, Any]]:
    """What a `run` function returned, as a list of arrays."""
    return [np.asarray(item) for item in (value if isinstance(value, tuple) else (value,))]
