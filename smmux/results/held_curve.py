"""The curve of the shared memory that an SM holds over time."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from smmux.drawing.svg import Svg

if TYPE_CHECKING:
    from smmux.results.trace import Trace

__all__ = ["held_curve"]


def held_curve(trace: Trace, sm: int) -> str:
    """The bytes of shared memory that the recorded blocks of an SM hold over time, below its capacity.

    The caption says so if the record lacks blocks: then the curve is the least that was held. Where several steps fall
    into one pixel, it covers all between the least and the most.
    """
    cycles, held = (values.tolist() for values in trace.shared(sm))
    left, top, width, high = 60, 20, 700, 70
    capacity, end = trace.gpu.smem_bytes, trace.cycles or 1
    svg = Svg(left + width + 30, top + high + 38, f"shared memory held on SM {sm}")

    def down(size: int) -> str:
        return f"V{top + high * (1 - size / capacity):.2f}"

    path, now = [f"M{left} {top + high}"], 0
    for _, group in groupby(range(len(cycles)), key=lambda n: int(width * cycles[n] / end)):
        steps = list(group)
        sizes = [held[n] for n in steps]
        path.append(f"H{left + width * cycles[steps[0]] / end:.2f}")
        if len(steps) > 1:
            path += [down(max(now, *sizes)), down(min(now, *sizes))]
        now = sizes[-1]
        path.append(down(now))
    most = max(held, default=0)
    tip = f"SM {sm}: at most {most} of {capacity} bytes"
    svg.area("".join([*path, f"H{left + width}", down(0), "Z"]), tip)
    svg.line(left, top, left + width, top, "2 3")
    lost = f"; not of all blocks, {trace.lost:,} events had no room in the trace" if trace.lost else ""
    svg.text(left, 12, f"shared memory held on SM {sm}: at most {most:,} of {capacity:,} bytes{lost}")
    for size in (0, capacity):
        svg.text(left - 5, top + high * (1 - size / capacity) + 4, f"{size:,}", "end", 10)
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + width * share
        svg.line(x, top + high, x, top + high + 4)
        svg.text(x, top + high + 16, f"{trace.cycles * share:,.0f}", "middle", 10)
    svg.text(left + width / 2, top + high + 31, "cycles", "middle")
    return str(svg)
