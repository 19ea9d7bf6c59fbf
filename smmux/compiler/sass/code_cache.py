"""Results of the vendor's tools on disk, by what they were made of. What is damaged counts as missing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from smmux.base.cache_folder import cache_folder, disk_may_fail
from smmux.base.files_read import note_file
from smmux.base.whole_files import write_bytes
from smmux.errors import ConfigError

__all__ = ["fetch", "fetch_unless_changed", "keep", "keep_with_files", "key_of"]

CHECKSUM_BYTES = 32
MOST_BYTES = 1 << 30
"""Bytes of a result, unpacked."""


def key_of(*parts: object) -> str:
    """The name under which a result is kept, from all that decides about it."""
    digest = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(b"%d " % len(content) + content)
    return digest.hexdigest()


def fetch(key: str) -> bytes | None:
    """A result, or None."""
    if (path := _path(key)) is None:
        return None
    content = b""
    with disk_may_fail():
        content = path.read_bytes()
    checksum, packed = content[:CHECKSUM_BYTES], content[CHECKSUM_BYTES:]
    if hashlib.sha256(key.encode() + packed).digest() != checksum:
        return None
    try:
        return zlib.decompressobj().decompress(packed, MOST_BYTES)
    except zlib.error:
        return None


def keep(key: str, result: bytes) -> None:
    """Keep a result, where there is a place for it."""
    if (path := _path(key)) is None:
        return
    packed = zlib.compress(result, 1)
    with disk_may_fail(), contextlib.suppress(ConfigError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, hashlib.sha256(key.encode() + packed).digest() + packed)


def keep_with_files(key: str, result: bytes, files: Iterable[str]) -> None:
    """Keep a result that other files decided about too, each of them as it is now."""
    with disk_may_fail():
        files = list(files)
        _note(files)
        digests = {name: _digest(name) for name in files}
        keep(key, json.dumps(digests).encode())
        keep(_dependent(key, digests), result)


def fetch_unless_changed(key: str) -> bytes | None:
    """A result that was kept with files, or None; also if one of them has changed."""
    if (known := fetch(key)) is None:
        return None
    try:
        digests = json.loads(known)
        if any(_digest(name) != digest for name, digest in digests.items()):
            return None
    except (OSError, ValueError, AttributeError, TypeError):
        return None
    _note(digests)
    return fetch(_dependent(key, digests))


def _note(files: Iterable[str]) -> None:
    """Tell sweeps of the files that code was made from."""
    for name in files:
        note_file(name, Path(name).read_bytes())


def _dependent(key: str, digests: Mapping[str, str]) -> str:
    return key_of(key, sorted(digests.items()))


def _digest(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def _path(key: str) -> Path | None:
    folder = cache_folder()
    return folder and folder / "code" / key[:2] / key
