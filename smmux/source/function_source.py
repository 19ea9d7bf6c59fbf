"""The source of a kernel or device function: syntax tree, captured names, place in the user's file."""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import hashlib
import importlib
import inspect
import linecache
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from smmux.base import parsing, texts
from smmux.base.deep import deep
from smmux.base.trees import walk
from smmux.errors import CompileError, Error
from smmux.language.hints import overlap
from smmux.language.numba_types import of_smmux
from smmux.language.types import FunctionType
from smmux.source.attributes import attribute, peek
from smmux.source.constants import MOST_BITS, TooLong, number, plain

MISSING = object()

NO_VALUE = (AttributeError, ImportError, RuntimeError, Error)
"""What an attribute of a library raises that has no value outside a kernel (`cuda.threadIdx.x`) or on this machine."""


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """A function of the kernel language.

    node keeps the line numbers and columns of `filename`; captured holds globals and closure variables.
    Source-to-source passes make one from a changed tree.
    """

    node: ast.FunctionDef
    filename: str
    captured: Mapping[str, Any]
    lines: tuple[str, ...] = ()
    device: bool = False
    fastmath: bool = False
    library: bool = False  # part of the compiler, not of the user's program
    transformed: bool = False  # made by a pass, whose guards hold together what is assigned and what is read
    defaults: Mapping[str, Any] = field(default_factory=dict)
    webs: Mapping[str, str] = field(default_factory=dict)  # variables that were others, whose types they share
    declared: tuple[FunctionType, ...] = ()  # its signatures, if it has any
    max_registers: int | None = None  # that its author asks for
    typing: str = ""  # the rules of typing that its author asks for
    original: FunctionSource | None = None  # the function before its names were taken apart (`versions`)
    apart: frozenset[str] = frozenset()  # names whose versions are variables of their own
    unread: frozenset[str] = frozenset()  # versions that nothing reads
    remade: Callable[[frozenset[str]], FunctionSource] | None = None  # what the pass makes if the types of names change
    separate: frozenset[str] | None = None  # after that, names whose versions a pass has not mixed

    @property
    def name(self) -> str:
        """The function's name."""
        return self.node.name

    @cached_property
    def text(self) -> str:
        """The function as Python source."""
        return deep(ast.unparse)(self.node)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the positional parameters."""
        arguments = self.node.args
        if arguments.kwarg or (not self.device and arguments.kwonlyargs):
            what = "no **kwargs" if self.device else "no **kwargs or keyword-only ones"
            raise self.error(
                self.node, f"a {'device function' if self.device else 'kernel'} takes parameters by name: {what}"
            )
        return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))

    @cached_property
    def versions(self) -> dict[frozenset[str], FunctionSource]:
        """This function with names apart, by these names."""
        return {}

    @cached_property
    def locals(self) -> frozenset[str]:
        """Parameters and every name that the function assigns."""
        return frozenset((*self.parameters, *self.keywords, *self.rest)) | frozenset(assigned_names(self.node.body))

    @cached_property
    def keywords(self) -> tuple[str, ...]:
        """Names of the parameters that only keywords give."""
        return tuple(a.arg for a in self.node.args.kwonlyargs)

    @cached_property
    def rest(self) -> tuple[str, ...]:
        """The name of *args, if the function has it."""
        return (self.node.args.vararg.arg,) if self.node.args.vararg else ()

    @cached_property
    def free(self) -> tuple[ast.expr, ...]:
        """Captured names, and attributes of captured names, as they appear (each once)."""
        return tuple({ast.unparse(e): e for e in _free(self.node.body, self.locals)}.values())

    @property
    def narrow(self) -> bool:
        """True for functions of the library on 32-bit numbers, whose types do not depend on who calls them."""
        return self.library and "mathlib64" not in self.filename

    def line(self, number: int) -> str:
        """A line of the user's file, or empty."""
        if self.lines:
            return self.lines[number - 1] if 0 < number <= len(self.lines) else ""
        return linecache.getline(self.filename, number)

    def error(self, node: ast.AST | None, message: str) -> CompileError:
        """An error at a place in this function."""
        line, column = getattr(node, "lineno", self.node.lineno), getattr(node, "col_offset", self.node.col_offset)
        return CompileError(message, self.filename, line, column + 1, self.line(line))

    def lookup(self, name: str) -> Any:
        """The captured object of that name, or MISSING."""
        return adopted(self.captured.get(name, getattr(builtins, name, MISSING)))

    def resolve(self, node: ast.expr) -> Any:
        """The captured object that a name or attribute chain refers to, or MISSING."""
        if isinstance(node, ast.Name):
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            try:
                return MISSING if owner is MISSING else adopted(attribute(owner, node.attr))
            except NO_VALUE:
                return MISSING
        return MISSING

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text with the captured objects that the function uses, as they are now."""
        roots = {next(n.id for n in walk(e) if isinstance(n, ast.Name)) for e in self.free}
        captured = {name: _Stored(self.captured[name]) for name in sorted(roots) if name in self.captured}
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return _restored, ({**values, "captured": captured, "defaults": dict(self.defaults)},)

    def fingerprint(self) -> tuple[Any, ...]:
        """A hashable key of the text and of everything captured; changes when a captured number does."""
        return self._fingerprint({})

    def _fingerprint(self, seen: dict[int, int]) -> tuple[Any, ...]:
        """seen: functions that the key has already, with their numbers, by identity."""
        if id(self) in seen:
            return ("again", seen[id(self)])
        seen[id(self)] = len(seen)
        captured = tuple(_key(self.resolve(e), seen) for e in self.free)
        defaults = tuple(_key(value, seen) for value in self.defaults.values())
        webs = tuple(self.webs.items())
        written = self.text, self.filename, self.node.lineno, self.fastmath, repr(self.declared)
        return (*written, defaults, webs, captured)


class _Stored:
    """A captured object on its way through `pickle`: modules, and the names of the kernel language, go by name."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.value, types.ModuleType):
            return importlib.import_module, (self.value.__name__,)
        known = callable(self.value) or type(self.value).__module__.startswith("smmux.")  # and no number
        for language in ("smmux.cuda", "smmux.smm", "smmux.types") if known else ():
            for name, value in vars(importlib.import_module(language)).items():
                if value is self.value:
                    return _member, (language, name)
        return _itself, (self.value,)


def _member(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _itself(value: Any) -> Any:
    return value


def _restored(values: dict[str, Any]) -> FunctionSource:
    return FunctionSource(**values)


@deep
def from_function(
    function: types.FunctionType, *, device: bool = False, fastmath: bool = False, library: bool = False, **rest: Any
) -> FunctionSource:
    """Read the source of a Python function; rest: other fields of its source."""
    node, filename, lines = _definition(function)
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    values = function.__defaults__ or ()
    defaults = dict(zip(names[len(names) - len(values) :], values, strict=True)) | (function.__kwdefaults__ or {})
    source = FunctionSource(
        node,
        filename,
        _Captured(function),
        lines,
        device=device,
        fastmath=fastmath,
        library=library,
        defaults=defaults,
        **rest,
    )
    return _short(source)


def _short(source: FunctionSource) -> FunctionSource:
    """The source, whose integers are of a length that all passes can write down. Raises CompileError."""
    for node in walk(source.node):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value.bit_length() > MOST_BITS:
            raise source.error(node, str(TooLong()))
    return source


def _definition(function: types.FunctionType) -> tuple[ast.FunctionDef, str, tuple[str, ...]]:
    """A function's node, the file name, and the lines that this file would have if there were one."""
    code = function.__code__
    node = None
    if not code.co_filename.startswith("<") and code.co_name != "<lambda>":
        with contextlib.suppress(OSError, TypeError, SyntaxError):  # the file may have other text by now, or ever since
            lines, first = inspect.getsourcelines(code)
            node = _parse(text := "".join(lines), first, code.co_name, code.co_filename)
            if all(name in text for name in (*code.co_names, *code.co_varnames)):
                return node, code.co_filename, ()
    if (found := texts.find(code)) is None:
        if node is not None:  # a tool has changed the instructions, as pytest does where there is an assert
            return node, code.co_filename, ()
        raise CompileError(
            f"the source of {code.co_name!r} is in no file, and Python keeps nothing of what it reads from a pipe; "
            "put the kernel in a file or a notebook cell, or build it with smmux.kernel.from_source",
            code.co_filename,
            code.co_firstlineno,
        )
    filename, text, inner = found
    return _function_of(inner, parsing.module(text, filename)), filename, tuple(text.splitlines())


def _function_of(code: types.CodeType, tree: ast.AST) -> ast.FunctionDef:
    """The function of a tree that compiles to this code; a lambda becomes a function that returns its value."""
    if code.co_name == "<lambda>":
        return _named(_lambda_of(code, tree))
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if code.co_firstlineno in (node.lineno, *(decorator.lineno for decorator in node.decorator_list[:1])):
                return node
    raise CompileError(f"{code.co_name!r} is not defined by a def statement", None, code.co_firstlineno)


def _lambda_of(code: types.CodeType, tree: ast.AST) -> ast.Lambda:
    """The innermost lambda that holds the places of all instructions."""
    places = [(line, column, last, end) for line, last, column, end in code.co_positions() if end]
    lambdas = [node for node in walk(tree) if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
    return [
        node
        for node in lambdas
        if all(
            (node.lineno, node.col_offset) <= place[:2] and place[2:] <= (node.end_lineno, node.end_col_offset)
            for place in places
        )
    ][-1]


def _named(node: ast.Lambda) -> ast.FunctionDef:
    """A lambda as a function statement."""
    function = parsing.statement("def lambda_(): return")
    assert isinstance(function, ast.FunctionDef)
    function.args, function.body = node.args, [ast.copy_location(ast.Return(node.body), node.body)]
    return ast.copy_location(function, node)


@deep
def from_text(
    text: str,
    captured: Mapping[str, Any],
    *,
    name: str = "",
    filename: str = "<kernel>",
    device: bool = False,
    fastmath: bool = False,
) -> FunctionSource:
    """A function from source text: the one called `name`, or the first."""
    try:
        tree = parsing.module(text, filename)
    except MemoryError:  # the parser's stack
        raise CompileError("the source is nested too deeply for Python itself; split it up", filename, 1, 1) from None
    except SyntaxError as error:
        if "digits" not in error.msg:  # of an integer: Python has a limit too
            raise
        line = error.text or ""
        longest = max(re.findall(r"\w+", line), key=len, default="")  # Python does not say where in the line it is
        raise CompileError(str(TooLong()), filename, error.lineno, line.find(longest) + 1, line) from None
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and name in ("", node.name):
            return _short(FunctionSource(node, filename, captured, tuple(text.splitlines()), device, fastmath))
    raise CompileError(f"no function {name!r} in the source" if name else "no function in the source", filename, 1, 1)


class _Captured(Mapping[str, Any]):
    """Globals and closure cells, read when asked for: a kernel sees a global as it is at compile time."""

    def __init__(self, function: types.FunctionType) -> None:
        self._globals = function.__globals__
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def __getitem__(self, name: str) -> Any:
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        return self._globals[name]

    def __iter__(self) -> Iterator[str]:
        yield from {**self._globals, **self._cells}

    def __len__(self) -> int:
        return len({**self._globals, **self._cells})


def _parse(text: str, first: int, name: str, filename: str) -> ast.FunctionDef:
    """The function's node, with the lines and columns of its file (an indented one is parsed under an `if`)."""
    indented = text[:1].isspace()
    tree = parsing.module("if True:\n" + text if indented else text, filename)
    ast.increment_lineno(tree, first - 1 - indented)
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise CompileError(f"{name!r} is not defined by a def statement", filename, first, 1, text.splitlines()[0])


def assigned_names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Names that statements or expressions assign, in any nested one."""
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def is_overlap(source: FunctionSource, node: ast.With) -> bool:
    """True for `with smmux.overlap():`, the one with statement that kernels have."""
    item = node.items[0]
    call = item.context_expr
    plain = len(node.items) == 1 and item.optional_vars is None
    return (
        plain
        and isinstance(call, ast.Call)
        and not (call.args or call.keywords)
        and source.resolve(call.func) is overlap
    )


@dataclass(frozen=True, eq=False)
class Adopted:
    """A function that Numba compiles for the host, as a device function."""

    definition: FunctionSource
    py_func: Any

    @property
    def __name__(self) -> str:
        return self.definition.name


_adoptions: WeakKeyDictionary[Any, Adopted] = WeakKeyDictionary()


def adopted(value: Any) -> Any:
    """A captured object; types of Numba's are those of smmux, and what `numba.jit` made of a function can be called."""
    if type(value).__module__.startswith("numba.core.types"):
        return of_smmux(value)
    if type(value).__module__ != "numba.core.registry" or not isinstance(
        function := getattr(value, "py_func", None), types.FunctionType
    ):
        return value
    if value not in _adoptions:
        _adoptions[value] = Adopted(from_function(function, device=True), function)
    return _adoptions[value]


def _free(body: list[ast.stmt], local: frozenset[str]) -> Iterator[ast.expr]:
    """Captured names with the attributes taken of them."""
    inner: set[int] = set()
    for statement in body:
        for node in walk(statement):
            if id(node) in inner or not isinstance(node, ast.Name | ast.Attribute):
                continue
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                root = root.value
                inner.add(id(root))
            if isinstance(root, ast.Name) and isinstance(root.ctx, ast.Load) and root.id not in local:
                yield node


def _key(value: Any, seen: dict[int, int]) -> Any:
    """A hashable stand-in for a captured object."""
    if isinstance(value, enum.Enum):
        return (type(value), value._name_, _key(value._value_, seen))
    if isinstance(value, str | np.generic | type(None)):
        return (type(value), repr(value))
    if number(plain(value)):
        return (type(value), repr(plain(value)))
    if isinstance(value, tuple | list):
        return (type(value), *(_key(item, seen) for item in value))
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest())
    definition = peek(value, "definition")
    if isinstance(definition, FunctionSource):
        return definition._fingerprint(seen)
    return (type(value), peek(value, "__qualname__") or peek(value, "__name__") or id(value))
