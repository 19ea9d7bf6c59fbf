"""Compiled programs on disk, for the next process that compiles the same kernel for the same launch.

A program is kept under all that it depends on: the kernel with all that it captures (`smmux.source.lasting`), types of
arguments, options of the compiler, and what compiles it: the files of smmux, as Python itself knows them when it keeps
its own compiled files, by size and time; Python and NumPy. A file holds numbers and texts, no code of Python, under a
checksum; one that does not fit is no file. They lie in the user's folder for caches, which SMMUX_CACHE names another
of, or with `0` none, and the oldest go when there are too many.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from smmux.base.began import BEGUN
from smmux.base.cache_folder import cache_folder, disk_may_fail
from smmux.base.whole_files import write_bytes
from smmux.compiler.ir import Loc, Space, Storage, Text, Trap
from smmux.compiler.launch_facts import Facts
from smmux.compiler.options import Options
from smmux.compiler.program import INSN, UNIFORM, ParamWord, Program
from smmux.compiler.signature import Signature
from smmux.compiler.unit import Unit
from smmux.errors import ConfigError

__all__ = ["folder", "kept"]

PACKAGE = Path(__file__).parents[2]
MARGIN = 2_000_000_000
"""Nanoseconds before this process loaded smmux in which a file of it may have changed unseen."""
MOST_BYTES = 64 << 20
"""Bytes of all programs together; a quarter goes at a time."""
RARELY = 16
"""Of so many new programs one has all files looked at."""
END = ".program"
CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (Facts, Loc, ParamWord, Storage, Text, Trap)}
ARRAYS = {"code": INSN, "uniforms": UNIFORM}
NOT_KEPT = ("pack", "printer", "instructions", "sources", "places")
"""Of compiled GPU code, which does not come this way."""


def folder() -> Path | None:
    """Where programs are kept; None for nowhere."""
    place = cache_folder()
    return None if place is None or os.environ.get("SMMUX_CHECK") else place / "programs"


def kept(unit: Unit, signature: Signature, coarse: Options, fine: Options, make: Callable[[], Program]) -> Program:
    """The program from disk, or the one that is made, which is kept. What goes wrong with the disk is no error."""
    place = folder()
    key = place and _key(unit, signature, coarse, fine)
    if not place or not key:
        return make()
    path = place / f"{key}{END}"
    with disk_may_fail():
        found = _read(path.read_bytes(), key)
        if found is not None:
            with disk_may_fail():
                os.utime(path)
            return found
    program = make()
    content = _written(program, key)
    if content is not None:
        with disk_may_fail(), contextlib.suppress(ConfigError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_bytes(path, content)
            if int(key[:4], 16) % RARELY == 0:
                _thin(place)
    return program


def _key(unit: Unit, signature: Signature, coarse: Options, fine: Options) -> str | None:
    """What a program is kept under; None if that cannot be said."""
    kernel, compiler, types = unit.lasting(), _compiler(), repr(signature)
    if kernel is None or compiler is None or "record(" in types:  # which do not say where their fields lie
        return None
    return hashlib.sha256(repr((kernel, types, repr(coarse), repr(fine), compiler)).encode()).hexdigest()


@functools.cache
def _compiler() -> str | None:
    """What stands for the files of smmux and what they run on; None where one has changed since the process began, or
    nobody can tell."""
    try:
        files = sorted(_files(PACKAGE))
    except OSError:  # an archive, or no right to look
        return None
    if any(changed > BEGUN - MARGIN for _, _, changed in files):
        return None
    return repr((files, sys.version, sys.flags.optimize, np.__version__, platform.machine(), sys.byteorder))


def _files(place: str | os.PathLike[str]) -> Iterator[tuple[str, int, int]]:
    """Files of a package that Python loads, with size and time."""
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith((".py", ".so")):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def _written(program: Program, key: str) -> bytes | None:
    """The content of a file; None for a program that has more than numbers and texts."""
    values = {each.name: getattr(program, each.name) for each in dataclasses.fields(Program)}
    if any(values.pop(name) for name in NOT_KEPT):
        return None
    arrays = {name: np.ascontiguousarray(values.pop(name)) for name in ARRAYS}
    try:
        words = json.dumps({"sizes": {n: len(a) for n, a in arrays.items()}, "rest": _plain(values)}).encode()
    except TypeError:
        return None
    body = b"\n".join([words, *(array.tobytes() for array in arrays.values())])
    return _checksum(key, body) + body


def _read(content: bytes, key: str) -> Program | None:
    """The program of a file's content; None if it is damaged or another one's."""
    check, body = content[:32], content[32:]
    if check != _checksum(key, body):
        return None
    words, _, rest = body.partition(b"\n")
    held = json.loads(words)
    arrays: dict[str, Any] = {}
    for name, dtype in ARRAYS.items():
        size = held["sizes"][name] * dtype.itemsize
        arrays[name], rest = np.frombuffer(rest[:size], dtype).copy(), rest[size + 1 :]
    return Program(**arrays, **_full(held["rest"]))


def _checksum(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()


def _plain(value: Any) -> Any:
    """A value of numbers, texts and known classes as what JSON can say; raises TypeError for others."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is tuple:
        return ["tuple", *map(_plain, value)]
    if kind is dict:
        return ["dict", *([_plain(key), _plain(item)] for key, item in value.items())]
    if kind is bytes:
        return ["bytes", value.hex()]
    if kind is Space:
        return ["Space", value.value]
    if CLASSES.get(kind.__name__) is kind:
        return [kind.__name__, *(_plain(getattr(value, each.name)) for each in dataclasses.fields(kind))]
    raise TypeError(kind.__name__)


def _full(value: Any) -> Any:
    """What `_plain` was given."""
    if not isinstance(value, list):
        return value
    kind, *parts = value
    if kind == "dict":
        return {_full(key): _full(item) for key, item in parts}
    if kind == "bytes":
        return bytes.fromhex(parts[0])
    if kind == "Space":
        return Space(parts[0])
    items = map(_full, parts)
    return tuple(items) if kind == "tuple" else CLASSES[kind](*items)


def _thin(place: Path) -> None:
    """Remove the programs that nobody has asked for the longest, if all together are too many bytes."""
    with os.scandir(place) as entries:
        files = [(entry.stat(), entry.path) for entry in entries if entry.name.endswith(END)]
    total = sum(status.st_size for status, _ in files)
    if total <= MOST_BYTES:
        return
    for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
        if total <= MOST_BYTES * 3 // 4:
            break
        total -= status.st_size
        with disk_may_fail():
            os.unlink(path)
