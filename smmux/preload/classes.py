"""Classifies the accesses of one launch, and makes the entries of the arrays that the kernel only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.language.placement import extent, place
from smmux.preload.intervals import Runs, united
from smmux.preload.names import Names
from smmux.preload.occurrences import Found
from smmux.preload.symbolic import Opaque, Polynomial, Symbol
from smmux.preload.table import MAX_ENTRIES, Entry, Extent, Table, ends
from smmux.preload.tiles import Tile, Tiles

__all__ = ["CLASSES", "Row", "Rows", "table"]

CLASSES = ("static", "quasi-static", "non-precalculable")
"""The classes of indices, by when the range in a block is known: at compile time, just before the launch, never."""


@dataclass(frozen=True, slots=True)
class Row:
    """An access with its class, its index and the reason in words, and its tiles: none if its range is not known."""

    found: Found
    kind: str
    index: str
    reason: str
    tiles: tuple[Tile, ...]


class Rows:
    """Makes the rows of one launch. dimensions: how many axes each array has."""

    def __init__(self, tiles: Tiles, names: Names, dimensions: Sequence[int]) -> None:
        self.tiles, self.names, self.dimensions = tiles, names, dimensions

    def row(self, found: Found) -> Row:
        """Classify an access."""
        indices: list[Polynomial] = []
        tiles: list[Tile] = []
        symbols: dict[Symbol, None] = {}
        try:
            for part in found.parts:
                if isinstance(part.index, Opaque):
                    raise part.index
                indices.append(part.index)
                plain = self.tiles.unclamped(part.index)
                linear = self.tiles.linear(plain)
                around = part.loops if plain == part.index else ()  # they may leave out the thread that has the limit
                tiles.append(self.tiles.tile(linear, part.unit, part.width, around))
                if any(self.tiles.lowest(one) < 0 for one in part.unsure):
                    raise Opaque("an index that may be negative, which counts from the end")
                symbols |= plain.symbols | self.tiles.symbols(linear)
        except Opaque as error:
            return Row(found, CLASSES[2], "", error.reason, ())
        known = [symbol for symbol in symbols if self.tiles.values.number(symbol) is not None]
        uses = sorted({leaf for symbol in known for leaf in self.names.leaves(symbol)})
        if self.dimensions[found.array] > 1 and any(index.symbols for index in indices):
            uses.append(f"{found.name}.shape")
        return Row(found, CLASSES[bool(uses)], self._text(indices), ", ".join(uses), tuple(tiles))

    def _text(self, indices: Sequence[Polynomial]) -> str:
        """Write an index in words; of several that are a constant apart, the first and the last."""
        texts = list(dict.fromkeys(self.names.text(index) for index in indices))
        return texts[0] if len(texts) == 1 else f"{texts[0]} ... {texts[-1]}"


def table(
    kernel: str, rows: Sequence[Row], arrays: Sequence[NDArray[Any]], names: Sequence[str]
) -> tuple[Table, dict[str, str]]:
    """Make the table of a launch, and say for arrays that are read but have no entries why not."""
    bases = [low + array.ctypes.data - extent(array)[0] for low, array in zip(place(arrays), arrays, strict=True)]
    extents = [Extent(name, *ends(array)) for name, array in zip(names, arrays, strict=True)]
    spans = [(base + e.first, base + e.end) for base, e in zip(bases, extents, strict=True)]
    written = {row.found.array for row in rows if row.found.kind != "load"}
    left: dict[str, str] = {}
    tiles: dict[tuple[int, tuple[int, int, int]], list[Runs]] = {}
    for row in rows:
        number = row.found.array
        if row.found.kind != "load":
            continue
        sharing = [w for w in written if w != number and _meet(spans[w], spans[number])]
        if number in written or sharing:
            other = "its own" if number in written else f"{names[sharing[0]]!r} in the same memory, whose"
            left[names[number]] = f"{other} stores"
        elif not row.tiles:
            left.setdefault(names[number], row.reason)
        for tile in row.tiles if number not in written and not sharing else ():
            tiles.setdefault((number, tile.block), []).append(tile.runs)
    entries: list[Entry] = []
    dropped = 0
    for (number, block), runs in tiles.items():
        whole = united(np.concatenate(runs))
        if not any(block):
            whole = np.clip(whole, extents[number].first, extents[number].end)
            whole = whole[whole[:, 0] < whole[:, 1]]
        room = MAX_ENTRIES - len(entries)
        dropped += max(0, len(whole) - room)
        entries += _entries(number, block, whole[:room], arrays[number].itemsize)
    return Table(kernel, tuple(extents), tuple(bases), tuple(entries), dropped), left


def _entries(array: int, block: tuple[int, int, int], runs: Runs, item: int) -> Iterator[Entry]:
    """Make entries of runs of bytes. They count elements, or bytes if runs hold parts of elements."""
    unit = 1 if any(c % item for c in block) or (runs % item).any() else item
    x, y, z = (c // unit for c in block)
    for first, end in runs.tolist():
        yield Entry(array, unit, (x, y, z, first // unit), (x, y, z, end // unit - 1))


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]
