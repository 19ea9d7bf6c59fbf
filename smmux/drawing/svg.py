"""Static pictures for notebooks: SVG that is legible on light and dark pages, told apart by hatches as well as colours.

Lines and texts have the colour of the page's text. Sizes are in pixels.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["CHARACTER", "COLOURS", "Svg", "grid", "swatches"]

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#999999", "#7570b3")
"""Okabe and Ito's colours, without the yellow that vanishes on white."""

_HATCHES = (
    "",
    "M0 8L8 0",
    "M0 0L8 8",
    "M0 4H8",
    "M4 0V8",
    "M0 8L8 0M0 0L8 8",
    "M2 2h2v2h-2z",
    "M0 4H8M4 0V8",
)
"""Strokes of the patterns, each on 8 x 8 pixels."""

CHARACTER = 0.6
"""The width of a character, of the size of its font."""


@dataclass
class Svg:
    """A picture that grows by `rect`, `text`, `line` and `area`."""

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        look: int | None = 0,
        title: str = "",
        heat: float = 0.55,
        edge: float = 1,
        plain: bool = False,
    ) -> None:
        """A rectangle in colour and hatch number `look`, or an outline; the title appears under the pointer.

        heat, edge: how strong the colour and the outline are, 0 to 1. plain: without the hatch.
        """
        box = f"x='{x:.2f}' y='{y:.2f}' width='{width:.2f}' height='{height:.2f}'"
        tip = f"<title>{html.escape(title)}</title>" if title else ""
        fill = "none" if look is None else f"{COLOURS[look % 8]}' fill-opacity='{heat:.2f}"
        outline = f"stroke='currentColor' stroke-width='0.6' stroke-opacity='{edge:g}'"
        self.parts.append(f"<rect {box} fill='{fill}' {outline}>{tip}</rect>")
        hatch = 0 if look is None or plain else (look + look // 8) % 8
        if hatch:
            self.parts.append(
                f"<rect {box} fill='url(#PICTURE-{hatch})' pointer-events='none' opacity='{heat + 0.2:.2f}'/>"
            )

    def text(self, x: float, y: float, text: str, anchor: str = "start", size: int = 11, bold: bool = False) -> None:
        """A text on the baseline y; anchor: where x is, at its start, middle or end."""
        weight = " font-weight='bold'" if bold else ""
        where = f"x='{x:.2f}' y='{y:.2f}' text-anchor='{anchor}' font-size='{size}'{weight}"
        self.parts.append(f"<text {where}>{html.escape(text)}</text>")

    def line(self, x1: float, y1: float, x2: float, y2: float, dash: str = "") -> None:
        """A thin line."""
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        ends = f"x1='{x1:.2f}' y1='{y1:.2f}' x2='{x2:.2f}' y2='{y2:.2f}'"
        self.parts.append(f"<line {ends} stroke='currentColor' stroke-width='0.6'{dashed}/>")

    def area(self, path: str, title: str = "") -> None:
        """What a path encloses."""
        tip = f"<title>{html.escape(title)}</title>" if title else ""
        look = f"fill='{COLOURS[0]}' fill-opacity='0.55' stroke='currentColor' stroke-width='0.6'"
        self.parts.append(f"<path d='{path}' {look}>{tip}</path>")

    def __str__(self) -> str:
        body = "".join(self.parts)
        patterns = "".join(
            f"<pattern id='PICTURE-{n}' width='8' height='8' patternUnits='userSpaceOnUse'>"
            f"<path d='{path}' stroke='currentColor' stroke-width='1' stroke-opacity='0.55' fill='none'/></pattern>"
            for n, path in enumerate(_HATCHES)
            if f"#PICTURE-{n})" in body
        )
        # Names hold for a whole page: pictures that differ must not share them.
        name = f"smmux-{zlib.crc32(body.encode()):08x}"
        drawn = f"<defs>{patterns}</defs>{body}".replace("PICTURE-", f"{name}-")
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label='{html.escape(self.title, quote=True)}' "
            f"viewBox='0 0 {self.width:.0f} {self.height:.0f}' width='{self.width:.0f}' height='{self.height:.0f}' "
            "style='max-width:100%;height:auto;color:inherit' fill='currentColor' font-family='sans-serif'>"
            f"{drawn}</svg>"
        )


def swatches(
    svg: Svg, x: float, y: float, labels: Sequence[tuple[int, str]], size: int = 11, plain: bool = False
) -> float:
    """A legend of looks, plain or hatched, and labels from (x, y), wrapped at the picture's width; the y below it."""
    left = x
    for look, label in labels:
        width = 18 + CHARACTER * size * len(label) + 12
        if x > left and x + width > svg.width:
            x, y = left, y + size + 8
        svg.rect(x, y, 13, size + 1, look, heat=0.8 if plain else 0.55, plain=plain)
        svg.text(x + 18, y + size - 1, label, size=size)
        x += width
    return y + size + 8


def grid(
    title: str,
    columns: Sequence[str],
    rows: Sequence[str],
    cells: Mapping[tuple[int, int], tuple[str, int, str]],
    corner: str,
    notes: Sequence[str] = (),
    cell: tuple[int, int] = (28, 17),
) -> str:
    """A table of labelled cells as a picture.

    cells: by (row, column), the text in it, its look and what it says under the pointer; others are empty. corner: what
    rows and columns are. notes: a text behind each row.
    """
    width, height = cell
    left = 8 + CHARACTER * 11 * max(map(len, [corner, *rows]))
    right = 12 + CHARACTER * 11 * max(map(len, notes)) if notes else 4
    svg = Svg(left + width * len(columns) + right, 18 + height * len(rows) + 3, title)
    svg.text(left - 6, 12, corner, "end")
    for column, label in enumerate(columns):
        svg.text(left + width * (column + 0.5), 12, label, "middle", 10)
    for row, label in enumerate(rows):
        top = 18 + height * row
        svg.text(left - 6, top + height - 5, label, "end")
        for column in range(len(columns)):
            text, look, tip = cells.get((row, column), ("", None, ""))
            svg.rect(left + width * column, top, width, height, look, tip, 0.35, 0.3 if look is None else 1)
            if text:
                size = min(10, int(width / (CHARACTER * len(text))))
                svg.text(left + width * (column + 0.5), top + height - 5, text, "middle", size)
        if notes:
            svg.text(left + width * len(columns) + 8, top + height - 5, notes[row])
    return str(svg)
