"""What the experiments share: command line, verdicts, tables on the terminal, files with provenance."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from smmux import plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record, available_processors

__all__ = ["Report", "Verdict", "parser", "table", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim of the paper beside what we found. reproduced: None when these runs cannot tell."""

    id: str
    text: str
    paper: Any
    ours: Any
    reproduced: bool | None
    note: str = ""

    @property
    def word(self) -> str:
        """The verdict in one word or two."""
        return {True: "reproduced", False: "deviates", None: "not judged"}[self.reproduced]


@cache
def claims() -> Mapping[str, Mapping[str, Any]]:
    """The paper's claims by id: text and, where it gives one, its number."""
    return tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))


def verdict(claim: str, ours: Any, reproduced: bool | None, note: str = "") -> Verdict:
    """A verdict on a claim of claims.toml; raises KeyError for an id that is not there."""
    known = claims()[claim]
    reproduced = None if reproduced is None else bool(reproduced)
    return Verdict(claim, known["text"], known.get("paper"), ours, reproduced, note)


def parser(description: str | None, *, figure: bool = False) -> argparse.ArgumentParser:
    """The options that every experiment has. description: the script's docstring; its first paragraph is shown.

    figure: also those of figures of simulations on the paper's card.
    """
    made = argparse.ArgumentParser(description=(description or "").partition("\n\n")[0])
    made.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where files go (%(default)s)")
    made.add_argument("--quick", action="store_true", help="smaller grids, same code")
    if figure:
        made.add_argument("--stalls", action="store_true", help="print where the schedulers' time goes, for every bar")
        made.add_argument(
            "--sensitivities", action="store_true", help="also on machines that differ in one assumption (takes longer)"
        )
    made.add_argument(
        "--jobs", type=int, default=available_processors(), metavar="N", help="simulations at a time (%(default)s)"
    )
    return made


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of text, numbers to the right; floats with three digits after the point."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *cells]) for i in range(len(header))]
    numeric = [all(_is_number(row[i]) for row in cells) for i in range(len(header))]
    lines = []
    for row in [list(header), ["-" * width for width in widths], *cells]:
        parts = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3f}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_cell(v) for v in value)
    return str(value)


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).replace("-", "", 1).isdigit()


class Report:
    """One run of an experiment: made before the simulations, `finish`ed after them."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name = name
        self.options = options
        self._started = time.perf_counter()

    def finish(
        self,
        records: Sequence[Record],
        *,
        shown: str,
        summary: Mapping[str, Any],
        verdicts: Sequence[Verdict],
        draw: Callable[[Any], Any] | Sequence[Callable[[Any], Any]],
        machines: Iterable[Gpu] = (),
        sizes: Mapping[str, Any] | None = None,
        size: tuple[float, float] | None = None,
    ) -> None:
        """Print the table and the verdicts, write NAME.json, .csv, .png and .pdf.

        draw: takes axes and draws on them; several draw panels, from top to bottom. size: of the figure in inches, by
        default one column.
        """
        out: Path = self.options.out
        out.mkdir(parents=True, exist_ok=True)
        content = {
            "rows": list(records),
            "summary": dict(summary),
            "claims": [asdict(v) for v in verdicts],
            "provenance": self._provenance(machines, sizes),
        }
        path = out / self.name
        path.with_suffix(".json").write_text(json.dumps(content, indent=1, default=_as_json) + "\n", encoding="utf-8")
        _write_csv(path.with_suffix(".csv"), records)
        _write_figure(path, draw, size)
        print(shown)
        if verdicts:
            print()
            print(table(("claim", "verdict", "paper", "ours"), [(v.id, v.word, v.paper, v.ours) for v in verdicts]))
            for v in verdicts:
                print(f"{v.id}: {v.text}" + (f" [{v.note}]" if v.note else ""))
        print(f"\n{path}.json .csv .png .pdf", file=sys.stderr)

    def _provenance(self, machines: Iterable[Gpu], sizes: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            "experiment": self.name,
            "version": smmux.__version__,
            "quick": self.options.quick,
            "jobs": self.options.jobs,
            "seconds": round(time.perf_counter() - self._started, 3),
            "machines": [{**machine.to_dict(), "sources": dict(machine.sources)} for machine in machines],
            "sizes": dict(sizes or {}),
            "host": {
                "platform": platform.platform(),
                "processors": os.cpu_count(),
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
        }


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} in an experiment's data")


def _write_csv(path: Path, records: Sequence[Record]) -> None:
    columns = list(dict.fromkeys(name for record in records for name in record))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(records)


def _write_figure(
    path: Path, draw: Callable[[Any], Any] | Sequence[Callable[[Any], Any]], size: tuple[float, float] | None
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with figures.style():
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        panels = [draw] if callable(draw) else draw
        for i, panel in enumerate(panels):
            panel(figure.add_subplot(len(panels), 1, i + 1))
        figure.savefig(path.with_suffix(".png"))
        figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
