"""Tiles on a real card: medians in `hardware/tiles_CARD.csv`, drawn as the last panel of TELEPORT's figure.

`hardware/measure.py` takes and explains them. A form counts in its fastest spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.common import measured, tables
from experiments.common.preloading import BASELINE, GHOST, HAND, OURS, PROGRAMS, mean_of
from smmux import plot as figures
from smmux.sweep import Record

__all__ = ["caption", "load", "plot", "speeds", "table"]

FORMS = (HAND, OURS)
"""What is drawn beside the Baseline, of the programs that have both."""


def load(folder: Any = measured.FOLDER) -> list[Record]:
    """All rows; none where nothing was measured."""
    return measured.load("tiles", folder)


def times(rows: Sequence[Record]) -> dict[str, dict[str, float]]:
    """The microseconds of each form in its fastest spelling, by program."""
    found: dict[str, dict[str, float]] = {name: {} for name in PROGRAMS}
    for r in rows:
        own = found[r["benchmark"]]
        own[r["variant"]] = min(r["median_us"], own.get(r["variant"], r["median_us"]))
    return {name: own for name, own in found.items() if own}


def speeds(rows: Sequence[Record]) -> dict[str, dict[str, float]]:
    """How many times as fast as the Baseline each drawn form is, by form and program, with the means at the end."""
    both = {name: own for name, own in times(rows).items() if set(FORMS) <= own.keys()}
    over = {form: {name: own[BASELINE] / own[form] for name, own in both.items()} for form in FORMS}
    return {form: own | {"mean": mean_of(own)} for form, own in over.items()}


def plot(rows: Sequence[Record], ax: Any) -> Any:
    """Draw the speeds of tiled programs over the Baseline's, and the geometric means."""
    own = speeds(rows)
    shown = [{"program": name, "form": form, "speed": own[form][name]} for name in own[HAND] for form in FORMS]
    series = (BASELINE, *FORMS)  # so that each form has its colour of the simulated panels
    figures.grouped_bars(ax, shown, x="program", hue="form", y="speed", series=series)
    figures.reference_line(ax, 1, "")
    ax.tick_params(axis="x", labelsize=5, rotation=60)
    ax.set_ylabel(f"Speedup ({measured.card(rows)}, measured)")
    figures.legend(ax, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(rows: Sequence[Record]) -> str:
    """Microseconds of all programs in all forms, and the speeds of the tiled forms."""
    header = (f"{measured.card(rows)}, us", *(forms := (BASELINE, HAND, GHOST, OURS)), *(f"speed: {f}" for f in FORMS))
    body = [
        (name, *map(own.get, forms), *(own[BASELINE] / own[f] if f in own else None for f in FORMS))
        for name, own in times(rows).items()
    ]
    means = speeds(rows)
    return tables.table(header, [*body, ("mean of tiled", *[None] * len(forms), *(means[f]["mean"] for f in FORMS))])


def caption(rows: Sequence[Record]) -> str:
    """A sentence on the panel; empty where nothing was measured."""
    if not rows:
        return ""
    own = speeds(rows)
    return (
        f" Last panel: {measured.card(rows)}, measured: over {len(own[HAND]) - 1} programs, tiles written by hand are "
        f"{own[HAND]['mean']:.2f} and those of smmux {own[OURS]['mean']:.2f} times as fast as the Baseline."
    )
