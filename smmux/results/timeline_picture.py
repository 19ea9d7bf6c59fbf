"""The picture of what one SM's blocks and warps did, over what its shared memory and the DRAM did."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from smmux.drawing.svg import COLOURS, Svg, swatches

if TYPE_CHECKING:
    from smmux.results.trace import Allocation, Residence, Trace

__all__ = ["MOST", "steps", "timeline_picture"]

LEFT, WIDTH = 112, 720
BLOCK, CURVE, GAP = 13, 44, 9
"""Heights in pixels: of a block's row, of a curve, and between rows."""
MOST = 6000
"""Rectangles of a picture; the shortest waits are left out where there are more."""
LOOKS = {
    "block": (0, "block"),
    "run": (4, "warp"),
    "barrier": (6, "waits at a barrier"),
    "ask": (1, "waits for shared memory"),
    "hold": (2, "holds shared memory"),
    "tile": (5, "waits for its tile"),
}
"""Number of the colour and words of what is drawn."""

Span = tuple[int, int, str]
"""Begin and end in cycles, and what the picture says under the pointer."""


@dataclass
class _Lanes:
    """What is stretched with time: x is cycles, y pixels."""

    parts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def spans(self, look: str, top: float, height: float, spans: Iterable[Span], faint: bool = False) -> None:
        """Rectangles of one look in one row; those without length are left out."""
        for number, (begin, end, title) in enumerate(spans):
            if end <= begin:
                continue
            self.used.add(look)
            strength = "0.45" if faint and number % 2 else "0.8"  # so that blocks that follow on one another differ
            self.parts.append(
                f"<rect x='{begin}' y='{top:.1f}' width='{end - begin}' height='{height:.1f}' "
                f"fill='{COLOURS[LOOKS[look][0]]}' fill-opacity='{strength}'><title>{html.escape(title)}</title></rect>"
            )

    def steps(self, top: float, edges: Sequence[float], values: Sequence[float], most: float, look: int) -> None:
        """The area below steps: values[i] holds from edges[i] to edges[i + 1]."""
        bottom = top + CURVE
        path: list[str] = []
        for i, value in enumerate(values):
            path.append(
                f"{'H' if path else f'M{edges[0]:.0f} {bottom}H'}{edges[i]:.0f}V{bottom - CURVE * value / most:.1f}"
            )
        if path:
            end = f"H{edges[len(values)]:.0f}V{bottom}Z"
            self.parts.append(f"<path d='{''.join(path)}{end}' fill='{COLOURS[look]}' fill-opacity='0.7'/>")


def timeline_picture(trace: Trace, sm: int) -> str:
    """The time line of an SM as SVG, in which an inner picture, the first in it, holds all that time stretches."""
    svg, lanes = Svg(LEFT + WIDTH + 16, 0, f"time line of SM {sm}: {trace.kernel} on {trace.gpu.name}"), _Lanes()
    bottom = _places(trace, sm, svg, lanes)
    bottom = _memory(trace, sm, svg, lanes, bottom)
    bottom = _issue(trace, sm, svg, lanes, bottom)
    bottom = _dram(trace, svg, lanes, bottom)
    svg.parts.insert(
        0,
        f"<svg x='{LEFT}' y='0' width='{WIDTH}' height='{bottom:.0f}' viewBox='0 0 {trace.cycles or 1} {bottom:.0f}' "
        f"preserveAspectRatio='none'><rect width='{trace.cycles or 1}' height='{bottom:.0f}' fill='transparent'/>"
        f"{''.join(lanes.parts)}</svg>",
    )
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = LEFT + WIDTH * share
        svg.line(x, bottom, x, bottom + 4)
        anchor = "end" if share == 1 else "middle"
        svg.parts.append(
            f"<text data-tick='{share:g}' x='{x:.0f}' y='{bottom + 16:.0f}' text-anchor='{anchor}' font-size='10'>"
            f"{trace.cycles * share:,.0f}</text>"
        )
    svg.text(LEFT - 6, bottom + 16, "cycles", "end", 10)
    legend = [LOOKS[look] for look in LOOKS if look in lanes.used]
    svg.height = swatches(svg, LEFT, bottom + 24, legend, plain=True)
    return str(svg)


def _places(trace: Trace, sm: int, svg: Svg, lanes: _Lanes) -> float:
    """Rows of the places that blocks have on the SM, each with those of its warps; the y below them."""
    stays = sorted((stay for stay in trace.blocks() if stay.sm == sm), key=lambda stay: stay.come)
    slot_of = {stay.block: stay.slot for stay in stays}
    exits = [row for row in trace.of("warp_exit") if int(row["sm"]) == sm and int(row["block"]) in slot_of]
    held = [each for each in trace.allocations() if each.sm == sm and each.block in slot_of]
    waits = [wait for wait in trace.waits() if wait.sm == sm and wait.block in slot_of]
    waits = sorted(waits, key=lambda wait: wait.arrive - wait.complete)[: max(0, MOST - len(exits) - 2 * len(stays))]
    warps = 1 + max((int(row["warp"]) for row in exits), default=0)
    slots = 1 + max(slot_of.values(), default=-1)
    high = min(11.0, max(2.0, 300 / (warps * max(slots, 1))))
    tall = BLOCK + warps * high + GAP
    for slot in range(slots):
        top = slot * tall
        own = [stay for stay in stays if stay.slot == slot]
        blocks = {stay.block: stay.start for stay in own}
        svg.text(LEFT - 6, top + 11, f"place {slot}", "end")
        _block_row(lanes, top, own, [allocation for allocation in held if allocation.block in blocks])
        for warp in range(warps):
            y = top + BLOCK + warp * high
            if high >= 8:
                svg.text(LEFT - 6, top + BLOCK + high * (warp + 0.5) + 3, f"warp {warp}", "end", 8)
            lives = [
                _of(f"warp {warp} of block {row['block']}", blocks[int(row["block"])], int(row["cycle"]))
                for row in exits
                if int(row["block"]) in blocks and int(row["warp"]) == warp
            ]
            lanes.spans("run", y, 0.8 * high, lives)
            mine = [wait for wait in waits if wait.block in blocks and wait.warp == warp]
            lanes.spans("barrier", y, 0.8 * high, [_of(f"bar.sync{w.kind}", w.arrive, w.complete) for w in mine])
    return slots * tall


def _block_row(lanes: _Lanes, top: float, stays: Sequence[Residence], held: Sequence[Allocation]) -> None:
    """The row of one place: the blocks that were there, what they waited for, and the memory that they allocated."""

    def row(look: str, spans: Iterable[Span], faint: bool = False) -> None:
        lanes.spans(look, top, BLOCK - 2, spans, faint)

    row("ask", [(s.come, s.place, f"block {s.block} waits for {s.bytes} bytes") for s in stays])
    row("tile", [(s.place, s.start, f"block {s.block} waits for its tile") for s in stays])
    row("block", [_of(f"block {s.block}", s.start, s.end) for s in stays], faint=True)
    row("ask", [_of(f"block {a.block} waits for {a.bytes} bytes", a.ask, a.grant) for a in held])
    row("hold", [_of(f"block {a.block} holds {a.bytes} bytes", a.grant, a.release) for a in held])


def _of(what: str, begin: int, end: int) -> Span:
    return begin, end, f"{what}: {end - begin:,} cycles from {begin:,} on"


def _curve(svg: Svg, top: float, name: str, most: str, notes: Sequence[str] = ()) -> float:
    """Labels of a curve whose area ends at `top + CURVE`; the y below it. notes: what its colours mean."""
    middle = top + CURVE / 2 + 3 - 2 * len(notes)
    svg.text(LEFT - 6, middle, name, "end", 10)
    for row, note in enumerate(notes, 1):
        svg.text(LEFT - 6, middle + 1 + 10 * row, note, "end", 8)
    svg.text(LEFT - 6, top + 8, most, "end", 8)
    svg.line(LEFT, top + CURVE, LEFT + WIDTH, top + CURVE)
    return top + CURVE + GAP


def _memory(trace: Trace, sm: int, svg: Svg, lanes: _Lanes, top: float) -> float:
    """Shared memory that blocks hold, of all that the SM has."""
    cycles, held = trace.shared(sm)
    lanes.steps(top, [*cycles.tolist(), trace.cycles], held.tolist(), trace.gpu.smem_bytes, 2)
    return _curve(svg, top, "shared memory", f"{trace.gpu.smem_bytes / 1024:g} kB")


def _issue(trace: Trace, sm: int, svg: Svg, lanes: _Lanes, top: float) -> float:
    """Instructions per clock."""
    own = trace.samples[trace.samples["sm"] == sm]
    edges, values = steps((own["cycle"].astype(float) - own["interval"]), own["cycle"], own["instructions"])
    most = max(values, default=0.0) or 1.0
    lanes.steps(top, edges, values, most, 0)
    return _curve(svg, top, "instructions", f"{most:.2f} per clk")


def _dram(trace: Trace, svg: Svg, lanes: _Lanes, top: float) -> float:
    """Requests of all channels, and in front of them those that found their row open."""
    rows = trace.channels
    begins, where = np.unique(rows["begin"], return_inverse=True)
    ends = np.zeros(len(begins))
    np.maximum.at(ends, where, rows["end"])
    kinds = ("row_hits", "row_misses", "row_conflicts")
    sums = {name: np.bincount(where, rows[name], len(begins)) for name in kinds}
    edges, values = steps(begins, ends, sum(sums.values(), np.zeros(len(begins))))
    most = max(values, default=0.0) or 1.0
    lanes.steps(top, edges, values, most, 1)
    edges, hits = steps(begins, ends, sums["row_hits"])
    lanes.steps(top, edges, hits, most, 2)
    return _curve(svg, top, "DRAM requests", f"{most:.2f} per clk", ("green: row open", "yellow: row not open"))


def steps(begins: Iterable[float], ends: Iterable[float], amounts: Iterable[float]) -> tuple[list[float], list[float]]:
    """Amounts of intervals as rates over edges, with 0 where there is no interval."""
    edges, rates = [0.0], []
    for begin, end, amount in zip(begins, ends, amounts, strict=True):
        if begin > edges[-1]:
            edges.append(float(begin))
            rates.append(0.0)
        edges.append(float(end))
        rates.append(float(amount) / max(float(end) - float(begin), 1.0))
    return edges, rates
