"""The microbenchmarks of this folder on a simulated machine, beside what a card answered.

    python -m experiments.hardware.hopper.beside_card --gpu H100 --out FOLDER [PROBE...]

prints measured, simulated and error of the cases below, and writes them to FOLDER/beside.csv. The programs are those
that ran on the card; of a probe only the cases are simulated that are compared. What is more than a tenth off says why.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smmux import gpus
from smmux.base import whole_files

from . import beside_memory, probe_code, probe_issue, probe_latency, probe_pipe
from .bench import FOLDER, Bench, Row
from .beside_cases import CASES, REASONS, Case
from .findings import rows
from .simulated import SimulatedBench

PROBES: Mapping[str, Any] = {
    name: probe
    for module in (probe_latency, probe_issue, probe_code, probe_pipe)
    for name, probe in module.PROBES.items()
}
PROBES = {**PROBES, **beside_memory.PROBES}
LIMIT = 0.1


class Selecting:
    """A bench that runs some of the programs that a probe asks for; of others all registers are zero at the end."""

    def __init__(self, bench: Bench, wanted: set[int] | None = None) -> None:
        self.bench, self.wanted, self.count = bench, wanted, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bench, name)

    def run(self, words: Sequence[int], values: np.ndarray, **options: Any) -> np.ndarray:
        """As Bench.run, if this run is wanted."""
        self.count += 1
        if self.wanted is None or self.count - 1 not in self.wanted:
            return np.zeros_like(values)
        return self.bench.run(words, values, **options)


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of a card and of the machine."""

    case: Case
    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative to what was measured."""
        return self.simulated / self.measured - 1


def simulate(bench: Bench, probe: str, cases: Sequence[Case]) -> Iterator[Compared]:
    """The cases of one probe. Which of its runs belong to which row is found by a pass that runs nothing."""
    if probe in beside_memory.PROBES:
        yield from _compared(probe, cases, list(PROBES[probe](bench)))
        return
    dry = Selecting(bench)
    wanted: set[int] = set()
    runs = range(0)  # of one row, or of several that come from the same runs
    for row in PROBES[probe](dry):
        if dry.count > runs.stop:
            runs = range(runs.stop, dry.count)
        if any(case.matches(row) for case in cases):
            wanted |= set(runs)
    found: list[Row] = [
        row for row in PROBES[probe](Selecting(bench, wanted)) if any(case.matches(row) for case in cases)
    ]
    yield from _compared(probe, cases, found)


def _compared(probe: str, cases: Sequence[Case], found: Sequence[Row]) -> Iterator[Compared]:
    """Each case's number of the card beside that of the row that was simulated."""
    for case in cases:
        measured = [row for row in rows("h100", probe) if case.matches(row)]
        simulated = [row for row in found if case.matches(row)]
        if not measured or not simulated:
            raise ValueError(f"{probe}: {len(measured)} and {len(simulated)} rows for {case}")
        yield Compared(case, float(measured[0][case.column]), float(simulated[0][case.column]))


def line(compared: Compared) -> list[str]:
    """A row of the table."""
    case, far = compared.case, abs(compared.error) > LIMIT
    reason = REASONS.get((case.probe, case.what), REASONS.get((case.probe, ""), "")) if far else ""
    return [
        case.probe,
        case.what,
        f"{compared.measured:.2f}",
        f"{compared.simulated:.2f}",
        f"{100 * compared.error:+.1f}",
        reason,
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the cases of the named probes, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="probes (all)")
    parser.add_argument("--gpu", default=gpus.COMPILED, help="machine (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where beside.csv goes")
    parser.add_argument("--cubins", type=Path, default=FOLDER.parents[2] / "build" / "hopper", metavar="FOLDER")
    options = parser.parse_args(argv)
    bench = SimulatedBench(options.cubins, gpus.get(options.gpu))
    table = []
    for probe in options.names or dict.fromkeys(case.probe for case in CASES):
        for compared in simulate(bench, probe, [case for case in CASES if case.probe == probe]):
            table.append(line(compared))
            print(f"{table[-1][0]:16} {table[-1][1]:44} {' '.join(f'{x:>9}' for x in table[-1][2:5])}  {table[-1][5]}")
            sys.stdout.flush()
    errors = [abs(float(row[4])) for row in table]
    within = sum(error <= 100 * LIMIT for error in errors)
    print(f"{within} of {len(table)} within {LIMIT:.0%}, mean error {np.mean(errors):.1f} %")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        with whole_files.replacing(options.out / "beside.csv") as (draft,), draft.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["probe", "case", "measured", "simulated", "error_percent", "why"])
            writer.writerows(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
