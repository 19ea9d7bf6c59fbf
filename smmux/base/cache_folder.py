"""Where things are kept that can be made again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cache_folder", "disk_may_fail"]


def cache_folder() -> Path | None:
    """Return `SMMUX_CACHE`, or `smmux` in the user's folder for caches; None for nowhere, if that is `0`."""
    named = os.environ.get("SMMUX_CACHE", "")
    if named:
        return Path(named) if named != "0" else None
    home = Path("~").expanduser()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "smmux"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else home / ".cache") / "smmux"


@contextmanager
def disk_may_fail() -> Iterator[None]:
    """Go on behind this where the operating system reports an error, which then has a number. Others go on upwards,
    such as a TimeoutError that somebody has set for this thread."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
