"""Validation: microbenchmarks and kernels with published measurements of real cards, simulated beside them.

The published values are the rows of `experiments/common/published.csv`; the kernels are in
`experiments/common/kernels`, and their outputs are checked in every run. Without options each row is simulated.
--gpu NAME runs everything that the machine can run, measured or not; `run(gpu=[machine])` does so with a machine of
one's own, and --values adds a table of measurements of it. --card h100 or h200 simulates what `experiments.modern` does
instead: kernels whose cycles the profiler of such a card counted, with errors by stratum.

Where a machine's parameter was set from the very measurement, finding it again shows only that the parameter is at
work; such rows are marked, and errors and correlations are given without them too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import on_card_shown, tables
from experiments.common.harness import Experiment, name_of_machine
from experiments.common.kernels import PROBES
from experiments.common.on_card import CARDS
from experiments.common.published import Published, published, sources
from experiments.common.verdicts import Verdict
from smmux import gpus
from smmux.errors import ConfigError
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

RECOVERED = 0.5
"""Share of a camped stream's loss that a diagonal order has to recover, to recover most of it."""
PAGE_HEAD = """\
# How far to trust the machines

Made by `python -m experiments.validation --page docs/validation.md`; a test holds it to what is simulated.

Each row is a measurement of a real card that somebody published. A kernel written for it runs on the simulated card,
its outputs are checked, and its rate or latency stands beside the measured one. Nothing was tuned until a row came out.
The values are in [published.csv](../experiments/common/published.csv), the kernels in
[experiments/common/kernels](../experiments/common/kernels).

`python -m experiments.validation --gpu K20c` runs everything on one machine, measured or not. For a machine of your
own, `experiments.validation.run(gpu=[machine])` gives the records, and `--values FILE` adds measurements of it.
`--card h100` and `--card h200` simulate [kernels that ran on a card of today](modern.md) instead.

![simulated over measured](figures/validation.png)

"Bar" is how far off a row may be, where that was laid down beforehand. "Given": a parameter of the machine was set from
this very measurement, so that finding it again shows no more than that the parameter is at work; the errors below are
without these rows, and with them in parentheses. The factor is the mean by which rows are off (the exponential of the
mean absolute logarithm of the ratio); the correlation is that of the logarithms.
"""


def chosen(gpu: Sequence[str | Gpu] | None, values: Path | None) -> list[Published]:
    """The published rows of the run."""
    rows = [*published(), *(published(values) if values else ())]
    if unknown := {row.probe for row in rows} - set(PROBES):
        raise ConfigError(f"no kernel measures {', '.join(sorted(unknown))} (known: {', '.join(PROBES)})")
    names = {of.name for of in map(gpus.get, gpu)} if gpu else {row.machine for row in rows}
    return [row for row in rows if row.machine in names]


def machines(gpu: Sequence[str | Gpu] | None = None, values: Path | None = None) -> list[Gpu]:
    """What is simulated."""
    return [gpus.get(name) for name in gpu or dict.fromkeys(row.machine for row in chosen(None, values))]


def run(
    quick: bool = False,
    jobs: int | None = None,
    gpu: Sequence[str | Gpu] | None = None,
    values: Path | None = None,
) -> list[Record]:
    """Measure all published rows, or whatever runs on the machines `gpu` (names or machines); a record per number.

    values: a table of further measurements, in the form of `published.csv`. Raises ConfigError for one that is none.
    """
    known = {(row.machine, row.probe): row for row in chosen(gpu, values)}
    points = [
        {"machine": of, "probe": name}
        for of in machines(gpu, values)
        for name, probe in PROBES.items()
        if (gpu or (of.name, name) in known) and probe.applies(of)
    ]
    records = sweep(partial(measure, quick=quick), points, jobs=jobs, description="validation")
    return [record | beside(record, known.get((record["machine"], record["probe"]))) for record in records]


def measure(machine: Gpu, probe: str, quick: bool = False) -> Record:
    """The number that a probe gives on a machine."""
    return {"ours": PROBES[probe].run(machine, quick)}


def beside(record: Record, row: Published | None) -> Record:
    """What was published, beside what a probe measured."""
    probe = PROBES[record["probe"]]
    if row is None:
        return {"text": probe.text, "unit": probe.unit, "measured": None, "ratio": None}
    return {
        "text": probe.text, "unit": probe.unit, "measured": row.shown, "ratio": row.ratio(record["ours"]),
        "within": row.within, "right": row.right(record["ours"]), "source": row.source, "given": row.given,
        "note": row.note,
    }  # fmt: skip


def by_machine(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each machine that have a published value."""
    names = dict.fromkeys(r["machine"] for r in records)
    return {name: [r for r in records if r["machine"] == name and r["measured"]] for name in names}


def errors(records: Sequence[Record]) -> Record:
    """How far off records are: the mean absolute logarithm of the ratio, as a factor, and the correlation of the
    logarithms; None for fewer records than these take."""
    ratios = np.array([r["ratio"] for r in records if r["ratio"] and not math.isnan(r["ratio"])])
    ours = np.log([r["ours"] for r in records if r["ratio"] and not math.isnan(r["ratio"])])
    measured = ours - np.log(ratios) if len(ratios) else ours
    return {
        "rows": len(records),
        "factor": float(np.exp(np.abs(np.log(ratios)).mean())) if len(ratios) else None,
        "correlation": float(np.corrcoef(ours, measured)[0, 1]) if len(ratios) > 2 else None,
    }


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Errors by machine: of all rows, and of those that the machine was not given."""
    return {
        name: {"all": errors(own), "not given": errors([r for r in own if not r["given"]])}
        for name, own in by_machine(records).items()
    }


def check(records: Sequence[Record]) -> list[Verdict]:
    """A verdict on each row that has a bar, and on what a diagonal order recovers."""
    verdicts = [
        Verdict(
            f"{r['machine']}, {r['probe']}:", f"{r['text']} ({r['unit']}), {_bar(r['within'])}", r["measured"],
            r["ours"], r["right"], r["note"],
        )
        for own in by_machine(records).values() for r in own if r["within"] is not None
    ]  # fmt: skip
    for name in by_machine(records):
        camped, diagonal = (_ours(records, name, probe) for probe in ("camping", "camping, diagonal"))
        if camped and diagonal:
            share = (camped - diagonal) / (camped - 1)
            text = "a diagonal order recovers most of what camping costs (share of the loss)"
            verdicts.append(Verdict(f"{name}, diagonal:", text, "most", share, share > RECOVERED))
    return verdicts


def _ours(records: Sequence[Record], name: str, probe: str) -> float | None:
    found = [float(r["ours"]) for r in records if (r["machine"], r["probe"]) == (name, probe)]
    return found[0] if found else None


def _bar(within: float | None) -> str:
    if within is None:
        return ""
    return f"factor {1 + within:g}" if within >= 1 else f"{100 * within:g} %"


HEADER = ("", "measured", "ours", "unit", "ratio", "bar", "", "source")


def table(records: Sequence[Record]) -> str:
    """A table per machine, and the errors of all."""
    parts = []
    for name in dict.fromkeys(r["machine"] for r in records):
        rows = [
            (
                r["probe"], r["measured"] or "-", _number(r["ours"]), r["unit"], _number(r["ratio"]),
                _bar(r.get("within")), _word(r), r.get("source", ""),
            )
            for r in records if r["machine"] == name
        ]  # fmt: skip
        parts.append(f"{name}\n{tables.table(HEADER, rows)}")
    return "\n\n".join([*parts, _errors(records)])


def _word(record: Record) -> str:
    if record.get("given"):
        return "given"
    return {True: "within", False: "off", None: ""}[record.get("right")]


def _errors(records: Sequence[Record]) -> str:
    rows = [
        (name, part, of["rows"], of["factor"], of["correlation"])
        for name, parts in summary(records).items()
        for part, of in parts.items()
    ]
    return tables.table(("machine", "rows that", "number", "mean factor", "correlation"), rows)


def page(records: Sequence[Record]) -> str:
    """The page of the documentation."""
    measured = by_machine(records)
    parts = [PAGE_HEAD, "| machine | rows | factor | correlation |\n|---|---|---|---|"]
    for name, of in summary(records).items():
        keys = ("rows", "factor", "correlation")
        cells = [f"{_number(of['not given'][key])} ({_number(of['all'][key])})" for key in keys]
        parts[-1] += f"\n| {name} | " + " | ".join(cells) + " |"
    for name, own in measured.items():
        lines = [f"\n## {name}\n", "| | unit | measured | simulated | ratio | bar | | source |", "|---" * 8 + "|"]
        for r in own:
            cells = [
                r["text"], r["unit"], r["measured"], _number(r["ours"]), f"{r['ratio']:.2f}", _bar(r["within"]),
                _word(r), f"{r['source']}{': ' if r['note'] else ''}{r['note']}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    titles = sources([row for row in published() if row.machine in measured])
    parts.append("\n## Sources\n\n" + "\n".join(f"* {key}: {title}" for key, title in titles.items()))
    return "\n".join(parts) + "\n"


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.4g}"


def caption(records: Sequence[Record]) -> str:
    """A sentence with the errors of the rows that machines were not given."""
    parts = [
        f"{name} {of['not given']['factor']:.2f} ({of['not given']['rows']} rows)"
        for name, of in summary(records).items() if of["not given"]["factor"]
    ]  # fmt: skip
    what = "Simulated over published, rates and times; open circles are values that the machine was given."
    return what + (f" Mean factor without these: {', '.join(parts)}." if parts else "")


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw ours over the measured value, row by row, on a logarithmic axis."""
    place, labels = 0, []
    for own in by_machine(records).values():
        for r in own:
            if math.isnan(r["ratio"]):
                continue
            color = {True: "#009E73", False: "#D55E00", None: "#0072B2"}[r["right"]]
            ax.plot(r["ratio"], place, "o", color=color, markersize=3, fillstyle="none" if r["given"] else "full")
            labels.append((place, f"{r['machine']}  {r['probe']}"))
            place += 1
        place += 1
    ax.axvline(1.0, color="black", linewidth=0.7)
    ax.axvspan(1 / 1.1, 1.1, color="0.9", zorder=0)
    ax.set_xscale("log")
    ticks = (0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=5)
    ax.set_xticks([], minor=True)
    ax.set_yticks([at for at, _ in labels], [text for _, text in labels], fontsize=4.5)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(place - 0.5, -1)
    ax.set_xlabel("simulated / measured")
    return ax


def sizes(quick: bool = False) -> Mapping[str, Any]:
    """The problems' sizes are the probes' own; quick ones are smaller."""
    return {"quick": quick}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[plot],
    page=page,
    arguments={
        "gpu": {
            "type": name_of_machine,
            "nargs": "+",
            "metavar": "NAME",
            "help": f"machines on which everything runs, of {', '.join(gpus.names())} (published rows alone)",
        },
        "values": {"type": Path, "metavar": "FILE", "help": "a table of further measurements, as published.csv"},
        "card": {
            "choices": tuple(CARDS),
            "help": "simulate kernels that such a card ran instead, of a --half, up to the --largest",
        },
    },
    instead={"card": on_card_shown.experiment("validation", __doc__)},
    figsize=(4.6, 7.0),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
