"""Fingerprints: equal for values that give equal results, in any process and on any day.

The fingerprint of a function covers its instructions, its defaults, and whatever it refers to: captured variables,
globals, and attributes of modules. Functions of installed packages are known by name and version, those of smmux by
name alone, since `package()` covers them all.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import hashlib
import sys
import sysconfig
import threading
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from smmux import typings
from smmux.errors import ConfigError
from smmux.kernel import Kernel

__all__ = ["fingerprint", "package"]


LOCKS = (type(threading.Lock()), type(threading.RLock()))


def fingerprint(value: Any) -> str:
    """64 hexadecimal digits that stand for a value: a number, text, array, container, dataclass, function, class,
    kernel, or an object whose method `fingerprint()` returns what it is known by.

    Raises ConfigError for anything else, whose contents nobody knows.
    """
    return _Walk().digest(value).hex()


@cache
def package() -> str:
    """The fingerprint of smmux itself: of each of its source files, and of the core."""
    root = Path(__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".so", ".pyd"))
    return _hash(part for path in files for part in (str(path.relative_to(root)).encode(), path.read_bytes())).hex()


def _hash(parts: Iterable[bytes]) -> bytes:
    """A hash in which where a part ends counts too."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


class _Walk:
    """One walk over a value; `path` holds the objects that it is inside of, which may refer to themselves."""

    def __init__(self) -> None:
        self.path: list[object] = []

    def digest(self, value: Any) -> bytes:
        if any(value is outer for outer in self.path):
            return _hash([b"outer", str([value is outer for outer in self.path].index(True)).encode()])
        self.path.append(value)
        try:
            return _hash(self._parts(value))
        finally:
            self.path.pop()

    def _parts(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, enum.Enum):
            yield from (b"enum", type(value).__qualname__.encode(), value.name.encode())
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes):
            yield from (type(value).__name__.encode(), repr(value).encode())
        elif isinstance(value, np.ndarray | np.generic | np.dtype):
            yield from _array_parts(value)
        elif isinstance(value, Kernel):
            yield from self._kernel(value)
        elif isinstance(value, types.ModuleType):
            yield from (b"module", _version_of(value.__name__).encode())
        elif (named := _installed(value)) is not None:
            yield from (b"installed", named.encode())
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, type):
            yield from self._class(value)
        elif callable(how := getattr(value, "fingerprint", None)):
            yield from self._all(b"object", type(value), how())
        else:
            yield from self._container(value)

    def _all(self, kind: bytes, *values: Any) -> Iterator[bytes]:
        yield kind
        yield from map(self.digest, values)

    def _container(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, Mapping):
            yield from self._all(b"mapping", *value.keys(), *value.values())
        elif isinstance(value, Set):
            yield from (b"set", *sorted(map(self.digest, value)))
        elif isinstance(value, Sequence):
            yield from self._all(b"sequence", *value)
        elif isinstance(value, range | slice):
            yield from (b"range", repr(value).encode())
        elif isinstance(value, LOCKS):  # what waits for what changes no result
            yield b"lock"
        elif isinstance(value, partial):
            yield from self._all(b"partial", value.func, value.args, value.keywords)
        elif isinstance(value, types.BuiltinMethodType) or callable(getattr(value, "cache_clear", None)):
            yield from self._all(b"wrapped", getattr(value, "__wrapped__", None) or value.__self__, value.__qualname__)
        elif isinstance(value, types.MethodType):
            yield from self._all(b"method", value.__func__, value.__self__)
        elif isinstance(value, staticmethod | classmethod):
            yield from self._all(b"method", type(value), value.__func__)
        elif isinstance(value, property):
            yield from self._all(b"property", value.fget)
        elif dataclasses.is_dataclass(value):
            named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.compare}
            yield from self._all(b"dataclass", type(value), named)
        elif _is_ours(type(value)):  # a word of the kernel language
            yield from self._all(b"language", type(value), getattr(value, "__dict__", {}))
        else:
            raise ConfigError(
                f"nobody knows what makes two objects of {type(value).__qualname__} alike; give it a method "
                "fingerprint() that returns numbers, text or arrays, or pass it on in another way"
            )

    def _kernel(self, kernel: Kernel) -> Iterator[bytes]:
        from smmux.compiler.frontend.source import MISSING  # the compiler, which the kernel's arguments need anyway

        source = kernel.definition
        options = source.device, source.fastmath, source.max_registers, repr(source.declared), dict(source.webs)
        options = (*options, source.typing or typings.current())  # type: ignore[assignment]
        resolved = [source.resolve(name) for name in source.free]  # cuda.threadIdx.x means nothing outside a kernel
        captured = [b"unresolved" if value is MISSING else self.digest(value) for value in resolved]
        yield from (b"kernel", source.text.encode(), self.digest((*options, dict(source.defaults))), *captured)

    def _class(self, value: type) -> Iterator[bytes]:
        own = {name: item for name, item in vars(value).items() if not _of_python(name, item)}
        yield from self._all(b"class", value.__qualname__, value.__bases__, own)

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        yield from (b"function", *_code_parts(function.__code__))
        yield from self._all(b"defaults", function.__defaults__, function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield from (name.encode(), self.digest(cell.cell_contents))
        for name, value in _referred(function):
            yield from (name.encode(), self.digest(value))


def _array_parts(value: np.ndarray[Any, Any] | np.generic | np.dtype[Any]) -> Iterator[bytes]:
    if isinstance(value, np.dtype):
        yield from (b"dtype", repr(value).encode())
    elif value.dtype.hasobject:
        raise ConfigError("nobody knows what makes two arrays of Python objects alike; pass arrays of numbers")
    else:
        yield from (b"array", repr((value.dtype, np.shape(value))).encode(), np.ascontiguousarray(value).tobytes())


def _of_python(name: str, item: Any) -> bool:
    """True for what Python and its libraries add to a class: slots, made methods, and whatever tells of the rest."""
    if isinstance(item, types.FunctionType):
        return item.__code__.co_filename == "<string>"
    kinds = (types.GetSetDescriptorType, types.MemberDescriptorType)
    return isinstance(item, kinds) or name == "_abc_impl" or name.startswith("__")


def _code_parts(code: types.CodeType) -> Iterator[bytes]:
    """The instructions of a function and of those inside it, without names of files and numbers of lines."""
    yield from (code.co_code, repr(code.co_names).encode(), repr(code.co_varnames).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_parts(constant)
        else:
            ordered = sorted(constant, key=repr) if isinstance(constant, frozenset) else constant
            yield from (type(constant).__name__.encode(), repr(ordered).encode())


def _referred(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Globals that a function uses, and in their stead attributes of modules, in the order of their names."""
    used: dict[str, Any] = {}
    for code in _codes(function.__code__):
        instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
        for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
            if not instruction.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
                continue
            name = instruction.argval
            if name not in function.__globals__:
                continue
            value = function.__globals__[name]
            if isinstance(value, types.ModuleType) and following and following.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                name, value = f"{name}.{following.argval}", getattr(value, following.argval, None)
            used[name] = value
    yield from sorted(used.items())


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _installed(value: Any) -> str | None:
    """Name and version of a function or class of Python, smmux or another installed package; None for others."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    module = getattr(value, "__module__", None) or "builtins"
    if not callable(value) or name is None or not _is_installed(module.partition(".")[0]):
        return None
    return f"{_version_of(module)}:{name}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "smmux"


def _version_of(module: str) -> str:
    """The name of a module, with the version of the package that it is part of."""
    top = sys.modules.get(module.partition(".")[0])
    return f"{module} {getattr(top, '__version__', '')}"


@cache
def _is_installed(package: str) -> bool:
    """True for smmux, Python itself, and whatever lies where packages are installed."""
    if package in ("smmux", "builtins") or package in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(package), "__file__", None) if package != "__main__" else None
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return file is not None and any(Path(place) in Path(file).parents for place in places)
