"""Runs random kernels under Numba's simulator and on several machines, and compares the memory they leave.

What `multiplex.vtb` and `vtb_pipe` make of a kernel has to leave the same, on the machine and, as printed, under the
simulator. By hand: `python -m tests.numba.differential --count 20000 --jobs 2`; a kernel that differs is made small and
printed. Every kernel runs in one way as written and in one transformed form, in turn, or with `--thorough` in all.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import multiplex
from tests.numba import simulator, sources
from tests.numba.random_kernels import Case, generate, smaller

NAMES = ("fi", "ii", "ui", "bi", "fo", "io", "uo", "bo", "acc")
RUNS: tuple[tuple[dict[str, Any], ...], ...] = (
    (
        {"gpu": "GTX285", "schedule": "source"},
        {"gpu": "GTX480-16K", "schedule": "list"},
        {"gpu": "GTX285", "schedule": "list", "max_registers": 16},
    ),
    (
        {"gpu": "GTX285", "schedule": "list"},
        {"gpu": "GTX480-16K", "schedule": "source"},
        {"gpu": "GTX480-16K", "schedule": "source", "unroll_limit": 32, "join": False},
    ),
)
"""What the even and the odd kernels are compiled for and run on."""

VARIANTS: Mapping[str, tuple[int, Callable[..., multiplex.VirtualKernel]]] = {
    "vtb2": (2, multiplex.vtb),
    "vtb3": (3, partial(multiplex.vtb, n=3)),
    "vtb4": (4, partial(multiplex.vtb, n=4)),
    "vtb_pipe": (2, multiplex.vtb_pipe),
}
"""Virtual blocks in a block, and the pass. For `co_vtb` see tests/multiplex: it needs a declaration."""
CHUNK = 20  # kernels that a process is given at a time
FILES = 8  # names of kernel files, used again and again: what is loaded stays in memory

_numbers = itertools.count()


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """Elements as integers; all that are no number alike."""
    if array.dtype != np.float32:
        return array
    return np.where(np.isnan(array), np.float32(np.nan), array).view(np.uint32)


def unlike(what: object, found: Sequence[Any], expected: Sequence[Any]) -> str:
    """The first difference between two sets of arguments, or an empty string."""
    for name, a, b in zip(NAMES, found, expected, strict=False):
        places = np.argwhere(bits(a) != bits(b))
        if len(places):
            i = tuple(places[0].tolist())
            return f"{what}: {name}{list(i)} is {a[i]!r}, not {b[i]!r} ({len(places)} elements differ)"
    return ""


def difference(
    case: Case, runs: Sequence[dict[str, Any]], variants: Sequence[str] = (), refused: Counter[str] | None = None
) -> str:
    """What differs, or an empty string. Products and sums are not fused: NumPy rounds both.

    variants: of `VARIANTS`. refused: where variants that a pass has refused are counted, by the reason.
    """
    filename = f"<random kernel {next(_numbers) % FILES}>"
    expected = simulator.shared().launch(case.text, filename, case.grid, case.block, case.arguments())
    kernel = sources.load(case.text, filename, "smmux").kernel
    for options in runs:
        found = case.arguments()
        kernel.simulate(case.grid, case.block, found, fused_mad=False, max_cycles=10**7, **options)
        if wrong := unlike(options, found, expected):
            return wrong
    for variant in variants:
        try:
            virtual = transformed(variant, kernel, case)
        except multiplex.MultiplexError as reason:
            if refused is not None:
                refused[f"{variant}: {reason.msg}"] += 1
            continue
        if wrong := _variant(case, virtual, expected, runs[0]):
            return f"{variant}, {wrong}"
    return ""


def transformed(variant: str, kernel: Any, case: Case) -> multiplex.VirtualKernel:
    """A variant, made for the case's launch if its grid needs that, and sometimes if not."""
    n, transform = VARIANTS[variant]
    known = case.grid % n or case.seed % 4 == 0
    return transform(kernel, grid=case.grid, block=case.block) if known else transform(kernel)


def _variant(case: Case, virtual: multiplex.VirtualKernel, expected: Sequence[Any], options: dict[str, Any]) -> str:
    """What a transformed kernel leaves that the kernel as written does not."""
    grid, block = virtual.geometry(case.grid, case.block)
    found = case.arguments()
    result = virtual.simulate(grid, block, found, fused_mad=False, max_cycles=10**7, check="races", **options)
    text = f"{virtual.source}\nkernel = {virtual.__name__}\n"
    name = f"<transformed kernel {next(_numbers) % FILES}>"
    theirs = simulator.shared().launch(text, name, grid, block, case.arguments())
    assert result.findings is not None
    races = result.findings.of("race", "uninitialised")
    return unlike(options, found, expected) or unlike("numba", theirs, expected) or (f"races: {races}" if races else "")


def in_turn(seed: int, variants: Sequence[str] = tuple(VARIANTS)) -> tuple[Sequence[dict[str, Any]], Sequence[str]]:
    """One way to run a kernel, and one of the variants; sixteen seeds in a row have all combinations."""
    run = RUNS[seed // 4 % 2][seed // 8 % 2]
    return [run], [variants[seed % len(variants)]] if variants else []


def outcome(
    case: Case, runs: Sequence[dict[str, Any]], variants: Sequence[str] = (), refused: Counter[str] | None = None
) -> str:
    """As `difference`, but what goes wrong on our side is a difference too."""
    try:
        return difference(case, runs, variants, refused)
    except AssertionError as reason:  # the simulator's side
        return f"invalid: {reason}"
    except Exception as reason:
        return f"{type(reason).__name__}: {str(reason)[:400]}"


def report(
    seeds: Sequence[int], depth: int, variants: Sequence[str], thorough: bool, keep: bool
) -> tuple[list[str], Counter[str]]:
    """Descriptions of the kernels that differ, made small unless they are to be kept, and how often passes refused."""
    refused: Counter[str] = Counter()
    found = []
    everything = variants
    for seed in seeds:
        case = generate(Random(seed), depth)
        runs, variants = (RUNS[seed % 2], everything) if thorough else in_turn(seed, everything)
        if not (wrong := outcome(case, runs, variants, refused)):
            continue
        if not keep:
            kind = wrong.split(":")[0]
            case = smaller(case, lambda c, k=kind, r=runs, v=variants: outcome(c, r, v).split(":")[0] == k)
        head = f"---- seed {seed}, {case.grid} x {case.block}: {outcome(case, runs, variants)}"
        found.append(f"{head}\n{case.text[case.text.index('def tame') :]}")
    return found, refused


def chunks(first: int, count: int) -> Iterator[range]:
    """Seeds, a few at a time."""
    for start in range(first, first + count, CHUNK):
        yield range(start, min(start + CHUNK, first + count))


def main(argv: list[str] | None = None) -> int:
    """Compare many kernels; print those that differ, made small."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--depth", type=int, default=1, help="of expressions, and a measure of a kernel's size")
    parser.add_argument("--keep", action="store_true", help="print failing kernels as generated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument(
        "--variants", nargs="*", choices=VARIANTS, default=list(VARIANTS), help="transformed forms, all by default"
    )
    parser.add_argument("--thorough", action="store_true", help="every kernel on all machines and in all forms")
    options = parser.parse_args(argv)
    one = partial(report, depth=options.depth, variants=options.variants, thorough=options.thorough, keep=options.keep)
    refused: Counter[str] = Counter()
    failures = done = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for found, reasons in pool.map(one, chunks(options.seed, options.count)):
            failures += len(found)
            refused += reasons
            done = min(done + CHUNK, options.count)
            sys.stdout.writelines(text + "\n" for text in found)
            sys.stdout.flush()
            if sys.stderr.isatty() or done % 1000 == 0:
                sys.stderr.write(f"\r{done} kernels, {failures} differ ")
    for reason, times in refused.most_common(20):
        sys.stdout.write(f"refused {times} times: {reason}\n")
    forms = len(options.variants) if options.thorough else min(1, len(options.variants))
    transformed = options.count * forms - refused.total()
    sys.stdout.write(f"{options.count} kernels and {transformed} transformed ones, {failures} differ\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
