"""Puts smmux in the place of `numba.cuda`, in this process: what a file gets that imports it.

Numba's tests import parts of its compiler, too. These are names that do nothing while a file is imported, so that the
other tests of the file can run, and fail when a test uses them.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import io
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.tests import support

from smmux import cuda, gpus
from smmux.cuda import random

__all__ = ["TESTS", "Absent", "replace"]

TESTS = Path(numba.__file__).parent / "cuda" / "tests"
MACHINE = "K20c"  # with 64-bit floats and atomics
COMPILERS = (
    "compile", "compile_all", "compile_for_current_device", "compile_ptx", "compile_ptx_for_current_device",
)  # fmt: skip

WITH_REASON = (
    "skip_on_cudasim", "skip_unless_conda_cudatoolkit", "skip_if_external_memmgr", "skip_under_cuda_memcheck",
    "skip_without_nvdisasm", "skip_with_nvdisasm", "skip_on_arm", "skip_on_wsl2", "skip_if_lto",
    "skip_if_mvc_enabled", "skip_with_cuda_python",
)  # fmt: skip
PLAIN = (
    "xfail_unless_cudasim", "skip_if_cudadevrt_missing", "skip_unless_cc_53", "skip_unless_cc_60", "skip_unless_cc_75",
    "skip_if_cuda_includes_missing", "skip_if_mvc_libraries_unavailable",
)  # fmt: skip
"""Numba's decorators of its tests, with and without an argument, that leave a test as it is here: it has to pass."""


class Absent:
    """A part of Numba's compiler; importing: whether a test's file is being imported."""

    importing = True

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        if not Absent.importing:
            raise AttributeError(f"{self.name} is a part of Numba's compiler")
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.name}.{name}")

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class AbsentModule(types.ModuleType):
    """A module of Numba's compiler."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of `numba.cuda` that smmux does not have."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """The specification of an absent module."""
        if name.startswith("numba.cuda.") and not name.startswith("numba.cuda.tests"):
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        """An absent module."""
        return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is in it."""


def replace() -> None:
    """Let `from numba import cuda` be `from smmux import cuda`."""
    gpus.set_current(MACHINE)
    numba.cuda = cuda  # type: ignore[attr-defined]
    sys.modules["numba.cuda"] = cuda
    sys.modules["numba.cuda.random"] = random
    for name in COMPILERS:
        if not hasattr(cuda, name):
            setattr(cuda, name, Absent(f"numba.cuda.{name}"))
    sys.modules["numba.cuda.testing"] = _testing()
    sys.meta_path.append(Finder())
    for folder in ("", "cudapy", "doc_examples"):
        package = types.ModuleType(".".join(filter(None, ("numba.cuda.tests", folder))))
        package.__path__ = [str(TESTS / folder)]
        sys.modules[package.__name__] = package


def _testing() -> types.ModuleType:
    """The module `numba.cuda.testing`: a card of CC 3.5 or later, a driver, and no simulator."""

    class CUDATestCase(support.TestCase):  # type: ignore[misc]
        def skip_if_lto(self, reason: str) -> None:
            """There is no link-time optimisation."""

    def same(test: Any) -> Any:
        return test

    def always(reason: str = "") -> Callable[[Any], Any]:
        return same

    @contextlib.contextmanager
    def captured_cuda_stdout() -> Iterator[io.StringIO]:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            yield text

    found: Any = types.ModuleType("numba.cuda.testing")
    found.unittest = unittest
    found.CUDATestCase = found.ContextResettingTestCase = CUDATestCase
    found.captured_cuda_stdout = captured_cuda_stdout
    found.skip_unless_cudasim = lambda reason: unittest.skip("of Numba's simulator")
    found.test_data_dir = found.numba_cuda_dir = TESTS / "data"
    found.cudadevrt_missing = lambda: False
    found.cc_X_or_above = lambda major, minor: (major, minor) <= (3, 5)
    for name in WITH_REASON:
        setattr(found, name, always)
    for name in PLAIN:
        setattr(found, name, same)
    return found  # type: ignore[no-any-return]
