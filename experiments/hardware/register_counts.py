"""Registers of Python kernels: what this package's compiler takes beside what the vendor's does for sm_90.

    python -m experiments.hardware.register_counts --out experiments/hardware [--only TEXT] [FILE.py...]

compiles each kernel of the benchmarks in its forms, of the programs of experiments, and of Python files twice: through
Numba and ptxas (`smmux.from_numba`, no card is needed) and for the machine of compiled code. The files are those of the
tests of the language, unless others are named; their functions `run...` and `test_...` without parameters are called,
and what they launch counts. OUT/registers_sm90.csv has a row per kernel; printed are the mean absolute error of the
logarithms, and how often as many blocks reside on an SM. Rows that are there are kept, so that a run that was stopped
goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import smmux
from experiments import programs
from experiments.common.card_sources import MULTIPLEXED, load
from experiments.common.speedups import LIMITED
from smmux import benchmarks, gpus, models
from smmux.base import whole_files
from smmux.base.dimensions import dim3
from smmux.kernel import Kernel
from smmux.language.textures import Texture
from smmux.rewriting.listing import listing

NAME = "registers_sm90.csv"
TESTS = Path(__file__).parents[2] / "tests" / "numba"
COLUMNS = (
    "suite", "kernel", "threads", "shared_bytes", "registers", "ptxas", "blocks", "ptxas_blocks", "instructions",
    "ptxas_instructions",
)  # fmt: skip
CARVEOUT = 228
"""Carve-out in kB under which blocks are counted: the one that leaves most of them to registers."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel with a launch for whose types, grid and block it is compiled."""

    suite: str
    name: str
    kernel: Any
    grid: Any
    block: Any
    args: tuple[Any, ...]


def of_benchmarks() -> Iterator[Case]:
    """All builds, and the software forms of those that shared memory limits."""
    for name in benchmarks.names():
        benchmark = benchmarks.get(name)
        for build, kernel in benchmark.kernels.items():
            problem = benchmark.problem("tiny", build)
            yield Case("benchmarks", f"{name} {build}", kernel, problem.grid, problem.block, problem.arguments())
            if name in LIMITED and build == benchmark.builds[0]:
                for form in MULTIPLEXED:
                    virtual: Any = form.function(kernel)
                    fitted = virtual.fitted(problem.grid, problem.block)
                    grid, block = fitted.geometry(problem.grid, problem.block)
                    yield Case("forms", f"{name} {form.name}", fitted, grid, block, problem.arguments())


def of_programs() -> Iterator[Case]:
    """The programs of experiments."""
    for name in programs.workloads():
        row = programs.workload(name)
        for build in row.builds:
            problem = row.problem("tiny", build)
            kernel = row.kernels[build]
            yield Case("programs", f"{name} {build}", kernel, problem.grid, problem.block, problem.arguments())


def of_file(path: Path) -> Iterator[Case]:
    """What the functions of a file launch, each kernel once; its import may be Numba's."""
    found: dict[str, Case] = {}
    before = Kernel.simulate

    def simulate(self: Any, grid: Any, block: Any, args: Any, *rest: Any, **options: Any) -> Any:
        copied = tuple(np.array(value) if isinstance(value, np.ndarray) else value for value in args)
        case = Case(path.parent.name, f"{path.stem}.{self.__name__}", self, grid, block, copied)
        found.setdefault(self.__name__, case)
        return before(self, grid, block, args, *rest, **options)

    module = types.ModuleType(f"smmux_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(path.read_text().replace("from numba import", "from smmux import"), str(path), "exec"), vars(module))
    with mock.patch.object(Kernel, "simulate", simulate), gpus.set_current(gpus.COMPILED):
        for name, function in list(vars(module).items()):
            code = getattr(function, "__code__", None)
            if name.startswith(("run", "test_")) and code and not code.co_argcount:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                    function()  # what fails at its checks has launched its kernels
    yield from found.values()


def compared(case: Case) -> Mapping[str, Any]:
    """The row of a kernel. Raises smmux.Error where a compiler refuses it."""
    import numba

    gpu, block = gpus.get(gpus.COMPILED), dim3("block", case.block)
    args = tuple(np.array(value) if isinstance(value, Texture | np.ndarray) else value for value in case.args)
    vendor = smmux.from_numba(
        load(listing(case.kernel.definition), case.kernel.__name__), tuple(map(numba.typeof, args))
    )
    ours = case.kernel.compile(case.args, gpu, grid=case.grid, block=block)
    threads, largest = math.prod(block), gpu.with_carveout(CARVEOUT)

    def blocks(registers: int) -> int:
        return models.occupancy(threads, registers, ours.shared_bytes, largest).blocks

    return {
        "suite": case.suite,
        "kernel": case.name,
        "threads": threads,
        "shared_bytes": ours.shared_bytes,
        "registers": ours.nregs,
        "ptxas": vendor.registers,
        "blocks": blocks(ours.nregs),
        "ptxas_blocks": blocks(vendor.registers),
        "instructions": len(ours.code),
        "ptxas_instructions": len(vendor.instructions),
    }


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where there is none."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{k: v if k in COLUMNS[:2] else int(v) for k, v in row.items()} for row in csv.DictReader(file)]


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows, all that there are by now."""
    with whole_files.replacing(path) as (draft,), draft.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """By suite and in all: kernels, mean absolute and mean error of the logarithms, as many blocks, instructions."""
    lines = [f"{'':12} kernels  |log|    log  same blocks  instructions"]
    for suite in (*dict.fromkeys(row["suite"] for row in rows), None):
        some = [row for row in rows if suite in (None, row["suite"])]
        logs = np.log([row["registers"] / row["ptxas"] for row in some])
        same = np.mean([row["blocks"] == row["ptxas_blocks"] for row in some])
        share = np.exp(np.mean(np.log([row["instructions"] / row["ptxas_instructions"] for row in some])))
        errors = f"{np.abs(logs).mean():.3f} {logs.mean():+.3f}"
        lines.append(f"{suite or 'all':12} {len(some):7}  {errors}  {same:10.1%}  {share:12.2f}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Compile what is missing, write the rows and print what they say."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.hardware.register_counts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.py", help="files with kernels (the tests')")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="folder (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose name has this in it")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    files = options.files or sorted((*TESTS.glob("public/*.py"), *TESTS.glob("examples/*.py")))
    rows = read(options.out / NAME)
    known = {(row["suite"], row["kernel"]) for row in rows}
    for case in (*of_benchmarks(), *of_programs(), *(case for path in files for case in of_file(path))):
        if options.only not in case.name or (case.suite, case.name) in known:
            continue
        try:
            rows.append(dict(compared(case)))
        except smmux.Error as refusal:
            sys.stdout.write(f"{case.suite} {case.name}: {refusal}\n")
            continue
        write(options.out / NAME, rows)
    sys.stdout.write(summary(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
