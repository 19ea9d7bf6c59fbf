"""Kernels that ran on a card of today, at three sizes, as its profiler counted and as simulated: records, errors and
verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.common.suite_python import in_python, kernels
from experiments.common.suite_runs import measured, simulated
from experiments.common.verdicts import Verdict
from experiments.suites import SIZES, STRATA, WORKLOADS, is_open
from smmux import gpus
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

HALVES = ("open", "sealed", "both")
CARDS = {"h100": "H100", "h200": "H200"}
"""The machine of each card that was measured."""
FROZEN = False
"""Whether the machine is frozen, so that errors of the sealed half may be seen one by one."""
BARS = {
    "h100": {"mean": 0.13, "90th percentile": 0.30, "correlation": 0.985},
    "h200": {"mean": 0.15},
}
"""By card: mean absolute error and 90th percentile at most, and correlation of the logarithms at least."""
PYTHON_BAR = 0.25
"""Mean absolute error at most, of what stands in Python and goes through this package's compiler, on an H100."""


def machines(gpu: Gpu | str | None = None, card: str = "h100") -> list[Gpu]:
    """What is simulated."""
    return [gpus.get(gpu or CARDS[card])]


def chosen(half: str, largest: str, card: str = "h100") -> list[tuple[str, str]]:
    """Kernels of a half that the card ran, and sizes up to one."""
    return [
        (name, size)
        for name, one in WORKLOADS.items() for size in SIZES[: SIZES.index(largest) + 1]
        if (name, size) in measured(card) and (half == "both" or is_open(one.suite) == (half == "open"))
    ]  # fmt: skip


def run(
    quick: bool = False,
    jobs: int | None = None,
    gpu: Gpu | str | None = None,
    half: str = "open",
    largest: str = SIZES[-1],
    card: str = "h100",
) -> list[Record]:
    """Simulate what the card measured; a record per launch of the open half, and one for all of the sealed half. A
    quick run has the small launches."""
    (machine,) = machines(gpu, card)
    known = measured(card)
    longest_first = sorted(chosen(half, SIZES[0] if quick else largest, card), key=lambda of: -known[of].instructions)
    points = [
        {"machine": machine, "kernel": name, "size": size, "mhz": known[name, size].mhz} for name, size in longest_first
    ]
    found = sweep(simulated, points, jobs=jobs, description="modern")
    also = [point for point in points if point["kernel"] in kernels()]
    in_ours = {
        (of["kernel"], of["size"]): of for of in sweep(in_python, also, jobs=jobs, description="modern, in Python")
    }
    records = [
        record | beside(record, card) | python_beside(in_ours.get((record["kernel"], record["size"])), card)
        for record in found
    ]
    records.sort(key=lambda record: (list(WORKLOADS).index(record["kernel"]), SIZES.index(record["size"])))
    shown = [record for record in records if FROZEN or record["half"] == "open"]
    hidden = [record for record in records if not FROZEN and record["half"] == "sealed"]
    sealed = [{"half": "sealed", "kernel": "all of the sealed half", **errors(hidden)}] if hidden else []
    return [record | {"card": card} for record in shown + sealed]


def beside(record: Record, card: str = "h100") -> Record:
    """What the card said, beside what was simulated."""
    one, row = WORKLOADS[record["kernel"]], measured(card)[record["kernel"], record["size"]]
    counted = row.counters
    return {
        "suite": one.suite, "stratum": one.stratum, "half": "open" if is_open(one.suite) else "sealed",
        "measured": row.cycles, "lowest": row.lowest, "highest": row.highest,
        "error": record["cycles"] / row.cycles - 1,
        "measured_instructions": row.instructions,
        "measured_dram_bytes": counted["dram__bytes_read.sum"] + counted["dram__bytes_write.sum"],
        "measured_l2_sectors": counted["lts__t_sectors_srcunit_tex.sum"],
    }  # fmt: skip


def python_beside(record: Record | None, card: str = "h100") -> Record:
    """What a launch of a kernel in Python took, beside what the card said of the vendor's code; None: there is none."""
    if record is None:
        return {}
    row = measured(card)[record["kernel"], record["size"]]
    own = {name: record[name] for name in ("python_cycles", "python_instructions", "python_registers")}
    return {
        **own,
        "python_error": record["python_cycles"] / row.cycles - 1,
        "measured_registers": int(row.counters["launch__registers_per_thread"]),
    }


def in_both(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Launches of kernels that stand in Python too: of the vendor's code, and of this package's compiler's."""
    both = [record for record in launches(records) if record.get("python_cycles")]
    ours = [record | {"cycles": record["python_cycles"], "error": record["python_error"]} for record in both]
    return both, ours


def errors(records: Sequence[Record]) -> Record:
    """How far off launches are: mean, median, 90th percentile and worst of the absolute relative errors, "bias", the
    mean with sign, and the correlation of the logarithms, None for fewer than three."""
    off = np.array([record["error"] for record in records])
    ours, theirs = (np.log([record[name] for record in records]) for name in ("cycles", "measured"))
    return {
        "launches": len(records), "mean": float(np.abs(off).mean()), "median": float(np.median(np.abs(off))),
        "90th percentile": float(np.percentile(np.abs(off), 90)), "worst": float(np.abs(off).max()),
        "bias": float(off.mean()),
        "correlation": float(np.corrcoef(ours, theirs)[0, 1]) if len(records) > 2 else None,
    }  # fmt: skip


def card_of(records: Sequence[Record]) -> str:
    """The card that launches were measured on."""
    return str(records[0]["card"]) if records else "h100"


def launches(records: Sequence[Record]) -> list[Record]:
    """Of records, those of single launches."""
    return [record for record in records if "error" in record]


def groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Launches by stratum, by size, and all."""
    own = launches(records)
    found = {name: [r for r in own if r["stratum"] == name] for name in STRATA}
    found |= {name: [r for r in own if r["size"] == name] for name in SIZES}
    return {name: rows for name, rows in (found | {"all": own}).items() if rows}


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Errors by stratum, by size and of all; of the sealed half only of all."""
    found = {name: errors(rows) for name, rows in groups(records).items()}
    for record in records:
        if "error" not in record:
            found["sealed"] = record
    return found


def check(records: Sequence[Record]) -> list[Verdict]:
    """Verdicts on what was asked of the machine beforehand."""
    verdicts = []
    for name, of in summary(records).items():
        if name in ("all", "sealed") and of["correlation"] is not None:
            half = "open half" if name == "all" else "sealed half"
            for what, bar in BARS[card_of(records)].items():
                right = of[what] >= bar if what == "correlation" else of[what] <= bar
                text = f"{what} of {'the logarithms' if what == 'correlation' else 'the absolute errors'}, {half}"
                verdicts.append(Verdict(f"{half}, {what}:", text, bar, of[what], bool(right)))
    ours = in_both(records)[1]
    if card_of(records) == "h100" and ours:
        mean, text = errors(ours)["mean"], "mean of the absolute errors of kernels in Python, through this compiler"
        verdicts.append(Verdict("in Python, mean:", text, PYTHON_BAR, mean, mean <= PYTHON_BAR))
    return verdicts


def sizes(quick: bool = False, half: str = "open", largest: str = SIZES[-1], card: str = "h100") -> Mapping[str, Any]:
    """Which launches are simulated."""
    return {"half": half, "largest": SIZES[0] if quick else largest, "card": card}
