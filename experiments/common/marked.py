"""Parts of pages that are made: what lies between two marks is written anew, and the rest is left alone."""

from __future__ import annotations

from pathlib import Path

from smmux.base.whole_files import write_text

__all__ = ["between", "put"]


def between(page: str, begin: str, end: str) -> str:
    """The part of a page between the marks. Raises ValueError if one is missing."""
    return page[page.index(begin) + len(begin) : page.index(end)].strip("\n")


def put(path: Path, begin: str, end: str, made: str) -> None:
    """Write that part of a page anew. Raises ValueError if a mark is missing."""
    page = path.read_text(encoding="utf-8")
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    write_text(path, f"{before}\n{made}\n{after}")
