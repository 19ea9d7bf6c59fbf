"""A disk of a few kilobytes, for tests of what happens when it is full or read-only."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

BLOCK = 4096


@contextlib.contextmanager
def small_disk(place: Path, blocks: int) -> Iterator[Path]:
    """A file system of so many blocks, mounted in a folder; the test is skipped where that is not allowed."""
    folder = place / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={blocks * BLOCK}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def only(disk: Path, blocks: int) -> Iterator[None]:
    """Leave so many blocks of a disk free."""
    found = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(max(found.f_bavail * found.f_frsize - blocks * BLOCK, 0)))
    try:
        yield
    finally:
        ballast.unlink()


def read_only(disk: Path) -> None:
    """Let nobody write to a disk any more."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
