"""A time line for notebooks and pages: zoomable, self-contained, and one click from Perfetto."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smmux.base.whole_files import write_text
from smmux.drawing.markup import page
from smmux.errors import integer
from smmux.results import trace_file
from smmux.results.timeline_picture import timeline_picture
from smmux.results.trace import Trace

__all__ = ["Timeline"]

SCRIPT = Path(__file__).with_name("timeline.js")
_BUTTONS = {"in": "zoom in", "out": "zoom out", "whole": "whole run", "perfetto": "open in Perfetto"}
_HINT = "Drag to move; the wheel with Shift or Ctrl, or a double click, zooms."


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The time line of one SM: blocks and warps, barriers, shared memory, instructions, DRAM.

    In a notebook it draws itself. The picture is static SVG, which zooms where scripts run; a button opens the SM's
    record, with that of DRAM, in ui.perfetto.dev, to which the page itself hands it over: nothing is uploaded.
    `trace.to_perfetto(path)` writes the record of all SMs.
    """

    trace: Trace
    sm: int

    @classmethod
    def of(cls, trace: Trace, sm: int | None = None) -> Timeline:
        """The time line of an SM, by default of the one that had most blocks. Raises ConfigError for another number."""
        if sm is None:
            stays = [stay.sm for stay in trace.blocks()]
            sm = int(np.bincount(stays).argmax()) if stays else 0
        return cls(trace, integer("sm", sm, 0, trace.gpu.sm_count - 1))

    @property
    def svg(self) -> str:
        """The picture alone, for pages without scripts."""
        return timeline_picture(self.trace, self.sm)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a page that needs no other file."""
        write_text(path, page(f"{self.trace.kernel} on {self.trace.gpu.name}", self._repr_html_()))

    def _repr_html_(self) -> str:
        picture = self.svg
        record = gzip.compress(trace_file.text(self.trace, (self.sm,)).encode(), mtime=0)
        name = f"{zlib.crc32(picture.encode()):08x}"
        title = f"{self.trace.kernel} on {self.trace.gpu.name}, SM {self.sm}"
        script = (
            SCRIPT.read_text("utf-8")
            .replace("NAME", name)
            .replace("TITLE", json.dumps(title).replace("<", "\\u003c"))
            .replace("DATA", base64.b64encode(record).decode())
        )
        buttons = " ".join(
            f"<button type='button' data-act='{act}' style='font:inherit'>{words}</button>"
            for act, words in _BUTTONS.items()
        )
        lost = f"; {self.trace.lost:,} events had no room" if self.trace.lost else ""
        return (
            f"<div data-smmux-timeline='{name}' style='max-width:100%'><p>{html.escape(title)}: "
            f"{self.trace.cycles:,} cycles{lost}</p>"
            f"<p data-tools style='display:none;font-size:85%'>{buttons} {_HINT}</p>{picture}</div>"
            f"<script>{script}</script>"
        )

    def __repr__(self) -> str:
        return f"<Timeline of SM {self.sm}: {self.trace.kernel} on {self.trace.gpu.name}, {self.trace.cycles} cycles>"
