"""Fingerprints: equal for values that give equal results, in any process and on any day.

The fingerprint of a function covers its instructions, its defaults, and whatever it refers to by name: captured
variables, globals, and attributes of modules. What is installed is known by its name (`environment` of `modules` has
the versions). An object is known by its class and all that it holds; what holds something that nobody can look at is
refused. Two values that are one object, or that share memory, differ from two that are equal.
"""

from __future__ import annotations

import bisect
import dataclasses
import dis
import enum
import functools
import hashlib
import struct
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextvars import ContextVar
from typing import Any

import numpy as np

from smmux.errors import ConfigError
from smmux.kernels.kernel import Kernel
from smmux.language import typings
from smmux.language.placement import extent, root
from smmux.sweep.modules import is_installed, package, plain_name
from smmux.sweep.objects import contents_of, own_classes
from smmux.sweep.plainly import attribute, is_a

__all__ = ["Walk", "code_names", "fingerprint", "package"]

LOCKS = (type(threading.Lock()), type(threading.RLock()))
MEMO = type(functools.cache(lambda: None))
MISSING = object()
OF_PYTHON = frozenset(
    "__dict__ __weakref__ __module__ __annotations__ __annotate__ __annotate_func__ __annotations_cache__ "
    "__slotnames__ __static_attributes__ __firstlineno__ __orig_bases__ __parameters__ __type_params__ "
    "_abc_impl".split()
)
"""What Python adds to a class that tells nothing of what it does."""

REMEDY = (
    "give it a method fingerprint() that returns numbers, text or arrays, pass it on in another way, or name a version "
    "of your own for all that the function refers to: sweep(..., version='1')"
)


def fingerprint(value: Any) -> str:
    """64 hexadecimal digits that stand for a value: a number, text, array, container, function, class, kernel, or an
    object, by what it holds or by what its method `fingerprint()` returns.

    Raises ConfigError for what nobody can look into, as open files, and for objects that hold such.
    """
    return Walk().digest(value).hex()


def _hash(parts: Iterable[bytes]) -> bytes:
    """A hash in which where a part ends counts too."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


class Walk:
    """One walk over values.

    state: of globals as they are, one by one. Functions and classes that are globals are known by name where another
    one refers to them, as each has its own digest, and what nobody can look into by its type.
    """

    def __init__(self, state: bool = False) -> None:
        self.state = state
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object gets the identity of one that was seen
        self._memory: list[tuple[int, int, int]] = []  # of arrays: first byte, the one behind the last, and a number

    def fork(self) -> Walk:
        """A walk that goes on from here, which knows what this one has seen."""
        other = Walk(self.state)
        other._seen, other._kept, other._memory = dict(self._seen), list(self._kept), list(self._memory)
        return other

    def digest(self, value: Any) -> bytes:
        """A digest of a value; raises ConfigError for what nobody knows."""
        if (atom := _atom(value)) is not None:
            return _hash(atom)
        if (number := self._seen.get(id(value))) is not None:
            return _hash([b"again", str(number).encode()])
        if self.state and self._kept and is_a(value, types.FunctionType | type) and _is_global(value):
            return _hash([b"global", f"{plain_name(value.__module__)}:{value.__qualname__}".encode()])
        self._seen[id(value)] = len(self._kept)
        self._kept.append(value)
        try:
            return _hash(self._parts(value))
        except RecursionError:
            raise ConfigError(
                f"a {type(value).__qualname__} is nested too deeply for a fingerprint; {REMEDY}"
            ) from None

    def _parts(self, value: Any) -> Iterator[bytes]:
        kind = type(value)
        if kind in PARTS:
            yield from PARTS[kind](self, value)
        elif is_a(value, Kernel):
            yield from self._kernel(value)
        elif is_a(value, type):
            yield from self._class(value)
        elif kind is MEMO:
            yield from self._all(b"memo", value.__wrapped__, value.cache_parameters())
        elif is_a(value, np.dtype):
            metadata = dict(value.metadata) if value.metadata else None
            yield from (b"dtype", repr(value).encode(), self.digest(metadata))
        elif is_a(value, np.generic):
            yield from (b"scalar", *self._array(np.asarray(value)))
        elif (name := _name_of(value)) is not None:
            yield from (b"installed", name.encode())
        elif is_a(value, LOCKS):  # what waits for what changes no result
            yield b"lock"
        elif is_a(value, Executor) and not own_classes(kind):  # where something runs changes none either
            yield from self._all(b"executor", kind, attribute(value, "_initializer"), attribute(value, "_initargs"))
        else:
            yield from self._object(value)

    def _all(self, kind: bytes, *values: Any) -> Iterator[bytes]:
        yield kind
        yield from map(self.digest, values)

    def _set(self, value: Any) -> Iterator[bytes]:
        yield from (b"set", type(value).__name__.encode())
        yield from sorted(Walk(self.state).digest(item) for item in value)  # in no order, each for itself

    def named_digests(self, values: Mapping[str, Any]) -> Iterator[bytes]:
        """Names and digests; an `object()` that has a name is known by it."""
        for name, value in sorted(values.items()):
            yield name.encode("utf-8", "surrogatepass")
            yield b"itself" if type(value) is object else self.digest(value)

    def _array(self, value: Any) -> Iterator[bytes]:
        if value.dtype.hasobject:
            raise ConfigError(f"nobody knows what makes two arrays of Python objects alike; {REMEDY}")
        place = self._place(value) if value.ndim and value.size else ()
        layout = (value.dtype, value.shape, value.strides, value.flags.writeable, place)
        padded = value.dtype.char in "gG"  # a long double has bytes that hold anything
        data = repr(value.tolist()).encode() if padded else np.ascontiguousarray(value).tobytes()
        yield from (b"array", repr(layout).encode(), data)

    def _place(self, value: Any) -> tuple[int, int]:
        """Which of the memories that the walk has met an array lies in, and where in it."""
        whole = root(value)
        low, high = extent(whole)
        at = bisect.bisect(self._memory, (low, sys.maxsize, 0))
        for start, end, number in self._memory[max(at - 1, 0) : at + 1]:
            if low < end and start < high:
                return number, value.ctypes.data - start
        number = len(self._kept)
        self._memory.insert(at, (low, high, number))
        self._kept.append(whole)
        return number, value.ctypes.data - low

    def _kernel(self, kernel: Kernel) -> Iterator[bytes]:
        if self.state and kernel.function is not None:
            yield from self._all(b"kernel", kernel.function)
            return
        from smmux.source.function_source import MISSING as NOWHERE  # which the kernel's arguments need anyway

        source = kernel.definition
        options = source.device, source.fastmath, source.max_registers, source.transformed, repr(source.declared)
        resolved = [source.resolve(name) for name in source.free]  # cuda.threadIdx.x means nothing outside a kernel
        captured = [b"unresolved" if value is NOWHERE else self.digest(value) for value in resolved]
        details = (*options, source.typing or typings.current(), source.name, dict(source.webs), dict(source.defaults))
        yield from (b"kernel", source.text.encode(), self.digest(details), *captured)

    def _class(self, value: type) -> Iterator[bytes]:
        name = _name_of(value)
        if name is not None:
            yield from (b"class", name.encode())
            return
        made = (types.GetSetDescriptorType, types.MemberDescriptorType)
        items = {n: item for n, item in vars(value).items() if n not in OF_PYTHON and not is_a(item, made)}
        yield from self._all(b"own class", value.__qualname__, type(value), value.__bases__)
        yield from self.named_digests(items)

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        if (name := _name_of(function)) is not None:
            yield from (b"installed", name.encode())
            return
        yield from (b"function", *_code_parts(function.__code__))
        yield from self._all(b"defaults", function.__defaults__, function.__kwdefaults__)
        if hasattr(function, "registry") and hasattr(function, "dispatch"):  # of functools.singledispatch
            yield from self._all(b"dispatch", dict(function.registry), getattr(function, "__wrapped__", None))
            return
        yield from self.named_digests(vars(function))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield from self.named_digests({name: _content(cell)})
        if not self._globals_are_known(function):
            yield from self.named_digests(_referred(function))

    def _globals_are_known(self, function: types.FunctionType) -> bool:
        """Whether the globals of a function need no look: of an installed module, or where each has its own digest."""
        name = function.__globals__.get("__name__", "")
        module = sys.modules.get(name) if is_a(name, str) else None
        if name == "__mp_main__" and self.state:  # whose functions are made before the module, in a process of workers
            return True
        return attribute(module, "__dict__") is function.__globals__ and (self.state or is_installed(name))

    def _module(self, module: types.ModuleType) -> Iterator[bytes]:
        yield from (b"module", module.__name__.encode())
        if sys.modules.get(module.__name__) is not module and not is_installed(module.__name__):
            yield from self.named_digests({n: v for n, v in vars(module).items() if not n.startswith("__")})

    def _enum(self, value: enum.Enum) -> Iterator[bytes]:
        yield from self._all(b"enum", type(value), attribute(value, "_name_"), attribute(value, "_value_"))

    def _variable(self, variable: ContextVar[Any]) -> Iterator[bytes]:
        yield from self._all(b"variable", variable.name, variable.get(None))

    def _builtin(self, value: Any) -> Iterator[bytes]:
        if (name := _name_of(value)) is None:
            yield from self._all(b"bound", value.__self__, value.__name__)
        else:
            yield from (b"installed", name.encode())

    def _object(self, value: Any) -> Iterator[bytes]:
        """An object by its class and all that it holds."""
        kind = type(value)
        if is_a(value, enum.Enum):
            yield from self._enum(value)
            return
        if callable(attribute(kind, "fingerprint")):
            yield from self._all(b"object", kind, value.fingerprint())
            return
        try:
            ours = kind.__module__.partition(".")[0] == "smmux"
            held, rest = contents_of(value, ours)
        except ConfigError:
            if not self.state:
                raise
            yield from self._all(b"unknown", kind)
            return
        except Exception as error:
            raise ConfigError(f"nobody can look into a {kind.__qualname__} ({error}); {REMEDY}") from error
        yield from self._all(b"object", kind)
        yield from self.named_digests(held)
        if isinstance(rest, np.ndarray):
            yield from self._array(rest)
        else:
            yield self.digest(rest)


def _atom(value: Any) -> tuple[bytes, ...] | None:
    """What stands for a number, a text and the like; None for other values."""
    kind = type(value)
    if kind is str:
        return b"str", value.encode("utf-8", "surrogatepass")
    if kind is bool or value is None or value is Ellipsis or value is NotImplemented:
        return (repr(value).encode(),)
    if kind is int:
        return b"int", hex(value).encode()
    if kind is float:
        return b"float", struct.pack("<d", value)
    if kind is complex:
        return b"complex", struct.pack("<dd", value.real, value.imag)
    return (b"bytes", value) if kind is bytes else None


PARTS: dict[type, Callable[[Walk, Any], Iterator[bytes]]] = {
    tuple: lambda walk, value: walk._all(b"tuple", *value),
    list: lambda walk, value: walk._all(b"list", *value),
    dict: lambda walk, value: walk._all(b"dict", *value.keys(), *value.values()),
    types.MappingProxyType: lambda walk, value: walk._all(b"proxy", dict(value)),
    set: Walk._set,
    frozenset: Walk._set,
    bytearray: lambda walk, value: walk._all(b"bytearray", bytes(value)),
    range: lambda walk, value: walk._all(b"range", value.start, value.stop, value.step),
    slice: lambda walk, value: walk._all(b"slice", value.start, value.stop, value.step),
    np.ndarray: Walk._array,
    np.vectorize: lambda walk, value: walk._all(  # without what a first call keeps
        b"vectorized", value.pyfunc, value.otypes, value.excluded, value.signature, value.cache
    ),
    types.ModuleType: Walk._module,
    types.FunctionType: Walk._function,
    types.BuiltinFunctionType: Walk._builtin,
    types.MethodType: lambda walk, value: walk._all(b"method", value.__func__, value.__self__),
    types.CodeType: lambda walk, value: iter(_code_parts(value)),
    types.CellType: lambda walk, value: walk._all(b"cell", _content(value)),
    staticmethod: lambda walk, value: walk._all(b"static", value.__func__),
    classmethod: lambda walk, value: walk._all(b"class method", value.__func__),
    property: lambda walk, value: walk._all(b"property", value.fget, value.fset, value.fdel),
    functools.cached_property: lambda walk, value: walk._all(b"cached", value.func, value.attrname),
    ContextVar: Walk._variable,
    dataclasses.Field: lambda walk, value: walk._all(b"field", value.name, value.default, value.default_factory),
}
"""How values of a type, and of no subclass, are known."""


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # of a variable that has no value yet
        return "no value"


def _code_parts(code: types.CodeType) -> Iterator[bytes]:
    """The instructions of a function and of those inside it, without names of files and numbers of lines."""
    known = _digests_of_code.get(id(code))
    if known is None:
        known = code, _hash(_parts_of_code(code))
        if len(_digests_of_code) > MOST_CODES:
            _digests_of_code.clear()
        _digests_of_code[id(code)] = known
    yield known[1]


MOST_CODES = 100_000
_digests_of_code: dict[int, tuple[types.CodeType, bytes]] = {}
"""Digests by identity; the code, which does not change, stays so that no other gets that identity."""


def _parts_of_code(code: types.CodeType) -> Iterator[bytes]:
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    yield from (code.co_code, code.co_exceptiontable, repr(counts).encode(), repr(names).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_parts(constant)
        else:
            yield from _atom(constant) or (Walk().digest(constant),)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def code_names(code: types.CodeType) -> Iterator[str]:
    """The names that a function and those inside it use: globals, attributes, and texts that may be names."""
    for each in _codes(code):
        yield from each.co_names
        yield from (constant for constant in each.co_consts if isinstance(constant, str))


def _referred(function: types.FunctionType) -> dict[str, Any]:
    """Globals that a function uses, and of the program's own modules among them the attributes that it may mean."""
    codes = list(_codes(function.__code__))
    found = {name: function.__globals__.get(name, MISSING) for code in codes for name in _globals_of(code)}
    used = {name: value for name, value in found.items() if value is not MISSING}
    attributes = {name for code in codes for name in code.co_names}
    for name, module in list(used.items()):
        if is_a(module, types.ModuleType) and not is_installed(attribute(module, "__name__")):
            held = attribute(module, "__dict__")
            used |= {f"{name}.{item}": held[item] for item in attributes & held.keys()}
    return used


def _globals_of(code: types.CodeType) -> set[str]:
    return {i.argval for i in dis.get_instructions(code) if i.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME"))}


def _is_global(value: Any) -> bool:
    """Whether a function or class is what a loaded module has under its name."""
    name, module = value.__module__, sys.modules.get(value.__module__)
    find: Any = getattr if is_installed(name) else attribute
    return find(module, value.__qualname__, None) is value


def _name_of(value: Any) -> str | None:
    """The name of what is installed, if that name means this very value; None for others."""
    if any(kind.__module__ in sys.modules for kind in own_classes(type(value))):
        return None  # no object of the program's own classes is installed, and the question alone may run its code
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    owner = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__module__", None)
    for module in (owner,) if isinstance(owner, str) else ("builtins", "numpy", "scipy.special"):
        if not is_installed(module):
            continue
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is value:
            if not isinstance(value, types.FunctionType) or value.__globals__ is vars(sys.modules[module]):
                return f"{module}:{name}"
    return None
