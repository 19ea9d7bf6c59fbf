"""TELEPORT: fetches tiles of arrays before the thread block that reads them starts."""

from __future__ import annotations

from smmux.preload.analysis import Access, Analysis, analyze
from smmux.preload.table import MAX_ENTRIES, Entry, Extent, Table
from smmux.preload.tiled import TileError, tile

__all__ = ["MAX_ENTRIES", "Access", "Analysis", "Entry", "Extent", "Table", "TileError", "analyze", "tile"]
