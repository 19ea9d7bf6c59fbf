"""What the experiments share: command line, verdicts, tables on the terminal, files with provenance."""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import math
import os
import platform
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from smmux import plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record, available_processors, count_of_jobs

__all__ = [
    "MARGIN", "TOLERANCE", "Experiment", "Plot", "Verdict", "close", "exceeds", "listed", "main", "paper", "table",
    "verdict",
]  # fmt: skip

Plot = Callable[[Sequence[Record], Any], Any]

OPTIONS = {
    "stalls": "print where the schedulers' time goes, for every bar",
    "sensitivities": "also on machines that differ in one assumption (takes longer)",
    "everything": "also what the figure leaves out (takes longer)",
}
"""Options that only some experiments have; each is a flag."""

TOLERANCE = 0.1
"""Relative difference up to which a number counts as the paper's."""
MARGIN = 0.05
"""Relative difference of two numbers of ours from which on one counts as more than the other."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
TEXT_COLUMNS = 120
"""Of the terminal, for sentences; tables are as wide as they are."""
CAPTION_CHARACTERS, CAPTION_LINE = 22, 0.11
"""Of the caption's font: characters in an inch, and height of a line in inches."""


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
    return tomllib.loads(Path(__file__).parents[1].joinpath("claims.toml").read_text(encoding="utf-8"))


def verdict(claim: str, ours: Any, reproduced: bool | None, note: str = "") -> Verdict:
    """A verdict on a claim of claims.toml; raises KeyError for an id that is not there."""
    known = claims()[claim]
    reproduced = None if reproduced is None else bool(reproduced)
    return Verdict(claim, known["text"], known.get("paper"), ours, reproduced, note)


def paper(claim: str) -> tuple[float, ...]:
    """The numbers of the paper in a claim of claims.toml; raises KeyError where it gives none."""
    found = claims()[claim]["paper"]
    return tuple(found) if isinstance(found, list) else (found,)


def close(ours: Sequence[float], expected: Sequence[float]) -> tuple[bool, str]:
    """Whether numbers are the expected ones, all of them up to `TOLERANCE`, and how far off each of them is."""
    off = [value / wanted - 1 for value, wanted in zip(ours, expected, strict=True)]
    note = f"{', '.join(f'{o:+.1%}' for o in off)}; up to {TOLERANCE:.0%} counts as reproduced"
    return all(abs(o) <= TOLERANCE for o in off), note


def exceeds(one: float, other: float, margin: float = MARGIN) -> bool:
    """Whether one number of ours counts as more than another."""
    return one > other and one >= (1 + margin) * other


def listed(names: Iterable[str]) -> str:
    """Names in a row, or that there are none."""
    return ", ".join(names) or "none"


@dataclass(frozen=True, slots=True)
class Experiment:
    """A figure or table: what to run, what to print, what to draw, what to judge.

    name: of the files. description: the script's docstring, whose first paragraph is its help.
    run: makes the records; takes `quick`, `jobs` and those of `options` and `arguments` that concern it, as do machines
    and sizes, all by keyword and only those that they name.
    table: the text that sets paper and simulation side by side.
    caption: what the picture shows, in a sentence with its numbers, written below it.
    options: of `OPTIONS`, with the table that each adds to the text, or None where it adds none.
    arguments: others, which have values; by name, as `argparse.ArgumentParser.add_argument` takes them.
    plots: panels from top to bottom, each drawing records on axes. figsize: in inches without the
    caption, by default one column wide.
    drawable: whether there are records for a panel, by its number from 0; those without are left out.
    machines, sizes: recorded as provenance.
    """

    name: str
    description: str | None
    run: Callable[..., list[Record]]
    table: Callable[[Sequence[Record]], str]
    summary: Callable[[Sequence[Record]], Mapping[str, Any]]
    check: Callable[[Sequence[Record]], Sequence[Verdict]]
    caption: Callable[[Sequence[Record]], str]
    plots: Sequence[Plot]
    machines: Callable[..., Iterable[Gpu]]
    sizes: Callable[..., Mapping[Any, Any]]
    options: Mapping[str, Callable[[Sequence[Record]], str] | None] = field(default_factory=dict)
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    figsize: tuple[float, float] | None = None
    drawable: Callable[[Sequence[Record], int], bool] = lambda records, panel: True


def main(experiment: Experiment, argv: Sequence[str] | None = None) -> int:
    """Command line of an experiment: run it, print table and verdicts, write NAME.json, .csv, .png and .pdf."""
    given = vars(_parser(experiment).parse_args(argv))
    out: Path = given.pop("out")
    quick = bool(given["quick"]) and _has_quick_size(experiment)
    started = time.perf_counter()
    try:
        records = _call(experiment.run, given)
        verdicts = [_unjudged(v) if quick else v for v in experiment.check(records)]  # some of which run a few blocks
    except KeyboardInterrupt:
        print("interrupted, nothing written", file=sys.stderr)
        return INTERRUPTED
    more = [shown(records) for name, shown in experiment.options.items() if shown and given[name]]
    caption = experiment.caption(records) + (" Quick run: smaller grids." if quick else "")
    content = {
        "caption": caption,
        "rows": records,
        "summary": dict(experiment.summary(records)),
        "claims": [asdict(v) for v in verdicts],
        "provenance": {
            "experiment": experiment.name,
            "version": smmux.__version__,
            **given,
            "seconds": round(time.perf_counter() - started, 3),
            "machines": [{**m.to_dict(), "sources": dict(m.sources)} for m in _call(experiment.machines, given)],
            "sizes": dict(_call(experiment.sizes, given)),
            "host": _host(),
        },
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / experiment.name
    path.with_suffix(".json").write_text(json.dumps(content, indent=1, default=_as_json) + "\n", encoding="utf-8")
    _write_csv(path.with_suffix(".csv"), records)
    _write_figure(path, records, experiment, caption)
    print("\n\n".join([textwrap.fill(caption, TEXT_COLUMNS), experiment.table(records), *more]))
    if verdicts:
        print("", *map(_spelled, verdicts), _count_of(verdicts), sep="\n")
    print(f"\n{path}.json .csv .png .pdf", file=sys.stderr)
    return 0


def _spelled(found: Verdict) -> str:
    """The verdict in a few lines: claim, numbers, note."""
    numbers = [f"{whose}: {_cell(v)}" for whose, v in (("paper", found.paper), ("ours", found.ours)) if v is not None]
    parts = textwrap.wrap(f"{found.id} {found.word}: {found.text}", TEXT_COLUMNS, subsequent_indent="  ")
    for part in filter(None, ("; ".join(numbers), found.note)):
        parts += textwrap.wrap(part, TEXT_COLUMNS, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(parts)


def _count_of(verdicts: Sequence[Verdict]) -> str:
    words = [found.word for found in verdicts]
    return "claims: " + ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _has_quick_size(experiment: Experiment) -> bool:
    """Whether quick runs are smaller; Table 1 has nothing to simulate."""
    quick, full = (dict(_call(experiment.sizes, {"quick": quick})) for quick in (True, False))
    return quick != full


def _unjudged(found: Verdict) -> Verdict:
    """The verdict of a quick run: the paper's claims are of full grids, and of all benchmarks."""
    return replace(found, reproduced=None, note="; ".join(filter(None, ("a quick run is not judged", found.note))))


def _parser(experiment: Experiment) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=f"python -m experiments.{experiment.name}",
        description=(experiment.description or "").partition("\n\n")[0],
        epilog="Prints tables and the verdicts on the paper's claims; writes NAME.json, .csv, .png and .pdf into DIR.",
    )
    made.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where files go (%(default)s)")
    made.add_argument("--quick", action="store_true", help="smaller grids, same code")
    for name in experiment.options:
        made.add_argument(f"--{name}", action="store_true", help=OPTIONS[name])
    for name, how in experiment.arguments.items():
        made.add_argument(f"--{name}", **how)
    made.add_argument(
        "--jobs",
        type=count_of_jobs,
        default=available_processors(),
        metavar="N",
        help="simulations at a time (%(default)s)",
    )
    return made


def _call(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """The function's result, of those values that its parameters name."""
    return function(**{name: given[name] for name in inspect.signature(function).parameters if name in given})


def _host() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of text, numbers to the right; floats with three digits after the point. Empty columns are left out."""
    cells = [[_cell(value) for value in row] for row in rows]
    kept = [i for i in range(len(header)) if not cells or any(row[i] not in ("-", "") for row in cells)]
    lines = [[row[i] for i in kept] for row in (list(header), *cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [all(map(_is_number, column[1:])) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(_aligned(row, widths, numeric)).rstrip() for row in lines)


def _aligned(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterable[str]:
    for text, width, right in zip(row, widths, numeric, strict=True):
        yield text.rjust(width) if right else text.ljust(width)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3f}"
    if isinstance(value, (list, tuple)):
        return listed(_cell(v) for v in value)
    if isinstance(value, Mapping):
        inner = {key: f"({_cell(v)})" if isinstance(v, Mapping) else _cell(v) for key, v in value.items()}
        return "; ".join(f"{key} {text}" for key, text in inner.items()) or "none"
    return str(value)


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).replace("-", "", 1).isdigit()


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


def _write_figure(path: Path, records: Sequence[Record], experiment: Experiment, caption: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with figures.style():
        figure = Figure(figsize=experiment.figsize)
        FigureCanvasAgg(figure)
        plots = [plot for i, plot in enumerate(experiment.plots) if experiment.drawable(records, i)]
        width, height = figure.get_size_inches()
        height *= len(plots) / len(experiment.plots)
        lines = textwrap.wrap(caption, int(CAPTION_CHARACTERS * width))
        figure.set_size_inches(width, height + CAPTION_LINE * len(lines))
        for i, plot in enumerate(plots):
            plot(records, figure.add_subplot(len(plots), 1, i + 1))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6, linespacing=1.3)
        figure.savefig(path.with_suffix(".png"))
        figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
