"""Tables of text for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["listed", "spelled", "table"]


def listed(names: Iterable[str]) -> str:
    """Names in a row, separated by commas; "none" if there are none."""
    return ", ".join(names) or "none"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with numbers aligned to the right and three digits after the point. Empty columns are left out."""
    cells = [[spelled(value) for value in row] for row in rows]
    kept = [i for i in range(len(header)) if not cells or any(row[i] not in ("-", "") for row in cells)]
    lines = [[row[i] for i in kept] for row in (list(header), *cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [all(map(_is_number, column[1:])) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(_aligned(row, widths, numeric)).rstrip() for row in lines)


def _aligned(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterable[str]:
    for text, width, right in zip(row, widths, numeric, strict=True):
        yield text.rjust(width) if right else text.ljust(width)


def spelled(value: Any) -> str:
    """A value as a cell shows it: "-" for one that is missing; lists and mappings in a row."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3f}"
    if isinstance(value, (list, tuple)):
        return listed(spelled(v) for v in value)
    if isinstance(value, Mapping):
        inner = {key: f"({spelled(v)})" if isinstance(v, Mapping) else spelled(v) for key, v in value.items()}
        return "; ".join(f"{key} {text}" for key, text in inner.items()) or "none"
    return str(value)


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).replace("-", "", 1).isdigit()
