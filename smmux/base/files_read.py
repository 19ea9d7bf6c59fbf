"""Files of code that the program has read beside its own modules: what a record was computed by may depend on them."""

from __future__ import annotations

import hashlib
import os

__all__ = ["files_read", "note_file"]

_read: dict[str, str] = {}


def note_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Say that the program runs code of a file."""
    _read[os.path.abspath(path)] = hashlib.sha256(content).hexdigest()


def files_read() -> dict[str, str]:
    """The digest of each file as it was read last, by its whole path."""
    return dict(_read)
