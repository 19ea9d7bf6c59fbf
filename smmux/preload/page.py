"""Writes an analysis as a table in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from smmux.preload.table import MAX_ENTRIES

if TYPE_CHECKING:
    from smmux.preload.analysis import Analysis

__all__ = ["page"]

WIDEST = 60
"""Make columns, but for the last, at most this many characters wide [EST]: a line fits a terminal."""

HEADINGS = ("line", "access", "", "index in elements", "class", "depends on, or because of")


def page(analysis: Analysis) -> Iterator[str]:
    """Return the lines of the text: a row per access, what the table holds, and what it leaves out."""
    yield f"{analysis.kernel}: grid {analysis.grid}, block {analysis.block}"
    rows = [(str(a.line), a.text, a.mode, a.index or "-", a.kind, a.reason) for a in analysis.accesses]
    yield from _aligned([HEADINGS, *rows])
    reads = analysis.reads
    known = sum(read.kind != "non-precalculable" for read in reads)
    yield f"{known} of {len(reads)} loads are known before the launch{_counts(analysis)}"
    table = analysis.table
    held: dict[str, int] = {}
    for entry in table.entries:
        name = table.arrays[entry.array].name
        held[name] = held.get(name, 0) + 1
    arrays = ", ".join(f"{name} {count}" for name, count in held.items())
    yield f"preload table: {len(table.entries)} of {MAX_ENTRIES} entries" + (f" ({arrays})" if arrays else "")
    if table.dropped:
        yield f"{table.dropped} more ranges have no room in the table: what they hold is not preloaded"
    for name, reason in analysis.left.items():
        yield f"not preloaded{', in part' * (name in held)}: {name}, because of {reason}"


def _counts(analysis: Analysis) -> str:
    kinds = [read.kind for read in analysis.reads]
    counts = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    return f": {', '.join(counts)}" if counts else ""


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Make each column as wide as its longest cell."""
    widths = [min(max(len(row[k]) for row in rows), WIDEST) for k in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(w) if k == 0 else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
