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
    from matplotlib.backend_bases import RendererBase
    from matplotlib.container import BarContainer
    from matplotlib.patches import Rectangle

__all__ = ["HATCHES", "STYLE", "geometric_mean", "grouped_bars", "legend", "reference_line", "style"]

STYLE = Path(__file__).with_name("smmux.mplstyle")
LABEL_POINTS, CHARACTER = 5, 0.5
"""Size of a bar's label, and how long its characters are on average, of that size."""
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
    labels: bool | Literal["inside", "above"] = False,
    number: Callable[[float], str] = "{:.2f}".format,
    marks: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    series: Sequence[str] = (),
) -> Axes:
    """One group of bars per value of `x`, one bar in it per value of `hue`, of height `y`; both in order of appearance.

    Points that no record has are left out, the others of their group centred. labels: write each bar's value above it
    or, "inside", upright at its foot, or above it where it is shorter than the label, as `number` formats it; "inside"
    the axis begins at 0 and ends over what is highest; "above", for wide figures, write it level above bar and marks.
    marks: further columns, drawn over the bars of the records that have them; to each the keywords of `Axes.plot`, with
    a label for the legend. series: values of `hue` that come first; one that no record has keeps its colour, so that
    panels of a figure can agree on colours.
    """
    groups = list(dict.fromkeys(record[x] for record in records))
    series = list(dict.fromkeys([*series, *(record[hue] for record in records)]))
    height = {(record[x], record[hue]): record[y] for record in records}
    width = 0.9 / len(series)
    drawn: dict[tuple[Any, Any], Rectangle] = {}
    within = {group: [name for name in series if (group, name) in height] for group in groups}
    for i, name in enumerate(series):
        present = [j for j, group in enumerate(groups) if name in within[group]]
        if not present:
            continue
        places = [within[groups[j]].index(name) - (len(within[groups[j]]) - 1) / 2 for j in present]
        bars = ax.bar(
            [j + place * width for j, place in zip(present, places, strict=True)],
            [height[groups[j], name] for j in present],
            width,
            label=str(name),
            color=f"C{i}",
            hatch=HATCHES[i % len(HATCHES)],
            edgecolor="black",
        )
        if labels is True:
            _label_above(ax, bars, number, upright=len(series) > 2)
        drawn |= {(groups[j], name): bar for j, bar in zip(present, bars, strict=True)}
    for column, look in marks.items():
        marked = {(r[x], r[hue]): r[column] for r in records if r.get(column) is not None}
        if marked:
            ax.plot([_middle(drawn[key]) for key in marked], list(marked.values()), **{"linestyle": "", **look})
    ax.set_xticks(range(len(groups)), [str(group) for group in groups])
    ax.tick_params(axis="x", length=0)
    ax.margins(x=0.02)
    shown = {(r[x], r[hue]): [r[y], *(r[m] for m in marks if r.get(m) is not None)] for r in records}
    if labels == "above":
        for key, values in shown.items():
            _label_level(ax, _middle(drawn[key]), max(values), number(height[key]))
    if labels == "inside":
        ax.set_ylim(0, 1.08 * max(map(max, shown.values())))
        for key, values in shown.items():
            _label_inside(ax, drawn[key], number(height[key]), values)
    return ax


def _middle(bar: Rectangle) -> float:
    return bar.get_x() + bar.get_width() / 2


def _label_above(ax: Axes, bars: BarContainer, number: Callable[[float], str], *, upright: bool) -> None:
    """Write the bars' heights above them, upright where they are narrow."""
    texts = ax.bar_label(bars, fmt=number, fontsize=LABEL_POINTS, rotation=90 if upright else 0, padding=1.5, zorder=4)
    for text in texts:
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.3})


def _label_level(ax: Axes, x: float, y: float, label: str) -> None:
    """Write a label that is read without turning one's head, over the point (x, y)."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.2}
    ax.annotate(
        label, (x, y), xytext=(0, 2.5), textcoords="offset points", ha="center", va="bottom", fontsize=LABEL_POINTS,
        zorder=4, bbox=box,
    )  # fmt: skip


def _label_inside(ax: Axes, bar: Rectangle, label: str, values: Sequence[float]) -> None:
    """Write a label at a bar's foot, or above all of `values` if the label would hide one of them there."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    def place(renderer: RendererBase) -> Bbox:
        """The point of the label, computed when it is drawn, since axes have their size only then."""
        foot, *ends = (ax.transData.transform((_middle(bar), value)) for value in (0, *values))
        length = renderer.points_to_pixels(LABEL_POINTS * (1 + CHARACTER * len(label)))
        hidden = min(y for _, y in ends) < foot[1] + length
        x, y = max(ends, key=lambda end: end[1]) if hidden else foot
        return Bbox.from_extents(x, y, x, y)

    ax.annotate(
        label, (0, 0), xycoords=place, xytext=(0.3, 2.5), textcoords="offset points", rotation=90, ha="center",
        va="bottom", fontsize=LABEL_POINTS, zorder=4, path_effects=[withStroke(linewidth=1.4, foreground="white")],
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
