"""Files that are written whole or not at all: beside their place first, and renamed into it when they are complete.

Several files of a folder change together. They are written into a folder of their own, whose renaming is the moment
from which on they count; then they are moved out of it. What a process that was killed in between has left,
`finish` moves: whoever reads such files calls it first, as does whoever writes there again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from smmux.errors import ConfigError

__all__ = ["finish", "replacing", "write_bytes", "write_text"]

WRITTEN, COMPLETE = ".writing", ".complete"
"""Ends of the names of folders beside the files: with files that are being written, and with files that count."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""Errors of a disk, not of a name."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as (draft,):
        draft.write_bytes(content)


@contextlib.contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """Paths to write to, in place of those of files of one folder, which become what was written when the context ends
    without an exception, all of them together; else they stay as they are.

    A device or a pipe is written to directly, alone. Raises ConfigError if the disk is full or fails.
    """
    places = [Path(os.path.realpath(path)) for path in paths]  # a link stays, and its target is written
    if len(places) == 1 and places[0].exists() and not stat.S_ISREG(places[0].stat().st_mode):
        yield places
        return
    folder = places[0].parent
    if any(place.parent != folder for place in places):
        raise ValueError("files that are to change together must be in one folder")
    with _telling(places[0]):
        finish(folder)
        drafts = Path(tempfile.mkdtemp(f".{os.getpid()}{WRITTEN}", f".{places[0].stem}.", folder))
    try:
        with _telling(places[0]):
            yield [drafts / place.name for place in places]
            for place in places:
                _settle(drafts / place.name, place)
            _publish(drafts, places[0])
    finally:
        shutil.rmtree(drafts, ignore_errors=True)


@contextlib.contextmanager
def _telling(place: Path) -> Iterator[None]:
    """Turn a failure of the disk into a ConfigError."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        message = f"{place} is not written ({os.strerror(error.errno)}); what was there before is there as it was"
        raise ConfigError(message) from None


def _settle(draft: Path, place: Path) -> None:
    """Bring a written file onto the disk, with the rights of the one that it replaces."""
    if place.exists():
        shutil.copymode(place, draft)
    with draft.open("rb") as file:
        os.fsync(file.fileno())


def _publish(drafts: Path, place: Path) -> None:
    """Let the files of a folder count, and move them to their places."""
    if len(os.listdir(drafts)) == 1:
        os.replace(drafts / place.name, place)
        return
    complete = place.parent / f".{place.stem}.{len(os.listdir(drafts))}{COMPLETE}"
    while True:
        try:
            drafts.rename(complete)
            break
        except OSError as error:  # another process has just done the same; its files were first
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            _move(complete)
    try:
        _move(complete)
    except BaseException:  # an interrupt: what counts is moved all the same
        _move(complete)
        raise


def _move(complete: Path) -> None:
    """Move files that count to their places; another process may be doing the same."""
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(complete)):
            with contextlib.suppress(FileNotFoundError):
                os.replace(complete / name, complete.parent / name)
        complete.rmdir()


def finish(folder: str | os.PathLike[str]) -> None:
    """Complete what processes that were killed have left in a folder: move files that count to their places, and remove
    those that were never complete."""
    try:
        names = [name for name in os.listdir(folder) if name.startswith(".") and name.endswith((WRITTEN, COMPLETE))]
    except FileNotFoundError:
        return
    for path in (Path(folder) / name for name in names):
        if path.name.endswith(COMPLETE):
            _move(path)
        elif (writer := re.search(rf"\.(\d+){WRITTEN}$", path.name)) and not _runs(int(writer[1])):
            shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
