"""Kernels as Numba compiles them: a Python function to PTX by Numba, to GPU code by ptxas."""

from __future__ import annotations

import atexit
import importlib
import inspect
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from smmux.compiler.sass import tools
from smmux.errors import CompileError, ConfigError
from smmux.modules.module import CompiledKernel, module_of, named_arguments

__all__ = ["from_numba"]

_COMPILING = threading.RLock()
"""Held by the thread for which parts of Numba are replaced."""


def from_numba(
    function: Callable[..., Any],
    signature: Any,
    arch: str = "sm_90",
    *,
    fastmath: bool = False,
    max_registers: int | None = None,
) -> CompiledKernel:
    """A kernel that Numba compiles, without a card; its instructions keep the lines of the Python file.

    function: a Python function in the language of `numba.cuda`, or one decorated by it. signature: Numba's, such as
    `"void(float32[:], int32)"` or a tuple of types. arch: as `sm_90`. max_registers: of a thread.

    Raises CompileError where Numba refuses the function, and ConfigError where Numba, its NVVM or ptxas is missing.
    """
    match = re.fullmatch(r"sm_(\d+)(\d)[af]?", arch)
    if match is None:
        raise ConfigError(f"arch={arch!r} is no architecture such as 'sm_90'")
    try:
        cuda = importlib.import_module("numba.cuda")
    except ImportError:
        raise ConfigError("Numba is not installed: pip install numba") from None
    plain = getattr(function, "py_func", function)
    tools.find_tool("ptxas")  # before Numba's own compilation
    with _COMPILING, _nvvm():
        text = _ptx(cuda, plain, signature, (int(match[1]), int(match[2])), fastmath)
    options = [] if max_registers is None else [f"-maxrregcount={max_registers}"]
    name = f"{plain.__module__}.{plain.__qualname__}"
    module = module_of([tools.assemble(text, arch, options, name)], name)
    types = str(signature).removeprefix("void")
    (kernel,) = module
    names = plain.__code__.co_varnames[: plain.__code__.co_argcount]
    return replace(kernel, name=plain.__name__, signature=f"{plain.__name__}{types}", expand=partial(_expand, names))


def _expand(names: Sequence[str], args: Sequence[Any]) -> list[tuple[str, Any]]:
    """Arguments as Numba passes them: of an array its owner and parent (none), elements, bytes of one, address, shape
    and strides; of a tuple its items."""
    return [(name, value) for name, arg in named_arguments(names, args) for value in _passed(arg)]


def _passed(arg: Any) -> Iterator[Any]:
    """What Numba passes for one argument."""
    if isinstance(arg, tuple | list):
        for item in arg:
            yield from _passed(item)
    elif isinstance(arg, np.ndarray):
        yield from (np.uint64(0), np.uint64(0), np.int64(arg.size), np.int64(arg.itemsize), arg)
        yield from map(np.int64, (*arg.shape, *arg.strides))
    else:
        yield arg


def _ptx(cuda: Any, function: Callable[..., Any], signature: Any, capability: tuple[int, int], fastmath: bool) -> str:
    """Numba's PTX, for the newest architecture that it knows up to the one asked for."""
    known = [cc for cc in _capabilities() if cc <= capability] or [capability]
    try:
        with _device(max(known)), _star_arguments():
            text, _ = cuda.compile_ptx(function, signature, cc=max(known), fastmath=fastmath, lineinfo=True)
    except Exception as error:
        if isinstance(error, (MemoryError, RecursionError)):
            raise
        code = function.__code__
        message = " ".join(str(error).split())
        raise CompileError(f"Numba: {message}", code.co_filename, code.co_firstlineno) from error
    return _optimized(str(text))


def _optimized(text: str) -> str:
    """PTX that the assembler optimizes. Functions of Numba's own, such as that behind `array.view`, come with all
    debugging information where lines alone were asked for, and one of them marks the text as one for a debugger."""
    return re.sub(r"^(\.target sm_\w+), debug", r"\1", text, flags=re.MULTILINE)


@contextmanager
def _device(capability: tuple[int, int]) -> Iterator[None]:
    """Let Numba compile device functions, which it does for the card of the machine, for this capability."""
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    if not hasattr(dispatcher, "get_current_device"):
        yield
        return
    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = before


@contextmanager
def _star_arguments() -> Iterator[None]:
    """Let functions with `*values` be called, as Numba's own `min` and `max` are: its compiler for cards gives such a
    function one argument for each value, where the one for processors gives it a tuple."""
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    templates: Any = importlib.import_module("numba.core.typing.templates")
    types: Any = importlib.import_module("numba.core.types")
    kind = getattr(dispatcher, "CUDADispatcher", None)
    if kind is None or not hasattr(kind, "get_call_template"):
        yield
        return
    before = kind.get_call_template

    def template(self: Any, args: Sequence[Any], kws: Any) -> Any:
        signature = inspect.signature(self.py_func)
        if any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
            folded = (
                lambda at, parameter, value: value,
                lambda at, parameter, value: types.Omitted(value),
                lambda at, parameter, values: types.StarArgTuple(values),
            )
            args, kws = templates.fold_arguments(signature, args, kws, *folded), {}
        return before(self, args, kws)

    kind.get_call_template = template
    try:
        yield
    finally:
        kind.get_call_template = before


def _capabilities() -> tuple[tuple[int, int], ...]:
    """The architectures that Numba's NVVM compiles for; none if it does not say."""
    try:
        nvvm = importlib.import_module("numba.cuda.cudadrv.nvvm")
        return tuple(nvvm.get_supported_ccs())
    except Exception:
        return ()


@contextmanager
def _nvvm() -> Iterator[None]:
    """Let Numba find the NVVM of the Python environment, where CUDA_HOME names no other one."""
    toolkit = None if os.environ.get("CUDA_HOME") else _toolkit()
    if toolkit is None:
        yield
        return
    os.environ["CUDA_HOME"] = toolkit
    try:
        yield
    finally:
        del os.environ["CUDA_HOME"]


@cache
def _toolkit() -> str | None:
    """A folder with NVVM as NVIDIA's installer lays it, where Numba looks for it; the package has other folders, to
    whose files links lie here. Numba remembers where it has found them: they stay until the process ends."""
    library = next((found for folder in tools.environment_folders() for found in _libraries(folder.parent)), None)
    if library is None:
        return None
    folder = tempfile.mkdtemp(prefix="smmux-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    home = Path(folder, "nvvm")
    (home / "lib64").mkdir(parents=True)
    (home / "lib64" / library.name).symlink_to(library)
    (home / "libdevice").symlink_to(library.parent.parent / "nvvm" / "libdevice")
    return folder


def _libraries(root: Path) -> Iterator[Path]:
    """NVVM in a package's folder."""
    yield from sorted(root.glob("lib/libnvvm.so*"))
