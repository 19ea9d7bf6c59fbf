"""Programs of kernels whose IR is written as text and read back: the same as without, to the bit.

    python -m tests.compiler.read_back --random 500

compiles benchmarks in all variants, programs of the experiments, and kernels of 500 seeds of each generator of random
ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from unittest.mock import patch

import numpy as np

from smmux import Error
from smmux.compiler.driver.compiling import clear_cache
from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.program import Program
from smmux.compiler.signature import Signature
from smmux.compiler.text.reader import read
from smmux.compiler.text.writer import write
from smmux.kernels.python_unit import PythonUnit
from tests import same_programs
from tests.same_programs import MACHINES, SCHEDULES, Launch

WAYS = tuple((machine, schedule) for machine in MACHINES for schedule in SCHEDULES)
LOWER = PythonUnit.lower


def _lowered_and_read_back(unit: PythonUnit, signature: Signature, options: Options) -> Function:
    """What the front end makes of a kernel, by way of its text."""
    text = write(LOWER(unit, signature, options))
    function = read(text)
    assert write(function) == text
    return function


def unlike(first: Program, second: Program) -> list[str]:
    """The fields in which two programs differ."""
    pairs = {field.name: (getattr(first, field.name), getattr(second, field.name)) for field in fields(Program)}
    return [
        name
        for name, (one, two) in pairs.items()
        if (one.tobytes() != two.tobytes() if isinstance(one, np.ndarray) else one != two)
    ]


def compiled(launch: Launch, machine: str, schedule: str) -> Program | str:
    """The program of a launch, or the refusal."""
    _, kernel, grid, block, args = launch
    clear_cache()
    try:
        program: Program = kernel.compile(args, machine, grid=grid, block=block, schedule=schedule)
        return program
    except Error as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def differences(launches: Iterable[Launch]) -> Iterator[tuple[str, str]]:
    """The name of each launch, and how its programs differ: empty if they do not. Machines and schedules take turns."""
    for turn, launch in enumerate(launches):
        way = WAYS[turn % len(WAYS)]
        first = compiled(launch, *way)
        with patch.object(PythonUnit, "lower", _lowered_and_read_back):
            second = compiled(launch, *way)
        if isinstance(first, Program) and isinstance(second, Program):
            yield launch[0], ", ".join(unlike(first, second))
        else:
            refusals = [program for program in (first, second) if isinstance(program, str)]
            yield launch[0], "" if first == second else "\n".join(refusals)


def main() -> int:
    """Compare all, and say how many programs there were; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=60, help="random kernels of each generator")
    count = wrong = 0
    for name, how in differences(same_programs.launches(parser.parse_args().random)):
        count += 1
        if how:
            wrong += 1
            sys.stdout.write(f"{name} differs: {how}\n")
    sys.stdout.write(f"{count} programs, {wrong} differ\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
