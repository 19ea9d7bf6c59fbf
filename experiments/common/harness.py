"""The command of a figure or table: its options, what it prints, and the files that it writes with their provenance."""

from __future__ import annotations

import argparse
import contextlib
import csv
import inspect
import io
import json
import os
import platform
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from experiments.common.tables import spelled
from experiments.common.verdicts import Verdict, load_judges
from smmux import gpus, plot as figures
from smmux.base import interrupt, whole_files
from smmux.base.jobs import available_processors, count_of_jobs
from smmux.errors import ConfigError
from smmux.gpus import Gpu
from smmux.sweep import Cache, Record, executing, sweeping

__all__ = ["Experiment", "Made", "Plot", "drawn", "name_of_machine"]

Plot = Callable[[Sequence[Record], Any], Any]

OPTIONS = {
    "stalls": "print where the schedulers' time goes, for every bar",
    "sensitivities": "run on machines that differ in one assumption, too (takes longer)",
    "everything": "run both schedules where the figure has one (takes longer)",
}
"""Options that only some experiments have; each is a flag."""

ROOT = Path(__file__).parents[2]
CACHE = "sweeps.sqlite"
"""File of records in the folder of results, for `--resume`."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
TEXT_COLUMNS = 120
"""Width at which sentences are wrapped on the terminal; tables are as wide as they are."""
CAPTION_CHARACTERS, CAPTION_LINE = 21, 0.11
"""Size of the caption's font: characters in an inch, and height of a line in inches."""
ELSEWHERE = ("out", "page", "cache", "resume", "executor")
"""Options that change no result."""
SUFFIXES = (".json", ".csv", ".png", ".pdf")
"""The files of an experiment."""
TIMELESS = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
"""Metadata of a format in which files do not differ by when they were made."""
PARTS = ("run", "table", "summary", "check", "caption", "machines", "sizes")
"""Fields of `Experiment` that are the functions of that name in its script, unless the script gives others."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A figure or table: what to run, what to print, what to draw, what to judge.

    name: of the files. description: the script's docstring, whose first paragraph is its help.
    run: makes the records; takes `quick`, `jobs` and those of `options` and `arguments` that concern it, as do machines
    and sizes, all by keyword and only those that they name.
    table: the text that sets paper and simulation side by side.
    summary: the numbers that are drawn, and their means. check: the verdicts on the paper's claims.
    caption: what the picture shows, in a sentence with its numbers, written below it.
    plots: panels from top to bottom, each drawing records on axes. figsize: in inches without the
    caption, by default one column wide.
    drawable: whether there are records for a panel, by its number from 0; those without are left out.
    page: a page of the documentation in Markdown, for experiments that have one: `--page FILE` writes it. Its picture
    is the gallery's.
    machines, sizes: recorded as provenance.
    options: of `OPTIONS`, with the table that each adds to the text, or None where it adds none.
    arguments: options with values, by name, as `argparse.ArgumentParser.add_argument` takes them; one with nargs "?"
    is a word without a name.
    instead: the experiment that an argument asks for, by the argument's name, which that one has too.
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
    page: Callable[[Sequence[Record]], str] | None = None
    instead: Mapping[str, Experiment] = field(default_factory=dict)

    @classmethod
    def of(cls, script: Mapping[str, Any], **rest: Any) -> Experiment:
        """The experiment of a script, given its globals: the functions of `PARTS` that it defines, and the rest.

        Raises TypeError for a part that is neither defined nor given.
        """
        name = Path(script["__file__"]).stem
        if missing := [part for part in PARTS if part not in script and part not in rest]:
            raise TypeError(
                f"experiment {name} defines no {', '.join(missing)}; experiments/README.md says what they are"
            )
        parts = {part: script[part] for part in PARTS if part not in rest}
        return cls(name, script["__doc__"], **parts, **rest)

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command: print tables and verdicts, write NAME.json, .csv, .png and .pdf; the exit status."""
        for name, other in self.instead.items():
            if getattr(_parser(self).parse_known_args(argv)[0], name):
                return other.main(argv)
        given = self.options_of(argv)
        try:
            interrupt.end_of_start()
            self.publish(self.simulated(given))
        except KeyboardInterrupt:
            cache = _cache_of(given)
            kept = f"; the same command goes on with what {cache} holds" if cache else ""
            print(f"interrupted, nothing written{kept}", file=sys.stderr)
            return INTERRUPTED
        except (ConfigError, OSError) as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            return 2
        return 0

    def options_of(self, argv: Sequence[str] | None = None) -> dict[str, Any]:
        """The values of the command's options by name. Exits with a message for words that it does not know."""
        return vars(_parser(self).parse_args(argv))

    def simulated(self, given: Mapping[str, Any]) -> Made:
        """Simulate and judge; nothing is written but the cache of records. Raises what the runs raise."""
        started = time.perf_counter()
        load_judges()  # before records get keys, which depend on the modules that are loaded
        quick = bool(given["quick"]) and _has_quick_size(self)
        with _sweeping(_cache_of(given), given["executor"], given["jobs"]):
            records = _call(self.run, given)
            verdicts = [_unjudged(v) if quick else v for v in self.check(records)]  # some of which run a few blocks
        return Made(given, quick, records, verdicts, time.perf_counter() - started)

    def publish(self, made: Made) -> None:
        """Write the files, and print tables and verdicts."""
        given = {name: value for name, value in made.given.items() if name not in ELSEWHERE}
        out: Path = made.given["out"]
        page: Path | None = made.given.get("page")
        records, verdicts = made.records, made.verdicts
        caption = self.caption(records) + (" Quick run: smaller grids." if made.quick else "")
        content = {
            "caption": caption,
            "rows": records,
            "summary": dict(self.summary(records)),
            "claims": [asdict(v) for v in verdicts],
            "provenance": _provenance(self, given, made.seconds),
        }
        _write(out, self, content)
        if page and self.page:
            whole_files.write_text(page, self.page(records))
        _print(self, given, content, verdicts)
        print(f"\n{out / self.name}.json .csv .png .pdf", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Made:
    """What an experiment found. given: the values of its command's options; quick: whether its grids were smaller;
    seconds: how long it took."""

    given: Mapping[str, Any]
    quick: bool
    records: list[Record]
    verdicts: list[Verdict]
    seconds: float


def _cache_of(given: Mapping[str, Any]) -> Path | None:
    """The file of records that the options ask for."""
    path: Path | None = given["cache"] or (given["out"] / CACHE if given["resume"] else None)
    return path


@contextlib.contextmanager
def _sweeping(cache: Path | None, executor: str, jobs: int) -> Iterator[None]:
    """Let all sweeps use a file of records, and the executor of a name."""
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(Cache(cache)) if cache else None
        stack.enter_context(sweeping(cache=kept, executor=stack.enter_context(executing(executor, jobs))))
        yield


def _provenance(experiment: Experiment, given: Mapping[str, Any], seconds: float) -> Record:
    """What the records were made with: version and commit, options, machines, sizes and host."""
    return {
        "experiment": experiment.name,
        "version": smmux.__version__,
        "commit": commit(),
        **given,
        "seconds": round(seconds, 3),
        "machines": [{**m.to_dict(), "sources": dict(m.sources)} for m in _call(experiment.machines, given)],
        "sizes": dict(_call(experiment.sizes, given)),
        "host": _host(),
    }


def commit() -> str | None:
    """What git says of this checkout as it is now, which may have moved on since the build that gave the version."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "describe", "--tags", "--always", "--dirty"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # no git, or no leave to read
        return None


def _host() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _print(
    experiment: Experiment, given: Mapping[str, Any], content: Mapping[str, Any], verdicts: Sequence[Verdict]
) -> None:
    """Caption, tables, verdicts and their count on the terminal."""
    records = content["rows"]
    more = [shown(records) for name, shown in experiment.options.items() if shown and given[name]]
    print("\n\n".join([textwrap.fill(content["caption"], TEXT_COLUMNS), experiment.table(records), *more]))
    if verdicts:
        print("", *map(_lines, verdicts), _count_of(verdicts), sep="\n")


def _lines(verdict: Verdict) -> str:
    """The verdict in a few lines: claim, numbers, note."""
    pairs = (("paper", verdict.paper), ("ours", verdict.ours))
    numbers = [f"{whose}: {spelled(value)}" for whose, value in pairs if value is not None]
    lines = textwrap.wrap(f"{verdict.id} {verdict.word}: {verdict.text}", TEXT_COLUMNS, subsequent_indent="  ")
    for part in filter(None, ("; ".join(numbers), verdict.note)):
        lines += textwrap.wrap(part, TEXT_COLUMNS, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)


def _count_of(verdicts: Sequence[Verdict]) -> str:
    words = [verdict.word for verdict in verdicts]
    return "claims: " + ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _has_quick_size(experiment: Experiment) -> bool:
    """Whether quick runs are smaller; Table 1 has nothing to simulate."""
    quick, full = (dict(_call(experiment.sizes, {"quick": quick})) for quick in (True, False))
    return quick != full


def _unjudged(verdict: Verdict) -> Verdict:
    """The verdict of a quick run: the paper's claims are of full grids, and of all benchmarks."""
    note = "; ".join(filter(None, ("a quick run is not judged", verdict.note)))
    return replace(verdict, reproduced=None, note=note)


def _parser(experiment: Experiment) -> argparse.ArgumentParser:
    """The options of an experiment's command."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{experiment.name}",
        description=(experiment.description or "").partition("\n\n")[0],
        epilog="Prints tables and the verdicts on the paper's claims; writes NAME.json, .csv, .png and .pdf into DIR.",
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder for the files (%(default)s)")
    add("--quick", action="store_true", help="run smaller grids, which do not judge claims")
    if experiment.page:
        add("--page", type=Path, metavar="FILE", help="write the page of the documentation")
    for name in experiment.options:
        add(f"--{name}", action="store_true", help=OPTIONS[name])
    for name, how in experiment.arguments.items():
        add(name if how.get("nargs") == "?" else f"--{name}", **how)
    add("--cache", type=Path, metavar="FILE", help="take records that FILE has, and keep new ones there")
    add("--resume", action="store_true", help=f"go on where a killed run was: --cache DIR/{CACHE}")
    where = "what simulates: threads, processes or dask:ADDRESS, the scheduler of a Dask cluster (%(default)s)"
    add("--executor", default="threads", metavar="WHERE", help=where)
    jobs = available_processors()
    add("--jobs", type=count_of_jobs, default=jobs, metavar="N", help="simulations that run at a time (%(default)s)")
    return parser


def _call(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """The function's result, of those values that its parameters name."""
    return function(**{name: given[name] for name in inspect.signature(function).parameters if name in given})


def _write(out: Path, experiment: Experiment, content: Mapping[str, Any]) -> None:
    """The four files of an experiment, which change together."""
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, default=_as_json) + "\n"
    pictures = drawn(experiment, content["rows"], content["caption"], "png", "pdf")
    paths = (out / f"{experiment.name}{suffix}" for suffix in SUFFIXES)
    with whole_files.replacing(*paths) as (path, table, *drafts):
        path.write_text(text, encoding="utf-8")
        _write_csv(table, content["rows"])
        for draft, picture in zip(drafts, pictures, strict=True):
            draft.write_bytes(picture)


def name_of_machine(text: str) -> str:
    """The name of a machine, from a word of the command line, for `argparse`."""
    try:
        return gpus.get(text).name
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"an experiment's data holds a {type(value).__name__}, which JSON cannot express")


def _write_csv(path: Path, records: Sequence[Record]) -> None:
    columns = list(dict.fromkeys(name for record in records for name in record))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(records)


UNIT = re.compile(r"(?<=\d) (?=%|(?:[kMGT]?B|[kMG]Hz|clk|clocks|cycles|blocks|[nµm]?s)\b)")
"""Where a number and its unit stay in one line."""


def drawn(experiment: Experiment, records: Sequence[Record], caption: str, *formats: str) -> list[bytes]:
    """The figure with its caption, as files of the formats."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with figures.style():
        figure = Figure(figsize=experiment.figsize)
        FigureCanvasAgg(figure)
        plots = [plot for i, plot in enumerate(experiment.plots) if experiment.drawable(records, i)]
        width, height = figure.get_size_inches()
        height *= len(plots) / len(experiment.plots)
        lines = textwrap.wrap(UNIT.sub("\N{NO-BREAK SPACE}", caption), int(CAPTION_CHARACTERS * width))
        figure.set_size_inches(width, height + CAPTION_LINE * len(lines))
        for i, plot in enumerate(plots):
            plot(records, figure.add_subplot(len(plots), 1, i + 1))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6, linespacing=1.3)
        files = [io.BytesIO() for _ in formats]
        for kind, file in zip(formats, files, strict=True):
            figure.savefig(file, format=kind, metadata=TIMELESS.get(kind))
    return [file.getvalue() for file in files]
