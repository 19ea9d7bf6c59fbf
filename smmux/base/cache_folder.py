"""Where things are kept that can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_folder"]


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
