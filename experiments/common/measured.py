"""Measurements on a real card: medians in `hardware/FORMS_CARD.csv`, of multiplexed kernels drawn in Figure 11.

A row is one kernel under one carve-out: the part of a card's on-chip memory that is shared memory, not L1 cache.
`hardware/measure.py` takes and explains them. The figure reads the columns gpu, carveout_kb, benchmark, variant (as in
`smmux.benchmarks.VARIANTS`) and speedup.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common import approaches, tables
from experiments.common.approaches import BEST
from experiments.common.speedups import LIMITED, MEAN
from experiments.common.variants import APPROACHES
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = ["FOLDER", "bars", "caption", "load", "plot", "short", "table"]

FOLDER = Path(__file__).parents[1] / "hardware"
MARKERS = ("D", "o", "^", "v")


def load(forms: str = "multiplex", folder: Path = FOLDER) -> list[Record]:
    """All rows of a set of forms, with numbers converted; none where nothing was measured."""
    records = []
    for path in sorted(folder.glob(f"{forms}_*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        records += [{name: _number(value) for name, value in row.items()} for row in rows]
    return records


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def speedups(measured: Sequence[Record], carveout: int) -> dict[tuple[str, str], float]:
    """The speedups under a carve-out by benchmark and approach, with the means of each approach and of the best."""
    here = {
        (r["benchmark"], r["variant"]): r["speedup"]
        for r in measured
        if r["carveout_kb"] == carveout and r["variant"] in APPROACHES
    }
    names = [name for name in LIMITED if any(key[0] == name for key in here)]
    rows = {(name, a): here[name, a] for name in names for a in APPROACHES if (name, a) in here}
    for a in APPROACHES:
        own = [value for (_, approach), value in here.items() if approach == a]
        if own:
            rows[MEAN, a] = geometric_mean(own)
    rows[MEAN, BEST] = geometric_mean(max(v for (n, _), v in here.items() if n == name) for name in names)
    return rows


def bars(measured: Sequence[Record]) -> list[Record]:
    """A record per benchmark and approach: speedup under the smallest carve-out, and the others in columns."""
    smallest, *others = carveouts(measured)
    beside = {kb: speedups(measured, kb) for kb in others}
    return [
        {
            "benchmark": name,
            "series": APPROACHES.get(approach, approach),
            "speedup": value,
            **{f"{kb} kB": row.get((name, approach)) for kb, row in beside.items()},
        }
        for (name, approach), value in speedups(measured, smallest).items()
    ]


def carveouts(measured: Sequence[Record]) -> list[int]:
    """The carve-outs that were measured, in kB, the smallest first."""
    return sorted({r["carveout_kb"] for r in measured})


def plot(measured: Sequence[Record], ax: Any) -> Any:
    """Bars of the smallest carve-out, marks for the others."""
    smallest, *others = carveouts(measured)
    look = {"color": "black", "markersize": 2, "markerfacecolor": "white", "markeredgewidth": 0.5}
    marks = {
        f"{kb} kB": {"marker": marker, "label": f"{kb} kB", **look} for kb, marker in zip(others, MARKERS, strict=False)
    }
    approaches.plot_bars(ax, bars(measured), f"{card(measured)}, measured, {smallest} kB", marks)
    lines = [line for line in ax.lines if not line.get_label().startswith("_")]
    ax.legend(handles=lines, ncols=len(lines), loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def caption(measured: Sequence[Record]) -> str:
    """A sentence on the panel; empty where nothing was measured."""
    if not measured:
        return ""
    smallest, *others = carveouts(measured)
    more = f" (marks: {' and '.join(map(str, others))} kB)" if others else ""
    return f" Last panel: {card(measured)}, measured, with {smallest} kB of shared memory{more}."


def card(measured: Sequence[Record]) -> str:
    """The names of the cards, in short: "H100" for "NVIDIA H100 80GB HBM3"."""
    return ", ".join(dict.fromkeys(short(r["gpu"]) for r in measured))


def short(gpu: str) -> str:
    """The name of a card, in short."""
    return gpu.removeprefix("NVIDIA ").split()[0]


def table(measured: Sequence[Record]) -> str:
    """A table of speedups by carve-out."""
    under = {kb: speedups(measured, kb) for kb in carveouts(measured)}
    names = list(dict.fromkeys(name for row in under.values() for name, _ in row))
    columns = [(kb, a) for kb in under for a in (*APPROACHES, BEST) if any(approach == a for _, approach in under[kb])]
    rows = [(name, *(under[kb].get((name, a)) for kb, a in columns)) for name in names]
    return tables.table((card(measured), *(f"{APPROACHES.get(a, a)} {kb} kB" for kb, a in columns)), rows)
