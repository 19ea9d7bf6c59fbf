"""What is shown of kernels that ran on a card of today: tables, the page, pictures, and the command of all that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.common import on_card, tables
from experiments.common.harness import Experiment, name_of_machine
from experiments.common.on_card import CARDS, HALVES, PYTHON_BAR, card_of, errors, in_both, launches, summary
from experiments.common.suite_runs import measured, provenance, provenances
from experiments.suites import SIZES, STRATA, SUITES, WORKLOADS, is_open
from smmux.sweep import Record

OTHERS = (
    ("Accel-Sim 1, QV100", "traces", 0.15, None, None, 1.00, "80 workloads; Khairy et al., ISCA 2020"),
    ("Accel-Sim 1, RTX A6000", "traces", 0.3403, 0.8931, 5.13, 0.97, "128 benchmarks; Huerta et al., MICRO 2025"),
    ("Huerta et al., RTX A6000", "traces", 0.1345, 0.2978, 0.62, 0.99, "the same; MICRO 2025, Table 4, Figure 5"),
    ("Huerta et al., RTX 2080 Ti", "traces", 0.193, None, None, 0.99, "the same"),
    ("Accel-Sim 2, H100", "traces", 0.134, None, None, 0.99, "34,000 kernels of 22 suites; release notes, August 2026"),
    ("FlashGPU-Sim, three cards", "PTX", 0.0524, None, None, None, "131 AI kernels; arXiv 2609.15311, second-hand"),
)  # fmt: skip
"""What others publish: simulator and card, input, mean absolute error, 90th percentile, worst, correlation, on what."""

COLUMNS = ("launches", "mean", "median", "90th percentile", "worst", "bias", "correlation")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _cells(of: Record) -> list[str]:
    correlation = "-" if of["correlation"] is None else f"{of['correlation']:.4f}"
    return [str(of["launches"]), *[_percent(of[name]) for name in COLUMNS[1:-1]], correlation]


def _others() -> list[list[str]]:
    return [
        [who, source, _percent(mean), _percent(ninety), _percent(worst), "-" if corr is None else f"{corr:.2f}", what]
        for who, source, mean, ninety, worst, corr, what in OTHERS
    ]


OTHERS_HEADER = ("published by", "input", "mean", "90th percentile", "worst", "correlation", "on")


def table(records: Sequence[Record]) -> str:
    """Each launch of the open half, the errors by stratum, and what others publish."""
    rows = [
        (r["kernel"], r["size"], r["stratum"], f"{r['measured']:.0f}", r["cycles"], f"{100 * r['error']:+.1f} %")
        for r in launches(records)
    ]  # fmt: skip
    parts = [tables.table(("kernel", "size", "stratum", "measured", "simulated", "error"), rows)] if rows else []
    parts.append(tables.table(("", *COLUMNS), [[name, *_cells(of)] for name, of in summary(records).items()]))
    both, ours = in_both(records)
    if both:
        parts.append(tables.table(PYTHON_HEADER, _python_rows(both)))
        sums = [["vendor's code", *_cells(errors(both))], ["in Python", *_cells(errors(ours))]]
        parts.append(tables.table(("the same launches", *COLUMNS), sums))
    return "\n\n".join([*parts, tables.table(OTHERS_HEADER, _others())])


PYTHON_HEADER = ("kernel", "size", "measured", "vendor's code", "in Python", "instructions", "registers", "ptxas")


def _python_rows(both: Sequence[Record]) -> list[list[str]]:
    """The errors of each launch in both ways, instructions over the card's, and registers."""
    return [
        [
            r["kernel"], r["size"], f"{r['measured']:.0f}", f"{100 * r['error']:+.1f} %",
            f"{100 * r['python_error']:+.1f} %", f"{r['python_instructions'] / r['measured_instructions']:.2f}",
            str(r["python_registers"]), str(r["measured_registers"]),
        ]
        for r in both
    ]  # fmt: skip


def caption(records: Sequence[Record]) -> str:
    """A sentence with the errors of all."""
    of = summary(records).get("all")
    if of is None:
        return "Nothing of the open half was simulated."
    correlation = "" if of["correlation"] is None else f", correlation of logarithms {of['correlation']:.4f}"
    return (
        f"Cycles of {of['launches']} launches of the open half, simulated beside measured on an "
        f"{CARDS[card_of(records)]}: mean absolute "
        f"error {_percent(of['mean'])}, median {_percent(of['median'])}, "
        f"90th percentile {_percent(of['90th percentile'])}, "
        f"worst {_percent(of['worst'])}{correlation}."
    )


COLORS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#D55E00", "#CC79A7", "#000000", "#E69F00", "#999999")
MARKS = dict(zip(SIZES, ("o", "s", "^"), strict=True))


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw simulated over measured cycles, both logarithmic, by stratum and size."""
    own = launches(records)
    ends = np.array([2e3, 2e6])
    for factor, shade in ((1.3, "0.93"), (1.1, "0.85")):
        ax.fill_between(ends, ends / factor, ends * factor, color=shade, linewidth=0, zorder=0)
    ax.plot(ends, ends, color="0.4", linewidth=0.6, zorder=1)
    look: dict[str, Any] = {"markersize": 2.6, "markeredgewidth": 0, "alpha": 0.85}
    for stratum, color in zip(STRATA, COLORS, strict=True):
        for size, mark in MARKS.items():
            rows = [r for r in own if (r["stratum"], r["size"]) == (stratum, size)]
            x, y = ([r[name] for r in rows] for name in ("measured", "cycles"))
            ax.plot(x, y, mark, color=color, **look)
        if any(r["stratum"] == stratum for r in own):
            ax.plot([], [], "s", color=color, label=stratum, **look)
    for size, mark in MARKS.items():
        if any(r["size"] == size for r in own):
            ax.plot([], [], mark, color="0.5", label=f"{size} launches", **look)
    ax.set_xscale("log")
    ax.set_yscale("log")
    most = max([max(r["measured"], r["cycles"]) for r in own], default=1e5)
    ax.set_xlim(3e3, most * 1.3)
    ax.set_ylim(3e3, most * 1.3)
    ax.set_aspect("equal")
    ax.set_xlabel("measured cycles")
    ax.set_ylabel("simulated cycles")
    ax.legend(fontsize=4.5, loc="upper left", frameon=False, handletextpad=0.2, labelspacing=0.3)
    return ax


def plot_errors(records: Sequence[Record], ax: Any) -> Any:
    """Draw the relative errors by stratum, each launch a point, with the mean absolute error beside its name."""
    own = launches(records)
    names = [name for name in STRATA if any(r["stratum"] == name for r in own)]
    labels = []
    for row, name in enumerate(names):
        rows = [r for r in own if r["stratum"] == name]
        for size, mark in MARKS.items():
            off = [100 * max(min(math.log(r["cycles"] / r["measured"]), 1.4), -1.4) for r in rows if r["size"] == size]
            place = row + 0.22 * (SIZES.index(size) - 1)
            ax.plot(off, [place] * len(off), mark, color=COLORS[STRATA.index(name)], markersize=2.4, alpha=0.8)
        labels.append(f"{name}  {_percent(errors(rows)['mean'])}")
    ax.axvline(0, color="0.4", linewidth=0.6)
    ax.axvspan(100 * math.log(0.9), 100 * math.log(1.1), color="0.9", zorder=0)
    ticks = (0.25, 0.33, 0.5, 0.7, 0.9, 1.1, 1.5, 2, 3, 4)
    ax.set_xticks([100 * math.log(tick) for tick in ticks], [f"{tick:g}" for tick in ticks], fontsize=5)
    ax.set_yticks(range(len(names)), labels, fontsize=5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("simulated / measured")
    return ax


def page(records: Sequence[Record]) -> str:
    """The page of the documentation."""
    card = card_of(records)
    about = provenance(card)
    names = dict.fromkeys(name for name, _ in measured(card))
    suites = [suite for suite in SUITES if any(WORKLOADS[name].suite == suite for name in names)]
    halves = {half: ", ".join(suite for suite in suites if is_open(suite) == half) for half in (True, False)}
    lines = [
        PAGE_HEAD.format(
            kernels=len(names), launches=len(measured(card)), card=about["card"], date=about["date"],
            driver=about["nvidia_smi"]["driver_version"], open=halves[True], sealed=halves[False],
            options="" if card == "h100" else f" --card {card}", name=PAGES[card][0],
            title=PAGES[card][1], again=AGAIN.get(card, ""),
            languages=", Python and Triton" if "triton" in suites else " and Python",
            later="".join(ADDED.format(", ".join(of["suites"]), of["date"]) for of in provenances(card)[1:]),
        ),
        f"| | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|",
    ]  # fmt: skip
    lines += [f"| {name} | {' | '.join(_cells(of))} |" for name, of in summary(records).items()]
    lines += ["", "## What others publish", "", f"| {' | '.join(OTHERS_HEADER)} |", "|---" * len(OTHERS_HEADER) + "|"]
    lines += [f"| {' | '.join(cells)} |" for cells in _others()]
    lines += _python_page(records)
    lines += [
        "",
        "## The open half",
        "",
        "| kernel | size | stratum | measured | simulated | error |",
        "|---" * 6 + "|",
    ]
    lines += [
        f"| {r['kernel']} | {r['size']} | {r['stratum']} | {r['measured']:.0f} | {r['cycles']} | {of:+.1f} % |"
        for r, of in ((r, 100 * r["error"]) for r in launches(records))
    ]
    return "\n".join(lines) + "\n"


def _python_page(records: Sequence[Record]) -> list[str]:
    """The section on kernels in Python."""
    both, ours = in_both(records)
    if not both:
        return []
    bar = f" (in the mean {100 * PYTHON_BAR:.0f} % is the bar)" if card_of(records) == "h100" else ""
    lines = ["", "## As Python through this compiler", "", PYTHON_TEXT.format(launches=len(both), bar=bar)]
    lines += [f"| the same launches | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [f"| vendor's code | {' | '.join(_cells(errors(both)))} |"]
    lines += [f"| in Python | {' | '.join(_cells(errors(ours)))} |", ""]
    lines += [f"| {' | '.join(PYTHON_HEADER)} |", "|---" * len(PYTHON_HEADER) + "|"]
    return lines + [f"| {' | '.join(cells)} |" for cells in _python_rows(both)]


PYTHON_TEXT = """\
The kernels of the numeric suite are Python, which Numba compiled for the card, and kernels of other suites of the open
half have [counterparts](../experiments/suites/counterparts.py) in Python. Through this package's compiler,
{launches} launches differ from the card by what the machine and the compiler are off together{bar};
the vendor's code of the same kernels shows the machine's part. What the compiler does with loops it has learnt from the
vendor's code of some of these kernels, so that they are no blind test. Instructions are those of the simulated launch
over those of the card: Numba's code tests each index for being negative, with 64 bits, which this compiler needs not.

Python has no `__restrict__`: a kernel whose loop loads behind a store, which that lets the vendor's compiler move, has
no counterpart. `signals.biquad` is one, and would take 2.7 to 3.9 times as long.
"""

PAGES = {"h100": ("modern", "A machine of today beside a card"), "h200": ("modern_h200", "The same on an H200")}
"""The page of each card, with its picture, and its title."""
AGAIN = {
    "h100": " A second measurement differs by 1.6 % in the mean, and by 3 % or more in a\ntenth of the launches.",
}
"""How far measurements of a card differ from each other."""
ADDED = "\nThis is where and when the first suites ran; {} came later, and ran on {}."
"""What the page says of suites that were measured later."""
PAGE_HEAD = """\
# {title}

Made by `python -m experiments.modern{options} --page docs/{name}.md`.

{kernels} kernels in CUDA C++{languages} ([experiments/suites](../experiments/suites)) with data and checked results ran
at three sizes on an {card} ({date}, driver {driver}), {launches} launches, and the code that ran is simulated, at the
clock of the card. Cycles are `sm__cycles_elapsed.max` of the profiler, the median of three: from launch to end, the
launch's own floor included, with caches flushed before. The profiler left the clocks alone (1980 MHz, under
heavy kernels less), since on a card that is shared they are not ours to set; another clock is an option of
`experiments/hardware/measure_suites.py`.{again}{later}

Suites are halves by a rule that was fixed before anything was measured. Open: {open}. Sealed: {sealed}. Of the sealed
half nobody has seen more than the sum, which is looked at for each state of the machine that is told here. Nothing of
the machine is fitted to a kernel of either half. Kernels of the open half have shown where to look, and that some
attempts were wrong; of three choices that microbenchmarks leave open, whether lines copied from one half of the L2 to
the other take the port of stores, how much may wait there, and how many stores may wait in an SM (31, not 32), they
ruled out one each.

![simulated beside measured cycles, by stratum]({name}.png)

Errors are relative to the card; "bias" is their mean with sign, "correlation" that of the logarithms.
"""


def experiment(name: str, description: str | None) -> Experiment:
    """The experiment under that name."""
    return Experiment(
        name,
        description,
        run=on_card.run,
        table=table,
        summary=summary,
        check=on_card.check,
        caption=caption,
        plots=[plot, plot_errors],
        machines=on_card.machines,
        sizes=on_card.sizes,
        drawable=lambda records, panel: bool(launches(records)),
        page=page,
        arguments={
            "card": {"choices": tuple(CARDS), "default": "h100", "help": "that was measured (%(default)s)"},
            "gpu": {"type": name_of_machine, "default": None, "metavar": "NAME", "help": "machine (the card's)"},
            "half": {"choices": HALVES, "default": "open", "help": "of the suites; sealed ones in sum (%(default)s)"},
            "largest": {"choices": SIZES, "default": SIZES[-1], "help": "size of the launches (%(default)s)"},
        },
        figsize=(3.4, 6.0),
    )
