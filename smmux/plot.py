"""Figures from tidy records, in the style of a paper: one column wide, colour-blind-safe, told apart by hatches too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

__all__ = ["HATCHES", "STYLE", "geometric_mean", "grouped_bars", "legend", "reference_line", "style"]

STYLE = Path(__file__).with_name("smmux.mplstyle")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++", "")


def style() -> AbstractContextManager[None]:
    """Context in which figures are drawn: `with plot.style(): ...`."""
    import matplotlib.style

    return matplotlib.style.context(STYLE)


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios; NaN for no values.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    logs = [float(np.log(value)) for value in values]
    return float(np.exp(np.mean(logs))) if logs else float("nan")


def grouped_bars(
    ax: Axes,
    records: Sequence[Mapping[str, Any]],
    *,
    x: str,
    hue: str,
    y: str,
    labels: bool | Literal["inside"] = False,
    number: Callable[[float], str] = "{:.2f}".format,
    marks: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    series: Sequence[str] = (),
) -> Axes:
    """One group of bars per value of `x`, one bar in it per value of `hue`, of height `y`; both in order of appearance.

    Points that no record has are left out, the others of their group centred. labels: write each bar's value above it
    or, "inside", upright at its foot, as `number` formats it. marks: further columns, drawn over the bars of the
    records that have them; to each the keywords of `Axes.plot`, with a label for the legend. series: values of `hue`
    that come first, and keep their colour where no record has them.
    """
    groups = list(dict.fromkeys(record[x] for record in records))
    series = list(dict.fromkeys([*series, *(record[hue] for record in records)]))
    height = {(record[x], record[hue]): record[y] for record in records}
    width = 0.9 / len(series)
    middles: dict[tuple[Any, Any], float] = {}
    within = {group: [name for name in series if (group, name) in height] for group in groups}
    for i, name in enumerate(series):
        present = [j for j, group in enumerate(groups) if name in within[group]]
        places = [within[groups[j]].index(name) - (len(within[groups[j]]) - 1) / 2 for j in present]
        bars = ax.bar(
            [j + place * width for j, place in zip(present, places, strict=True)],
            [height[groups[j], name] for j in present],
            width,
            label=str(name),
            hatch=HATCHES[i % len(HATCHES)],
            edgecolor="black",
        )
        if labels:
            _label(ax, bars, number, inside=labels == "inside", upright=len(series) > 2)
        for bar, j in zip(bars, present, strict=True):
            middles[groups[j], name] = bar.get_x() + bar.get_width() / 2
    for column, look in marks.items():
        marked = [r for r in records if r.get(column) is not None]
        if marked:
            ax.plot([middles[r[x], r[hue]] for r in marked], [r[column] for r in marked], **{"linestyle": "", **look})
    ax.set_xticks(range(len(groups)), [str(group) for group in groups])
    ax.tick_params(axis="x", length=0)
    ax.margins(x=0.02)
    return ax


def _label(ax: Axes, bars: BarContainer, number: Callable[[float], str], *, inside: bool, upright: bool) -> None:
    """Write the bars' heights above them or at their feet, upright where they are narrow."""
    from matplotlib.patheffects import withStroke

    if not inside:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
        texts = ax.bar_label(bars, fmt=number, fontsize=5, rotation=90 if upright else 0, padding=1.5, zorder=4)
        for text in texts:
            text.set_bbox(box)
        return
    for bar in bars:
        ax.annotate(
            number(bar.get_height()), (bar.get_x() + bar.get_width() / 2, 0), xytext=(0.3, 2),
            textcoords="offset points", rotation=90, ha="center", va="bottom", fontsize=5, zorder=4,
            path_effects=[withStroke(linewidth=1.4, foreground="white")],
        )  # fmt: skip


def legend(ax: Axes, **look: Any) -> None:
    """The legend with bars before lines and marks; `look` goes to `Axes.legend`."""
    from matplotlib.container import BarContainer

    named = list(zip(*ax.get_legend_handles_labels(), strict=True))
    named.sort(key=lambda pair: not isinstance(pair[0], BarContainer))
    ax.legend([handle for handle, _ in named], [label for _, label in named], **look)


def reference_line(ax: Axes, y: float, label: str, between: tuple[float, float] | None = None) -> Axes:
    """A dashed horizontal line with a place in the legend, for instance the paper's value.

    between: where it begins and ends in x; groups of `grouped_bars` are 1 wide and centred on 0, 1, 2, ... By default
    the line crosses the axes.
    """
    dashed: dict[str, Any] = {"color": "black", "linestyle": (0, (3, 1.5)), "linewidth": 0.9, "label": label}
    if between is None:
        ax.axhline(y, **dashed)
    else:
        ax.plot(between, (y, y), **dashed)
    return ax
