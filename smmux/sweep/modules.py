"""The modules around a run: which are a program's own, and what their files hold.

A module is installed if Python or a distribution brings it, and is then known by the version and the list of files of
that distribution. Every other module is one of the program's own, and is known by the contents of its file.
"""

from __future__ import annotations

import ast
import hashlib
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from smmux.base.files_read import files_read
from smmux.base.trees import walk
from smmux.errors import ConfigError
from smmux.sweep.plainly import attribute, is_a

__all__ = [
    "Text",
    "contents",
    "digest_of",
    "environment",
    "is_installed",
    "loaded",
    "mentioned",
    "own",
    "package",
    "plain_name",
]

PACKAGE = Path(__file__).parents[1]
SOURCES = (".py", ".so", ".pyd", ".cuh")


@dataclass(frozen=True, slots=True)
class Text:
    """What is known of a file of Python: a digest of its bytes, the modules that it imports, and the names that its
    functions use, as names, attributes or texts."""

    digest: str
    imports: tuple[tuple[int, str], ...] = ()
    names: frozenset[str] = frozenset()


def _files() -> list[str]:
    """The files of smmux that Python loads, and that compilers read."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names)
    return sorted(path for path in found if path.endswith(SOURCES))


def _stamp(files: Iterable[str]) -> list[tuple[int, int]]:
    """What changes when one of the files does."""
    return [(found.st_size, found.st_mtime_ns) for found in map(os.stat, files)]


_FILES = _files()
_LOADED = _stamp(_FILES)


def package() -> str:
    """The fingerprint of smmux itself: of each of its source files, and of the core.

    Raises ConfigError where they have changed since this process has loaded them: what runs is not what they hold.
    """
    if _stamp(_FILES) != _LOADED:
        raise ConfigError("files of smmux have changed since this process began; start it again to use a cache")
    return _package()


@cache
def _package() -> str:
    found = hashlib.sha256()
    for file in _FILES:
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        found.update(f"{os.path.relpath(file, PACKAGE)}:{digest};".encode())
    return found.hexdigest()


def environment() -> str:
    """What stands for all that is installed: smmux, Python, and each other distribution with its list of files."""
    return f"{package()} {sys.version} {sys.flags.optimize} {_installed().digest}"


@dataclass(frozen=True, slots=True)
class _Installed:
    """digest: of the versions of all distributions and their lists of files, without smmux, whose version changes with
    each commit; tops: names of what they bring."""

    digest: str
    tops: frozenset[str]


@cache
def _sites() -> tuple[str, ...]:
    """Folders into which distributions are installed: Python's own, and what `pip install --target` has made of others
    on its path."""
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages(), *user]
    found += [path for path in sys.path if path and any(Path(path).glob("*.dist-info/RECORD"))]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found if os.path.isdir(path)))


@cache
def _library() -> tuple[str, ...]:
    """Folders of Python's own library."""
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return tuple(sorted(os.path.realpath(path) for path in found))


@cache
def _installed() -> _Installed:
    """Read the lists of files that installers have left, which have a digest of each file."""
    found, tops = hashlib.sha256(), set()
    for path in sorted(path for place in _sites() for path in Path(place).glob("*.*-info")):
        listed = next((file for name in ("RECORD", "installed-files.txt") if (file := path / name).is_file()), None)
        text = listed.read_bytes() if listed else b""
        if not path.name.startswith("smmux-"):
            found.update(f"{path.name}:{hashlib.sha256(text).hexdigest()};".encode())
        tops |= {line.partition(b"/")[0].partition(b",")[0].decode(errors="replace") for line in text.splitlines()}
        if (top := path / "top_level.txt").is_file() and not listed:
            tops |= set(top.read_text(errors="replace").split())
    return _Installed(found.hexdigest(), frozenset(top.partition(".")[0] for top in tops if top))


def is_installed(name: str) -> bool:
    """True for a loaded module of Python, smmux or a distribution; a module that is not loaded is none."""
    module = sys.modules.get(name)
    return is_a(module, types.ModuleType) and not _is_own(name, _file_of(module))


def _file_of(module: Any) -> str | None:
    """The file of a module; None if it has none."""
    file = attribute(module, "__file__") or getattr(attribute(module, "__spec__"), "origin", None)
    if not isinstance(file, str) or file in ("built-in", "frozen"):
        return None
    return file if os.sep in file or os.path.exists(file) else None


@lru_cache(1 << 14)
def _is_own(name: str, file: str | None) -> bool:
    """Whether a module of that name and file is one of the program's own."""
    top = name.partition(".")[0]
    if file is None:  # built in, frozen, a namespace, made by hand, or by Cython for what it compiles
        if top.startswith(("_cython_", "cython_runtime")):
            return False
        return not (top in sys.stdlib_module_names or top == "smmux" or top in _installed().tops)
    real = os.path.realpath(file)
    if real.startswith(os.path.realpath(PACKAGE) + os.sep):
        return False
    for place in _sites():
        if real.startswith(place + os.sep):
            return real[len(place) + 1 :].partition(os.sep)[0].partition(".")[0] not in _installed().tops
    return not any(real.startswith(place + os.sep) for place in _library())


def own() -> dict[str, Any]:
    """The loaded modules that are the program's own, by name."""
    every: list[tuple[str, Any]] = list(sys.modules.items())  # some put there what is no module
    modules = [(name, module) for name, module in every if is_a(module, types.ModuleType)]
    return {plain_name(name): module for name, module in modules if _is_own(name, _file_of(module))}


def plain_name(name: str) -> str:
    """The name of a module; a process of workers has the main module of the one that it works for under another."""
    return "__main__" if name == "__mp_main__" else name


_seen: dict[str, tuple[Any, Text]] = {}
"""Modules as they were found first: what is loaded does not change with its file, unless it is loaded again."""


def mentioned() -> frozenset[str]:
    """The names that functions of the program's own files use."""
    return frozenset().union(*(_text_of(name, module).names for name, module in own().items()))


def loaded() -> dict[str, tuple[str, str]]:
    """The digests and paths of the files of the program's own modules that are loaded, by the modules' names; and of
    those that it compiled for GPUs, by their paths."""
    files = {name: (_text_of(name, module).digest, _file_of(module) or "") for name, module in own().items()}
    compiled = {path: (digest, path) for path, digest in files_read().items()}
    return {name: each for name, each in files.items() if each[0]} | compiled


def contents() -> dict[str, str]:
    """Digests of the files of the program's own modules, by the modules' names: of all that are loaded, and of those
    that these import anywhere."""
    modules = own()
    found = {name: _text_of(name, module) for name, module in modules.items()}
    packages = {name: attribute(module, "__package__") or "" for name, module in modules.items()}
    specs: dict[str, Any] = {}
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for imported in _imported(found[name], packages[name]):
            if imported in found or imported in sys.modules or (spec := _spec(imported, specs)) is None:
                continue
            file = spec.origin if spec.has_location else None
            if _is_own(imported, file):
                found[imported] = _read(file)
                packages[imported] = spec.parent or ""
                waiting.append(imported)
    return {name: text.digest for name, text in sorted(found.items()) if text.digest}


def digest_of(name: str, path: str) -> str | None:
    """The digest of the file that a module of that name would have now, or else of a path; None without a file."""
    if name == path:
        return _read(path).digest or None
    module = own().get(name)
    if module is not None:
        return _text_of(name, module).digest
    spec = _spec(name, {})
    return _read(spec.origin if spec is not None and spec.has_location else path).digest or None


def _text_of(name: str, module: Any) -> Text:
    """The text of a loaded module, as it was when it was found first."""
    which = attribute(module, "__spec__") or module
    known = _seen.get(name)
    if known is None or known[0] is not which:
        known = _seen[name] = which, _read(_file_of(module))
    return known[1]


def _read(file: str | None) -> Text:
    """A file as it is now; of a module in an archive, the archive."""
    path = Path(file) if file else None
    while path and not path.is_file() and path != path.parent:
        path = path.parent
    if path is None or not path.is_file():
        return Text("")
    try:
        return _parsed(path.read_bytes(), path.suffix == ".py")
    except OSError as error:
        raise ConfigError(f"nobody knows what {path} holds, of a module that the program has loaded: {error}") from None


_texts: dict[str, Text] = {}


def _parsed(text: bytes, python: bool) -> Text:
    digest = hashlib.sha256(text).hexdigest()
    if digest not in _texts:
        tree: ast.AST = ast.Module([], [])
        if python:
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                pass  # nobody imports it then, or it is known by its bytes alone
        _texts[digest] = Text(digest, tuple(sorted(_imports(tree))), frozenset(_names(tree)))
    return _texts[digest]


def _imports(tree: ast.AST) -> set[tuple[int, str]]:
    """Modules that a text may import: how many folders up, and the name from there."""
    found = set()
    for node in walk(tree):
        if isinstance(node, ast.Import):
            found |= {(0, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found |= {(node.level, ".".join(filter(None, (base, alias.name)))) for alias in node.names} | {
                (node.level, base)
            }
    return found


def _names(tree: ast.AST) -> Iterator[str]:
    """Names, attributes and texts that could be names, inside functions."""
    inside = (inner for node in walk(tree) if isinstance(node, FUNCTIONS) for inner in _outermost(node))
    for node in inside:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _outermost(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it, which are walked over by themselves."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(node))


def _imported(text: Text, package: str) -> Iterable[str]:
    """Full names of what a text imports, and of the packages around each."""
    for level, name in text.imports:
        parts = package.split(".") if level and package else []
        parts = parts[: len(parts) - level + 1] if level else []
        whole = [*parts, *name.split(".")] if name else parts
        for i in range(1, len(whole) + 1):
            yield ".".join(whole[:i])


def _spec(name: str, known: dict[str, Any]) -> Any:
    """Where Python would find a module that is not loaded, without loading any; None for one that is nowhere."""
    if name in sys.modules:
        return attribute(sys.modules[name], "__spec__")
    if name not in known:
        known[name] = None
        parent, _, _ = name.rpartition(".")
        around = _spec(parent, known) if parent else None
        places = getattr(around, "submodule_search_locations", None)
        if (parent and places is None) or (around is not None and not _is_own(parent, _file_of_spec(around))):
            return None
        for finder in list(sys.meta_path):
            try:
                spec = finder.find_spec(name, places, None)
            except Exception:  # whatever a finder of others does not like is not there
                continue
            if spec is not None:
                known[name] = spec
                break
    return known[name]


def _file_of_spec(spec: Any) -> str | None:
    return spec.origin if spec.has_location else None
