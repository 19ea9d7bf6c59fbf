"""The same programs from two states of the compiler, to the bit: benchmarks, variants, workloads, random kernels.

    python -m tests.same_programs before.json     (writes the digests of all programs, if the file is not there)
    python -m tests.same_programs before.json     (compares with them; 1 if any differs)

By hand, before and after a change that must not change what is compiled. Programs are compiled for their launches,
under both schedules, for the paper's simulated card and for one with 64-bit floats.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from smmux import Error, benchmarks
from smmux.compiler.program import Program
from tests.multiplex import divided_kernels, random_regions
from tests.numba import python_statements, random_kernels, sources
from tests.numba.python_kernels import Features
from tests.preload import random_affine

MACHINES = ("GTX285-1100", "K20c")
SCHEDULES = ("source", "list")
RANDOM_KERNELS = 60


def main() -> int:
    """Write digests, or compare with those of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--random", type=int, default=RANDOM_KERNELS, help="random kernels of each generator")
    options = parser.parse_args()
    found = dict(digests(options.random))
    if not options.file.exists():
        options.file.write_text(json.dumps(found, indent=0))
        sys.stdout.write(f"{len(found)} digests\n")
        return 0
    before = json.loads(options.file.read_text())
    differ = sorted(name for name in found.keys() | before.keys() if found.get(name) != before.get(name))
    for name in differ[:20]:
        sys.stdout.write(f"differs: {name}\n")
    sys.stdout.write(f"{len(found)} digests, {len(differ)} differ\n")
    return 1 if differ else 0


def digests(random: int) -> Iterator[tuple[str, str]]:
    """A name and a digest of every program."""
    for name, kernel, grid, block, args in launches(random):
        for machine in MACHINES:
            for schedule in SCHEDULES:
                try:
                    text = of_program(kernel.compile(args, machine, grid=grid, block=block, schedule=schedule))
                except Error as refusal:
                    text = f"{type(refusal).__name__}: {refusal}"
                yield f"{name} {machine} {schedule}", hashlib.sha256(text.encode()).hexdigest()[:16]


def of_program(program: Program) -> str:
    """All that a machine sees of a program, as text."""
    parts = [program.code.tobytes(), program.uniforms.tobytes(), program.const]
    numbers = (program.nregs, program.npreds, program.shared_bytes, program.dynamic_bytes, program.local_bytes)
    return repr((*(hashlib.sha256(part).hexdigest() for part in parts), numbers, program.params))


Launch = tuple[str, Any, Any, Any, tuple[Any, ...]]
"""Name, kernel, grid, block, arguments."""


def launches(random: int) -> Iterator[Launch]:
    """Kernels with the launches for which they are compiled."""
    yield from of_benchmarks()
    yield from of_workloads()
    for seed in range(random):
        yield from of_generators(seed)


def of_benchmarks() -> Iterator[Launch]:
    """Benchmarks in all variants."""
    for name in benchmarks.names():
        benchmark = benchmarks.get(name)
        for build in benchmark.builds:
            for size in ("tiny", "default"):
                problem = benchmark.problem(size, build)
                for variant in benchmark.variants:
                    if variant in benchmarks.base.DIVIDED and build != benchmark.builds[0]:
                        continue
                    kernel, grid, block = benchmark.launch(problem, variant, build)
                    yield f"{name} {build} {size} {variant}", kernel, grid, block, problem.arguments()


def of_workloads() -> Iterator[Launch]:
    """Programs of the experiments, which a checkout has."""
    from experiments import programs

    for name in programs.workloads():
        workload = programs.workload(name)
        for build in workload.builds:
            problem = workload.problem("tiny", build)
            yield f"{name} {build}", workload.kernels[build], problem.grid, problem.block, problem.arguments()


def of_generators(seed: int) -> Iterator[Launch]:
    """The kernel that each generator makes of a seed."""
    with np.errstate(all="ignore"):
        written = {
            "random": random_kernels.generate(Random(seed)),
            "python": python_statements.generate(Random(seed), Features(wide=seed % 3 == 0)),
            "regions": random_regions.generate(Random(seed)),
            "divided": divided_kernels.generate(Random(seed)),
        }
        for name, case in written.items():
            kernel = sources.load(case.text, f"{name}_{seed % 8}.py", "smmux").kernel
            yield f"{name} {seed}", kernel, case.grid, case.block, tuple(case.arguments())
        affine = random_affine.case(seed, views=seed % 2 == 1)
        yield f"affine {seed}", affine.kernel, affine.grid, affine.block, affine.args


if __name__ == "__main__":
    raise SystemExit(main())
