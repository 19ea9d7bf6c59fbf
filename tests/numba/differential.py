"""Runs random kernels under Numba's simulator and on several machines, and compares the memory they leave.

What `multiplex.vtb` and `vtb_pipe` make of a kernel has to leave the same, on the machine and, as printed, under the
simulator. By hand: `python -m tests.numba.differential --count 20000 --jobs 2`; a kernel that differs is made small and
printed. Every kernel runs in one way as written, and one of sixteen in a transformed form too, which costs as much as
four kernels; with `--thorough` in all ways and forms.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import LaunchError, multiplex
from tests.numba import simulator, sources
from tests.numba.random_kernels import Case, generate
from tests.numba.random_layouts import whole
from tests.numba.random_shrink import smaller

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
CHUNK = 5  # kernels that a process is given at a time: after an interrupt it ends those that it has
FORMS = 16  # of so many kernels one is transformed
FILES = 8  # names of kernel files, used again and again: what is loaded stays in memory

_numbers = itertools.count()


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """Elements as integers, a complex one as two, a record field by field; all that are no number alike."""
    if array.dtype.names:
        return np.hstack([bits(array[name]).astype(object).reshape(len(array), -1) for name in array.dtype.names])
    if array.dtype.kind == "c":
        return np.stack([bits(array.real), bits(array.imag)], -1)
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).view(f"u{array.itemsize}")


def unlike(what: object, case: Case, found: Sequence[Any], expected: Sequence[Any]) -> str:
    """The first difference between two sets of arguments, or an empty string."""
    for name, a, b in zip(case.parameters, found, expected, strict=True):
        if not isinstance(a, np.ndarray):
            continue
        places = np.argwhere(bits(a) != bits(b))
        if len(places):
            i = tuple(places[0].tolist()[: a.ndim])
            return f"{what}: {name}{list(i)} is {a[i]!r}, not {b[i]!r} ({len(places)} elements differ)"
        if np.count_nonzero(bits(whole(a))) != np.count_nonzero(bits(a)):
            return f"{what}: memory around {name} is not as it was"
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
        if wrong := unlike(options, case, found, expected):
            return wrong
    for variant in variants:
        try:
            virtual = transformed(variant, kernel, case)
        except multiplex.MultiplexError as reason:
            if refused is not None:
                refused[f"{variant}: {reason.msg}"] += 1
            continue
        try:
            wrong = _variant(case, virtual, expected, runs[0])
        except LaunchError as reason:  # its blocks have more threads: there may not be registers for all
            if refused is not None:
                refused[f"{variant}: {re.sub('[0-9]+', '#', str(reason).split(', at ')[0])}"] += 1
            continue
        if wrong:
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
    return (
        unlike(options, case, found, expected)
        or unlike("numba", case, theirs, expected)
        or (f"races: {races}" if races else "")
    )


def in_turn(seed: int, variants: Sequence[str] = tuple(VARIANTS)) -> tuple[Sequence[dict[str, Any]], Sequence[str]]:
    """One way to run a kernel, and one of the variants; forty-eight seeds in a row have all combinations."""
    run = RUNS[seed // 4 % 2][seed // 8 % 3]
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


@dataclass
class Tally:
    """What some kernels came to: descriptions of those that differ, and how often a pass refused, by the reason."""

    found: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    kernels: int = 0
    transformed: int = 0


def report(seeds: Sequence[int], depth: int, variants: Sequence[str], every: bool, thorough: bool, keep: bool) -> Tally:
    """Compare kernels; those that differ are made small unless they are to be kept."""
    tally = Tally(kernels=len(seeds))
    for seed in seeds:
        case = generate(Random(seed), depth, every=every)
        if thorough:
            runs, forms = RUNS[seed % 2], variants
        else:
            runs, forms = in_turn(seed) if seed % FORMS else in_turn(seed // FORMS, variants)
            forms = [] if seed % FORMS else forms
        wrong = outcome(case, runs, forms, tally.refused)
        tally.transformed += len(forms)
        if not wrong:
            continue
        if not keep:
            kind = wrong.split(":")[0]
            case = smaller(case, lambda c, k=kind, r=runs, v=forms: outcome(c, r, v).split(":")[0] == k)  # type: ignore[misc]
            wrong = outcome(case, runs, forms)
        text = case.text[case.text.index("TABLE_") :]
        tally.found.append(f"---- seed {seed}, {case.grid} x {case.block}, {runs}, {forms}: {wrong}\n{text}")
    return tally


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
    parser.add_argument("--types", choices=["all", "narrow"], default="all", help="of data: all, or those of 32 bits")
    given = parser.parse_args(argv)
    one = partial(
        report,
        depth=given.depth,
        variants=given.variants,
        every=given.types == "all",
        thorough=given.thorough,
        keep=given.keep,
    )
    refused: Counter[str] = Counter()
    failures = done = transformed = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a limit of time: say what was found
    pool = ProcessPoolExecutor(given.jobs, initializer=_ignore_interrupts)
    try:
        for tally in pool.map(one, chunks(given.seed, given.count)):
            failures += len(tally.found)
            refused += tally.refused
            done += tally.kernels
            transformed += tally.transformed
            sys.stdout.writelines(text + "\n" for text in tally.found)
            sys.stdout.flush()
            if sys.stderr.isatty() or done % 1000 == 0:
                sys.stderr.write(f"\r{done} kernels, {failures} differ ")
    except KeyboardInterrupt:
        _ignore_interrupts()  # a second one, which `timeout` sends, would leave the processes of the pool behind
        sys.stdout.write("interrupted\n")
    for reason, times in refused.most_common(20):
        sys.stdout.write(f"refused {times} times: {reason}\n")
    transformed -= refused.total()
    sys.stdout.write(f"{done} kernels and {transformed} transformed ones, {failures} differ\n")
    sys.stdout.flush()
    pool.shutdown(cancel_futures=True)
    return 1 if failures else 0


def _ignore_interrupts() -> None:
    """What has been begun is ended; in a process of the pool, the first process decides what comes then."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
