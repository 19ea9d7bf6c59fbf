"""Kernels as Numba compiles them: a Python function to PTX by Numba, to GPU code by ptxas."""

from __future__ import annotations

import atexit
import importlib
import inspect
import numbers
import os
import re
import reprlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from smmux.compiler.sass import tools
from smmux.errors import CompileError, ConfigError, LaunchError, boolean
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
    boolean("fastmath", fastmath)
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
    code = plain.__code__
    options = [] if max_registers is None else [f"-maxrregcount={max_registers}"]
    name = f"{plain.__module__}.{plain.__qualname__}"
    try:
        cubin = tools.assemble(text, arch, options, name)
    except CompileError as error:
        raise CompileError(error.msg, code.co_filename, code.co_firstlineno) from error
    module = module_of([cubin], name, kinds=tools.parameter_kinds(text))
    types = str(signature).removeprefix("void")
    (kernel,) = module
    names = code.co_varnames[: code.co_argcount]
    expand = partial(_expand, names, _kinds(signature))
    return replace(kernel, name=plain.__name__, signature=f"{plain.__name__}{types}", expand=expand)


@dataclass(frozen=True, slots=True)
class _Array:
    """What a signature says of an array. dtype: None where NumPy has no such type. layout: C, F, or A for any."""

    dtype: np.dtype[Any] | None
    ndim: int
    layout: str
    element: str

    def __str__(self) -> str:
        order = "" if self.layout == "A" else f" in order {self.layout}"
        return f"a {self.ndim}D array of {self.element}{order}"

    def refuses(self, value: Any) -> bool:
        """Whether a value is another one, of which the code would take the bytes for something else."""
        if not isinstance(value, np.ndarray):
            return True
        in_order = {"C": value.flags.c_contiguous, "F": value.flags.f_contiguous}.get(self.layout, True)
        return value.ndim != self.ndim or not in_order or (self.dtype is not None and value.dtype != self.dtype)


_Kind = _Array | list[Any] | str
"""Of a tuple those of its items; of another value its type's name."""


def _kinds(signature: Any) -> list[_Kind]:
    """What a signature says of the arguments."""
    sigutils: Any = importlib.import_module("numba.core.sigutils")
    arguments, _ = sigutils.normalize_signature(signature)
    return [_kind(each) for each in arguments]


def _kind(of: Any) -> _Kind:
    types: Any = importlib.import_module("numba.core.types")
    if isinstance(of, types.BaseTuple):
        return [_kind(each) for each in of]
    if not isinstance(of, types.Array):
        return str(of)
    support: Any = importlib.import_module("numba.np.numpy_support")
    try:
        dtype = np.dtype(support.as_dtype(of.dtype))
    except NotImplementedError:  # what Numba raises for a type that NumPy does not have
        dtype = None
    return _Array(dtype, of.ndim, of.layout, str(of.dtype))


def _check(name: str, kind: _Kind, value: Any) -> None:
    """Refuse a value of another kind than the signature's, as Numba does."""
    if isinstance(kind, list):
        if not isinstance(value, tuple | list) or len(value) != len(kind):
            raise LaunchError(f"{name} is a tuple of {len(kind)} in the kernel, not {reprlib.repr(value)}")
        for number, (each, item) in enumerate(zip(kind, value, strict=True)):
            _check(f"{name}[{number}]", each, item)
    elif isinstance(kind, _Array) and kind.refuses(value):
        given = reprlib.repr(value)
        if isinstance(value, np.ndarray):
            given = str(_Array(None, value.ndim, "A", str(value.dtype)))
        raise LaunchError(f"{name} is {kind} in the kernel, not {given}")
    elif isinstance(kind, str) and isinstance(value, np.ndarray):
        raise LaunchError(f"{name} is {kind} in the kernel, not an array")
    elif str(kind).startswith("complex") and not isinstance(value, numbers.Complex):
        raise LaunchError(f"{name} is {kind} in the kernel, not {reprlib.repr(value)}")


def _expand(names: Sequence[str], kinds: Sequence[_Kind], args: Sequence[Any]) -> list[tuple[str, Any]]:
    """Arguments as Numba passes them: of an array its owner and parent (none), elements, bytes of one, address, shape
    and strides; of a complex number both parts; of a tuple its items."""
    named = named_arguments(names, args)
    for (name, value), kind in zip(named, kinds, strict=True):
        _check(name, kind, value)
    return [(name, value) for (name, arg), kind in zip(named, kinds, strict=True) for value in _passed(arg, kind)]


def _passed(arg: Any, kind: _Kind) -> Iterator[Any]:
    """What Numba passes for one argument."""
    if isinstance(kind, list):
        for item, each in zip(arg, kind, strict=True):
            yield from _passed(item, each)
    elif isinstance(arg, np.ndarray):
        yield from (np.uint64(0), np.uint64(0), np.int64(arg.size), np.int64(arg.itemsize), arg)
        yield from map(np.int64, (*arg.shape, *arg.strides))
    elif isinstance(kind, str) and kind.startswith("complex"):
        yield from (complex(arg).real, complex(arg).imag)
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
