"""Whether the files of an experiment still stand: whether its script would write the same ones again.

A cache of records also knows which files came of which code and options, all of them by their contents. So files that
anybody edited or removed do not stand, nor does any file after a change of smmux, of an experiment, or of the packages
that compute and draw.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from functools import cache
from pathlib import Path
from typing import Any

import experiments
import smmux
from experiments.common import harness
from smmux.sweep import Cache
from smmux.sweep.fingerprint import fingerprint

__all__ = ["SUFFIXES", "keep", "stands"]

SUFFIXES = (*harness.SUFFIXES, ".txt")
"""The files of an experiment: what its script writes, and what it prints."""
PACKAGES = ("matplotlib", "numpy")
"""What computes and draws, besides smmux and Python."""


def stands(kept: Cache, out: Path, name: str, *options: Any) -> bool:
    """Whether the files of an experiment in a folder are what this code made of these options."""
    key = _key(out, name, options)
    return key is not None and kept.get(key) is not None


def keep(kept: Cache, out: Path, name: str, *options: Any) -> None:
    """Remember that this code made the files in a folder of these options."""
    if key := _key(out, name, options):
        kept.put(key, {"experiment": name})


def _key(out: Path, name: str, options: Any) -> str | None:
    """What files are known by: their contents and what made them; None if one is missing."""
    paths = [out / f"{name}{suffix}" for suffix in SUFFIXES]
    if not all(path.is_file() for path in paths):
        return None
    return fingerprint([code(), name, options, [_digest(path) for path in paths]])


@cache
def code() -> str:
    """What every picture depends on, options and records aside: files of smmux and the experiments, and versions."""
    return fingerprint([*map(contents, folders()), sys.version, *map(importlib.metadata.version, PACKAGES)])


def folders() -> list[Path]:
    """Where everything lies that scripts consist of and read."""
    return [Path(file).parent for file in (smmux.__file__, experiments.__file__) if file]


def contents(folder: Path) -> list[tuple[str, str]]:
    """The files of a folder by name, each with what stands for its contents, without those that Python makes itself and
    the version, which changes with each commit."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    files = (path for path in files if path != folder / "version.txt")
    return [(path.relative_to(folder).as_posix(), _digest(path)) for path in files]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
