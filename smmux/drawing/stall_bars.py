"""Bars of what the time of schedulers was spent on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smmux.drawing.svg import CHARACTER, Svg, swatches

__all__ = ["stall_bars"]


def stall_bars(bars: Sequence[tuple[str, Mapping[str, float], float]]) -> str:
    """Bars of the schedulers' time with a legend below: what it was spent on, as shares.

    bars: a label, the shares by reason, and the length of each, 1 for all the width. Reasons look the same in all bars.
    """
    left, width, height = (CHARACTER * 11 * max(len(label) for label, _, _ in bars) + 8, 700, 22)
    reasons = list(dict.fromkeys(reason for _, shares, _ in bars for reason in shares))
    used = [reason for reason in reasons if any(shares.get(reason) for _, shares, _ in bars)]
    svg = Svg(left + width + 4, 0, "what the schedulers' time was spent on")
    for n, (label, shares, length) in enumerate(bars):
        x, top = left, (height + 6) * n
        svg.text(left - 6, top + 15, label, "end")
        for look, reason in enumerate(reasons):
            wide = width * length * shares.get(reason, 0)
            text = f"{reason.replace('_', ' ')} {shares.get(reason, 0):.1%}"
            if wide:
                svg.rect(x, top, wide, height, look, text)
                fitting = (each for each in (text, text.split()[-1]) if CHARACTER * 10 * len(each) + 4 < wide)
                svg.text(x + wide / 2, top + 15, next(fitting, ""), "middle", 10)
            x += wide
    legend = [(look, reason) for look, reason in enumerate(reasons) if reason in used]
    if len(bars) == 1:
        shares = bars[0][1]
        labels = [(look, f"{reason.replace('_', ' ')} {shares[reason]:.1%}") for look, reason in legend]
    else:
        labels = [(look, reason.replace("_", " ")) for look, reason in legend]
    svg.height = swatches(svg, left, (height + 6) * len(bars) + 2, labels)
    return str(svg)
